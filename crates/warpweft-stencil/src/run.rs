//! Running a stencil: spec → predict → policy → plan → run → report. Not: what it runs on (`ready`).

use std::fmt;
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::checkpoint::{self, Checkpoint, Opened, Saver, State};
use super::distribute::Route;
use super::executor::SweepExecutor;
use super::fingerprint::fingerprint;
use super::model::Prediction;
use super::pace::Pace;
use super::plan::{Region, sweeps_of};
use super::policy::Policy;
use super::spec::{Spec, Steps};
use warpweft_core::cluster::{Alone, Launched};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::RawVolume;
use warpweft_core::machine::Machine;
use warpweft_core::memory::filled;
use warpweft_core::report::{Quantity, Report, Series};
use warpweft_core::run::GpuList;
use warpweft_core::trace::Trace;

/// Where a stencil runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The first GPU if there is one that can be used, else the cores.
    #[default]
    Auto,
    /// The cores.
    Cpu,
    /// The GPU with this number.
    Gpu(usize),
    /// Several GPUs, a subdomain each.
    Gpus(GpuList),
    /// The GPU with this number and the cores together, if the cores can add to its speed.
    CpuAndGpu(usize),
}

/// In words, as after "on".
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => write!(f, "the first GPU or the cores"),
            Self::Cpu => write!(f, "the cores"),
            Self::Gpu(number) => write!(f, "GPU {number}"),
            Self::Gpus(list) => {
                let numbers: Vec<_> = list.numbers().map(|number| number.to_string()).collect();
                let one = if numbers.len() == 1 { "GPU" } else { "GPUs" };
                write!(f, "{one} {}", numbers.join(", "))
            }
            Self::CpuAndGpu(number) => write!(f, "the cores and GPU {number}"),
        }
    }
}

/// How to run, where the defaults will not do.
#[derive(Clone, Default)]
pub struct Run<'a> {
    /// Where.
    pub target: Target,
    /// The tunables; tuned or default ones if `None`.
    pub policy: Option<Policy>,
    /// Threads on the cores; all of them if `None`.
    pub threads: Option<usize>,
    /// Told the steps done, of how many, every now and then.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
    /// Set by whoever wants the run to end after the present sweep; the state is stored then.
    pub interrupt: Option<&'a AtomicBool>,
    /// Where to record what happened when.
    pub trace: Option<Arc<Trace>>,
    /// Where the state is saved every so many steps, to go on from after a failure.
    pub checkpoint: Option<&'a Checkpoint>,
    /// How halos travel between ranks on GPUs; `$WARPWEFT_HALOS`, or the fastest way there is, if `None`.
    pub halos: Option<Route>,
}

impl Run<'_> {
    /// # Errors
    /// Threads are named, and none.
    pub(super) fn check_threads(&self) -> Result<()> {
        match self.threads {
            Some(0) => {
                Err(Error::spec("0 threads", "use at least 1, or leave them out for one a core"))
            }
            _ => Ok(()),
        }
    }
}

