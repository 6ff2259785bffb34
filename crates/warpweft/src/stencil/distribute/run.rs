//! The run of a distributed stencil: swap, steps, swap, on every rank alike.

use std::time::Instant;

use super::super::boundary::Face;
use super::super::halo::{Footprint, Margin, Reach, Span, footprints};
use super::super::partition::Partition;
use super::super::spec::Stencil;
use super::feasible::check_depth;
use super::part::Part;
use super::residual::residual;
use super::swap::{Message, swap_messages};
use crate::cluster::{Tag, Transport, agree, in_process};
use crate::element::Fields;
use crate::error::{Error, Result};
use crate::grid::Volume;

/// How a stencil is spread. Changes time, never results.
#[derive(Clone, Debug)]
pub struct Distribution<const D: usize> {
    /// Who owns which cells; part p belongs to rank p.
    pub partition: Partition<D>,
    /// R, the steps between two swaps.
    pub depth: usize,
    /// Whether cells that neighbours wait for are computed first, and the rest of the last step while
    /// they are on their way.
    pub boundary_first: bool,
}

/// What one rank did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankReport {
    /// Steps done.
    pub steps: u64,
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
/// distributions and for small runs.
///
/// # Errors
/// As [`Stencil::check`] and [`check_depth`]; a partition of other extents; what any rank fails with.
pub fn run_in_process<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &mut Volume<S, D>,
    steps: u64,
    distribution: &Distribution<D>,
    deadline: std::time::Duration,
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
    let ranks = in_process(distribution.partition.parts(), deadline, |net| {
        let mut part = new_part(stencil, distribution, net.rank(), cell)?;
        let report = run_rank(stencil, distribution, &mut part, steps, net)?;
        Ok((part, report))
    })?;
    let (parts, reports): (Vec<_>, Vec<_>) = ranks.into_iter().unzip();
    for part in parts {
        part.store(volume);
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

fn new_part<'a, S: Fields, const D: usize>(
    stencil: &'a Stencil<S, D>,
    distribution: &'a Distribution<D>,
    part: usize,
    cell: impl Fn([usize; D]) -> S,
) -> Result<Part<'a, S, D>> {
    let stages = footprints(&stencil.stages);
    let ghosts = Reach::new(&stages, S::FIELDS.len(), distribution.depth).deepest();
    Part::new(stencil, &distribution.partition, part, &ghosts, cell)
}

/// One rank's loop. Ghost zones are valid on entry, so the first swap is skipped.
fn run_rank<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    distribution: &Distribution<D>,
    part: &mut Part<'_, S, D>,
    steps: u64,
    net: &dyn Transport,
) -> Result<RankReport> {
    let spec = format!(
        "{:?} steps of {:?} on {:?} of {:?}, R = {}",
        steps,
        stencil.stages.iter().map(|stage| stage.name()).collect::<Vec<_>>(),
        distribution.partition.parts_per_axis(),
        distribution.partition.extents(),
        distribution.depth
    );
    agree(net, "a run of", &spec)?;
    let stages = footprints(&stencil.stages);
    let mut report = RankReport::default();
    let mut sent_ahead = false;
    while report.steps < steps {
        let left = (steps - report.steps).min(distribution.depth as u64);
        let to_check = stencil.until.map_or(u64::MAX, |u| u.every - report.steps % u.every);
        let depth = left.min(to_check) as usize;
        let reach = Reach::new(&stages, S::FIELDS.len(), depth);
        if report.steps > 0 {
            // What was sent ahead was as deep as this swap, which was known then.
            swap(part, &messages(stencil, distribution, &reach), sent_ahead, net, &mut report)?;
        }
        // The swap after these steps, if there is one that may be begun early.
        let done = report.steps + depth as u64;
        let next_left = (steps - done).min(distribution.depth as u64);
        let ahead = distribution.boundary_first && stencil.until.is_none() && next_left > 0;
        let next = ahead.then(|| Reach::new(&stages, S::FIELDS.len(), next_left as usize));
        let checks = to_check == depth as u64;
        let before = advance(stencil, distribution, part, &reach, next.as_ref(), checks, net)?;
        sent_ahead = next.is_some();
        report.steps = done;
        if let (Some(until), Some(before)) = (stencil.until, before) {
            let change = |(field, before): (usize, Vec<f64>)| -> Vec<f64> {
                let after = part.own_values(field);
                before.iter().zip(after).map(|(&b, a)| until.residual.of_change(b, a)).collect()
            };
            let changes = stencil.written_fields().into_iter().zip(before).map(change).collect();
            let value = residual(net, &distribution.partition, until.residual, changes)?;
            report.residual = Some(value);
            if value <= until.tolerance {
                break;
            }
        }
    }
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

/// Computes `reach.depth` steps. With `next`, the first phase of the swap after them is sent
/// before the core of the last stage is computed. With `keep`, returns the written fields' own
/// values before the last step.
fn advance<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    distribution: &Distribution<D>,
    part: &mut Part<'_, S, D>,
    reach: &Reach<D>,
    next: Option<&Reach<D>>,
    keep: bool,
    net: &dyn Transport,
) -> Result<Option<Vec<Vec<f64>>>> {
    let partition = &distribution.partition;
    let mut before = None;
    for (step, margins) in reach.compute.iter().enumerate() {
        let last_step = step + 1 == reach.depth;
        if keep && last_step {
            let values = |field: usize| part.own_values(field);
            before = Some(stencil.written_fields().into_iter().map(values).collect());
        }
        for (index, (stage, margin)) in stencil.stages.iter().zip(margins).enumerate() {
            let stage = stage.as_ref();
            let region = partition.grown(net.rank(), margin);
            part.fill_boundary(stage, region);
            match next {
                Some(next) if last_step && index + 1 == stencil.stages.len() => {
                    let (rim, core) = rim_and_core(partition, net.rank(), &next.deepest());
                    for region in rim {
                        part.compute(stage, region);
                    }
                    if let Some(phase) = messages(stencil, distribution, next).first() {
                        for message in phase.iter().filter(|m| m.from == net.rank()) {
                            net.send(message.to, tag(message), part.pack(message, stage.writes()))?;
                        }
                    }
                    part.compute(stage, core);
                }
                _ => part.compute(stage, region),
            }
            part.publish(stage, region);
        }
    }
    Ok(before)
}

