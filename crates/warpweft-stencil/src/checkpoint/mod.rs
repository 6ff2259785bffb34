//! Long runs: the state saved every so many steps, so that a run that was killed goes on from there.
//!
//! A checkpoint is a folder `step-000000001200` with a file a part (`part`) and a manifest that is
//! written last (`manifest`); all is written next to, brought to the disk, and renamed, so a folder of
//! that name is whole. What probes recorded lies in files next to the folders, which only grow (`probes`). The cells lie in
//! files by position, so any number of ranks, on any devices, can go on from them. Not here: when to save, which is the
//! runs' business.

mod aside;
mod format;
mod hashed;
mod load;
mod manifest;
mod probes;
mod save;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use aside::LARGE;
use aside::Settled;
use load::Other;
pub(crate) use load::Saved;
use manifest::Manifest;
pub(crate) use save::Saver;

use super::plan::Region;
use super::spec::Spec;
use crate::spec::identity::Part;
use warpweft_core::cluster::{Transport, agree_on};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::Axes;
use warpweft_core::grid::io::Claim;
use warpweft_core::report::Series;

/// Where a run saves its state, how often, and whether it goes on from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The folder of the checkpoints. It is created if it does not exist, but its parent must exist. Only one run at a time
    /// can use it. It must be visible to the ranks of all hosts.
    pub directory: PathBuf,
    /// Steps between two, at least 1.
    pub every: u64,
    /// Whether to resume from the newest undamaged checkpoint. If false, the folder must have no checkpoint. Call a resumed run
    /// with the same initial volume as the original run; another one is refused.
    pub resume: bool,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct State {
    /// Steps done.
    pub step: u64,
    /// The residual of the last check.
    pub residual: Option<f64>,
}

/// What is computed, and from what: a checkpoint and the run that goes on from it must agree on both.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Origin {
    /// The computation, as [`Spec::identity`] tells it.
    pub of: String,
    /// What it is of, as [`Spec::parts`] tells it.
    pub parts: Vec<Part>,
    /// The [fingerprint](crate::spec::fingerprint) of the initial state.
    pub start: String,
}

impl Origin {
    /// Of the run of `stencil` over `extents` from the state with this fingerprint.
    pub fn new(stencil: &Spec, extents: Axes<usize>, start: u64) -> Self {
        let (of, parts) = (stencil.identity(extents), stencil.parts());
        Self { of, parts, start: format!("{start:016x}") }
    }
}

/// Gives the bytes of one field's cells in the part that is saved.
pub(crate) type Cut<'a> = dyn FnMut(usize) -> Result<Vec<u8>> + 'a;

/// A run that saves its state: where it begins, and what saves.
pub(crate) struct Opened {
    /// What it goes on from.
    pub from: Option<Saved>,
    /// What saves the states to come.
    pub saver: Arc<Saver>,
    /// What probes recorded until then, on rank 0.
    pub recorded: Vec<Series>,
    /// What the user should know, e.g. of a damaged checkpoint.
    pub notes: Vec<String>,
    _settled: Settled,
    /// Of the folder, on rank 0.
    _claim: Option<Claim>,
}

impl Opened {
    /// Where the run begins.
    pub fn first(&self) -> State {
        self.from.as_ref().map(Saved::state).unwrap_or_default()
    }
}

/// Looks into the folder, on every rank at once: rank 0 chooses, the others follow.
///
/// # Errors
/// On every rank: a folder that can't be made or read, or that another run has; to be resumed, no checkpoint, or one of
/// another computation, initial state or format or of more than `steps` steps, or none that is whole;
/// otherwise checkpoints of an earlier run.
pub(crate) fn open(
    checkpoint: &Checkpoint,
    stencil: &Spec,
    (extents, start, steps): (Axes<usize>, u64, u64),
    net: &dyn Transport,
) -> Result<Opened> {
    let Checkpoint { directory, every, resume } = checkpoint;
    if *every == 0 {
        return Err(Error::spec("a checkpoint every 0 steps", "save every 1 or more steps"));
    }
    let origin = Origin::new(stencil, extents, start);
    let mut notes = Vec::new();
    let mut claim = None;
    let mut recorded = stencil.points.series(0);
    let chosen = if net.rank() == 0 {
        claimed(directory, *resume).and_then(|claimed| {
            notes.extend(claimed.note(directory));
            claim = Some(claimed);
            let of = (stencil, extents);
            let chosen = choose(directory, &origin, of, *resume, &mut notes)?;
            Ok(chosen.map(|(saved, series)| {
                notes.extend(lacking(&series, saved.state().step));
                recorded = series;
                saved
            }))
        })
    } else {
        Ok(None)
    };
    let step = chosen.as_ref().map(|found| found.as_ref().map(|saved| saved.state().step));
    let text = step.map(|step| step.map_or(Vec::new(), |step| step.to_le_bytes().to_vec()));
    let told = agree_on(net, text.map_err(clone_of))?;
    let from = match <[u8; 8]>::try_from(told.as_slice()) {
        Err(_) => None,
        Ok(_) if net.rank() == 0 => chosen?,
        Ok(step) => {
            let step = u64::from_le_bytes(step);
            Some(Saved::open(&directory.join(folder_name(step)), &origin, (stencil.cell, extents))?)
        }
    };
    let last = from.as_ref().map(|saved| saved.state().step);
    if let Some(last) = last.filter(|&last| last > steps) {
        return Err(Error::spec(
            format!("the run has {steps} steps, but the checkpoint is of step {last}"),
            "give the total number of steps, including those that are already done",
        ));
    }
    let of = (stencil.cell, extents);
    let saver = Arc::new(Saver::new(directory, *every, origin, of, &stencil.points, last));
    if net.rank() == 0 {
        saver.tidy();
    }
    let settled = Settled(Arc::clone(&saver));
    Ok(Opened { from, saver, recorded, notes, _settled: settled, _claim: claim })
}

