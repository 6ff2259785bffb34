//! One kernel on one worker: reserves room, consumes a batch, publishes what it emits.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::flow::{Flow, Queues};
use crate::flow::bytes::shown;
use crate::flow::handle::{ChannelId, Item};
use crate::flow::kernel::{ChannelKernel, Out, PortVisitor};
use crate::flow::plan::Needs;
use crate::flow::reference::queue::{too_deep, too_many};
use crate::flow::results::ChannelCounts;
use warpweft_core::cpu::panic_text;
use warpweft_core::error::Error;

/// Where a firing gets its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From a level of the channel.
    Level(usize),
    /// From the items that the host put there.
    Host,
}

/// What can be fired on a worker.
pub trait Step {
    /// Fires, if there are at least `least` items and room for what they may emit. Whether it did.
    fn fire(&mut self, from: Source, least: usize) -> bool;
    /// What was counted.
    fn counts(&self) -> ChannelCounts;
}

/// A kernel on one worker.
pub struct Consumer<'f, K: ChannelKernel> {
    kernel: &'f K,
    flow: &'f Flow<'f>,
    needs: &'f Needs,
    input: &'f Queues<K::Item>,
    ports: K::Ports,
    buffers: K::Buffers,
    items: Vec<K::Item>,
    /// Of each group: credits that the present firing holds.
    held: Vec<usize>,
    counts: ChannelCounts,
    /// Whether a firing was put off and none has been since.
    put_off: bool,
}

impl<'f, K: ChannelKernel> Consumer<'f, K> {
    /// The kernel with this number.
    pub fn new(kernel: &'f K, flow: &'f Flow<'f>, number: usize) -> Self {
        Self {
            kernel,
            flow,
            needs: &flow.plan.needs[number],
            input: flow.queues(flow.plan.needs[number].input),
            ports: K::ports(),
            buffers: kernel.bind(&flow.buffers),
            items: Vec::with_capacity(flow.batch),
            held: vec![0; flow.plan.groups.len()],
            counts: ChannelCounts::default(),
            put_off: false,
        }
    }

    /// What an item takes of its own group, and the level where that is.
    fn own(&self, from: Source) -> (usize, usize) {
        let Needs { own, own_bound, .. } = *self.needs;
        let leveled = self.flow.plan.groups[own].levels > 1;
        match from {
            Source::Level(level) if leveled => (own_bound, level + 1),
            Source::Host if leveled => (own_bound, 1),
            // The consumed item's own credit goes on to one that it emits.
            Source::Level(_) => (own_bound.saturating_sub(1), 0),
            Source::Host => (own_bound, 0),
        }
    }

    /// Takes credits for all that `count` items may emit, or for as many of them as there is room. For how many.
    fn reserve(&mut self, from: Source, mut count: usize) -> usize {
        let (each, level) = self.own(from);
        let Needs { own, others, .. } = self.needs;
        let credits = &self.flow.credits;
        // Below the last level there is nothing to hold: a kernel that emits there fails.
        let own_credits = credits[*own].get(level);
        let own_each = if own_credits.is_some() { each } else { 0 };
        for (at, need) in others.iter().enumerate() {
            let got = credits[need.group][0].take_each(need.bound, count);
            for earlier in &others[..at] {
                credits[earlier.group][0].give((count - got) * earlier.bound);
            }
            count = got;
            if count == 0 {
                return 0;
            }
        }
        let got = own_credits.map_or(count, |credits| credits.take_each(own_each, count));
        for need in others {
            credits[need.group][0].give((count - got) * need.bound);
            self.held[need.group] = got * need.bound;
        }
        self.held[*own] = got * own_each;
        got
    }

    /// Gives back what the items that did not come would have taken.
    fn give_surplus(&mut self, from: Source, surplus: usize) {
        let (each, level) = self.own(from);
        let Needs { own, others, .. } = self.needs;
        let credits = &self.flow.credits;
        for need in others {
            credits[need.group][0].give(surplus * need.bound);
            self.held[need.group] -= surplus * need.bound;
        }
        if let Some(own_credits) = credits[*own].get(level) {
            own_credits.give(surplus * each);
            self.held[*own] -= surplus * each;
        }
    }

    /// The credits of the consumed items: back, or kept for what they emit into their own group.
    fn free_input(&mut self, from: Source, count: usize) {
        let Source::Level(level) = from else { return };
        let Needs { own, own_bound, .. } = *self.needs;
        match self.flow.plan.groups[own].levels == 1 && own_bound > 0 {
            true => self.held[own] += count,
            false => self.flow.credits[own][level].give(count),
        }
    }

