//! A run on a grid from start to end: initial state, run, check, files, outcome. A [`Job`] says what the application
//! is; nothing here depends on the type of its cells.

use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use warpweft::cluster::broadcast;
use warpweft::element::CellType;
use warpweft::grid::{Axes, RawVolume, across, check_extents};
use warpweft::machine::DISTURBED;
use warpweft::prelude::*;
use warpweft::report::{Report, counted};
use warpweft::stencil::Spec;
use warpweft::stencil::drive::CompilingKernels;
use warpweft::trace::Trace;

use super::check::Check;
use super::check::against::{Ran, block};
use super::check::numbers::overflow;
use super::execute::{Host, Watch};
use super::files::{self, Outputs, Saved, Saving};
use super::options::Options;
use super::outcome::{Answer, NETWORK, Outcome};
use super::room::need_room;
use crate::arguments::as_size;
use crate::device::need_memory;
use crate::interrupt::{self, stopped};
use crate::output::note;
use crate::plot::{self, Look};
use crate::progress::Progress;
use crate::{place, world};

/// An application on a grid.
pub trait Job {
    /// Its name.
    fn app(&self) -> &'static str;
    /// The computation, for the report's first line.
    fn title(&self) -> String;
    /// Further settings, by name.
    fn settings(&self) -> Answer {
        Answer::new()
    }
    /// The extents.
    fn extents(&self) -> Axes<usize>;
    /// The computation, without boundaries.
    fn stencil(&self) -> Result<Spec>;
    /// The initial state; the same at every call.
    fn initial(&self) -> Result<RawVolume>;
    /// Compares the result of a run with a reference solution.
    fn check(&self, ran: &Ran<'_>) -> Result<Check>;
    /// The application's own results.
    fn answer(&self, volume: &RawVolume, report: &Report) -> Answer;
    /// What to show of the volume, and how.
    fn look(&self, volume: &RawVolume) -> Result<Look>;
    /// The same for pictures without axes: with the greys that `--input` reads, if it reads pictures.
    fn picture(&self, volume: &RawVolume) -> Result<Look> {
        self.look(volume)
    }
}

/// Runs `job` for `steps` steps. With several processes the first has an outcome; the others only take part.
pub fn run(job: &dyn Job, options: &Options, steps: u64) -> Result<Option<Outcome>> {
    let prepared = Prepared::of(job, options)?;
    let (volume, report) = prepared.run(steps)?;
    if !place::speaks() {
        return follow(|steps| prepared.again(steps)).map(|()| None);
    }
    let (mut saving, mut saved) = (prepared.saving(&volume, &report), Saved::default());
    // Saves the results first: a comparison may take longer than the run.
    let begin = Instant::now();
    saving.save_files(&mut saved);
    prepared.traced("save", begin);
    let check = prepared.check(&volume, &report, &mut saved)?;
    if let (Some(path), Some(trace)) = (&prepared.outputs.trace, &prepared.trace) {
        saving.add(path, || trace.save(path));
    }
    let saved = saving.save(saved);
    let answer = prepared.answer(&volume, &report, steps);
    Ok(Some(prepared.outcome(report, steps, answer, check, saved)))
}

/// A job whose preconditions are checked, as far as possible before it runs.
struct Prepared<'a> {
    job: &'a dyn Job,
    options: &'a Options,
    outputs: Outputs,
    faces: Axes<[Boundary; 2]>,
    host: Host,
    /// The computation without a stop criterion.
    endless: Spec,
    trace: Option<Arc<Trace>>,
}

impl<'a> Prepared<'a> {
    fn of(job: &'a dyn Job, options: &'a Options) -> Result<Self> {
        let extents = job.extents();
        let cells = check_extents(extents)?;
        let faces = options.grid.boundary.faces(extents.rank())?;
        let outputs = Outputs::prepare(job.app(), options)?;
        let spec = job.stencil()?;
        need_room(&outputs, spec.cell, cells)?;
        let endless = spec.faces(faces).named(job.app());
        endless.check(extents)?;
        let host = Host::ready(options)?;
        if let Some(better) = fast_axis_last(&extents) {
            note(&format!(
                "the cells of the last axis are contiguous in memory and vectorised: {} is faster than {}",
                as_size(&better),
                as_size(&extents)
            ));
        }
        let copies = host.copies(options.until.is_some());
        need_memory(extents.rank(), cells, copies * cell_bytes(endless.cell), &host.machine)?;
        host.need_device_memory(&endless, extents)?;
        let trace = options.trace.as_ref().map(|_| Arc::new(Trace::new()));
        Ok(Self { job, options, outputs, faces, host, endless, trace })
    }

