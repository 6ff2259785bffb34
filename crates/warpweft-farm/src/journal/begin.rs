//! Inspects the folder of a journal: whether there is one, and whether a run may resume it. Reads only.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use super::frame::{Frames, link};
use super::header::Header;
use super::refused::refused;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::io::open_regular;

/// The file of frames.
pub const RESULTS: &str = "results";

/// What a folder has for a run that is to keep a journal there.
pub enum Found {
    /// Nothing.
    Nothing,
    /// A header.
    Header(Header),
    /// Results with a header that can't be read, and why.
    Damaged(Error),
}

/// How a run begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Without a journal.
    Anew,
    /// From the journal of this run.
    Resumed,
    /// The same, whose header was damaged: its results say whose they are.
    Rebuilt,
}

/// How the run of the header `own` begins in `folder`.
///
/// # Errors
/// As [`open`](super::open::open)'s, as far as headers and the first result tell.
pub fn begin(folder: &Path, resume: bool, own: &Header) -> Result<Begin> {
    match there(folder, resume)? {
        Found::Nothing => Ok(Begin::Anew),
        Found::Damaged(_) if chains(folder, own)? => Ok(Begin::Rebuilt),
        Found::Damaged(error) => Err(not_of_this_run(folder, error)),
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
    first().map_err(|error| unreadable(&path, &error))
}

/// The error for the file at `path` that can't be read.
pub fn unreadable(path: &Path, error: &io::Error) -> Error {
    refused(path, "the journal can't be read", error, "free disk space")
}

/// The error if the header can't be read (`error` says why) and the results do not chain to this run's header. The stopped run may
/// have had other arguments. Its results are then intact, and the hint says how to resume them.
fn not_of_this_run(folder: &Path, error: Error) -> Error {
    let recorded = folder.join(RESULTS).metadata().is_ok_and(|known| known.len() > 0);
    match error {
        Error::File { path, what, .. } if recorded => {
            let what = format!(
                "{what}, and the file `results` is not of a run with these arguments, or is damaged too"
            );
            let hint = "name the folder of the run that was stopped, and repeat its command with exactly its arguments and \
                        --resume: if its results are intact, it goes on from them; or begin anew in an empty folder";
            Error::file(path, what, hint)
        }
        error => error,
    }
}

/// The error for a question about a journal whose header can't be read, for the reason that `error` tells.
pub fn unknown(folder: &Path, error: Error) -> Error {
    let what = match error {
        Error::File { what, .. } => what,
        other => other.to_string(),
    };
    let what = format!("what its journal has is known only once it is resumed: {what}");
    Error::file(
        folder,
        what,
        "resume the run, which writes the header again if the results are its own",
    )
}

/// What is in `folder`, if it may be there.
///
/// # Errors
/// Something that may not, or that can't be read.
pub fn there(folder: &Path, resume: bool) -> Result<Found> {
    let refused = |what: &str, hint: &str| Err(Error::file(folder, what, hint));
    let results = folder.join(RESULTS).symlink_metadata().is_ok();
    match (Header::read(folder), resume) {
        (Err(error @ Error::File { .. }), true) if results => Ok(Found::Damaged(error)),
        (Err(Error::File { path, what, .. }), false) if results => Err(Error::file(
            path,
            what,
            "continue the run that was stopped with --resume, which writes this file again, or choose another folder",
        )),
        (Err(error), _) => Err(error),
        (Ok(None), true) => {
            let what = "holds no journal to resume";
            if results {
                let hint = "name the folder of the run that was stopped, or begin without --resume in an empty one";
                return Ok(Found::Damaged(Error::file(folder, "has no header of a journal", hint)));
            }
            let hint = "begin without --resume, or name the folder of the run that was stopped";
            Err(Error::file(folder, what, hint))
        }
        // A run writes its header first.
        (Ok(None), false) if results => refused(
            "holds a file `results` and no header of a journal",
            "choose an empty folder, or use --resume if that file belongs to a journal",
        ),
        (Ok(Some(_)), false) => Err(Error::spec(
            format!("{}: holds the journal of an earlier run", folder.display()),
            "continue it with --resume, or choose another folder",
        )),
        (Ok(None), false) => Ok(Found::Nothing),
        (Ok(Some(header)), true) => Ok(Found::Header(header)),
    }
}

/// The file of results at `path`, if there is one.
///
/// # Errors
/// It can't be opened, or is not a regular file.
pub fn existing(path: &Path) -> io::Result<Option<File>> {
    match open_regular(path, File::options().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}
