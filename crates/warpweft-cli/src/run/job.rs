//! The course of every run on a grid: initial state, run, check, files, outcome.

use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

use warpweft::cluster::broadcast;
use warpweft::element::Fields;
use warpweft::grid::{across, check_extents};
use warpweft::machine::DISTURBED;
use warpweft::prelude::*;
use warpweft::report::{Report, counted};
use warpweft::trace::Trace;

use super::against::{Ran, block};
use super::check::Check;
use super::execute::{Host, Watch};
use super::files::{self, Outputs, Saved};
use super::numbers::overflow;
use super::options::Options;
use super::outcome::{Answer, Outcome};
use super::room::need_room;
use crate::arguments::{apply, as_size};
use crate::device::need_memory;
use crate::interrupt::stopped;
use crate::output::note;
use crate::plot::{self, Look};
use crate::progress::Progress;
use crate::{place, world};

/// An application on a grid.
pub trait Job<S: Fields, const D: usize> {
    /// Its name.
    fn app(&self) -> &'static str;
    /// What it computes, for the report's first line.
    fn title(&self) -> String;
    /// What else was asked for, by name.
    fn settings(&self) -> Answer {
        Answer::new()
    }
    /// The extents.
    fn extents(&self) -> [usize; D];
    /// The computation, boundaries not yet said.
    fn stencil(&self) -> Result<Stencil<S, D>>;
    /// The state it starts from; the same at every call.
    fn initial(&self) -> Result<Volume<S, D>>;
    /// Compares what a run came to with an oracle.
    fn check(&self, ran: &Ran<'_, S, D>) -> Result<Check>;
    /// The application's own answer.
    fn answer(
        &self,
        volume: &Volume<S, D>,
        report: &Report,
    ) -> Vec<(&'static str, serde_json::Value)>;
    /// What to show of it, and how.
    fn look(&self, volume: &Volume<S, D>) -> Result<Look>;
    /// The same for pictures without axes: with the greys that `--input` reads, where it reads pictures.
    fn picture(&self, volume: &Volume<S, D>) -> Result<Look> {
        self.look(volume)
    }
}

/// Runs `job` for `steps` steps. Of several processes the first has an outcome; the others only take
/// part.
pub fn run<S: Fields, const D: usize>(
    job: &impl Job<S, D>,
    options: &Options,
    steps: u64,
) -> Result<Option<Outcome>> {
    let app = job.app();
    let extents = job.extents();
    let cells = check_extents(extents)?;
    let faces = options.grid.boundary.faces::<D>()?;
    let outputs = Outputs::prepare(app, options)?;
    need_room::<S>(&outputs, cells)?;
    let endless = apply(job.stencil()?, &faces).named(app);
    endless.check(extents)?;
    let host = Host::ready(options)?;
    if let Some(better) = fast_axis_last(&extents) {
        note(&format!(
            "cells of the last axis lie side by side and are computed together: {} is faster than {}",
            as_size(&better),
            as_size(&extents)
        ));
    }
    need_memory::<D>(
        cells,
        host.copies(options.until.is_some()) * cell_bytes::<S>(),
        &host.machine,
    )?;
    host.need_device_memory(&endless, extents)?;
    let stencil = match options.until {
        Some(until) => {
            let every = options.check_every.map_or(1, NonZero::get);
            endless.clone().until_every(until.0, until.1, every)
        }
        None => endless.clone(),
    };

    let trace = options.trace.as_ref().map(|_| Arc::new(Trace::new()));
    let begin = Instant::now();
    let mut volume = job.initial()?;
    traced(&trace, "initial state", begin);
    let progress = Progress::new(app, steps, volume.len());
    let told = |done: u64, _| progress.at(done);
    let watch = Watch { progress: &told, trace: trace.clone() };
    let report = host.execute(&stencil, &mut volume, steps, Some(watch));
    progress.clear();
    let report = report?;
    // That the limits were disturbed is noted by whoever measures them, and stands beside the bound.
    report.notes.iter().filter(|what| !what.ends_with(DISTURBED)).for_each(|what| note(what));

    let again = |steps| {
        let mut volume = job.initial()?;
        host.execute(&endless, &mut volume, steps, None)?;
        Ok(volume)
    };
    if !place::speaks() {
        return follow(again).map(|()| None);
    }
    // What was asked for first: a comparison may take longer than the run.
    let mut saved = Saved::default();
    let begin = Instant::now();
    for (path, format) in &outputs.results {
        saved.add(path, files::write(path, *format, &volume, || job.picture(&volume)));
    }
    if let Some(path) = &outputs.plot {
        let title = |look: &Look| {
            let field = if S::FIELDS.len() > 1 { S::FIELDS[look.field].name } else { "" };
            let space = if field.is_empty() { "" } else { " " };
            let plane = match D {
                3 => format!(", plane z = {}", extents[0] / 2),
                _ => String::new(),
            };
            format!("{app}{space}{field} {}{plane}, step {}", across(&extents), report.done)
        };
        let drawn = job.look(&volume);
        saved.add(path, drawn.and_then(|look| plot::save(path, &title(&look), &volume, look)));
    }
    traced(&trace, "save", begin);

    let begin = Instant::now();
    let waiting = Progress::waiting("checking");
    let check = if report.interrupted {
        Ok(Check::none("interrupted"))
    } else if let Some(failed) = overflow(&volume, || job.initial()) {
        Ok(failed)
    } else {
        let again = |steps| lead(Some(steps)).and_then(|()| again(steps));
        let (block, reach) = (block(&report.policy), endless.reach());
        let done = report.done;
        job.check(&Ran { after: &volume, done, block, faces, reach, again: &again })
    };
    // The answer is there, whatever hinders the comparison.
    let mut check = check.unwrap_or_else(|error| {
        let none = Check::none(&error);
        saved.failures.push(error);
        none
    });
    if stopped() && check.passed.is_some() {
        check = Check::none("interrupted");
    }
    if let Some(part) = check.part.as_mut().filter(|_| options.resume) {
        *part += ", made anew (the resumed state is not compared)";
    }
    drop(waiting);
    lead(None)?;
    traced(&trace, "check", begin);

    if let (Some(path), Some(trace)) = (&outputs.trace, &trace) {
        saved.add(path, trace.save(path));
    }

    let mut answer =
        vec![("extents", serde_json::json!(extents.as_slice())), ("steps", report.done.into())];
    if report.interrupted {
        answer.push(("interrupted_before", steps.into()));
    }
    if report.first > 0 {
        answer.push(("resumed_from_step", report.first.into()));
    }
    if options.until.is_some() {
        answer.push(("residual", serde_json::json!(report.residual)));
        // A run that was through before it began, by one that checked nothing, knows no residual.
        answer.push(("converged", serde_json::json!(report.converged())));
    }
    answer.extend(job.answer(&volume, &report));
    if let Some(network) = world::network() {
        answer.push(("network", network.into()));
    }
    let mut settings = vec![
        ("size", as_size(&extents).into()),
        ("dtype", kinds::<S>().into()),
        ("boundary", options.grid.boundary.to_string().into()),
        ("steps", steps.into()),
        ("seed", options.seed.into()),
        ("input", options.input.as_ref().map(|path| path.display().to_string()).into()),
    ];
    settings.extend(job.settings());
    Ok(Some(Outcome {
        app,
        settings,
        title: format!(
            "{} of {}, {}, {}, {}",
            cells_of(&extents),
            kinds::<S>(),
            job.title(),
            counted(report.done, "step"),
            options.grid.boundary
        ),
        interrupted: report.interrupted.then(|| {
            let done = counted(report.done, "step");
            match &options.checkpoint {
                Some(folder) => format!("{done}, whose state is in {}", folder.display()),
                None => done,
            }
        }),
        report,
        answer,
        check,
        lines: Vec::new(),
        saved,
        json: options.json,
    }))
}

/// Tells the other processes to take part in a run of so many steps more, or that there is none.
fn lead(steps: Option<u64>) -> Result<()> {
    let Some(net) = world::net() else { return Ok(()) };
    let order = steps.map_or(Vec::new(), |steps| steps.to_le_bytes().to_vec());
    broadcast(net, order).map(|_| ())
}

/// Takes part in the runs that process 0 makes to check its answer.
fn follow<T>(again: impl Fn(u64) -> Result<T>) -> Result<()> {
    while let Some(net) = world::net() {
        let Ok(steps) = <[u8; 8]>::try_from(broadcast(net, Vec::new())?.as_slice()) else { break };
        again(u64::from_le_bytes(steps))?;
    }
    Ok(())
}

/// Bytes of a cell's fields.
pub fn cell_bytes<S: Fields>() -> u64 {
    S::FIELDS.iter().map(|field| field.kind.size() as u64).sum()
}

/// `f32`, or `13 fields of f32`.
fn kinds<S: Fields>() -> String {
    let mut names: Vec<_> = S::FIELDS.iter().map(|field| field.kind.name()).collect();
    let fields = names.len();
    names.dedup();
    match fields {
        1 => names.join(""),
        _ => format!("{fields} fields of {}", names.join(", ")),
    }
}

/// The same extents with the longest last, where the last is shorter than a vector and that matters.
fn fast_axis_last(extents: &[usize]) -> Option<Vec<usize>> {
    let (&last, longest) = (extents.last()?, *extents.iter().max()?);
    (last < 16 && longest >= 1024).then(|| {
        let mut better = extents.to_vec();
        let at = better.iter().position(|&n| n == longest).unwrap_or_default();
        let moved = better.remove(at);
        better.push(moved);
        better
    })
}

/// `256 x 256 x 128 cells`.
pub fn cells_of(extents: &[usize]) -> String {
    let one = extents.iter().all(|&n| n == 1);
    format!("{} cell{}", across(extents), if one { "" } else { "s" })
}

/// Records what the host did since `begin`.
fn traced(trace: &Option<Arc<Trace>>, what: &str, begin: Instant) {
    if let Some(trace) = trace {
        trace.add("host", what, begin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thin_last_axis_is_told_with_what_is_faster() {
        assert_eq!(fast_axis_last(&[1_000_000, 1, 1]), Some(vec![1, 1, 1_000_000]));
        assert_eq!(fast_axis_last(&[64, 4096, 3]), Some(vec![64, 3, 4096]));
        assert_eq!(fast_axis_last(&[4096, 4096]), None);
        assert_eq!(fast_axis_last(&[8, 8, 8]), None);
    }
}