    /// Runs the requested steps and returns the state after them.
    fn run(&self, steps: u64) -> Result<(RawVolume, Report)> {
        let stencil = match self.options.until {
            Some(until) => {
                let every = self.options.check_every.map_or(1, NonZero::get);
                self.endless.clone().until_every(until.0, until.1, every)
            }
            None => self.endless.clone(),
        };
        // The GPU and its kernels are made ready meanwhile.
        let compiling = self.host.compile_ahead(&stencil, self.job.extents(), steps);
        let begin = Instant::now();
        let mut volume = self.job.initial()?;
        self.traced("initial state", begin);
        interrupt::listen();
        let progress = Progress::new(self.job.app(), steps, volume.len());
        let told = |done: u64, _| progress.at(done);
        let watch = Watch { progress: &told, trace: self.trace.clone() };
        let report = self.host.execute(&stencil, &mut volume, steps, Some(watch));
        progress.clear();
        compiling.iter().flat_map(CompilingKernels::notes).for_each(|what| note(&what));
        let report = report?;
        // The process that measures the limits notes that they were disturbed, and the roofline line says so
        // too.
        report.notes.iter().filter(|what| !what.ends_with(DISTURBED)).for_each(|what| note(what));
        Ok((volume, report))
    }

    /// The state after `steps` steps of another run without progress display.
    fn again(&self, steps: u64) -> Result<RawVolume> {
        let mut volume = self.job.initial()?;
        self.host.execute(&self.endless, &mut volume, steps, None)?;
        Ok(volume)
    }

    /// The results and the plot, to be written.
    fn saving<'s>(&'s self, volume: &'s RawVolume, report: &Report) -> Saving<'s> {
        let (mut saving, done) = (Saving::default(), report.done);
        for (path, format) in &self.outputs.results {
            let picture = || self.job.picture(volume);
            saving.add(path, move || files::write(path, *format, volume, &picture));
        }
        if let Some(path) = &self.outputs.plot {
            saving.add(path, move || {
                let look = self.job.look(volume)?;
                plot::save(path, &self.plot_title(&look, done), volume, look)
            });
        }
        saving
    }

    /// The title of a plot.
    fn plot_title(&self, look: &Look, done: u64) -> String {
        let extents = self.job.extents();
        let field = match self.endless.cell.fields() {
            [_] => String::new(),
            fields => format!(" {}", fields[look.field].name),
        };
        let plane = match extents.rank() {
            3 => format!(", plane z = {}", extents[0] / 2),
            _ => String::new(),
        };
        format!("{}{field} {}{plane}, step {done}", self.job.app(), across(&extents))
    }

    /// Compares the result. An error of the comparison becomes a failure of `saved`.
    ///
    /// # Errors
    /// Those of sending to the other processes.
    fn check(&self, volume: &RawVolume, report: &Report, saved: &mut Saved) -> Result<Check> {
        let begin = Instant::now();
        let waiting = Progress::waiting("checking");
        let check = if report.interrupted {
            Ok(Check::none("interrupted"))
        } else if let Some(none) = self.options.checking.unchecked() {
            Ok(none)
        } else if let Some(failed) = overflow(volume, || self.job.initial()) {
            Ok(failed)
        } else {
            let again = |steps| lead(Some(steps)).and_then(|()| self.again(steps));
            let (block, reach) = (block(&report.policy), self.endless.reach());
            let (done, faces) = (report.done, self.faces);
            let full = self.options.checking.full();
            self.job.check(&Ran { after: volume, done, block, faces, reach, full, again: &again })
        };
        // The result exists, even if the comparison fails.
        let mut check = check.unwrap_or_else(|error| {
            let none = Check::none(&error);
            saved.failures.push(error);
            none
        });
        if stopped() && check.passed.is_some() {
            check = Check::none("interrupted");
        }
        if let Some(part) = check.part.as_mut().filter(|_| self.options.resume) {
            *part += ", computed again from the start (the resumed state is not compared)";
        }
        drop(waiting);
        lead(None)?;
        self.traced("check", begin);
        Ok(check)
    }

