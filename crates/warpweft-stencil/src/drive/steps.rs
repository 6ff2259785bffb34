//! The loop of every run: halo exchange, steps, halo exchange, over any transport and any executor. The only
//! subdomain of a run exchanges nothing and takes as many steps at once as suit a look at progress.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::checkpoint::State;
use crate::drive::depth::pace::Pace;
use crate::drive::depth::search::Search;
use crate::drive::ranks::residual::residual;
use crate::drive::stops::Stops;
use crate::drive::subdomain::{Advanced, LocalSubdomain};
use crate::drive::task::Distribution;
use crate::exchange::Routes;
use crate::exchange::{HaloMessage, halo_messages};
use crate::halo::{Reach, footprints};
use crate::model::Trip;
use crate::pace::Pace as SweepPace;
use crate::spec::Spec;
use warpweft_core::cluster::{Transport, agree, broadcast, gather};
use warpweft_core::error::Result;
use warpweft_core::trace::Trace;

/// What one rank did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankReport {
    /// Steps done.
    pub steps: u64,
    /// Steps between the last swaps, but for those that something else cut short.
    pub depth: usize,
    /// Swaps taken part in.
    pub swaps: u64,
    /// Messages sent.
    pub messages: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Swaps whose first messages were on their way while steps were computed.
    pub ahead: u64,
    /// Seconds from the first step to the last, all ranks having begun.
    pub seconds: f64,
    /// Whether the run was asked to stop before it was through.
    pub interrupted: bool,
    /// Whether it ended before it was through for parts of other sizes.
    #[serde(skip)] // such runs are one process
    pub resized: bool,
    /// Seconds spent waiting for messages, and in residuals.
    pub waiting: f64,
    /// The part of that in residuals: adding up what all ranks' cells changed.
    pub reducing: f64,
    /// Trips of cells to memory.
    pub trips: u64,
    /// The last residual, for runs that check one.
    #[serde(skip)] // the same on all ranks, and JSON knows no infinities
    pub residual: Option<f64>,
    /// The last step whose state was saved.
    pub saved: Option<u64>,
    /// How halos travelled to the neighbours.
    pub routes: Routes,
}

/// The steps of a run, and who watches them from outside.
pub(crate) struct RunSteps<'a> {
    /// Steps done before this run, by the one that it resumes.
    pub first: u64,
    /// Steps to be done in all.
    pub steps: u64,
    /// The residual of the last check before `first`.
    pub residual: Option<f64>,
    /// Told the steps done, on rank 0.
    pub report: &'a dyn Fn(u64),
    /// Set by whoever wants the run to end; rank 0 looks at it.
    pub stop: Option<&'a AtomicBool>,
    /// Where ranks record what they did when.
    pub trace: Option<&'a Trace>,
    /// Where states are saved, if they are.
    pub saving: Option<&'a Saving<'a>>,
    /// Decides on rank 0 whether the subdomains are of the right sizes.
    pub rebalance: Option<&'a Rebalance<'a>>,
    /// How many steps to take at once where there is one subdomain; the distribution's depth if `None`.
    pub pace: Option<&'a SweepPace>,
    /// What a trip of cells to memory takes of steps.
    pub trip: Trip,
}

/// The hook that balances unlike devices: told the seconds that each rank computed and those that went by, all a
/// halo exchange, it decides whether the subdomains must change, and after how many exchanges to ask again.
pub(crate) type Rebalance<'a> = dyn Fn(&[f64], f64) -> Decision + Sync + 'a;

/// What a [`Rebalance`] decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Go on, for at least so many halo exchanges.
    Keep(u32),
    /// End here, for other subdomains.
    Resize,
}

/// When and how a rank saves its part of the state.
pub(crate) struct Saving<'a> {
    /// Steps between two, at least 1.
    pub every: u64,
    /// Saves the present state of a part.
    pub save: &'a Save<'a>,
}

pub(crate) type Save<'a> = dyn Fn(State, &mut LocalSubdomain<'_>) -> Result<()> + 'a;