impl<const D: usize> Spec<D> {
    /// Advances `volume` by `steps` steps, or fewer when [`super::Stencil::until`] is met, as `run` says.
    ///
    /// # Errors
    /// As [`Spec::check`]; too little memory; a fault of the element function or of the device; a policy
    /// for another device than the target; a GPU that is not there. `volume` is then as it was.
    pub fn run_with(
        &self,
        volume: &mut RawVolume<D>,
        Steps(steps): Steps,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<Report> {
        run.check_threads()?;
        if let Target::CpuAndGpu(number) = run.target {
            return self.run_on_both(volume, Steps(steps), machine, number, run);
        }
        if let Target::Gpus(list) = run.target {
            return self.run_on_gpus(volume, Steps(steps), machine, list, run);
        }
        let extents = volume.extents();
        self.check_volume(volume)?;
        let begin = Instant::now();
        let mut saved = self.open_checkpoint(volume, steps, run)?;
        let mut probes = self.recorded_before(saved.as_mut());
        let whole = Region { low: [0; D], high: extents };
        let mut at = saved.as_ref().map(Opened::first).unwrap_or_default();
        let first = at.step;
        let mut ready = match saved.as_ref().and_then(|saved| saved.from.as_ref()) {
            Some(from) => self.prepare(&from.cells(whole.into())?, machine, run)?,
            None => self.prepare(volume, machine, run)?,
        };
        let saver = saved.as_ref().map(|saved| &saved.saver);
        let save = |executor: &mut dyn SweepExecutor<D>, at: State, probes: &[Series]| match saver {
            None => Ok(()),
            Some(saver) => {
                let mut state = RawVolume::zeroed(self.cell, extents)?;
                executor.store(state.writable())?;
                let mut cut = |field| {
                    filled(state.field_bytes(field).iter().copied(), "run without --checkpoint")
                };
                saver.save(&Alone, at, whole, &mut cut, probes)
            }
        };
        let mut kept = first;
        let met = |at: &State| {
            self.until.is_some_and(|until| at.residual.is_some_and(|r| r <= until.tolerance))
        };
        if at.step == 0 {
            // Says at once whether there is room, and makes a run that is stopped soon one to resume.
            save(&mut *ready.executor, at, &probes)?;
        }
        trace(run, "set up", begin);
        let start = Instant::now();
        let cells = volume.len();
        let pace = Pace::new(cells as f64 / ready.cells_a_second, ready.depth);
        let (mut interrupted, mut taken) = (false, 0);
        let visit = ready.policy.steps_a_visit::<D>();
        let saves = saver.map(Saver::every);
        let sweeps = sweeps_of(extents, at.step..steps, || pace.steps(), self.until, saves);
        for sweep in sweeps.flat_map(|sweep| self.points.cut(sweep)) {
            if met(&at) {
                break;
            }
            if run.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                interrupted = true;
                break;
            }
            let from = Instant::now();
            ready.executor.sweep(&sweep)?;
            ready.executor.finish()?;
            pace.took(sweep.steps, from.elapsed().as_secs_f64());
            taken += visit.count(sweep.steps);
            let before = at.step;
            at.step += sweep.steps;
            if let (Some(until), true) = (self.until, sweep.keep_change) {
                at.residual = Some(ready.executor.residual(until.residual)?);
            }
            if self.points.due(at.step) {
                self.points.after(at.step, &mut *ready.executor, &mut probes)?;
            }
            if let Some(trace) = &run.trace {
                trace.add("run", format!("steps {before}..{}", at.step), from);
            }
            if let Some(progress) = run.progress {
                progress(at.step, steps);
            }
            if saves.is_some_and(|every| at.step.is_multiple_of(every)) {
                save(&mut *ready.executor, at, &probes)?;
                kept = at.step;
            }
        }
        // The end is kept too: whoever wants more steps goes on from there.
        if at.step > kept {
            save(&mut *ready.executor, at, &probes)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let end = Instant::now();
        ready.executor.store(volume.writable())?;
        trace(run, "store", end);
        let done = at.step - first;
        if self.until.is_some() && at.residual.is_some_and(f64::is_nan) {
            ready
                .notes
                .push("the change of a step is no number, which no tolerance is met by".into());
        }
        let rate = cells as f64 * done as f64 / seconds.max(1e-9);
        let Prediction { bytes, bound, seconds: predicted } =
            self.predict(cells, done, taken, ready.bandwidth, ready.known_rate);
        Ok(Report {
            pattern: "stencil",
            devices: ready.devices,
            seconds,
            setup_seconds: (start - begin).as_secs_f64() + end.elapsed().as_secs_f64(),
            rate: Quantity { value: rate, unit: "cells/s" },
            bytes,
            roofline: bound.map(|value| Quantity { value, unit: "cells/s" }),
            roofline_fraction: bound.map(|bound| rate / bound),
            temporal_depth: (taken > 0).then(|| done as f64 / taken as f64),
            predicted_seconds: predicted,
            policy: serde_json::to_value(ready.policy).unwrap_or_default(),
            done: at.step,
            first,
            interrupted,
            residual: at.residual,
            tolerance: self.until.map(|until| until.tolerance),
            probes,
            notes: Launched::unjoined()
                .into_iter()
                .chain(saved.map(|saved| saved.notes).into_iter().flatten())
                .chain(self.points.without_effect(first..steps))
                .chain(ready.notes)
                .collect(),
        })
    }

    /// The folder that `run` names, if it does, for a run of one process that starts from `volume`.
    pub(super) fn open_checkpoint(
        &self,
        volume: &RawVolume<D>,
        steps: u64,
        run: &Run<'_>,
    ) -> Result<Option<Opened<D>>> {
        let open = |at: &Checkpoint| {
            let extents = volume.extents();
            let start = fingerprint(volume, [0; D], extents);
            checkpoint::open(at, self, (extents, start, steps), &Alone)
        };
        run.checkpoint.map(open).transpose()
    }

    /// What probes recorded before a run begins.
    pub(super) fn recorded_before(&self, saved: Option<&mut Opened<D>>) -> Vec<Series> {
        saved.map_or_else(|| self.points.series(0), |saved| take(&mut saved.recorded))
    }
}

fn trace(run: &Run<'_>, name: &str, from: Instant) {
    if let Some(trace) = &run.trace {
        trace.add("run", name, from);
    }
}