    /// The values of the report and of the application.
    fn answer(&self, volume: &RawVolume, report: &Report, steps: u64) -> Answer {
        let extents = self.job.extents();
        let mut answer = vec![("extents", json!(extents)), ("steps", report.done.into())];
        if report.interrupted {
            answer.push(("interrupted_before", steps.into()));
        }
        if report.first > 0 {
            answer.push(("resumed_from_step", report.first.into()));
        }
        if self.options.until.is_some() {
            answer.push(("residual", json!(report.residual)));
            // A resumed run without remaining steps has no residual if the earlier run checked none.
            answer.push(("converged", json!(report.converged())));
        }
        answer.extend(self.job.answer(volume, report));
        if let Some(network) = world::network() {
            answer.push((NETWORK, network.into()));
        }
        answer
    }

    /// The settings of the run.
    fn settings(&self, steps: u64) -> Answer {
        let input = self.options.input.as_ref().map(|path| path.display().to_string());
        let mut settings = vec![
            ("size", as_size(&self.job.extents()).into()),
            ("dtype", kinds(self.endless.cell).into()),
            ("boundary", self.options.grid.boundary.to_string().into()),
            ("steps", steps.into()),
            ("seed", self.options.seed.into()),
            ("input", input.into()),
        ];
        settings.extend(self.job.settings());
        settings
    }

    fn outcome(
        &self,
        report: Report,
        steps: u64,
        answer: Answer,
        check: Check,
        saved: Saved,
    ) -> Outcome {
        let done = counted(report.done, "step");
        let title = format!(
            "{} of {}, {}, {done}, {}",
            cells_of(&self.job.extents()),
            kinds(self.endless.cell),
            self.job.title(),
            self.options.grid.boundary
        );
        let interrupted = report.interrupted.then(|| match &self.options.checkpoint {
            Some(folder) => format!("{done}, whose state is in {}", folder.display()),
            None => done,
        });
        Outcome {
            app: self.job.app(),
            settings: self.settings(steps),
            title,
            interrupted,
            report,
            answer,
            check,
            lines: Vec::new(),
            saved,
            json: self.options.json,
        }
    }

    /// Records a span of the host from `begin` until now.
    fn traced(&self, what: &str, begin: Instant) {
        if let Some(trace) = &self.trace {
            trace.add("host", what, begin);
        }
    }
}

/// Tells the other processes to take part in a run of `steps` more steps, or that there is none.
fn lead(steps: Option<u64>) -> Result<()> {
    let Some(net) = world::net() else { return Ok(()) };
    let order = steps.map_or(Vec::new(), |steps| steps.to_le_bytes().to_vec());
    broadcast(net, order).map(|_| ())
}

/// Takes part in the runs that process 0 makes to check its result.
fn follow(again: impl Fn(u64) -> Result<RawVolume>) -> Result<()> {
    while let Some(net) = world::net() {
        let Ok(steps) = <[u8; 8]>::try_from(broadcast(net, Vec::new())?.as_slice()) else { break };
        again(u64::from_le_bytes(steps))?;
    }
    Ok(())
}

/// Number of bytes of a cell's fields.
pub fn cell_bytes(cell: CellType) -> u64 {
    cell.fields().iter().map(|field| field.kind.size() as u64).sum()
}

/// `f32`, or `13 fields of f32`.
fn kinds(cell: CellType) -> String {
    let mut names: Vec<_> = cell.fields().iter().map(|field| field.kind.name()).collect();
    let fields = names.len();
    names.dedup();
    match fields {
        1 => names.join(""),
        _ => format!("{fields} fields of {}", names.join(", ")),
    }
}

/// The same extents with the longest last, if the last is shorter than a vector and that matters.
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