/// One rank's loop. Ghost zones are valid on entry, so the first swap is skipped.
pub(crate) fn run_rank(
    stencil: &Spec,
    distribution: &Distribution,
    part: &mut LocalSubdomain<'_>,
    net: &dyn Transport,
    course: &RunSteps<'_>,
) -> Result<RankReport> {
    let spec = format!(
        "steps {} to {} of {}, {:?}, on {:?} ranks, R = {}, search {:?} in trips of {}, saved every {:?}",
        course.first,
        course.steps,
        stencil.identity(distribution.partition.extents()),
        stencil.until,
        distribution.partition.parts_per_axis(),
        distribution.depth,
        distribution.search.as_ref().map(Search::name),
        distribution.trip,
        course.saving.map(|saving| saving.every)
    );
    agree(net, "a run of", &spec)?;
    let stages = footprints(&stencil.stages);
    let mut report = RankReport {
        steps: course.first,
        residual: course.residual,
        routes: part.routes(),
        ..RankReport::default()
    };
    // Steps from `done` on that may be taken before something else is due.
    let free = |done: u64| {
        let until = |every: u64| every - done % every;
        let to_save = course.saving.map_or(u64::MAX, |saving| until(saving.every));
        let to_check = stencil.until.map_or(u64::MAX, |it| until(it.every));
        [course.steps - done, to_save, to_check].into_iter().fold(u64::MAX, u64::min)
    };
    // Deeper swaps than are ever free would be tried in vain.
    let deepest = stencil.longest_swap(distribution.depth, course.saving.map(|it| it.every));
    let mut plans = Plans { stencil, distribution, rank: net.rank(), known: HashMap::new() };
    let alone = distribution.partition.parts() == 1;
    let mut pace = match distribution.search {
        None => Pace::fixed(distribution.depth),
        Some(search) => Pace::searching(search.start(
            &distribution.partition,
            &stages,
            stencil.cell.fields(),
            (deepest, distribution.trip),
        )),
    };
    // All ranks of a run know these.
    if distribution.trip > 1 && distribution.partition.parts() > 1 && stencil.until.is_none() {
        pace = pace.trying_both_ways();
    }
    let mut sent_ahead = false;
    let mut timer = Timer { since: Instant::now(), busy: 0.0, swaps: 0, every: 1 };
    let mut saved = course.first;
    if let (Some(saving), 0) = (course.saving, course.first) {
        // Says at once whether there is room, and makes a run that is stopped soon one to resume.
        (saving.save)(State::default(), part)?;
    }
    let stop = course.stop.filter(|_| !alone);
    let mut stops = stop.map(|flag| Stops::new(flag, course.first));
    let begun = Instant::now();
    let traced = |name: &str, from: Instant| {
        if let Some(trace) = course.trace {
            let lane = if alone { "run".into() } else { format!("rank {}", net.rank()) };
            trace.add(lane, name, from);
        }
    };
    let met = |residual: Option<f64>| {
        stencil.until.is_some_and(|until| residual.is_some_and(|r| r <= until.tolerance))
    };
    while report.steps < course.steps && !met(report.residual) {
        if alone && course.stop.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            report.interrupted = true;
            if let Some(saving) = course.saving.filter(|_| report.steps > saved) {
                let state = State { step: report.steps, residual: report.residual };
                (saving.save)(state, part)?;
                saved = report.steps;
            }
            break;
        }
        let most = free(report.steps);
        let depth = match course.pace {
            Some(sweeps) => sweeps.steps().min(most) as usize,
            None => pace.next(net, most)?,
        };
        let plan = plans.of(if alone { 1 } else { depth });
        let turn = Instant::now();
        let swapped = !alone && report.steps > course.first;
        if swapped {
            // What was sent ahead was as deep as this swap, which was known then.
            let from = Instant::now();
            swap(part, &plan, sent_ahead, net, &mut report)?;
            traced("swap", from);
        }
        // The swap after these steps, if there is one whose depth is known already.
        let done = report.steps + depth as u64;
        let following = match done < course.steps {
            true => free(done).min(pace.following().unwrap_or(0) as u64) as usize,
            false => 0,
        };
        // Nor is anything sent that sources are still to add to.
        let settled = stencil.until.is_none() && !stencil.points.due(done);
        let may = !alone && pace.apart() && settled && following > 0;
        let next = (may && distribution.boundary_first).then(|| plans.of(following));
        let phases = next.as_ref().map(|plan| plan.as_slice());
        let phases = phases.filter(|phases| !phases.is_empty());
        let checks = stencil.until.filter(|until| done.is_multiple_of(until.every));
        let from = Instant::now();
        let measure = checks.map(|until| until.residual);
        let Advanced { change, sent, measuring } = part.advance(depth, phases, measure, net)?;
        traced(&format!("steps {}..{done}", report.steps), from);
        timer.busy += from.elapsed().as_secs_f64();
        if let Some(sweeps) = course.pace {
            sweeps.took(depth as u64, from.elapsed().as_secs_f64());
        }
        // All ranks come by the same steps, so all of them ask, and all stop or none.
        let asked = done < course.steps && stops.as_ref().is_some_and(|stops| stops.is_due(done));
        let saved_here = course.saving.is_some_and(|saving| done.is_multiple_of(saving.every));
        if checks.is_some() || saved_here || asked || pace.settles(swapped, following) {
            // Whoever reads cells would wait for these steps, which are the swap's; and what is only on its way
            // would be taken for done.
            part.finish()?;
        }
        pace.took(swapped.then(|| turn.elapsed().as_secs_f64() - measuring));
        sent_ahead = sent > 0;
        // Steps of which one is measured, or whose rim goes first, are a trip by themselves.
        let last = sent.max(u64::from(measure.is_some()));
        report.trips += stencil.points.trips(report.steps..done - last, course.trip);
        report.trips += u64::from(last > 0);
        report.steps = done;
        if net.rank() == 0 {
            (course.report)(done);
        }
        if let (Some(kind), Some(change)) = (measure, change) {
            let from = Instant::now();
            report.residual = Some(residual(net, kind, &change)?);
            report.reducing += from.elapsed().as_secs_f64();
        }
        part.after(done)?;
        let ended = done == course.steps || met(report.residual);
        if let Some(stops) = &mut stops
            && asked
            && !ended
        {
            report.interrupted = stops.asked(done, net)?;
        }
        if let Some(saving) = course.saving
            // The end is kept too: whoever wants more steps goes on from there.
            && (ended || report.interrupted || done.is_multiple_of(saving.every))
        {
            let state = State { step: done, residual: report.residual };
            (saving.save)(state, part)?;
            saved = done;
        }
        if let Some(rebalance) = course.rebalance
            && !ended
            && !report.interrupted
        {
            report.resized = timer.ask(rebalance, net)?;
        }
        if report.interrupted || report.resized {
            // What some ranks sent ahead must not be taken for a later run's. Which did, no other knows, so where
            // any may have, those that did not send now.
            if may && let Some(first) = plans.of(following).get(..1) {
                swap(part, first, sent_ahead, net, &mut report)?;
            }
            break;
        }
    }
    // A long message that is still on its way stands still while its sender is busy elsewhere.
    net.flush()?;
    part.finish()?;
    report.saved = (course.saving.is_some() && saved > course.first).then_some(saved);
    report.seconds = begun.elapsed().as_secs_f64();
    report.waiting += report.reducing;
    report.depth = pace.depth();
    Ok(report)
}

