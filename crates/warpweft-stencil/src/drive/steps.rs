//! The loop of every run: halo exchange, steps, halo exchange, over any transport and any executor. The only
//! subdomain of a run exchanges nothing and takes as many steps at once as suit a look at progress.

mod timer;

use std::collections::HashMap;
use std::time::Instant;

use self::timer::Timer;
use super::pace::Pace as SweepPace;
use super::waits::Waits;
use crate::checkpoint::State;
use crate::drive::cut::distribution::Distribution;
use crate::drive::depth::pace::Pace;
use crate::drive::plans::Plans;
use crate::drive::rank_report::RankReport;
use crate::drive::ranks::residual::residual;
use crate::drive::stops::Stops;
use crate::drive::subdomain::{Advanced, How, LocalSubdomain};
use crate::exchange::HaloMessage;
use crate::model::FusedSteps;
use crate::plan::halo::footprints;
use crate::spec::Spec;
use crate::spec::residual::Residual;
use crate::spec::total::Total;
use warpweft_core::cluster::Transport;
use warpweft_core::error::Result;
use warpweft_core::run::Stop;
use warpweft_core::trace::Trace;

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
    /// Says whether the run is to end; rank 0 asks it.
    pub stop: Stop<'a>,
    /// Where ranks record what they did when.
    pub trace: Option<&'a Trace>,
    /// Where states are saved, if they are.
    pub saving: Option<&'a Saving<'a>>,
    /// Decides on rank 0 whether the subdomains are of the right sizes.
    pub rebalance: Option<&'a Rebalance<'a>>,
    /// How many steps to take at once where there is one subdomain; the distribution's depth if `None`.
    pub pace: Option<&'a SweepPace>,
    /// The steps that are fused in one pass of cells over memory.
    pub fused_steps: FusedSteps,
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
    /// Whether the first state is saved already, by the run that this one resumes.
    pub saved: bool,
    /// Saves the present state of a part.
    pub save: &'a Save<'a>,
}

/// Whether the state was saved: one that need not be, as the flag says, may be left out.
pub(crate) type Save<'a> = dyn Fn(State, &mut LocalSubdomain, bool) -> Result<bool> + 'a;

/// One rank's loop; all ranks mean the same run. Ghost zones are valid on entry, so the first halo exchange is skipped.
///
/// # Errors
/// What computing, the transport or saving fails with.
pub(crate) fn run_rank(
    stencil: &Spec,
    distribution: &Distribution,
    local: &mut LocalSubdomain,
    net: &dyn Transport,
    run: &RunSteps<'_>,
) -> Result<RankReport> {
    let mut rank = RankLoop::new((stencil, distribution), local, net, run);
    if run.first == 0 && run.saving.is_some_and(|saving| !saving.saved) {
        // Says at once whether there is room, and makes a run that is stopped soon one to resume.
        rank.save(false)?;
    }
    let begun = Instant::now();
    rank.report.interrupted = match &rank.stops {
        Some(stops) if run.first < run.steps => stops.at_once(net)?,
        _ => false,
    };
    while rank.report.steps < run.steps && !rank.ended() && !rank.report.interrupted {
        if rank.alone && run.stop.stopped() {
            rank.report.interrupted = true;
            if rank.report.steps > rank.saved {
                rank.save(true)?;
            }
            break;
        }
        let block = rank.advance()?;
        rank.conclude(&block)?;
        if rank.report.interrupted || rank.report.resized {
            rank.take_what_was_sent(&block)?;
            break;
        }
    }
    rank.end(begun)
}

/// A block of steps between two halo exchanges that was taken.
struct Block {
    /// Steps done after it.
    done: u64,
    /// Steps of the block after the next halo exchange, if that is known; 0 if there is none.
    following: usize,
    /// Whether any rank may have sent messages of that exchange already.
    may: bool,
    /// What its last step changed, for a residual of this kind, if that is due.
    change: Option<(Residual, Total)>,
    /// Whether all ranks look now whether they are to stop.
    asked: bool,
}

/// The state of one rank's loop.
struct RankLoop<'r> {
    stencil: &'r Spec,
    distribution: &'r Distribution,
    local: &'r mut LocalSubdomain,
    net: &'r dyn Transport,
    run: &'r RunSteps<'r>,
    /// Whether there is one subdomain.
    alone: bool,
    report: RankReport,
    plans: Plans<'r>,
    pace: Pace<'r>,
    stops: Option<Stops<'r>>,
    timer: Timer,
    sent_ahead: bool,
    /// When its device is waited for.
    waits: Waits,
    /// Whether the last steps are left to the device, which nobody waits for.
    left: bool,
    /// The last step whose state was saved.
    saved: u64,
    /// Passes that the executor had made before, and how many of them overlapped a halo exchange.
    before: [u64; 2],
}

