//! The course of every run on a grid: initial state, run, check, files, outcome.

use warpweft::element::Scalar;
use warpweft::grid::check_extents;
use warpweft::prelude::*;

use super::check::Check;
use super::execute::{How, execute};
use super::files::{Look, Outputs};
use super::options::Options;
use super::outcome::Outcome;
use super::progress::Progress;
use super::trace::Trace;
use crate::arguments::apply;
use crate::interrupt;
use crate::plot;

/// An application on a grid of scalars.
pub trait Job<T: Scalar, const D: usize> {
    /// Its name.
    fn app(&self) -> &'static str;
    /// What it computes, for the report's first line.
    fn title(&self) -> String;
    /// The extents.
    fn extents(&self) -> [usize; D];
    /// The computation, boundaries not yet said.
    fn stencil(&self) -> Result<Stencil<T, D>>;
    /// The state it starts from; the same at every call.
    fn initial(&self) -> Result<Volume<T, D>>;
    /// Compares `volume`, the state after `done` steps, with an oracle. `again(n)` is the state
    /// after `n` steps of the same computation on the same device.
    fn check(
        &self,
        volume: &Volume<T, D>,
        done: u64,
        faces: &[[Boundary; 2]; D],
        again: &dyn Fn(u64) -> Result<Volume<T, D>>,
    ) -> Result<Check>;
    /// The application's own answer, with what NaN there is.
    fn answer(&self, volume: &Volume<T, D>) -> Vec<(&'static str, serde_json::Value)>;
    /// How to show it.
    fn look(&self, volume: &Volume<T, D>) -> Result<Look>;
}

/// Runs `job` for `steps` steps.
pub fn run<T: Scalar, const D: usize>(
    job: &impl Job<T, D>,
    options: &Options,
    steps: u64,
) -> Result<Outcome> {
    let app = job.app();
    let extents = job.extents();
    need_memory::<T, D>(check_extents(extents)?)?;
    let faces = options.boundary.faces::<D>()?;
    let outputs = Outputs::prepare(app, options)?;
    let endless = apply(job.stencil()?, &faces);
    endless.check(extents)?;
    let stencil = match options.until {
        Some(until) => endless.clone().until(until.0, until.1),
        None => endless.clone(),
    };

    let trace = Trace::new();
    let mut volume = trace.span("host", "initial state", || job.initial())?;
    let progress = Progress::new(app, steps, volume.len());
    let last = std::cell::Cell::new((0, trace.now()));
    let told = |done: u64| {
        let (before, from) = last.replace((done, trace.now()));
        trace.add("run", format!("steps {before}..{done}"), from);
        progress.at(done);
    };
    let how = |progress| How {
        device: options.device,
        threads: options.threads.map(Into::into),
        progress,
    };
    let report = execute(&stencil, &mut volume, steps, &how(&told));
    progress.clear();
    let report = report?;

    let check = if report.interrupted {
        Check::none("not compared: interrupted")
    } else {
        let again = |steps| {
            let mut volume = job.initial()?;
            execute(&endless, &mut volume, steps, &how(&|_| ()))?;
            Ok(volume)
        };
        trace.span("host", "check", || job.check(&volume, report.done, &faces, &again))?
    };

    let look = job.look(&volume)?;
    trace.span("host", "save", || outputs.save(&volume, look))?;
    if let Some(path) = &outputs.plot {
        let title = format!("{app} {}, step {}", shown(&extents), report.done);
        trace.span("host", "plot", || plot::save(path, &title, &volume, look))?;
    }
    if let Some(path) = &outputs.trace {
        trace.save(path)?;
    }

    let mut answer =
        vec![("extents", serde_json::json!(extents.as_slice())), ("steps", report.done.into())];
    if report.interrupted {
        answer.push(("interrupted_before", steps.into()));
    }
    if let Some(until) = options.until {
        answer.push(("residual", serde_json::json!(report.residual)));
        answer.push(("converged", report.residual.is_some_and(|r| r <= until.1).into()));
    }
    answer.extend(job.answer(&volume));
    Ok(Outcome {
        app,
        title: format!(
            "{} cells of {}, {}, {} steps, {}",
            shown(&extents),
            T::KIND.name(),
            job.title(),
            report.done,
            options.boundary
        ),
        report,
        answer,
        check,
        outputs: outputs.all().map(|path| path.display().to_string()).collect(),
        json: options.json,
        interrupted: interrupt::pressed(),
    })
}

/// `256 x 256 x 128`.
pub fn shown(extents: &[usize]) -> String {
    let extents: Vec<_> = extents.iter().map(ToString::to_string).collect();
    extents.join(" x ")
}

/// Refuses what the machine can't hold: the volume and two copies in an executor's layout.
fn need_memory<T: Scalar, const D: usize>(cells: usize) -> Result<()> {
    let needed = (cells as u64).saturating_mul(3 * size_of::<T>() as u64);
    let Some(available) = available_memory() else { return Ok(()) };
    if needed <= available {
        return Ok(());
    }
    let fits = (available as f64 / (3 * size_of::<T>()) as f64).powf(1.0 / D as f64);
    Err(Error::Memory {
        whose: "host".into(),
        needed,
        available,
        remedy: format!("choose a --size up to about {}", fits as u64),
    })
}

/// Bytes that can be had without swapping, where the system says.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