/// One swap: per phase, send, then receive. `ahead`: the first phase has been sent already.
fn swap<S: Fields, const D: usize>(
    part: &mut Part<'_, S, D>,
    phases: &[Vec<Message<D>>],
    ahead: bool,
    net: &dyn Transport,
    report: &mut RankReport,
) -> Result<()> {
    report.swaps += 1;
    for (index, phase) in phases.iter().enumerate() {
        for message in phase.iter().filter(|message| message.from == net.rank()) {
            if index > 0 || !ahead {
                net.send(message.to, tag(message), part.pack(message, &[]))?;
            }
            report.messages += 1;
            report.bytes += message.bytes;
        }
        for message in phase.iter().filter(|message| message.to == net.rank()) {
            let start = Instant::now();
            let bytes = net.receive(message.from, tag(message))?;
            report.waiting += start.elapsed().as_secs_f64();
            if !part.unpack(message, &bytes) {
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
        }
    }
    Ok(())
}

/// Two parts may be neighbours at two faces; axis and face tell their messages apart.
fn tag<const D: usize>(message: &Message<D>) -> Tag {
    let face = match message.face {
        Face::Low => 0,
        Face::High => 1,
    };
    Tag((2 * message.axis + face) as u16)
}

/// A part's own cells as boxes that neighbours' ghosts `ghosts` deep are copied from, and the box
/// inside of them.
fn rim_and_core<const D: usize>(
    partition: &Partition<D>,
    part: usize,
    ghosts: &Margin<D>,
) -> (Vec<Span<D>>, Span<D>) {
    let mut core = Span::from(partition.region(part));
    let mut rim = Vec::new();
    for d in 0..D {
        // What lies above a neighbour below is this part's low end, and the other way about.
        if partition.neighbour(part, d, Face::Low).is_some() {
            let mut low = core;
            low.high[d] = (core.low[d] + ghosts[d][1] as isize).min(core.high[d]);
            core.low[d] = low.high[d];
            rim.push(low);
        }
        if partition.neighbour(part, d, Face::High).is_some() {
            let mut high = core;
            high.low[d] = (core.high[d] - ghosts[d][0] as isize).max(core.low[d]);
            core.high[d] = high.low[d];
            rim.push(high);
        }
    }
    (rim, core)
}

/// The footprints of a spec, for [`deepest_feasible`](super::deepest_feasible) and the choice of
/// axes.
pub fn footprints_of<S: Fields, const D: usize>(stencil: &Stencil<S, D>) -> Vec<Footprint<D>> {
    footprints(&stencil.stages)
}
