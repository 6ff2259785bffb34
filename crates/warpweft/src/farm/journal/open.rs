//! Beginning a journal, or going on from one.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

use super::Journal;
use super::frame::{Frames, Link, link};
use super::header::{self, Header};
use super::write::Writer;
use crate::error::{Error, Result};
use crate::farm::clerk::Sink;
use crate::farm::ranges::Ranges;
use crate::grid::io::Claim;

/// The file of frames.
const RESULTS: &str = "results";

/// What is left out of a file that a kill alone can't explain, and is kept.
const DAMAGE: u64 = 64 << 10;

/// A journal that can be appended to.
pub struct Opened {
    /// The tasks that it has already.
    pub done: Ranges,
    /// What appends.
    pub writer: Writer,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Opens `journal` for a run of so many `tasks` whose outputs have this `form`. Those that it has go to `sink`, frame
/// by frame.
///
/// # Errors
/// A folder that can't be used, or that another run has; a journal where there should be none, none where there
/// should be one, or another run's; the sink's.
pub fn open(journal: &Journal, tasks: u64, form: String, sink: &mut Sink<'_>) -> Result<Opened> {
    let Journal { directory, of, resume, flush } = journal;
    let every = Duration::from_secs_f64(flush.seconds()?);
    let own = Header::new(of, tasks, form);
    if *resume && Header::read(directory)?.is_none() {
        let remedy = "begin without --resume, or name the folder of the run that was stopped";
        return Err(Error::file(directory, "holds no journal to resume", remedy));
    }
    let claim = Claim::of(directory)?;
    let mut notes: Vec<_> = claim.note(directory).into_iter().collect();
    let there = Header::read(directory)?;
    let other = there.as_ref().and_then(|there| there.differs(&own));
    match (&there, other) {
        (Some(_), Some(what)) => {
            let what = format!("holds a journal {what}");
            return Err(Error::file(directory, what, "choose another folder"));
        }
        (Some(_), None) if !resume => {
            let remedy = "go on from there with --resume, or choose another folder";
            return Err(Error::file(
                directory,
                "holds the journal of an earlier run of this",
                remedy,
            ));
        }
        _ => {}
    }
    let told = |error: io::Error| {
        Error::file(
            directory,
            format!("a journal can't be kept there: {error}"),
            "choose a folder that can be written and has room",
        )
    };
    let text = own.text()?;
    if there.is_none() {
        write_synced(directory, header::NAME, &mut text.as_bytes()).map_err(told)?;
    }
    let path = directory.join(RESULTS);
    let mut done = Ranges::default();
    let mut kept = (0, link(&text));
    if let Some(file) = existing(&path).map_err(told)? {
        let bytes = file.metadata().map_err(told)?.len();
        kept = accept(file, bytes, kept.1, tasks, &mut done, sink, &told)?;
        let left = bytes - kept.0;
        if left > 0 {
            notes.push(format!(
                "the last {left} bytes of {} are not whole; their tasks are done again",
                path.display()
            ));
        }
        if left > DAMAGE {
            let aside = directory.join("results.damaged");
            fs::copy(&path, &aside).map_err(told)?;
            notes.push(format!("what was there is kept as {}", aside.display()));
        }
    }
    // Anew, whatever there was: no old tail, no half of a block, no page that was never written.
    let whole = existing(&path).map_err(told)?;
    let mut whole: Box<dyn Read> = match whole {
        Some(file) => Box::new(file.take(kept.0)),
        None => Box::new(io::empty()),
    };
    write_synced(directory, RESULTS, &mut whole).map_err(told)?;
    let file = File::options().append(true).open(&path).map_err(told)?;
    Ok(Opened { done, writer: Writer::new(file, path, kept.1, every, claim), notes })
}

/// The frames of `file` that are right: into `done` and to `sink`; how many bytes, and the last one's link.
fn accept(
    file: File,
    bytes: u64,
    start: Link,
    tasks: u64,
    done: &mut Ranges,
    sink: &mut Sink<'_>,
    told: &dyn Fn(io::Error) -> Error,
) -> Result<(u64, Link)> {
    let mut frames = Frames::new(BufReader::with_capacity(1 << 20, file), bytes, start);
    loop {
        let before = frames.end();
        let Some((range, outputs)) = frames.next().map_err(told)? else { return Ok(before) };
        // Frames that chain are this run's own; what is wrong in them was wrong when they were written.
        if range.end > tasks || !done.insert(range.clone()) {
            let what = format!(
                "tasks {}..{} are there twice or none of this run's",
                range.start, range.end
            );
            return Err(told(io::Error::new(io::ErrorKind::InvalidData, what)));
        }
        sink(range, &outputs)?;
    }
}

fn existing(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}

/// Writes a file beside, brings it to the disk, and renames it.
fn write_synced(folder: &Path, name: &str, from: &mut dyn Read) -> io::Result<()> {
    let beside = folder.join(format!("{name}.partial"));
    let mut file = File::create(&beside)?;
    io::copy(from, &mut file)?;
    file.flush()?;
    file.sync_all()?;
    fs::rename(&beside, folder.join(name))?;
    File::open(folder)?.sync_all()
}
