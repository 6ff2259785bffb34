//! A computation that stays on one device from call to call: its cells, threads, streams and kernels. A run is a session
//! that is opened, advanced once and closed. Not here: the loop over steps (`steps`), or the typed calls
//! (`crate::run::session`).

mod cells;
mod numbers;
mod ranks;
mod saving;
mod stages;
#[cfg(test)]
mod tests;

pub(crate) use ranks::agreed;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::checkpoint::{Opened, State};
use crate::drive::cut::distribution::Distribution;
use crate::drive::devices::Prepared;
use crate::drive::pace::Pace;
use crate::drive::rank_report::RankReport;
use crate::drive::start::Start;
use crate::drive::subdomain::LocalSubdomain;
use crate::drive::task::{Task, Watch};
use crate::exchange::Route;
use crate::plan::halo::Margin;
use crate::plan::partition::Partition;
use crate::run::Run;
use crate::spec::Spec;
use warpweft_core::cluster::{Alone, Transport};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::Machine;
use warpweft_core::report::{Report, Series};
use warpweft_core::run::{Devices, Stop};
use warpweft_core::trace::Trace;

/// A session whose type of cell is a value.
pub(crate) struct RawSession<'v> {
    spec: Spec,
    volume: &'v mut RawVolume,
    /// The volume on its device; none once the session has failed or is closed.
    local: Option<LocalSubdomain>,
    distribution: Distribution,
    /// What ghost zones have room for.
    margin: Margin,
    /// The other ranks, if there are any.
    net: Option<&'v dyn Transport>,
    prepared: Prepared<'v>,
    progress: Option<&'v dyn Fn(u64, u64)>,
    stop: Stop<'v>,
    trace: Option<Arc<Trace>>,
    pace: Pace,
    saved: Option<Opened>,
    probed: Mutex<Vec<Series>>,
    begun: Instant,
    /// Steps done when it was opened.
    first: State,
    /// What was done since.
    total: RankReport,
    /// Whether it is one of many calls, and no run of one.
    goes_on: bool,
    /// The step of the checkpoint that has the present cells.
    kept: Option<u64>,
    /// Whether the residual ended the last call.
    ended: bool,
    /// Whether the executor computes by other stages than `spec`'s.
    elsewhere: bool,
    /// Calls that are still to wait for the device, and when it was last waited for.
    waits: (u32, Instant),
    /// Whether the device has timed steps whose seconds are not in the total yet.
    timed: bool,
}

/// The longest time between two waits for the device: a fault of it is reported this late at most.
const LATEST: Duration = Duration::from_millis(100);
/// Calls in succession that wait: the time of the second is that of its own steps, so that kernels can be compared.
const WAITS: u32 = 2;

impl<'v> RawSession<'v> {
    /// The whole of `volume` on one of these devices. With a checkpoint, of `steps` steps in all.
    ///
    /// # Errors
    /// As [`Spec::run_with`].
    pub fn open<'r: 'v>(
        spec: &Spec,
        volume: &'v mut RawVolume,
        steps: u64,
        (machine, devices): (&'v Machine, &Devices<'v>),
        run: &Run<'r>,
    ) -> Result<Self> {
        let begun = Instant::now();
        let net = run.net.filter(|net| net.ranks() > 1);
        agreed(net, spec.check_volume(volume))?;
        let mut saved = spec.open_checkpoint(volume, steps, run)?;
        let probed = Mutex::new(spec.recorded_before(saved.as_mut()));
        let first = saved.as_ref().map(Opened::first).unwrap_or_default();
        let start = Start::of(volume, saved.as_ref().and_then(|saved| saved.from.as_ref()));
        let whole = Axes::filled(volume.rank(), 1);
        let margin = ranks::margin(spec, &spec.stages);
        let (distribution, (local, prepared)) = match net {
            Some(net) => ranks::made(spec, volume, machine, run, net)?,
            None => {
                let partition = Partition::grid(volume.extents(), whole, &spec.boundaries)?;
                let cut = Distribution::fixed(partition, 1);
                let all = (machine, devices);
                let made = made(spec, start, &cut, (first.step, steps), all, run)?;
                (cut, made)
            }
        };
        if let Some(trace) = &run.trace {
            trace.add("run", "set up", begun);
        }
        let step = volume.len() as f64 / prepared.cells_a_second;
        let total =
            RankReport { steps: first.step, residual: first.residual, ..RankReport::default() };
        Ok(Self {
            spec: spec.clone(),
            pace: Pace::new(step, prepared.depth),
            local: Some(local),
            progress: run.progress,
            stop: run.stop(),
            trace: run.trace.clone(),
            elsewhere: false,
            margin,
            net,
            waits: (2 * WAITS, begun),
            timed: false,
            goes_on: false,
            kept: saved.as_ref().and_then(|saved| saved.saver.last()),
            ended: false,
            volume,
            distribution,
            prepared,
            saved,
            probed,
            begun,
            first,
            total,
        })
    }

