//! Opening a journal, new or of an earlier run.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use super::Journal;
use super::begin::{Begin, Found, RESULTS, begin, existing, there, unknown, unreadable};
use super::frame::{Frames, Link, link};
use super::header::{self, Header, Work};
use super::refused;
use super::torn;
use super::write::Writer;
use crate::schedule::ranges::Ranges;
use crate::spec::chunk::{Settled, Sink};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::io::{Claim, new_file, without_links, write_synced};

/// A journal that can be appended to.
pub struct Opened {
    /// The tasks that it has already.
    pub done: Ranges,
    /// What appends.
    pub writer: Writer,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Whether a run can keep a journal in `folder`, or `resume` the one there.
///
/// # Errors
/// As [`open`]'s, as far as the folder alone tells.
pub fn check(folder: &Path, resume: bool) -> Result<()> {
    Claim::check(folder)?;
    there(folder, resume).map(drop)
}

/// The tasks, of so many whose outputs have this `form`, that a run finds done in `journal`. Inputs are taken for those of
/// the journal's header.
///
/// # Errors
/// As [`open`]'s, as far as reading tells.
pub fn done(journal: &Journal, tasks: u64, form: String) -> Result<Ranges> {
    let Journal { directory, of, resume, .. } = journal;
    check(directory, *resume)?;
    let inputs = match there(directory, *resume)? {
        Found::Header(header) => header.inputs,
        Found::Nothing => String::new(),
        // The inputs would tell.
        Found::Damaged(error) => return Err(unknown(directory, error)),
    };
    let own = Header::new(of, Work { tasks, inputs, form });
    let mut done = Ranges::default();
    if begin(directory, *resume, &own)? != Begin::Anew {
        let path = directory.join(RESULTS);
        let refused = |error: io::Error| unreadable(&path, &error);
        if let Some(file) = existing(&path).map_err(refused)? {
            let bytes = file.metadata().map_err(refused)?.len();
            let link = link(&own.text()?);
            accept(&file, &path, bytes, link, tasks, &mut done, &mut |_, _| Ok(()), &refused)?;
        }
    }
    Ok(done)
}

/// Opens `journal` for a run that does `work`. The outputs that it has go to `sink`, frame by frame.
///
/// # Errors
/// A folder that can't be used, or that another run has; a journal where there should be none, none where there
/// should be one, or another run's; the sink's.
pub fn open(journal: &Journal, work: Work, sink: &mut Sink<'_>) -> Result<Opened> {
    let tasks = work.tasks;
    let Journal { directory, of, resume, flush } = journal;
    let every = flush.most()?;
    // Before a folder is made for nothing.
    check(directory, *resume)?;
    let claim = Claim::of(directory)?;
    let mut notes: Vec<_> = claim.note(directory).into_iter().collect();
    let own = Header::new(of, work);
    let text = own.text()?;
    let refused = |error: io::Error| {
        Error::file(
            directory,
            format!("a journal can't be kept there: {error}"),
            "choose a folder that can be written and has room",
        )
    };
    let begin = begin(directory, *resume, &own)?;
    if begin == Begin::Rebuilt {
        let header = directory.join(header::NAME);
        notes.push(format!(
            "{} was damaged or missing; it is written again, because the recorded results belong to this run",
            header.display()
        ));
    }
    if begin != Begin::Resumed {
        write_synced(directory, header::NAME, &mut text.as_bytes()).map_err(refused)?;
    }
    let path = directory.join(RESULTS);
    let refused = |error: io::Error| {
        let room = "free disk space for a copy of this file, then use --resume again";
        refused::refused(&path, "the journal can't be resumed", &error, room)
    };
    let mut done = Ranges::default();
    let mut kept = (0, link(&text));
    let mut whole: Box<dyn Read> = Box::new(io::empty());
    if let Some(file) = existing(&path).map_err(refused)? {
        let bytes = file.metadata().map_err(refused)?.len();
        kept = accept(&file, &path, bytes, kept.1, tasks, &mut done, sink, &refused)?;
        let left = bytes - kept.0;
        if left > 0 {
            let torn = is_torn(&file, left, (&kept, tasks)).map_err(refused)?;
            let how = if torn { "incomplete" } else { "damaged" };
            notes.push(format!(
                "the last {left} bytes of {} are {how}; their tasks are computed again",
                path.display()
            ));
            if !torn {
                let aside = set_aside(&path)?;
                notes.push(format!("the damaged file is kept as {}", aside.display()));
            }
        }
        (&file).rewind().map_err(refused)?;
        whole = Box::new(file.take(kept.0));
    }
    // Anew, whatever there was: no old tail, no half of a block, no page that was never written.
    write_synced(directory, RESULTS, &mut whole).map_err(refused)?;
    let file = without_links(File::options().append(true)).open(&path).map_err(refused)?;
    Ok(Opened { done, writer: Writer::new(Box::new(file), path, kept.1, every, claim), notes })
}

/// Whether the last `left` bytes of `file`, behind those that are `kept`, are the frame that was being written when the run
/// of so many `tasks` was killed.
fn is_torn(
    mut file: &File,
    left: u64,
    ((at, before), tasks): (&(u64, Link), u64),
) -> io::Result<bool> {
    if left > torn::LONGEST {
        return Ok(false);
    }
    let mut rest = Vec::new();
    file.seek(io::SeekFrom::Start(*at))?;
    file.take(left).read_to_end(&mut rest)?;
    Ok(torn::is_cut_short(&rest, before, tasks))
}

/// The frames of `file` that are right: into `done` and to `sink`; how many bytes, and the last one's link.
#[expect(clippy::too_many_arguments, reason = "two callers, which have them all")]
fn accept(
    file: &File,
    path: &Path,
    bytes: u64,
    start: Link,
    tasks: u64,
    done: &mut Ranges,
    sink: &mut Sink<'_>,
    refused: &dyn Fn(io::Error) -> Error,
) -> Result<(u64, Link)> {
    let mut frames = Frames::new(BufReader::with_capacity(1 << 20, file), bytes, start);
    while let Some((range, outputs)) = frames.next().map_err(refused)? {
        // Frames that chain are this run's own; what is wrong in them was wrong when they were written.
        if range.end > tasks || !done.insert(range.clone()) {
            let what = format!(
                "tasks {}..{} are recorded twice, or do not exist in this run",
                range.start, range.end
            );
            return Err(Error::file(path, what, "begin anew in an empty folder"));
        }
        sink(range, Settled::Outputs(&outputs))?;
    }
    Ok(frames.end())
}

/// Gives a damaged file a second name, since a new file is about to take its own. Where there are no hard links it is copied.
fn set_aside(path: &Path) -> Result<PathBuf> {
    let mut names = (1..).map(|k| {
        path.with_extension(match k {
            1 => "damaged".to_string(),
            k => format!("damaged-{k}"),
        })
    });
    loop {
        let aside = names.next().unwrap_or_default();
        match fs::hard_link(path, &aside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Ok(()) => return Ok(aside),
            Err(_) => match copied(path, &aside) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let what = format!("it is damaged, and can't be copied to be kept: {error}");
                    return Err(Error::file(
                        path,
                        what,
                        "free disk space, then use --resume again",
                    ));
                }
                Ok(()) => return Ok(aside),
            },
        }
    }
}

/// Copies a file to a new one.
fn copied(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut File::open(from)?, &mut new_file().open(to)?).map(drop)
}
