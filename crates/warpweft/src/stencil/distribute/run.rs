//! The run of a distributed stencil: swap, steps, swap, on every rank alike.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::cpu::CpuSweeps;
use super::super::halo::{Footprint, Reach, footprints};
use super::super::partition::Partition;
use super::super::policy::CpuPolicy;
use super::super::spec::Stencil;
use super::compute::{Advanced, Compute};
use super::feasible::check_depth;
use super::halo_executor::HaloExecutor;
use super::pace::Pace;
use super::part::Part;
use super::residual::residual;
use super::search::Search;
use super::swap::{Message, swap_messages};
use super::swept::{Build, Swept};
use crate::cluster::{Transport, agree, in_process};
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

/// What one rank did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankReport {
    /// Steps done.
    pub steps: u64,
    /// Steps between the last swaps.
    pub depth: usize,
    /// Swaps taken part in.
    pub swaps: u64,
    /// Messages sent.
    pub messages: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Seconds spent waiting for messages.
    pub waiting: f64,
    /// The last residual, for runs that check one.
    pub residual: Option<f64>,
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
    run(stencil, volume, steps, distribution, deadline, None)
}

/// As [`run_in_process`], each part swept at full speed by workers of its own, pinned to one of the
/// given lists of cores; parts beyond the last list begin again with the first.
///
/// An element function also sees states of cells that are about to be discarded, outside its part, which
/// need not be states that the run comes by.
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
    if cores.is_empty() {
        return Err(Error::spec("no cores to run on", "name at least one list of cores"));
    }
    let build = |stencil: &Stencil<S, D>, volume: &Volume<S, D>, part: usize| {
        let pool = Arc::new(Pool::new(&cores[part % cores.len()])?);
        let sweeps = CpuSweeps::new(stencil, volume, policy, pool, Simd::detect())?;
        Ok(Box::new(sweeps) as Box<dyn HaloExecutor<S, D>>)
    };
    run(stencil, volume, steps, distribution, deadline, Some(&build))
}

fn run<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &mut Volume<S, D>,
    steps: u64,
    distribution: &Distribution<D>,
    deadline: Duration,
    build: Option<&Build<'_, S, D>>,
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
        let report = run_rank(stencil, distribution, part.as_mut(), steps, net)?;
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
    let stages = footprints(&stencil.stages);
    check_depth(partition, &stencil.boundaries, &stages, S::FIELDS.len(), distribution.depth)
}

/// One rank's loop. Ghost zones are valid on entry, so the first swap is skipped.
fn run_rank<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    distribution: &Distribution<D>,
    part: &mut dyn Compute<S, D>,
    steps: u64,
    net: &dyn Transport,
) -> Result<RankReport> {
    let spec = format!(
        "{:?} steps of {:?} on {:?} of {:?}, R = {}, search {:?}",
        steps,
        stencil.stages.iter().map(|stage| stage.name()).collect::<Vec<_>>(),
        distribution.partition.parts_per_axis(),
        distribution.partition.extents(),
        distribution.depth,
        distribution.search
    );
    agree(net, "a run of", &spec)?;
    let stages = footprints(&stencil.stages);
    let mut report = RankReport::default();
    let mut pace = match distribution.search {
        None => Pace::fixed(distribution.depth),
        Some(search) => Pace::searching(search.start(
            &distribution.partition,
            &stages,
            S::FIELDS,
            distribution.depth,
        )),
    };
    let mut sent_ahead = false;
    while report.steps < steps {
        let left = (steps - report.steps).min(pace.next(net, report.steps)? as u64);
        let to_check = stencil.until.map_or(u64::MAX, |u| u.every - report.steps % u.every);
        let depth = left.min(to_check) as usize;
        let reach = Reach::new(&stages, S::FIELDS.len(), depth);
        if report.steps > 0 {
            // What was sent ahead was as deep as this swap, which was known then.
            swap(part, &messages(stencil, distribution, &reach), sent_ahead, net, &mut report)?;
        }
        // The swap after these steps, if there is one whose depth is known already.
        let done = report.steps + depth as u64;
        let following = (steps - done).min(pace.following().unwrap_or(0) as u64) as usize;
        let ahead = distribution.boundary_first && stencil.until.is_none() && following > 0;
        let next = ahead.then(|| {
            let reach = Reach::new(&stages, S::FIELDS.len(), following);
            messages(stencil, distribution, &reach)
        });
        let first_phase = next.as_ref().and_then(|phases| phases.first()).map(Vec::as_slice);
        let checks = to_check == depth as u64;
        let Advanced { before, sent } = part.advance(&reach, first_phase, checks, net)?;
        sent_ahead = sent;
        report.steps = done;
        if let (Some(until), Some(before)) = (stencil.until, before) {
            let mut changes = Vec::new();
            for (field, before) in stencil.written_fields().into_iter().zip(before) {
                let pairs = before.iter().zip(part.own_values(field)?);
                changes.push(pairs.map(|(&b, a)| until.residual.of_change(b, a)).collect());
            }
            let value = residual(net, &distribution.partition, until.residual, changes)?;
            report.residual = Some(value);
            if value <= until.tolerance {
                break;
            }
        }
    }
    report.depth = pace.depth();
    Ok(report)
}

fn messages<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    distribution: &Distribution<D>,
    reach: &Reach<D>,
) -> Vec<Vec<Message<D>>> {
    // Fields that no stage writes never change, so their ghosts stay valid.
    swap_messages(&distribution.partition, reach, S::FIELDS, &stencil.written_fields())
}

/// One swap: per phase, send, then receive. `ahead`: the first phase has been sent already.
fn swap<S: Fields, const D: usize>(
    part: &mut dyn Compute<S, D>,
    phases: &[Vec<Message<D>>],
    ahead: bool,
    net: &dyn Transport,
    report: &mut RankReport,
) -> Result<()> {
    report.swaps += 1;
    for (index, phase) in phases.iter().enumerate() {
        for message in phase.iter().filter(|message| message.from == net.rank()) {
            if index > 0 || !ahead {
                net.send(message.to, message.tag(), part.pack(message)?)?;
            }
            report.messages += 1;
            report.bytes += message.bytes;
        }
        for message in phase.iter().filter(|message| message.to == net.rank()) {
            let start = Instant::now();
            let bytes = net.receive(message.from, message.tag())?;
            report.waiting += start.elapsed().as_secs_f64();
            if bytes.len() as u64 != message.bytes {
                return Err(Error::Rank {
                    rank: net.rank(),
                    what: format!(
                        "{} bytes of halo from rank {}, {} expected",
                        bytes.len(),
                        message.from,
                        message.bytes
                    ),
                    remedy: "start every rank with the same program and arguments".into(),
                });
            }
            part.unpack(message, &bytes)?;
        }
    }
    Ok(())
}

/// The footprints of a spec, for [`deepest_feasible`](super::deepest_feasible) and the choice of
/// axes.
pub fn footprints_of<S: Fields, const D: usize>(stencil: &Stencil<S, D>) -> Vec<Footprint<D>> {
    footprints(&stencil.stages)
}