    /// Goes on until `steps` steps are done in all, or fewer where the stencil or an interrupt ends it.
    ///
    /// # Errors
    /// As the executor's. The session is over then; the volume is as it was when the session was opened, or when its
    /// executor was last made anew for other stages ([`RawSession::apply`]). What saving a state fails with; the session
    /// goes on then.
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        self.call(|| format!("run from step {} to {steps}", self.total.steps))?;
        match self.saved_every() {
            Some(every) => self.advance_saving(steps, every),
            None => self.advance_to(steps, steps),
        }
    }

    /// As [`RawSession::advance`], without saving where the session goes on; progress is told of `all` steps.
    fn advance_to(&mut self, steps: u64, all: u64) -> Result<()> {
        let begun = Instant::now();
        self.settle()?;
        if self.waits.1.elapsed() > LATEST {
            self.waits = (WAITS, begun);
        }
        if self.net.is_some() {
            self.refresh(&self.spec.stages.clone())?;
        }
        let Some(mut local) = self.local.take() else { return Err(over()) };
        let queues = self.goes_on && self.waits.0 == 0 && local.queues();
        self.pace.may_queue(queues);
        if queues {
            local.executor().time(true)?;
        } else {
            self.take_times(&mut local)?;
        }
        let first = State { step: self.total.steps, residual: self.first.residual.take() };
        let task =
            Task { saving: self.saver().filter(|_| !self.goes_on), ..self.task(first, steps) };
        let progress = self.progress;
        let report_progress = |done| progress.iter().for_each(|progress| progress(done, all));
        let watch = Watch { progress: &report_progress, stop: self.stop };
        let mine = match self.net {
            Some(net) => task.run(&mut local, net, &watch, None),
            None => task.run(&mut local, &Alone, &watch, Some(&self.pace)),
        };
        let mine = self.announced(mine)?;
        let mut seconds = mine.seconds;
        if queues {
            // The host does other things between calls, and so may the device.
            local.executor().time(false)?;
            (seconds, self.timed) = (0.0, true);
        }
        self.local = Some(local);
        self.waits.0 = self.waits.0.saturating_sub(1);
        self.ended = self.spec.until.is_some_and(|until| until.ended(mine.residual));
        self.total = RankReport {
            passes: self.total.passes + mine.passes,
            seconds: self.total.seconds + seconds,
            left_out: self.total.left_out + mine.left_out,
            residual: mine.residual.or(self.total.residual),
            ..mine
        };
        Ok(())
    }

    /// Adds what the device timed. Waits for that.
    fn take_times(&mut self, local: &mut LocalSubdomain) -> Result<()> {
        if std::mem::take(&mut self.timed) {
            self.total.seconds += local.executor().seconds()?;
        }
        Ok(())
    }

    /// The steps from `first` up to `steps` in all.
    fn task(&self, first: State, steps: u64) -> Task<'_> {
        Task {
            stencil: &self.spec,
            distribution: &self.distribution,
            start: Start::Volume(self.volume),
            first,
            steps,
            build: &*self.prepared.build,
            saving: self.saver(),
            trace: self.trace.as_deref(),
            rebalance: None,
            fused_steps: self.prepared.policy.steps_per_launch(self.spec.rank()),
            halos: Some(Route::Host),
            probed: &self.probed,
        }
    }

    /// More calls come: the state at the end of one is not that at the end of a run.
    pub fn goes_on(&mut self) {
        self.goes_on = true;
    }

    /// What a call of the executor gives that computes no cells. After an error, e.g. of memory, the session goes on; not
    /// after a fault, nor over ranks.
    fn with<T>(&mut self, call: impl FnOnce(&mut LocalSubdomain) -> Result<T>) -> Result<T> {
        let Some(mut local) = self.local.take() else { return Err(over()) };
        let outcome = self.announced(call(&mut local));
        if outcome.is_ok() || (self.net.is_none() && local.finish().is_ok()) {
            self.local = Some(local);
        }
        outcome
    }

    /// The volume as it was when the session was opened, with what was stored since.
    pub fn volume(&self) -> &RawVolume {
        self.volume
    }

    /// What it computes.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Whether the residual ended the last call: it was small enough, or NaN.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Steps done in all, the last residual, and whether the last call was interrupted.
    pub fn done(&self) -> &RankReport {
        &self.total
    }

    fn store(&mut self) -> Result<()> {
        if let Some(net) = self.net {
            return self.store_all(net);
        }
        let Some(mut local) = self.local.take() else { return Err(over()) };
        local.executor().finish()?;
        self.take_times(&mut local)?;
        // They outlive the executor.
        local.executor().end_numbers()?;
        local.executor().store(self.volume.writable())?;
        self.local = Some(local);
        Ok(())
    }

    /// Copies the cells back into the volume; what the session came to.
    ///
    /// # Errors
    /// The device's; a session that failed before.
    pub fn close(mut self) -> Result<Report> {
        let end = Instant::now();
        self.call(|| "finish".into())?;
        self.save_last()?;
        self.store()?;
        let mut history = None;
        if let Some(mut local) = self.local.take() {
            local.executor().end();
            self.prepared.notes.extend_from_slice(local.notes());
            history = local.history().cloned();
        }
        if let Some(trace) = &self.trace {
            trace.add("run", "store", end);
        }
        let mut notes = self.saved.take().map(|saved| saved.notes).unwrap_or_default();
        notes.append(&mut self.prepared.notes);
        self.prepared.notes = notes;
        let (cells, asked) = (self.volume.len(), self.first.step..self.total.steps);
        let mut report = self.spec.report_alone(cells, &self.total, asked, &mut self.prepared);
        if let Some(history) = history {
            history.write(&mut report.policy);
        }
        report.setup_seconds = self.begun.elapsed().as_secs_f64() - self.total.seconds;
        let probed = self.probed.get_mut().unwrap_or_else(PoisonError::into_inner);
        report.probes = std::mem::take(probed);
        Ok(report)
    }
}

