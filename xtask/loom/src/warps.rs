//! What warps do with words that they share, line by line as in `stacks.cuh`, under loom: no batch is lost, read before it
//! is whole or overwritten before it is read; no frame that goes back to its owner is lost.

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{spawn, yield_now};

/// A channel of one slot: tickets drawn and claimed, the slot's word, its batch.
struct Channel {
    drawn: AtomicU32,
    claimed: AtomicU32,
    word: AtomicU32,
    batch: UnsafeCell<u32>,
}

impl Channel {
    fn new() -> Self {
        let word = || AtomicU32::new(0);
        Self { drawn: word(), claimed: word(), word: word(), batch: UnsafeCell::new(0) }
    }

    /// `draw_ticket`.
    fn draw(&self) -> u32 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }

    /// One look of `wait`, and `receive`.
    fn take(&self, ticket: u32) -> Option<u32> {
        if self.word.load(Ordering::Relaxed) != 2 * ticket + 1 {
            return None;
        }
        self.word.load(Ordering::Acquire);
        // SAFETY: loom tells whether somebody writes meanwhile.
        let items = self.batch.with(|batch| unsafe { *batch });
        self.word.store(2 * (ticket + 1), Ordering::Release);
        Some(items)
    }

    /// `claim`.
    fn claim(&self) -> Option<u32> {
        let t = self.claimed.load(Ordering::Relaxed);
        let drawn = self.drawn.load(Ordering::Relaxed);
        let swap = || self.claimed.compare_exchange(t, t + 1, Ordering::Relaxed, Ordering::Relaxed);
        (drawn > t && self.word.load(Ordering::Acquire) == 2 * t && swap().is_ok()).then_some(t)
    }
}

/// `give`: all batches are written before the first is released. How many were claimed.
fn give(channels: &[Channel], items: u32) -> u32 {
    let claims: Vec<_> = channels.iter().map(Channel::claim).collect();
    for (channel, _) in channels.iter().zip(&claims).filter(|(_, claim)| claim.is_some()) {
        // SAFETY: loom tells whether somebody else reads or writes meanwhile.
        channel.batch.with_mut(|batch| unsafe { *batch = items });
    }
    for (channel, t) in channels.iter().zip(&claims).filter_map(|(it, t)| Some((it, (*t)?))) {
        channel.word.store(2 * t + 1, Ordering::Release);
    }
    claims.iter().flatten().count() as u32
}

/// Two give to two channels, where one warp takes twice from the same slot, and another once: each batch comes once, whole.
#[test]
fn batches_are_neither_lost_nor_doubled() {
    let mut model = Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let channels = Arc::new([Channel::new(), Channel::new()]);
        assert_eq!([channels[0].draw(), channels[1].draw()], [0, 0]);
        let givers = [1, 10].map(|items| {
            let channels = channels.clone();
            spawn(move || items * give(&*channels, items))
        });
        let wait = |channel: &Channel, ticket| loop {
            match channel.take(ticket) {
                Some(items) => return items,
                None => yield_now(),
            }
        };
        let mut taken = wait(&channels[0], 0);
        let ticket = channels[0].draw();
        taken += wait(&channels[1], 0);
        // Somebody was late for the first, and early enough for the second; or nobody was.
        let given: u32 = givers.map(|giver| giver.join().unwrap()).iter().sum();
        taken += channels[0].take(ticket).unwrap_or(0);
        assert_eq!(taken, given);
    });
}

/// No frame.
const NONE: u32 = u32::MAX;

/// Frames that other warps have done with, each by its word `pending`.
struct Returned {
    head: AtomicU32,
    next: [UnsafeCell<u32>; 4],
}

impl Returned {
    /// `release`: `frames` in one swap.
    fn push(&self, frames: &[u32]) {
        let write = |frame: u32, next| {
            // SAFETY: loom tells whether somebody else reads or writes meanwhile.
            self.next[frame as usize].with_mut(|word| unsafe { *word = next });
        };
        for pair in frames.windows(2) {
            write(pair[0], pair[1]);
        }
        let (first, last) = (frames[0], frames[frames.len() - 1]);
        let mut before = self.head.load(Ordering::Relaxed);
        loop {
            write(last, before);
            match self.head.compare_exchange(before, first, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => before = now,
            }
        }
    }

    /// `collect`.
    fn pop_all(&self) -> Vec<u32> {
        let mut found = Vec::new();
        if self.head.load(Ordering::Relaxed) != NONE {
            let mut frame = self.head.swap(NONE, Ordering::Acquire);
            while frame != NONE {
                found.push(frame);
                // SAFETY: as above.
                frame = self.next[frame as usize].with(|word| unsafe { *word });
            }
        }
        found
    }
}

/// Two give back lists while the owner takes what is there: each frame comes back once.
#[test]
fn frames_come_back_once() {
    loom::model(|| {
        let next = || UnsafeCell::new(NONE);
        let returned =
            Returned { head: AtomicU32::new(NONE), next: [next(), next(), next(), next()] };
        let returned = Arc::new(returned);
        let givers = [vec![0, 1, 2], vec![3]].map(|frames| {
            let returned = returned.clone();
            spawn(move || returned.push(&frames))
        });
        let mut found = Vec::new();
        while found.len() < 4 {
            found.extend(returned.pop_all());
            yield_now();
        }
        for giver in givers {
            giver.join().unwrap();
        }
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3]);
    });
}
