//! What every rank does: swap, steps, swap, over any transport and any executor.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::super::halo::{Reach, footprints};
use super::super::spec::Stencil;
use super::compute::{Advanced, Compute};
use super::pace::Pace;
use super::residual::residual;
use super::run::Distribution;
use super::swap::{Message, swap_messages};
use crate::cluster::{Transport, agree, broadcast};
use crate::element::Fields;
use crate::error::{Error, Result};
use crate::trace::Trace;

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
    /// Seconds from the first step to the last, all ranks having begun.
    pub seconds: f64,
    /// Whether the run was asked to stop before it was through.
    pub interrupted: bool,
    /// Seconds spent waiting for messages.
    pub waiting: f64,
    /// The last residual, for runs that check one.
    pub residual: Option<f64>,
}

/// Who watches a run from outside.
pub(super) struct Watch<'a> {
    /// Rank 0 keeps the steps done here.
    pub done: &'a AtomicU64,
    /// Set by whoever wants the run to end; rank 0 looks at it every so many steps.
    pub stop: Option<&'a AtomicBool>,
    /// Steps between two looks, at least 1.
    pub every: u64,
    /// Where ranks record what they did when.
    pub trace: Option<&'a Trace>,
}

/// One rank's loop. Ghost zones are valid on entry, so the first swap is skipped.
pub(super) fn run_rank<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    distribution: &Distribution<D>,
    part: &mut dyn Compute<S, D>,
    steps: u64,
    net: &dyn Transport,
    watch: &Watch<'_>,
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
    let mut plans = Plans { stencil, distribution, rank: net.rank(), known: HashMap::new() };
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
    let begun = Instant::now();
    let traced = |name: &str, from: Instant| {
        if let Some(trace) = watch.trace {
            trace.add(format!("rank {}", net.rank()), name, from);
        }
    };
    while report.steps < steps {
        let left = (steps - report.steps).min(pace.next(net, report.steps)? as u64);
        let to_check = stencil.until.map_or(u64::MAX, |u| u.every - report.steps % u.every);
        let depth = left.min(to_check) as usize;
        let plan = plans.of(depth);
        if report.steps > 0 {
            // What was sent ahead was as deep as this swap, which was known then.
            let from = Instant::now();
            swap(part, &plan.phases, sent_ahead, net, &mut report)?;
            traced("swap", from);
        }
        // The swap after these steps, if there is one whose depth is known already.
        let done = report.steps + depth as u64;
        let following = (steps - done).min(pace.following().unwrap_or(0) as u64) as usize;
        let ahead = distribution.boundary_first && stencil.until.is_none() && following > 0;
        let next = ahead.then(|| plans.of(following));
        let first_phase = next.as_ref().and_then(|plan| plan.phases.first()).map(Vec::as_slice);
        let checks = to_check == depth as u64;
        let from = Instant::now();
        let Advanced { before, sent } = part.advance(&plan.reach, first_phase, checks, net)?;
        traced(&format!("steps {}..{done}", report.steps), from);
        sent_ahead = sent;
        let before_these = report.steps;
        report.steps = done;
        if net.rank() == 0 {
            watch.done.store(done, Ordering::Relaxed);
        }
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
        // All ranks come by the same steps, so all of them ask, and all stop or none.
        if let Some(stop) = watch.stop
            && before_these / watch.every != done / watch.every
        {
            let order = vec![u8::from(stop.load(Ordering::Relaxed))];
            if broadcast(net, order)? == [1] {
                report.interrupted = true;
                break;
            }
        }
    }
    report.seconds = begun.elapsed().as_secs_f64();
    report.depth = pace.depth();
    Ok(report)
}

/// Reach and messages of a depth.
struct Plan<const D: usize> {
    reach: Reach<D>,
    /// Per phase, the messages that this rank sends or receives.
    phases: Vec<Vec<Message<D>>>,
}

/// The plans of one rank, made once for each depth.
struct Plans<'a, S: Fields, const D: usize> {
    stencil: &'a Stencil<S, D>,
    distribution: &'a Distribution<D>,
    rank: usize,
    known: HashMap<usize, Rc<Plan<D>>>,
}

impl<S: Fields, const D: usize> Plans<'_, S, D> {
    fn of(&mut self, depth: usize) -> Rc<Plan<D>> {
        let (stencil, partition, rank) = (self.stencil, &self.distribution.partition, self.rank);
        let make = || {
            let reach = Reach::new(&footprints(&stencil.stages), S::FIELDS.len(), depth);
            // Fields that no stage writes never change, so their ghosts stay valid.
            let fields = stencil.written_fields();
            let mut phases = swap_messages(partition, &reach, S::FIELDS, &fields);
            for phase in &mut phases {
                phase.retain(|message| message.from == rank || message.to == rank);
            }
            Rc::new(Plan { reach, phases })
        };
        self.known.entry(depth).or_insert_with(make).clone()
    }
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