/// The folder, made if it is not there, as this run's own; unless there is nothing to resume in it.
fn claimed(directory: &Path, resume: bool) -> Result<Claim> {
    if resume && steps(directory)?.is_empty() {
        return Err(Error::file(
            directory,
            "holds no checkpoint to resume",
            "begin without --resume (`resume: false`), or name the folder of the run that was stopped",
        ));
    }
    Claim::of(directory)
}

/// The newest checkpoint that is whole, if the run is to go on from one, and what probes recorded until then.
fn choose(
    directory: &Path,
    origin: &Origin,
    (stencil, extents): (&Spec, Axes<usize>),
    resume: bool,
    notes: &mut Vec<String>,
) -> Result<Option<(Saved, Vec<Series>)>> {
    let mut steps = steps(directory)?;
    if !resume {
        return steps.last().map_or(Ok(None), |&step| Err(taken(directory, step, origin)));
    }
    let whole = |folder: &Path| {
        let saved = Saved::open(folder, origin, (stencil.cell, extents))?;
        saved.verify()?;
        let recorded = saved.recorded(&stencil.points)?;
        Ok((saved, recorded))
    };
    let mut damaged = Vec::new();
    while let Some(step) = steps.pop() {
        match whole(&directory.join(folder_name(step))) {
            Ok(whole) => return Ok(Some(whole)),
            // Another computation's are as whole as they ever were.
            Err(error @ Error::Spec { .. }) => return Err(error),
            Err(error) => {
                // What to do about it is done here.
                let damage = match &error {
                    Error::File { path, what, .. } => format!("{}: {what}", path.display()),
                    other => other.to_string(),
                };
                notes.push(format!(
                    "the checkpoint of step {step} is damaged ({damage}); the run resumes from an earlier one"
                ));
                damaged.push(damage);
            }
        }
    }
    Err(Error::file(
        directory,
        format!("all checkpoints are damaged ({})", damaged.join("; ")),
        "start a new run in an empty folder",
    ))
}

/// Which records a run that goes on from `step` won't have.
fn lacking(recorded: &[Series], step: u64) -> impl Iterator<Item = String> {
    recorded.iter().enumerate().filter(|(_, series)| series.first > series.every).map(
        move |(number, Series { first, .. })| {
            format!(
                "probe {number} has no records before step {first}, because the checkpoint of step {step} has none of this probe"
            )
        },
    )
}

/// The refusal to begin where there are checkpoints, the newest of `step`: by the name of their run, if that
/// is another than this.
fn taken(directory: &Path, step: u64, origin: &Origin) -> Error {
    let manifest = Manifest::read(&directory.join(folder_name(step)));
    let other = manifest.ok().and_then(|manifest| Other::than(&manifest, origin));
    let (whose, hint) = match &other {
        Some(other) => (other.of.as_str(), "choose another folder"),
        None => (
            "an earlier run",
            "go on from there with --resume (`resume: true`), or choose another folder",
        ),
    };
    let directory = directory.display();
    let what = format!("{directory}: holds checkpoints, the last of step {step}, of {whose}");
    Error::spec(what, hint)
}

fn folder_name(step: u64) -> String {
    format!("step-{step:012}")
}

/// The step whose folder has this name.
fn step_of(name: &str) -> Option<u64> {
    let step = name.strip_prefix("step-")?.parse().ok()?;
    (name == folder_name(step)).then_some(step)
}

/// The steps of all complete checkpoints, ascending; none of a folder that is not there.
fn steps(directory: &Path) -> Result<Vec<u64>> {
    let told = |error| Error::file(directory, error, "choose a folder that can be read");
    let mut steps = Vec::new();
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(steps),
        entries => entries.map_err(told)?,
    };
    for entry in entries {
        steps.extend(entry.map_err(told)?.file_name().to_str().and_then(step_of));
    }
    steps.sort_unstable();
    Ok(steps)
}

/// The same error once more, for where it is both told to others and returned.
fn clone_of(error: &Error) -> Error {
    match error {
        Error::Spec { what, hint } => Error::spec(what.clone(), hint.clone()),
        Error::File { path, what, hint } => Error::file(path, what, hint.clone()),
        other => Error::spec(other.to_string(), "see the folder of the checkpoints"),
    }
}

/// A part of the volume, `[low, high)` per axis, as manifests name it.
fn region_of(low: &[usize], high: &[usize]) -> Option<Region> {
    (low.len() == high.len()).then_some(())?;
    Some(Region { low: Axes::from_slice(low)?, high: Axes::from_slice(high)? })
}
