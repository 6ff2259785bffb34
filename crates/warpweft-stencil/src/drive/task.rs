//! A run from start to result as every rank knows it: what one rank does, and all of them as threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::pace::Pace;
use crate::checkpoint::{LARGE, Saver, State};
use crate::cpu::CpuSweeps;
use crate::drive::cut::distribution::Distribution;
use crate::drive::cut::feasible::check_depth;
use crate::drive::depth::search::Search;
use crate::drive::rank_report::RankReport;
use crate::drive::ranks::points::collect;
use crate::drive::start::Start;
use crate::drive::steps::{Rebalance, RunSteps, Saving, run_rank};
use crate::drive::subdomain::{Build, Built, LocalSubdomain};
use crate::exchange::Endpoint;
use crate::exchange::Route;
use crate::exchange::halo_messages;
use crate::executor::SweepExecutor;
use crate::model::FusedSteps;
use crate::plan::Region;
use crate::plan::halo::{Footprint, Reach, footprints};
use crate::policy::CpuPolicy;
use crate::spec::{Spec, Stencil};
use warpweft_core::cluster::{Transport, agree, in_process};
use warpweft_core::cpu::{Pool, Simd};
use warpweft_core::element::Fields;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, Volume, across};
use warpweft_core::report::Series;
use warpweft_core::run::Stop;
use warpweft_core::trace::Trace;

/// One run as every rank knows it: what, from where to where, and on what.
pub(crate) struct Task<'a> {
    pub stencil: &'a Spec,
    pub distribution: &'a Distribution,
    /// Where the first cells come from.
    pub start: Start<'a>,
    /// Steps done before, and the residual then.
    pub first: State,
    /// Steps to be done in all.
    pub steps: u64,
    /// Makes the executor of a subdomain.
    pub build: &'a Build<'a>,
    /// Where states are saved, if they are.
    pub saving: Option<&'a Arc<Saver>>,
    /// Where ranks record what they did when.
    pub trace: Option<&'a Trace>,
    /// Decides whether the subdomains are of the right sizes.
    pub rebalance: Option<&'a Rebalance<'a>>,
    /// The steps that are fused in one pass of cells over memory.
    pub fused_steps: FusedSteps,
    /// How halos travel, if that is not to be found out. Ranks that all compute on the cores say
    /// [`Route::Host`].
    pub halos: Option<Route>,
    /// What probes recorded: of the steps before on entry, and on rank 0 what all ranks add.
    pub probed: &'a Mutex<Vec<Series>>,
}

/// Who watches a run from outside.
pub(crate) struct Watch<'a> {
    /// Told the steps done, on rank 0.
    pub progress: &'a dyn Fn(u64),
    /// Says whether the run is to end.
    pub stop: Stop<'a>,
}

/// The own cells of one rank: the fields that a step writes, each with its bytes.
pub(crate) type Own = Vec<(usize, Vec<u8>)>;

