//! Backup copies: what an idle worker runs again of another's chunk that it would be through with sooner.
//!
//! As MapReduce's backup tasks (Dean and Ghemawat, OSDI 2004), but started by remaining time as LATE's (Zaharia,
//! Konwinski, Joseph, Katz and Stoica, OSDI 2008). A chunk that is late is taken to need as long again as it is late
//! already, so what is lost by waiting is at most what waiting has cost. A task is copied once at a time.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::spec::worker::WorkerState;

/// Seconds that a copy must gain at least: what a system's time slices take from a worker is no reason for one.
const LEAST_GAIN: f64 = 2e-3;
/// A copy's expected time is taken so much longer.
const CAUTION: f64 = 1.25;
/// Chunks at either end that are looked at for a request.
const LOOKED_AT: usize = 4;

/// The chunks that are out, by the time at which they are due. A step costs O(log c) for c chunks and O(w) for w
/// chunks of its worker, which are few, the first question for a copy O(c log c).
#[derive(Debug, Default)]
pub struct Backups {
    /// By worker, in the order in which they were given.
    chunks: Vec<VecDeque<Chunk>>,
    /// Those of which something is out to one worker alone: the bits of when it is due, and its first task; whose it
    /// is. Times are positive, so their bits are in their order. Not kept before somebody asks for a copy: until
    /// then tasks are free.
    due: Option<BTreeMap<(u64, u64), usize>>,
}

#[derive(Debug)]
struct Chunk {
    range: Range<u64>,
    /// What of it is out to no other worker.
    open: Range<u64>,
    due: f64,
}

impl Chunk {
    fn key(&self) -> (u64, u64) {
        (self.due.to_bits(), self.range.start)
    }
}

/// What there is to copy for a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Backup {
    /// These tasks of another worker.
    Copy(usize, Range<u64>),
    /// Nothing before this time.
    Wait(f64),
}

impl Backups {
    /// `worker` was given `range` at `now`, and is at `speed`, if that is known.
    pub fn given(&mut self, worker: usize, range: Range<u64>, speed: Option<f64>, now: f64) {
        if self.chunks.len() <= worker {
            self.chunks.resize_with(worker + 1, VecDeque::new);
        }
        let begin = self.chunks[worker].back().map_or(now, |last| last.due.max(now));
        let takes = speed.map_or(0.0, |speed| (range.end - range.start) as f64 / speed);
        let chunk = Chunk { open: range.clone(), range, due: begin + takes };
        if let Some(due) = &mut self.due {
            due.insert(chunk.key(), worker);
        }
        self.chunks[worker].push_back(chunk);
    }

    /// `worker` was given a copy of `range`, which is of `owner`'s chunk.
    pub fn copied(&mut self, owner: usize, range: &Range<u64>) {
        self.change(owner, range.start, |chunk| chunk.open.end = range.start);
    }

    /// `worker` has handed over `range`, the next of its chunk.
    pub fn settled(&mut self, worker: usize, range: &Range<u64>) {
        self.change(worker, range.start, |chunk| {
            chunk.range.start = range.end;
            chunk.open.start = chunk.open.start.max(range.end);
        });
    }

    /// `worker` has nothing any more; `kept` is what others have of it, and now alone.
    pub fn lost(&mut self, worker: usize, kept: &[(usize, Range<u64>)]) {
        for chunk in self.chunks.get_mut(worker).map(std::mem::take).unwrap_or_default() {
            if let Some(due) = &mut self.due {
                due.remove(&chunk.key());
            }
        }
        for (owner, range) in kept {
            self.change(*owner, range.start, |chunk| chunk.open.end = chunk.range.end);
        }
    }

    /// Changes `worker`'s chunk that has `task`, if there is one: copies are no chunks.
    fn change(&mut self, worker: usize, task: u64, change: impl FnOnce(&mut Chunk)) {
        let Some(chunks) = self.chunks.get_mut(worker) else { return };
        let Some(at) = chunks.iter().position(|chunk| chunk.range.contains(&task)) else { return };
        let before = chunks[at].key();
        change(&mut chunks[at]);
        let after = (!chunks[at].open.is_empty()).then(|| chunks[at].key());
        if chunks[at].range.is_empty() {
            chunks.remove(at);
        }
        if let Some(due) = &mut self.due {
            due.remove(&before);
            due.extend(after.map(|key| (key, worker)));
        }
    }