/// What a rank took since the rebalancer was asked.
struct Timer {
    since: Instant,
    busy: f64,
    swaps: u32,
    /// Swaps between two timer.
    every: u32,
}

impl Timer {
    /// Counts an exchange's steps and asks the rebalancer if it is time; whether subdomains must change. All ranks
    /// come by the same swaps, so all of them ask.
    fn ask(&mut self, rebalance: &Rebalance<'_>, net: &dyn Transport) -> Result<bool> {
        self.swaps += 1;
        if self.swaps < self.every {
            return Ok(false);
        }
        let each = |seconds: f64| seconds / f64::from(self.swaps);
        let all = gather(net, each(self.busy).to_le_bytes().to_vec())?;
        let mut order = Vec::new();
        if net.rank() == 0 {
            let seconds =
                |bytes: &Vec<u8>| bytes.as_slice().try_into().map_or(f64::NAN, f64::from_le_bytes);
            let busy: Vec<f64> = all.iter().map(seconds).collect();
            let next = match rebalance(&busy, each(self.since.elapsed().as_secs_f64())) {
                Decision::Resize => 0,
                Decision::Keep(swaps) => swaps.max(1),
            };
            order = next.to_le_bytes().to_vec();
        }
        let order = broadcast(net, order)?;
        let every = order.as_slice().try_into().map_or(1, u32::from_le_bytes);
        *self = Self { since: Instant::now(), busy: 0.0, swaps: 0, every };
        Ok(every == 0)
    }
}

/// Per phase of a halo exchange, the messages that this rank sends or receives.
type Phases = Rc<Vec<Vec<HaloMessage>>>;

/// The plans of one rank, made once for each depth.
struct Plans<'a> {
    stencil: &'a Spec,
    distribution: &'a Distribution,
    rank: usize,
    known: HashMap<usize, Phases>,
}

impl Plans<'_> {
    fn of(&mut self, depth: usize) -> Phases {
        let (stencil, partition, rank) = (self.stencil, &self.distribution.partition, self.rank);
        let make = || {
            let reach =
                Reach::new(stencil.rank(), &footprints(&stencil.stages), stencil.cell.len(), depth);
            // Fields that no stage writes never change, so their ghosts stay valid.
            let fields = stencil.written_fields();
            let mut phases = halo_messages(partition, &reach, stencil.cell.fields(), &fields);
            for phase in &mut phases {
                phase.retain(|message| message.from == rank || message.to == rank);
            }
            Rc::new(phases)
        };
        self.known.entry(depth).or_insert_with(make).clone()
    }
}

/// One swap: per phase, send, then receive. `ahead`: the first phase has been sent already.
fn swap(
    part: &mut LocalSubdomain<'_>,
    phases: &[Vec<HaloMessage>],
    ahead: bool,
    net: &dyn Transport,
    report: &mut RankReport,
) -> Result<()> {
    report.swaps += 1;
    report.ahead += u64::from(ahead);
    for (index, phase) in phases.iter().enumerate() {
        for message in phase.iter().filter(|message| message.from == net.rank()) {
            if index > 0 || !ahead {
                part.send(message, net)?;
            }
            report.messages += 1;
            report.bytes += message.bytes;
        }
        for message in phase.iter().filter(|message| message.to == net.rank()) {
            report.waiting += part.receive(message, net)?;
        }
    }
    Ok(())
}
