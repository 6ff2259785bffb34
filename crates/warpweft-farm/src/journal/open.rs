//! Beginning a journal, or going on from one.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use super::Journal;
use super::frame::{Frames, Link, link};
use super::header::{self, Header, Work};
use super::write::Writer;
use crate::schedule::ranges::Ranges;
use crate::spec::chunk::{Settled, Sink};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::io::{Claim, open_regular, without_links, write_synced};

/// The file of frames.
const RESULTS: &str = "results";

/// More than this is no frame that a kill cut short, whatever its head says.
const TORN: u64 = 128 << 20;

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
        _ => String::new(),
    };
    let own = Header::new(of, Work { tasks, inputs, form });
    let mut done = Ranges::default();
    if begin(directory, *resume, &own)? != Begin::Anew {
        let path = directory.join(RESULTS);
        let refused = |error: io::Error| {
            Error::file(&path, format!("the journal can't be read: {error}"), "check the disk")
        };
        if let Some(file) = existing(&path).map_err(refused)? {
            let bytes = file.metadata().map_err(refused)?.len();
            let link = link(&own.text()?);
            accept(&file, &path, bytes, link, tasks, &mut done, &mut |_, _| Ok(()), &refused)?;
        }
    }
    Ok(done)
}

/// What a folder has for a run that is to keep a journal there.
enum Found {
    /// Nothing.
    Nothing,
    /// A header.
    Header(Header),
    /// Results with a header that can't be read, and why.
    Damaged(Error),
}

/// How a run begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// Without a journal.
    Anew,
    /// From the journal of this run.
    Resumed,
    /// The same, whose header was damaged: its results say whose they are.
    Rebuilt,
}

/// How the run of the header `own` begins in `folder`.
fn begin(folder: &Path, resume: bool, own: &Header) -> Result<Begin> {
    match there(folder, resume)? {
        Found::Nothing => Ok(Begin::Anew),
        Found::Damaged(_) if chains(folder, own)? => Ok(Begin::Rebuilt),
        Found::Damaged(error) => Err(error),
        Found::Header(there) => match there.differs(own) {
            Some(what) => {
                let what = match hashes(&there.of, &own.of) {
                    Some(parts) => format!("{what}; what differs: {parts}"),
                    None => what,
                };
                let what = format!("{}: holds a journal {what}", folder.display());
                Err(Error::spec(what, "choose another folder"))
            }
            None => Ok(Begin::Resumed),
        },
    }
}

/// The words before hashes of 16 digits, if two descriptions differ in nothing else.
fn hashes(theirs: &str, own: &str) -> Option<String> {
    let is_hash = |word: &str| word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words = |of: &str| of.split([' ', ',']).map(String::from).collect::<Vec<_>>();
    let (theirs, own) = (words(theirs), words(own));
    let other: Vec<_> = (0..own.len()).filter(|&k| theirs.get(k) != Some(&own[k])).collect();
    let plain = theirs.len() == own.len()
        && other.iter().all(|&k| k > 0 && is_hash(&theirs[k]) && is_hash(&own[k]));
    let names: Vec<_> = other.iter().filter(|_| plain).map(|&k| own[k - 1].as_str()).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// Whether the first result in `folder` is of the run of the header `own`: each is linked to the one before it, and the
/// first to the header's text.
fn chains(folder: &Path, own: &Header) -> Result<bool> {
    let path = folder.join(RESULTS);
    let first = || -> io::Result<bool> {
        let Some(file) = existing(&path)? else { return Ok(false) };
        let bytes = file.metadata()?.len();
        let link = link(&own.text().map_err(io::Error::other)?);
        Ok(Frames::new(BufReader::new(&file), bytes, link).next()?.is_some())
    };
    first().map_err(|error| Error::file(&path, error, "check the disk"))
}

/// What is in `folder`, if it may be there.
fn there(folder: &Path, resume: bool) -> Result<Found> {
    let refused = |what: &str, hint: &str| Err(Error::file(folder, what, hint));
    let results = folder.join(RESULTS).symlink_metadata().is_ok();
    match (Header::read(folder), resume) {
        (Err(error @ Error::File { .. }), true) if results => Ok(Found::Damaged(error)),
        (Err(error), _) => Err(error),
        (Ok(None), true) => {
            let what = "holds no journal to resume";
            if results {
                let what = format!("{what}: its file `results` is not of this run");
                let hint = "name the folder of the run that was stopped, or begin without --resume in an empty one";
                return Ok(Found::Damaged(Error::file(folder, what, hint)));
            }
            let hint = "begin without --resume, or name the folder of the run that was stopped";
            Err(Error::file(folder, what, hint))
        }
        // A run writes its header first.
        (Ok(None), false) if results => refused(
            "holds a file `results` and no header of a journal",
            "choose an empty folder, or go on with --resume if it is a journal's",
        ),
        (Ok(Some(_)), false) => Err(Error::spec(
            format!("{}: holds the journal of an earlier run", folder.display()),
            "continue it with --resume, or choose another folder",
        )),
        (Ok(None), false) => Ok(Found::Nothing),
        (Ok(Some(header)), true) => Ok(Found::Header(header)),
    }
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
            "{} was damaged; it is written again, because the recorded results belong to this run",
            header.display()
        ));
    }
    if begin != Begin::Resumed {
        write_synced(directory, header::NAME, &mut text.as_bytes()).map_err(refused)?;
    }
    let path = directory.join(RESULTS);
    let refused = |error: io::Error| {
        let what = format!("the journal can't be resumed: {error}");
        Error::file(&path, what, "free disk space for a copy of this file, then use --resume again")
    };
    let mut done = Ranges::default();
    let mut kept = (0, link(&text));
    let mut whole: Box<dyn Read> = Box::new(io::empty());
    if let Some(file) = existing(&path).map_err(refused)? {
        let bytes = file.metadata().map_err(refused)?.len();
        let said;
        (kept, said) = accept(&file, &path, bytes, kept.1, tasks, &mut done, sink, &refused)?;
        let left = bytes - kept.0;
        if left > 0 {
            notes.push(format!(
                "the last {left} bytes of {} are incomplete; their tasks are computed again",
                path.display()
            ));
        }
        if left > 0 && (said <= left || left > TORN) {
            let aside = set_aside(&path)?;
            notes.push(format!("the damaged file is kept as {}", aside.display()));
        }
        (&file).rewind().map_err(refused)?;
        whole = Box::new(file.take(kept.0));
    }
    // Anew, whatever there was: no old tail, no half of a block, no page that was never written.
    write_synced(directory, RESULTS, &mut whole).map_err(refused)?;
    let file = without_links(File::options().append(true)).open(&path).map_err(refused)?;
    Ok(Opened { done, writer: Writer::new(Box::new(file), path, kept.1, every, claim), notes })
}

/// The frames of `file` that are right: into `done` and to `sink`; how many bytes, the last one's link, and how many
/// bytes the next says that it has.
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
) -> Result<((u64, Link), u64)> {
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
    Ok((frames.end(), frames.said()))
}

/// Gives a damaged file a second name, since a new file is about to take its own. Copies nothing.
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
            Err(error) => {
                let what =
                    format!("it is damaged, and no hard link can be made to keep it: {error}");
                let hint = "copy its folder to a file system with hard links, and resume there";
                return Err(Error::file(path, what, hint));
            }
            Ok(()) => return Ok(aside),
        }
    }
}

fn existing(path: &Path) -> io::Result<Option<File>> {
    match open_regular(path, File::options().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}
