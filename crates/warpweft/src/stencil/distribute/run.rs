//! Distributed runs within this process: ranks are threads.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::super::cpu::CpuSweeps;
use super::super::halo::{Footprint, Reach, footprints};
use super::super::partition::Partition;
use super::super::policy::CpuPolicy;
use super::super::spec::Stencil;
use super::compute::Compute;
use super::feasible::check_depth;
use super::halo_executor::HaloExecutor;
use super::part::Part;
use super::rank::{RankReport, Watch, run_rank};
use super::search::Search;
use super::swept::{Build, Swept};
use crate::cluster::in_process;
use crate::cpu::{Pool, Simd};
use crate::element::Fields;
use crate::error::{Error, Result};
use crate::grid::Volume;

/// How a stencil is spread. Changes time, never results.
#[derive(Clone, Debug)]
pub struct Distribution<const D: usize> {
    /// Who owns which cells; part p belongs to rank p.
    pub partition: Partition<D>,
    /// R, the steps between two swaps; with a search the most there may be, for which room is made.
    pub depth: usize,
    /// How R is found while the run goes on; `None` keeps it.
    pub search: Option<Search>,
    /// Whether cells that neighbours wait for are computed first, and the rest of the last step while
    /// they are on their way.
    pub boundary_first: bool,
}

/// Runs `steps` steps on one thread a part and leaves the result in `volume`: the bits of
/// [`super::super::reference`], whatever the distribution. Returns a report a rank.
///
/// Each part is computed by the plain loop over the user's function, so this is for checking
/// distributions and for small runs; for others see [`run_on_cores`].
///
/// # Errors
/// As [`Stencil::check`] and [`check_depth`]; a partition of other extents; what any rank fails with.
pub fn run_in_process<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &mut Volume<S, D>,
    steps: u64,
    distribution: &Distribution<D>,
    deadline: Duration,
) -> Result<Vec<RankReport>> {
    run(stencil, volume, steps, distribution, deadline, None, &unwatched())
}

fn unwatched() -> Watch<'static> {
    static NOBODY: AtomicU64 = AtomicU64::new(0);
    Watch { done: &NOBODY, stop: None, every: 1, trace: None }
}

/// As [`run_in_process`], each part swept at full speed by workers of its own, pinned to one of the
/// given lists of cores; parts beyond the last list begin again with the first.
///
/// An element function also sees states of cells that are about to be discarded, outside its part, which
/// need not be states that the run comes by. A fault is therefore put to the proof: the run is repeated
/// by the plain loop, which sees nothing else, and fails only if that fails too.
///
/// # Errors
/// As [`run_in_process`]; a policy that is out of range; no cores.
pub fn run_on_cores<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &mut Volume<S, D>,
    steps: u64,
    distribution: &Distribution<D>,
    policy: CpuPolicy,
    cores: &[Vec<usize>],
    deadline: Duration,
) -> Result<Vec<RankReport>> {
    run_watched(stencil, volume, steps, distribution, policy, cores, deadline, &unwatched())
}

/// As [`run_on_cores`], with somebody watching.
#[expect(
    clippy::too_many_arguments,
    reason = "what is run, how it is spread, where, and who watches"
)]
pub(super) fn run_watched<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &mut Volume<S, D>,
    steps: u64,
    distribution: &Distribution<D>,
    policy: CpuPolicy,
    cores: &[Vec<usize>],
    deadline: Duration,
    watch: &Watch<'_>,
) -> Result<Vec<RankReport>> {
    if cores.is_empty() {
        return Err(Error::spec("no cores to run on", "name at least one list of cores"));
    }
    let build = |stencil: &Stencil<S, D>, volume: &Volume<S, D>, part: usize| {
        let pool = Arc::new(Pool::new(&cores[part % cores.len()])?);
        let sweeps = CpuSweeps::new(stencil, volume, policy, pool, Simd::detect())?;
        Ok(Box::new(sweeps) as Box<dyn HaloExecutor<S, D>>)
    };
    let outcome = run(stencil, volume, steps, distribution, deadline, Some(&build), watch);
    if let Err(Error::Element { .. }) = outcome {
        let proof = run(stencil, volume, steps, distribution, deadline, None, watch);
        return if proof.is_ok() { proof } else { outcome };
    }
    outcome
}

fn run<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &mut Volume<S, D>,
    steps: u64,
    distribution: &Distribution<D>,
    deadline: Duration,
    build: Option<&Build<'_, S, D>>,
    watch: &Watch<'_>,
) -> Result<Vec<RankReport>> {
    if distribution.partition.extents() != volume.extents() {
        return Err(Error::spec(
            format!(
                "a partition of {:?} for a volume of {:?}",
                distribution.partition.extents(),
                volume.extents()
            ),
            "partition the volume that is run",
        ));
    }
    check(stencil, distribution)?;
    let start: &Volume<S, D> = volume;
    let cell = |at| start.get(at).unwrap_or_else(|| unreachable!("at is inside"));
    let partition = &distribution.partition;
    let stages = footprints(&stencil.stages);
    let ghosts = Reach::new(&stages, S::FIELDS.len(), distribution.depth).deepest();
    let ranks = in_process(partition.parts(), deadline, |net| {
        let rank = net.rank();
        let mut part: Box<dyn Compute<S, D> + '_> = match build {
            None => Box::new(Part::new(stencil, partition, rank, &ghosts, cell)?),
            Some(build) => {
                let zone = partition.grown(rank, &ghosts);
                Box::new(Swept::new(stencil, partition, rank, zone, cell, build)?)
            }
        };
        let report = run_rank(stencil, distribution, part.as_mut(), steps, net, watch)?;
        Ok((part.store()?, report))
    })?;
    let mut reports = Vec::with_capacity(ranks.len());
    for (rank, (held, report)) in ranks.into_iter().enumerate() {
        held.store(partition.region(rank), volume);
        reports.push(report);
    }
    Ok(reports)
}

fn check<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    distribution: &Distribution<D>,
) -> Result<()> {
    let partition = &distribution.partition;
    stencil.check(partition.extents())?;
    if !stencil.points.is_empty() {
        return Err(Error::spec(
            "sources or probes over several ranks",
            "run in one process on one GPU, or on the cores",
        ));
    }
    let stages = footprints(&stencil.stages);
    check_depth(partition, &stencil.boundaries, &stages, S::FIELDS.len(), distribution.depth)
}

/// The footprints of a spec, for [`deepest_feasible`](super::deepest_feasible) and the choice of
/// axes.
pub fn footprints_of<S: Fields, const D: usize>(stencil: &Stencil<S, D>) -> Vec<Footprint<D>> {
    footprints(&stencil.stages)
}
