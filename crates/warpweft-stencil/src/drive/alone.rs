//! A run of one process on one device: one subdomain over a transport that is alone. The entry of every run.

use std::mem::take;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::checkpoint::{self, Checkpoint, Opened};
use crate::drive::devices::Prepared;
use crate::drive::rank_report::RankReport;
use crate::drive::ranks::launch::Ranks;
use crate::drive::start::Start;
use crate::drive::subdomain::LocalSubdomain;
use crate::drive::task::{Distribution, Task, Watch};
use crate::exchange::Route;
use crate::model::Prediction;
use crate::plan::partition::Partition;
use crate::run::Run;
use crate::spec::fingerprint::fingerprint;
use crate::spec::{Spec, Steps};
use warpweft_core::cluster::{Alone, Launched};
use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::Machine;
use warpweft_core::report::{Quantity, Report, Series};
use warpweft_core::run::Devices;

impl Spec {
    /// Advances `volume` by `steps` steps, or fewer when [`crate::Stencil::until`] is met, as `run` says: the same
    /// bits whatever devices, ranks and threads there are.
    ///
    /// Over ranks of [`Run::net`] all of them call this with the same arguments. Afterwards rank 0's volume is the
    /// result; the others' hold theirs where they computed it and the start elsewhere. Rank 0's report is of all.
    ///
    /// # Errors
    /// As [`Spec::check`]; too little memory; a fault of the element function or of the device; a policy
    /// for another device than the target; a GPU that is not there. Over ranks also parts too small for the depth,
    /// with the deepest that fits; more than 256 ranks of a process, or 16 of each of several; ranks that disagree on
    /// what to compute or from what; another rank's error: any error is one on all ranks. `volume` is then as it was.
    pub fn run_with(
        &self,
        volume: &mut RawVolume,
        steps: Steps,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<Report> {
        match (run.net, run.settings.ranks) {
            (Some(net), ranks) if ranks.is_some() || net.ranks() > 1 => {
                let ranks = ranks.unwrap_or(Ranks { count: net.ranks(), grid: None, depth: None });
                return self.run_over_net(volume, steps, machine, &ranks, run, net);
            }
            (None, Some(ranks)) => {
                return self.run_over_threads(volume, steps, machine, &ranks, run);
            }
            _ => {}
        }
        let devices = run.devices(machine)?;
        match (devices.threads, &devices.gpus[..]) {
            (Some(_), [gpu]) => self.run_on_both(volume, steps, machine, gpu.ordinal, run),
            (_, [_, _, ..]) => self.run_on_gpus(volume, steps, machine, &devices.gpus, run),
            _ => self.run_alone(volume, steps, machine, run, &devices),
        }
    }

    /// One subdomain on one of these devices.
    pub(crate) fn run_alone<'m>(
        &self,
        volume: &mut RawVolume,
        Steps(steps): Steps,
        machine: &'m Machine,
        run: &Run<'_>,
        devices: &Devices<'m>,
    ) -> Result<Report> {
        let dims = volume.rank();
        self.check_volume(volume)?;
        let begin = Instant::now();
        let trace = |name: &str, from: Instant| {
            run.trace.iter().for_each(|trace| trace.add("run", name, from));
        };
        let mut saved = self.open_checkpoint(volume, steps, run)?;
        let probed = Mutex::new(self.recorded_before(saved.as_mut()));
        let first = saved.as_ref().map(Opened::first).unwrap_or_default();
        let partition = Partition::grid(volume.extents(), Axes::filled(dims, 1), &self.boundaries)?;
        let distribution = Distribution::fixed(partition, 1);
        let (mut executor, mine, mut prepared) = {
            let start = Start::of(volume, saved.as_ref().and_then(|saved| saved.from.as_ref()));
            let (mut local, prepared) =
                self.made(start, &distribution, first.step, (machine, devices), run)?;
            trace("set up", begin);
            let step = volume.len() as f64 / prepared.cells_a_second;
            let task = Task {
                stencil: self,
                distribution: &distribution,
                start,
                first,
                steps,
                build: &*prepared.build,
                saving: saved.as_ref().map(|saved| &saved.saver),
                trace: run.trace.as_deref(),
                rebalance: None,
                pace: Some((step, prepared.depth)),
                fused_steps: prepared.policy.steps_per_launch(self.rank()),
                halos: Some(Route::Host),
                probed: &probed,
            };
            let report_progress =
                |done| run.progress.iter().for_each(|progress| progress(done, steps));
            let watch = Watch { progress: &report_progress, stop: run.stop() };
            let mine = task.run(&mut local, &Alone, &watch)?;
            (local.into_executor(), mine, prepared)
        };
        let end = Instant::now();
        executor.store(volume.writable())?;
        trace("store", end);
        prepared.notes.splice(0..0, saved.map(|saved| saved.notes).unwrap_or_default());
        let mut report = self.report_alone(volume.len(), &mine, first.step..steps, prepared);
        report.setup_seconds = begin.elapsed().as_secs_f64() - mine.seconds;
        report.probes = probed.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(report)
    }