impl Task<'_> {
    /// This rank's subdomain and ghost zone.
    pub(crate) fn subdomain(&self, rank: usize) -> Result<LocalSubdomain> {
        let partition = &self.distribution.partition;
        let zone = partition.grown(rank, &self.reach().deepest());
        let of = (partition, rank);
        LocalSubdomain::new(self.stencil, of, zone, self.start, self.build, self.first.step)
    }

    fn reach(&self) -> Reach {
        let stages = footprints(&self.stencil.stages);
        Reach::new(self.stencil.rank(), &stages, self.stencil.cell.len(), self.distribution.depth)
    }

    /// What this rank has to do of the run; what its own cells came to.
    ///
    /// # Errors
    /// Ranks that mean different runs; as [`Task::run`].
    pub fn rank(&self, net: &dyn Transport, watch: &Watch<'_>) -> Result<(Own, RankReport)> {
        let mut local = self.subdomain(net.rank())?;
        let connected = self.halos != Some(Route::Host);
        if connected {
            let (rank, fields) = (net.rank(), self.stencil.written_fields());
            let (partition, cells) = (&self.distribution.partition, self.stencil.cell.fields());
            let messages = halo_messages(partition, &self.reach(), cells, &fields);
            let mine = messages.iter().flatten().filter(|it| it.from == rank || it.to == rank);
            local.connect(&mine.map(Endpoint::from).collect::<Vec<_>>(), net, self.halos)?;
        }
        // Telling what a computation is takes longer than a short run of one rank.
        if self.distribution.partition.parts() > 1 {
            agree(net, "a run of", &self.meaning())?;
        }
        let report = self.run(&mut local, net, watch, None)?;
        let written = self.stencil.written_fields().into_iter();
        let own = written.map(|field| Ok((field, local.cells(field)?))).collect::<Result<_>>()?;
        if connected {
            local.disconnect(net)?;
        }
        Ok((own, report))
    }

    /// What all ranks must mean alike by it.
    fn meaning(&self) -> String {
        let Distribution { partition, depth, search, fused_steps, .. } = self.distribution;
        format!(
            "steps {} to {} of {}, {:?}, on {:?} ranks, R = {depth}, search {:?} in time blocks of {fused_steps}, saved every {:?}",
            self.first.step,
            self.steps,
            self.stencil.identity(partition.extents()),
            self.stencil.until,
            partition.parts_per_axis(),
            search.as_ref().map(Search::name),
            self.saving.map(|saver| saver.every()),
        )
    }

    /// The steps of this rank's subdomain, with checkpoints and probes. The only subdomain takes as many at once as
    /// `pace` says.
    pub(crate) fn run(
        &self,
        local: &mut LocalSubdomain,
        net: &dyn Transport,
        watch: &Watch<'_>,
        pace: Option<&Pace>,
    ) -> Result<RankReport> {
        let (stencil, distribution) = (self.stencil, self.distribution);
        let save = |state: State, local: &mut LocalSubdomain, must: bool| {
            self.save((state, must), local, net)
        };
        let saving = self.saving.map(|saver| Saving {
            every: saver.every(),
            saved: saver.last() == Some(self.first.step),
            save: &save,
        });
        let steps = RunSteps {
            first: self.first.step,
            steps: self.steps,
            residual: self.first.residual,
            report: watch.progress,
            stop: watch.stop,
            saving: saving.as_ref(),
            trace: self.trace,
            rebalance: self.rebalance,
            pace,
            fused_steps: self.fused_steps,
        };
        let report = run_rank(stencil, distribution, local, net, &steps)?;
        collect(&stencil.points, &distribution.partition, local.series(), self.probed, net)?;
        Ok(report)
    }

    /// Saves the state; whether it did, or has begun to: a large state that need not be saved is left out while the one
    /// before is being written.
    pub(crate) fn save(
        &self,
        (state, must): (State, bool),
        local: &mut LocalSubdomain,
        net: &dyn Transport,
    ) -> Result<bool> {
        let Some(saver) = self.saving else { return Ok(true) };
        let (partition, rank) = (&self.distribution.partition, net.rank());
        let aside = partition.parts() == 1 && local.bytes() >= LARGE && state.step > 0;
        if aside && !must && !saver.idle() {
            return Ok(false);
        }
        collect(&self.stencil.points, partition, local.series(), self.probed, net)?;
        if aside && !must {
            let volume = local.snapshot(saver.spare())?;
            saver.save_aside(state, volume, self.recorded().clone())?;
            return Ok(true);
        }
        saver.settle()?;
        // The others have none, and must not wait here while rank 0 does for them.
        let recorded = (rank == 0).then(|| self.recorded());
        let recorded = recorded.as_deref().map_or(&[][..], Vec::as_slice);
        let region = partition.region(rank);
        local.saved(|cut| saver.save(net, state, region, cut, recorded)).map(|()| true)
    }

    fn recorded(&self) -> MutexGuard<'_, Vec<Series>> {
        self.probed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all fits together.
    ///
    /// # Errors
    /// As [`Spec::check`] and [`check_depth`]; a partition of other extents.
    pub fn check(&self, extents: Axes<usize>) -> Result<()> {
        let partition = &self.distribution.partition;
        if partition.extents() != extents {
            return Err(Error::spec(
                format!(
                    "a partition of {} for a volume of {}",
                    across(&partition.extents()),
                    across(&extents)
                ),
                "partition the volume that is run",
            ));
        }
        self.stencil.check(extents)?;
        // Ranks, even one, hand back the fields that a step writes alone.
        self.stencil.check_points_of_parts()?;
        let (stages, depth) = (footprints(&self.stencil.stages), self.distribution.depth);
        check_depth(partition, &self.stencil.boundaries, &stages, self.stencil.cell.len(), depth)
    }

    /// All ranks as threads: what each came to.
    pub fn in_process(
        &self,
        deadline: Duration,
        progress: &(dyn Fn(u64) + Sync),
        stop: Stop<'_>,
    ) -> Result<Vec<(Own, RankReport)>> {
        let parts = self.distribution.partition.parts();
        in_process(parts, deadline, |net| {
            self.rank(net, &Watch { progress: &|done| progress(done), stop })
        })
    }
}

/// Puts what the rank of `region` came to into the whole volume.
pub(crate) fn store(volume: &mut RawVolume, region: Region, own: &Own) -> Result<()> {
    let Region { low, high } = region;
    own.iter().try_for_each(|(field, bytes)| volume.set_box(*field, low, high, bytes))
}

/// Puts what all ranks came to into the whole volume; their reports.
pub(crate) fn store_all(
    volume: &mut RawVolume,
    distribution: &Distribution,
    ranks: Vec<(Own, RankReport)>,
) -> Result<Vec<RankReport>> {
    let mut reports = Vec::with_capacity(ranks.len());
    for (rank, (own, report)) in ranks.into_iter().enumerate() {
        store(volume, distribution.partition.region(rank), &own)?;
        reports.push(report);
    }
    Ok(reports)
}