    /// What `worker`, in this state, had best run again at `now`.
    pub fn next(&mut self, worker: usize, state: &WorkerState, now: f64) -> Backup {
        let Some(speed) = state.speed else { return Backup::Wait(f64::INFINITY) };
        let takes = |tasks: u64| CAUTION * tasks as f64 / speed + LEAST_GAIN;
        let grain = state.grain.of.max(1);
        let (mut best, mut longest, mut wait) = (None, 0.0, f64::INFINITY);
        let due = self.due.get_or_insert_with(|| by_due_time(&self.chunks));
        let ends = due.iter().take(LOOKED_AT).chain(due.iter().rev().take(LOOKED_AT));
        for (key, &owner) in ends.filter(|(_, owner)| **owner != worker) {
            let of = &self.chunks[owner];
            let Some(at) = of.iter().position(|chunk| chunk.key() == *key) else { continue };
            let chunk = &of[at];
            // An owner in time hands over all of its chunk when it is due, so part of it alone gains nothing.
            let tasks = match chunk.due > now {
                true => (chunk.open.end - chunk.open.start).max(grain),
                false => grain,
            };
            let remaining = (now - chunk.due).abs();
            if remaining > takes(tasks) && remaining > longest {
                longest = remaining;
                best = Some((owner, chunk));
            }
            wait = wait.min(chunk.due + takes(grain));
        }
        let Some((owner, chunk)) = best else {
            // Rounding must not make anybody come back at once.
            return Backup::Wait(wait.max(now + LEAST_GAIN));
        };
        let all = chunk.open.end - chunk.open.start;
        let tasks = match chunk.due > now {
            true => all,
            false => all.div_ceil(2).min((longest / CAUTION * speed) as u64),
        };
        let tasks = tasks.max(1).next_multiple_of(grain).min(state.grain.most.max(1));
        let start = chunk.open.end.saturating_sub(tasks).max(chunk.open.start);
        Backup::Copy(owner, start..chunk.open.end)
    }
}

/// The chunks of all workers of which something is out to one alone: when each is due, and whose it is.
fn by_due_time(chunks: &[VecDeque<Chunk>]) -> BTreeMap<(u64, u64), usize> {
    let all =
        chunks.iter().enumerate().flat_map(|(owner, of)| of.iter().map(move |one| (one, owner)));
    all.filter(|(chunk, _)| !chunk.open.is_empty())
        .map(|(chunk, owner)| (chunk.key(), owner))
        .collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::spec::worker::Worker;

    fn at(speed: f64) -> WorkerState {
        let mut state = WorkerState::new(Worker::cores(0, 1).next().unwrap());
        state.speed = Some(speed);
        state
    }

    /// A chunk of 100 tasks at ten a second, due at 10 s.
    fn chunk() -> Backups {
        let mut backups = Backups::default();
        backups.given(0, 0..100, Some(10.0), 0.0);
        backups
    }

    #[test]
    fn a_quicker_worker_copies_a_chunk_and_an_equal_one_only_what_waits() {
        assert_eq!(chunk().next(1, &at(1000.0), 0.0), Backup::Copy(0, 0..100));
        for now in [0.0, 5.0, 9.9] {
            let Backup::Wait(until) = chunk().next(1, &at(10.0), now) else { panic!("a copy") };
            assert!((until - 10.127).abs() < 1e-9, "{until}");
        }
        // Behind another chunk of its owner's it is worth copying for an equal one, too.
        let mut ahead = chunk();
        ahead.given(0, 100..200, Some(10.0), 0.0);
        assert_eq!(ahead.next(1, &at(10.0), 5.0), Backup::Copy(0, 100..200));
        // Nobody copies its own.
        assert_eq!(chunk().next(0, &at(1000.0), 0.0), Backup::Wait(f64::INFINITY));
    }

    #[test]
    fn a_late_chunk_is_copied_half_by_half_until_its_owner_is_there() {
        let mut backups = chunk();
        let mut copies = Vec::new();
        while let Backup::Copy(owner, range) = backups.next(1, &at(1000.0), 20.0) {
            backups.copied(owner, &range);
            copies.push(range);
        }
        assert_eq!(copies, [50..100, 25..50, 12..25, 6..12, 3..6, 1..3, 0..1]);
        backups.settled(0, &(0..30));
        backups.settled(0, &(30..100));
        assert!(backups.chunks[0].is_empty() && backups.due.is_some_and(|due| due.is_empty()));
    }

    /// A lost copy is copied again; what a lost owner had is nobody's to copy.
    #[test]
    fn losses_open_what_was_copied() {
        let mut backups = chunk();
        backups.copied(0, &(50..100));
        backups.lost(1, &[(0, 60..100)]);
        assert_eq!(backups.next(2, &at(1000.0), 0.0), Backup::Copy(0, 0..100));
        backups.lost(0, &[]);
        assert_eq!(backups.next(2, &at(1000.0), 0.0), Backup::Wait(f64::INFINITY));
    }

    /// Nothing is known of the owner: it is late from the start.
    #[test]
    fn a_worker_of_unknown_speed_is_copied_after_as_long_as_a_copy_takes() {
        let mut backups = Backups::default();
        backups.given(0, 0..1, None, 1.0);
        let Backup::Wait(until) = backups.next(1, &at(10.0), 1.0) else { panic!("a copy") };
        assert!((until - 1.127).abs() < 1e-9, "{until}");
        assert_eq!(backups.next(1, &at(10.0), 1.13), Backup::Copy(0, 0..1));
    }
}