impl<'r> RankLoop<'r> {
    fn new(
        (stencil, distribution): (&'r Spec, &'r Distribution),
        local: &'r mut LocalSubdomain,
        net: &'r dyn Transport,
        run: &'r RunSteps<'r>,
    ) -> Self {
        let partition = &distribution.partition;
        let every = run.saving.map(|saving| saving.every);
        // Deeper zones than are ever free would be tried for nothing.
        let deepest = stencil.longest_swap(distribution.depth, every);
        let stages = footprints(&stencil.stages);
        let limits = (deepest, distribution.fused_steps);
        let mut pace = match distribution.search {
            None => Pace::fixed(distribution.depth),
            Some(search) => {
                Pace::searching(search.start(partition, &stages, stencil.cell.fields(), limits))
            }
        };
        let alone = partition.parts() == 1;
        // All ranks of a run know these.
        if distribution.fused_steps > 1 && !alone && stencil.until.is_none() {
            pace = pace.trying_both_ways(distribution.fused_steps.min(deepest));
        }
        let watched = !alone && run.stop.can_stop();
        let before = local.history().map_or([0; 2], |it| [it.passes, it.overlapped]);
        let report = RankReport {
            steps: run.first,
            residual: run.residual,
            routes: local.routes(),
            ..RankReport::default()
        };
        Self {
            stencil,
            distribution,
            local,
            net,
            run,
            alone,
            report,
            plans: Plans { stencil, distribution, rank: net.rank(), known: HashMap::new() },
            pace,
            stops: watched.then(|| Stops::new(run.stop, run.first)),
            timer: Timer { since: Instant::now(), busy: 0.0, swaps: 0, every: 1 },
            sent_ahead: false,
            waits: Waits::new(),
            left: false,
            saved: run.first,
            before,
        }
    }

    /// Whether the residual ends the run.
    fn ended(&self) -> bool {
        self.stencil.until.is_some_and(|until| until.ended(self.report.residual))
    }

    /// Steps from `done` on that may be taken before something else is due.
    fn free(&self, done: u64) -> u64 {
        let until = |every: u64| every - done % every;
        let to_save = self.run.saving.map_or(u64::MAX, |saving| until(saving.every));
        let to_check = self.stencil.until.map_or(u64::MAX, |it| until(it.every));
        [self.run.steps - done, to_save, to_check].into_iter().fold(u64::MAX, u64::min)
    }

    fn trace(&self, name: &str, from: Instant) {
        if let Some(trace) = self.run.trace {
            let lane = if self.alone { "run".into() } else { format!("rank {}", self.net.rank()) };
            trace.add(lane, name, from);
        }
    }

    /// Saves the present state, if states are saved.
    fn save(&mut self, must: bool) -> Result<()> {
        if let Some(saving) = self.run.saving {
            let step = self.report.steps;
            let state = State { step, residual: self.report.residual };
            if (saving.save)(state, self.local, must)? {
                self.saved = step;
            } else {
                self.report.left_out += 1;
            }
        }
        Ok(())
    }

    /// Exchanges halos, unless the run begins, and takes the steps up to the next exchange.
    fn advance(&mut self) -> Result<Block> {
        let most = self.free(self.report.steps);
        let depth = match self.run.pace {
            Some(sweeps) => sweeps.steps(self.local.pass()).min(most) as usize,
            None => self.pace.next(self.net, most, self.local.awaits_kernels())?,
        };
        let begun = Instant::now();
        let swapped = !self.alone && self.report.steps > self.run.first;
        if swapped {
            // What was sent ahead was as deep as this exchange, which was known then.
            let phases = self.plans.of(depth);
            self.exchange(&phases, self.sent_ahead)?;
            self.trace("halo exchange", begun);
        }
        // The block after these steps, if there is one whose depth is known already.
        let done = self.report.steps + depth as u64;
        let following = match done < self.run.steps {
            true => self.free(done).min(self.pace.following().unwrap_or(0) as u64) as usize,
            false => 0,
        };
        let until = self.stencil.until;
        // Nor is anything sent that sources are still to add to.
        let settled = until.is_none() && !self.stencil.points.due(done);
        let may = !self.alone && self.pace.apart() && settled && following > 0;
        let next = (may && self.distribution.boundary_first).then(|| self.plans.of(following));
        let ahead = next.as_ref().map(|phases| phases.as_slice()).filter(|it| !it.is_empty());
        let measure =
            until.filter(|until| done.is_multiple_of(until.every)).map(|until| until.residual);
        let from = Instant::now();
        // All ranks come by the same steps, so all of them ask, and all stop or none.
        let asked = done < self.run.steps && self.stops.as_ref().is_some_and(|it| it.is_due(done));
        let saved_here = self.run.saving.is_some_and(|saving| done.is_multiple_of(saving.every));
        let read = measure.is_some() || saved_here || asked;
        self.left = !read && done == self.run.steps && self.local.queues();
        self.left = self.left && self.run.pace.is_some_and(SweepPace::queues);
        // A rebalancer is told what the steps take, and so is the pace of the only subdomain.
        let queued = !self.alone && self.run.rebalance.is_none() && !self.waits.each();
        let queued = queued || self.left;
        let how = How { ahead, overlaps: self.pace.overlaps(), queued };
        let advanced = self.local.advance(depth, &how, measure, self.net)?;
        let Advanced { change, sent, measuring } = advanced;
        if self.run.trace.is_some() {
            self.trace(&format!("steps {}..{done}", self.report.steps), from);
        }
        self.timer.busy += from.elapsed().as_secs_f64();
        if let Some(sweeps) = self.run.pace.filter(|_| !self.left) {
            sweeps.took(depth as u64, from.elapsed().as_secs_f64());
        }
        self.finish_if(read || self.pace.settles(swapped, following))?;
        self.pace.took(swapped.then(|| begun.elapsed().as_secs_f64() - measuring));
        self.sent_ahead = sent > 0;
        // Steps of which one is measured, or whose boundary goes first, are a pass by themselves.
        let last = sent.max(u64::from(measure.is_some()));
        let passes =
            self.stencil.points.passes(self.report.steps..done - last, self.run.fused_steps);
        self.report.passes += passes + u64::from(last > 0);
        self.report.steps = done;
        Ok(Block { done, following, may, change: measure.zip(change), asked })
    }