/// Makes each part's executor on cores of its own, pinned to one of the given lists; parts beyond
/// the last list begin again with the first.
pub(crate) fn on_cores(
    policy: CpuPolicy,
    cores: &[Vec<usize>],
) -> impl Fn(&Spec, &RawVolume, usize) -> Built + Sync + '_ {
    move |stencil, volume, part| {
        let pool = Arc::new(Pool::new(&cores[part % cores.len()])?);
        let sweeps = CpuSweeps::new(stencil, volume, policy, pool, Simd::detect())?;
        Ok(Box::new(sweeps) as Box<dyn SweepExecutor>)
    }
}

/// Runs `steps` steps on one rank a subdomain, each swept by workers of its own that are pinned to one of the given
/// lists of cores, and leaves the result in `volume`: the bits of [`crate::reference`], whatever the distribution.
/// Subdomains beyond the last list begin again with the first. Returns a report a rank. For checking distributions.
///
/// # Errors
/// As [`Spec::check`] and [`check_depth`]; a partition of other extents; a policy that is out of range; no cores; what
/// any rank fails with.
#[doc(hidden)]
pub fn run_on_cores<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &mut Volume<S, D>,
    steps: u64,
    distribution: &Distribution,
    policy: CpuPolicy,
    cores: &[Vec<usize>],
    deadline: Duration,
) -> Result<Vec<RankReport>> {
    if cores.is_empty() {
        return Err(Error::spec("no cores to run on", "name at least one list of cores"));
    }
    let build = on_cores(policy, cores);
    let volume = volume.raw_mut();
    let ranks = {
        let task = Task {
            stencil,
            distribution,
            start: Start::Volume(volume),
            first: State::default(),
            steps,
            build: &build,
            saving: None,
            trace: None,
            rebalance: None,
            fused_steps: FusedSteps::STEP,
            halos: Some(Route::Host),
            probed: &Mutex::default(),
        };
        task.check(volume.extents())?;
        task.in_process(deadline, &|_| (), Stop::default())?
    };
    store_all(volume, distribution, ranks)
}

/// The footprints of a spec, for [`deepest_feasible`](crate::drive::deepest_feasible) and the choice of
/// axes.
pub fn footprints_of(stencil: &Spec) -> Vec<Footprint> {
    footprints(&stencil.stages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::ranks::count::Ranks;
    use crate::prelude::{Near, stencil};
    use crate::reference;
    use warpweft_core::cluster::in_process;
    use warpweft_core::machine::Machine;

    #[stencil]
    fn mean(u: Near<f32, 2>) -> f32 {
        0.5 * (u[[-1, 0]] + u[[1, 0]])
    }

    #[test]
    fn a_search_begins_with_what_each_ranks_memory_allows_and_rank_0s_is_asked() {
        let stencil = Stencil::of(mean());
        let first = Volume::from_fn([64, 8], |[y, x]| ((y * 8 + x) as f32).sin());
        let raw = {
            let mut copy = first.clone();
            copy.raw_mut().cut_out([0; 2].into(), [64, 8].into()).unwrap()
        };
        let policy = CpuPolicy::default();
        let cores = [vec![Machine::detect().unwrap().cpu.cores[0]]];
        let build = on_cores(policy, &cores);
        let found = in_process(2, Duration::from_secs(60), |net| {
            let ranks = Ranks { count: 2, grid: Some([2, 1].into()), depth: None };
            let mut distribution = stencil.distribution([64, 8].into(), &ranks)?;
            distribution.begin_at(Some(8e9 * (1.0 + net.rank() as f64)), 8);
            let Some(Search::Guided(rates)) = distribution.search else { panic!("it is searched") };
            assert_eq!(rates.compute.per_unit, 1e-9 / (1.0 + net.rank() as f64));
            let task = Task {
                stencil: &stencil,
                distribution: &distribution,
                start: Start::Volume(&raw),
                first: State::default(),
                steps: 100,
                build: &build,
                saving: None,
                trace: None,
                rebalance: None,
                fused_steps: FusedSteps::STEP,
                halos: Some(Route::Host),
                probed: &Mutex::default(),
            };
            task.rank(net, &Watch { progress: &|_| (), stop: Stop::default() })
        });
        let mut expect = first.clone();
        reference(&stencil, &mut expect, 100).unwrap();
        let own: Vec<u8> = found
            .unwrap()
            .into_iter()
            .flat_map(|(own, _)| own)
            .flat_map(|(_, cells)| cells)
            .collect();
        let cells: Vec<f32> =
            own.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect();
        assert_eq!(cells, expect.as_slice());
    }
}