    /// Calls the function for each item; false: the run has failed, or is to end.
    fn consume(&mut self) -> bool {
        let Self { kernel, flow, ports, buffers, items, .. } = self;
        let mut at = 0;
        // A batch of long calls does not keep a run from its end.
        let calls = || {
            items.iter().enumerate().all(|(index, item)| {
                at = index;
                kernel.consume(*item, ports, buffers);
                !flow.ended()
            })
        };
        let payload = match catch_unwind(AssertUnwindSafe(calls)) {
            Ok(goes_on) => return goes_on,
            Err(payload) => payload,
        };
        let item = self.items.get(at).map(shown).unwrap_or_default();
        self.flow.fail(Error::Element {
            place: format!("`{}` for the item {item}", K::NAME),
            what: panic_text(payload.as_ref()).into(),
        });
        false
    }

    /// Publishes what was emitted, and gives back the credits that were not used.
    fn publish(&mut self, from: Source) {
        let level = match from {
            Source::Level(level) => level,
            Source::Host => 0,
        };
        let own_level = self.own(from).1;
        let Self { kernel, flow, needs, ports, held, .. } = self;
        let mut publish = Publish { flow, needs, level, held, name: K::NAME, total: K::TOTAL };
        kernel.visit(ports, &mut publish);
        let Needs { own, others, .. } = needs;
        for need in others {
            flow.credits[need.group][0].give(std::mem::take(&mut held[need.group]));
        }
        if let Some(credits) = flow.credits[*own].get(own_level) {
            credits.give(std::mem::take(&mut held[*own]));
        }
    }
}

impl<K: ChannelKernel> Step for Consumer<'_, K> {
    fn fire(&mut self, from: Source, least: usize) -> bool {
        let ready = match from {
            Source::Level(level) => self.input.levels[level].pending(),
            Source::Host => self.input.first_left(),
        };
        let ready = ready.min(self.flow.batch);
        if ready < least {
            return false;
        }
        let room = self.reserve(from, ready);
        if room == 0 {
            self.counts.yields += u64::from(!std::mem::replace(&mut self.put_off, true));
            return false;
        }
        self.items.clear();
        let count = match from {
            Source::Level(level) => {
                let taken = self.flow.credits[self.needs.own][level].taken() as u64;
                self.counts.most = self.counts.most.max(taken);
                self.input.levels[level].consume(room, &mut self.items)
            }
            Source::Host => self.input.take_first(room, &mut self.items),
        };
        self.give_surplus(from, room - count);
        if count == 0 {
            return false;
        }
        self.put_off = false;
        self.free_input(from, count);
        if !self.consume() {
            return true;
        }
        self.publish(from);
        self.counts.items += count as u64;
        self.counts.firings += 1;
        if from == Source::Host {
            self.flow.done.add(count as u64);
        }
        self.flow.fired(count);
        true
    }

    fn counts(&self) -> ChannelCounts {
        self.counts.clone()
    }
}

/// Publishes the items of each output.
struct Publish<'p, 'f> {
    flow: &'p Flow<'f>,
    needs: &'p Needs,
    level: usize,
    held: &'p mut [usize],
    name: &'static str,
    total: usize,
}

impl PortVisitor for Publish<'_, '_> {
    fn port<T: Item, const N: usize>(&mut self, channel: ChannelId<T>, out: &mut Out<T, N>) {
        if out.overflowed() {
            self.flow.fail(too_many(self.name, N, self.total));
            // There may be no room for them.
            return out.clear();
        }
        let count = out.items().len();
        if count == 0 {
            return;
        }
        let queues = self.flow.queues::<T>(channel.index());
        let Some(group) = self.flow.plan.group_of[channel.index()] else {
            queues.to_host(out.items());
            return out.clear();
        };
        let Some(level) = self.flow.plan.level_after(self.needs.own, self.level, group) else {
            self.flow.fail(too_deep(self.name, self.flow.plan.groups[group].levels));
            return out.clear();
        };
        self.held[group] -= count;
        self.flow.add_pending(count);
        let ring = &queues.levels[level];
        let first = ring.reserve(count).first;
        for (k, &item) in out.items().iter().enumerate() {
            ring.publish(first + k, item);
        }
        out.clear();
    }
}