    /// Waits for all queued steps: before cells are read, and before steps count as done.
    fn finish_if(&mut self, due: bool) -> Result<()> {
        if !self.left && (due || self.waits.due()) {
            self.local.finish()?;
            self.waits.done();
        }
        Ok(())
    }

    /// Does what is due after a block: progress, residual, sources and probes, stopping, saving, rebalancing.
    fn conclude(&mut self, block: &Block) -> Result<()> {
        let done = block.done;
        if self.net.rank() == 0 {
            (self.run.report)(done);
        }
        if let Some((kind, change)) = &block.change {
            let from = Instant::now();
            self.report.residual = Some(residual(self.net, *kind, change)?);
            self.report.reducing += from.elapsed().as_secs_f64();
        }
        self.local.after(done)?;
        let ended = done == self.run.steps || self.ended();
        if let Some(stops) = &mut self.stops
            && block.asked
            && !ended
        {
            self.report.interrupted = stops.asked(done, self.net)?;
        }
        let due = self.run.saving.is_some_and(|saving| done.is_multiple_of(saving.every));
        // The end is kept too: a run of more steps goes on from there.
        let must = ended || self.report.interrupted;
        if must || due {
            self.save(must)?;
        }
        if let Some(rebalance) = self.run.rebalance
            && !ended
            && !self.report.interrupted
        {
            self.report.resized = self.timer.ask(rebalance, self.net)?;
        }
        Ok(())
    }

    /// Receives what some ranks sent ahead of an exchange that never comes, which must not be taken for a later run's.
    /// Which did, no other knows, so where any may have, those that did not send now.
    fn take_what_was_sent(&mut self, block: &Block) -> Result<()> {
        let phases = self.plans.of(if block.may { block.following } else { 1 });
        match phases.get(..1) {
            Some(first) if block.may => self.exchange(first, self.sent_ahead),
            _ => Ok(()),
        }
    }

    /// One halo exchange: per phase, send, then receive. `ahead`: the first phase has been sent already.
    fn exchange(&mut self, phases: &[Vec<HaloMessage>], ahead: bool) -> Result<()> {
        let rank = self.net.rank();
        self.report.swaps += 1;
        self.report.ahead += u64::from(ahead);
        for (index, phase) in phases.iter().enumerate() {
            for message in phase.iter().filter(|message| message.from == rank) {
                if index > 0 || !ahead {
                    self.local.send(message, self.net)?;
                }
                self.report.messages += 1;
                self.report.bytes += message.bytes;
            }
            for message in phase.iter().filter(|message| message.to == rank) {
                self.report.waiting += self.local.receive(message, self.net)?;
            }
        }
        Ok(())
    }

    /// Waits for all that is under way; what this rank did.
    fn end(self, begun: Instant) -> Result<RankReport> {
        // A long message that is still on its way stands still while its sender is busy elsewhere.
        self.net.flush()?;
        if !self.left {
            self.local.finish()?;
        }
        let mut report = self.report;
        let kept = self.run.saving.is_some() && self.saved > self.run.first;
        report.saved = kept.then_some(self.saved);
        report.seconds = begun.elapsed().as_secs_f64();
        report.waiting += report.reducing;
        report.depth = self.pace.depth();
        if let Some(history) = self.local.history() {
            report.passes = history.passes - self.before[0];
            report.ahead += history.overlapped - self.before[1];
            report.fused_from = history.fused_from();
        }
        Ok(report)
    }
}
