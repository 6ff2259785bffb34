//! The entry of every run, and one on one device: a session that is opened, run and closed.

use std::mem::take;

use crate::checkpoint::{self, Checkpoint, Opened};
use crate::drive::ranks::count::Ranks;
use crate::drive::session::RawSession;
use crate::run::Run;
use crate::spec::fingerprint::fingerprint;
use crate::spec::{Spec, Steps};
use warpweft_core::cluster::Alone;
use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::Machine;
use warpweft_core::report::{Report, Series};
use warpweft_core::run::Devices;

impl Spec {
    /// Advances `volume` by `steps` steps, or fewer when [`crate::Stencil::until`] is met, as `run` says: the same
    /// bits whatever devices, ranks and threads there are.
    ///
    /// With several ranks ([`Run::net`]), all of them call this with the same arguments. Afterwards rank 0's volume is the
    /// result; the volumes of the other ranks are unspecified. Rank 0's report covers all ranks.
    ///
    /// # Errors
    /// As [`Spec::check`]; too little memory; a fault of the element function or of the device; a policy
    /// for another device than the target; a GPU that is not there. Over ranks also parts too small for the depth,
    /// with the deepest that fits; more than 256 ranks of a process, or 16 of each of several; ranks that disagree on
    /// what to compute or from what; another rank's error: any error is one on all ranks. `volume` is then as it was,
    /// unless a device fails while the result is copied back.
    pub fn run_with(
        &self,
        volume: &mut RawVolume,
        steps: Steps,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<Report> {
        if self.regrouped {
            return self.run_regrouped(volume, steps, machine, run);
        }
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
    pub(crate) fn run_alone(
        &self,
        volume: &mut RawVolume,
        Steps(steps): Steps,
        machine: &Machine,
        run: &Run<'_>,
        devices: &Devices<'_>,
    ) -> Result<Report> {
        let mut session = RawSession::open(self, volume, steps, (machine, devices), run)?;
        session.advance(steps)?;
        session.close()
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