    /// The whole of the volume on its device; on the cores where no GPU was named and none can be used, e.g. for
    /// want of NVRTC.
    fn made<'a, 'm>(
        &'a self,
        start: Start<'a>,
        distribution: &'a Distribution,
        first: u64,
        (machine, devices): (&'m Machine, &Devices<'m>),
        run: &Run<'_>,
    ) -> Result<(LocalSubdomain<'a>, Prepared<'m>)> {
        let partition = &distribution.partition;
        let (extents, zone) = (partition.extents(), partition.region(0).into());
        let make = |prepared: Prepared<'m>| {
            let (of, build) = ((partition, 0), &*prepared.build);
            let local = LocalSubdomain::new(self, of, zone, start, build, first)?;
            Ok((local, prepared))
        };
        let made = self.prepare(extents, machine, run, devices).and_then(make);
        let (local, mut prepared) = made.or_else(|error| {
            let mut cores = devices.instead(error, machine, run)?;
            let mut prepared = self.prepare(extents, machine, run, &cores)?;
            prepared.notes.append(&mut cores.notes);
            make(prepared)
        })?;
        prepared.notes.extend_from_slice(local.notes());
        Ok((local, prepared))
    }

    /// What a run on one device came to; set-up and probes are left to be filled in.
    fn report_alone(
        &self,
        cells: usize,
        mine: &RankReport,
        asked: std::ops::Range<u64>,
        prepared: Prepared<'_>,
    ) -> Report {
        let (first, taken) = (asked.start, mine.passes);
        let done = mine.steps - first;
        let rate = cells as f64 * done as f64 / mine.seconds.max(1e-9);
        let Prediction { bytes, bound, seconds: predicted } =
            self.predict(cells, done, taken, prepared.bandwidth, prepared.known_rate);
        let mut notes: Vec<_> = Launched::unjoined().into_iter().collect();
        notes.extend(self.points.without_effect(asked));
        notes.extend(prepared.notes);
        if self.until.is_some() && mine.residual.is_some_and(f64::is_nan) {
            notes.push("the residual is NaN, which meets no tolerance".into());
        }
        Report {
            pattern: "stencil",
            devices: prepared.devices,
            seconds: mine.seconds,
            setup_seconds: 0.0,
            rate: Quantity { value: rate, unit: "cells/s" },
            bytes,
            roofline: bound.map(|value| Quantity { value, unit: "cells/s" }),
            roofline_fraction: bound.map(|bound| rate / bound),
            temporal_depth: (taken > 0).then(|| done as f64 / taken as f64),
            predicted_seconds: predicted,
            policy: serde_json::to_value(prepared.policy).unwrap_or_default(),
            done: mine.steps,
            first,
            interrupted: mine.interrupted,
            residual: mine.residual,
            tolerance: self.until.map(|until| until.tolerance),
            probes: Vec::new(),
            notes,
        }
    }

    /// The folder that `run` names, if it does, for a run of one process that starts from `volume`.
    pub(crate) fn open_checkpoint(
        &self,
        volume: &RawVolume,
        steps: u64,
        run: &Run<'_>,
    ) -> Result<Option<Opened>> {
        let dims = volume.rank();
        let open = |at: &Checkpoint| {
            let extents = volume.extents();
            let start = fingerprint(volume, Axes::filled(dims, 0), extents);
            checkpoint::open(at, self, (extents, start, steps), &Alone)
        };
        run.checkpoint.map(open).transpose()
    }

    /// What probes recorded before a run begins.
    pub(crate) fn recorded_before(&self, saved: Option<&mut Opened>) -> Vec<Series> {
        saved.map_or_else(|| self.points.series(0), |saved| take(&mut saved.recorded))
    }
}