impl Drop for RawSession<'_> {
    /// A session that nobody closed leaves its cells in the volume, unless it failed. Over ranks it does not: nobody
    /// knows whether the others end theirs.
    fn drop(&mut self) {
        if self.local.is_some() && self.net.is_none() {
            // Who wants to know of an error closes it.
            let _ = self.store();
        }
    }
}

fn over() -> Error {
    Error::spec(
        "a session that an error has ended",
        "open another: the volume is as it was when this one was opened or applied functions",
    )
}

/// The whole of the volume on its device; on the cores where no GPU was named and none can be used, e.g. for
/// want of NVRTC.
fn made<'m>(
    spec: &Spec,
    start: Start<'_>,
    distribution: &Distribution,
    (first, steps): (u64, u64),
    (machine, devices): (&'m Machine, &Devices<'m>),
    run: &Run<'_>,
) -> Result<(LocalSubdomain, Prepared<'m>)> {
    let partition = &distribution.partition;
    let (extents, zone) = (partition.extents(), partition.region(0).into());
    let make = |prepared: Prepared<'m>| {
        let (of, build) = ((partition, 0), &*prepared.build);
        let local = LocalSubdomain::new(spec, of, zone, start, build, first)?;
        Ok((local, prepared))
    };
    let left = steps.saturating_sub(first);
    let made = spec.prepare(extents, machine, run, (devices, left)).and_then(make);
    made.or_else(|error| {
        let mut cores = devices.instead(error, machine, run)?;
        let mut prepared = spec.prepare(extents, machine, run, (&cores, left))?;
        prepared.notes.append(&mut cores.notes);
        make(prepared)
    })
}
