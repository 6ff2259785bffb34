//! How warps hand frames to warps that wait, as in `tasks_sharing.cuh`, under loom: a ring of tickets, a semaphore of demand, an inbox a
//! warp, and tokens that tell when all is done. The words and their orders are those of the kernel; frames are numbers here.
//!
//! What these models cover: every order of the accesses of four threads up to two preemptions, with what relaxed and acquire
//! accesses may see, which host tests that play warps can't (`tests/channels/warps.cuh`: each access is seen at once).

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{spawn, yield_now};

use super::kernels::{SHARING, stands_in};

/// Words of the ring: a power of two, at least as many as warps that wait.
const RING: u32 = 2;

/// What warps share.
struct Shared {
    head: AtomicU32,
    tail: AtomicU32,
    demand: AtomicU32,
    live: AtomicU32,
    over: AtomicU32,
    ring: Vec<AtomicU32>,
    inbox_counts: Vec<AtomicU32>,
    inbox: Vec<UnsafeCell<u32>>,
}

impl Shared {
    fn new(warps: usize) -> Self {
        let word = || AtomicU32::new(0);
        Self {
            head: word(),
            tail: word(),
            demand: word(),
            live: AtomicU32::new(warps as u32),
            over: word(),
            ring: (0..RING).map(|_| word()).collect(),
            inbox_counts: (0..warps).map(|_| word()).collect(),
            inbox: (0..warps).map(|_| UnsafeCell::new(0)).collect(),
        }
    }

    fn word(&self, number: u32) -> &AtomicU32 {
        &self.ring[(number & (RING - 1)) as usize]
    }

    /// `await_ring`.
    fn await_ring(&self, number: u32, free: bool) -> u32 {
        loop {
            let found = self.word(number).load(Ordering::Acquire);
            if (found == 0) == free {
                return found;
            }
            yield_now();
        }
    }

    /// `draw_ticket`.
    fn draw_ticket(&self, warp: u32) {
        let number = self.head.fetch_add(1, Ordering::Relaxed);
        self.await_ring(number, true);
        self.word(number).store(warp + 1, Ordering::Release);
        self.demand.fetch_add(1, Ordering::Relaxed);
    }

    /// `claim`.
    fn claim(&self, most: u32) -> u32 {
        let there = self.demand.fetch_sub(most, Ordering::Relaxed) as i32;
        let claimed = if there <= 0 { 0 } else { most.min(there as u32) };
        if claimed < most {
            self.demand.fetch_add(most - claimed, Ordering::Relaxed);
        }
        claimed
    }

    /// `donate`: a batch of one frame to each of at most `most` warps that wait. To how many.
    fn donate(&self, most: u32, frame: u32) -> u32 {
        let parts = self.claim(most);
        if parts == 0 {
            return 0;
        }
        self.live.fetch_add(parts, Ordering::Relaxed);
        let tail = self.tail.fetch_add(parts, Ordering::Relaxed);
        for number in (0..parts).map(|part| tail.wrapping_add(part)) {
            let to = self.await_ring(number, false);
            self.word(number).store(0, Ordering::Release);
            let to = to as usize - 1;
            // SAFETY: loom tells whether somebody else reads or writes meanwhile.
            self.inbox[to].with_mut(|inbox| unsafe { *inbox = frame });
            self.inbox_counts[to].store(1 + 1, Ordering::Release);
        }
        parts
    }

    /// `look_into_inbox` and the rest of `receive`: the frame, or none if the run is over.
    fn receive(&self, warp: usize) -> Option<u32> {
        loop {
            if self.inbox_counts[warp].load(Ordering::Relaxed) != 0 {
                assert_eq!(self.inbox_counts[warp].load(Ordering::Acquire), 2);
                break;
            }
            if self.over.load(Ordering::Relaxed) != 0 {
                return None;
            }
            yield_now();
        }
        // SAFETY: as above.
        let frame = self.inbox[warp].with(|inbox| unsafe { *inbox });
        self.inbox_counts[warp].store(0, Ordering::Release);
        Some(frame)
    }

    /// A warp without work gives its tokens back: whether it was the last.
    fn give_back(&self, tokens: u32) -> bool {
        let last = self.live.fetch_sub(tokens, Ordering::AcqRel) == tokens;
        if last {
            self.over.store(1, Ordering::Relaxed);
        }
        last
    }
}

/// The kernel has the lines that are modelled: who changes them changes the model.
#[test]
fn the_kernel_does_what_is_modelled() {
    stands_in(
        SHARING,
        &[
            "const u32 number = ww_add_relaxed(a.counters + HEAD, 1);",
            "if (await_ring(number, true) == 0) {",
            "ww_store_release_gpu(a.ring + (number & (a.ring_size - 1)), warp + 1);",
            "ww_add_relaxed(a.counters + DEMAND, 1);",
            "const int there = (int)ww_add_relaxed(a.counters + DEMAND, 0u - most);",
            "if (claimed < most) ww_add_relaxed(a.counters + DEMAND, most - claimed);",
            "const u32 found = ww_load_acquire_gpu(word);",
            "ww_add_relaxed(a.counters + LIVE, parts);",
            "tail = ww_add_relaxed(a.counters + TAIL, parts);",
            "to = await_ring(tail + lane, false);",
            "ww_store_release_gpu(a.ring + ((tail + lane) & (a.ring_size - 1)), 0u);",
            "ww_store_release_gpu(a.inbox_counts + to, sent + 1);",
            "found = ww_load_acquire_gpu(word);",
            "ww_store_release_gpu(a.inbox_counts + warp, 0u);",
            "ww_add_acq_rel_gpu(a.counters + LIVE, 0u - tokens) == tokens) ww_end(a, DONE);",
        ],
    );
}

/// Two warps wait, of which one asks again: of two that give, one gives two batches at once. Each comes once and whole, though a word of
/// the ring and an inbox are used again.
#[test]
fn batches_are_neither_lost_nor_doubled() {
    let mut model = Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let shared = Arc::new(Shared::new(2));
        shared.draw_ticket(0);
        shared.draw_ticket(1);
        let giver = {
            let shared = shared.clone();
            spawn(move || assert_eq!(shared.donate(2, 1), 2))
        };
        let later = {
            let shared = shared.clone();
            spawn(move || {
                let mut found = shared.receive(0).unwrap();
                shared.draw_ticket(0);
                found += shared.receive(0).unwrap();
                found
            })
        };
        giver.join().unwrap();
        let mut found = shared.receive(1).unwrap();
        while shared.donate(1, 10) == 0 {
            yield_now();
        }
        found += later.join().unwrap();
        assert_eq!((found, shared.demand.load(Ordering::Relaxed)), (1 + 1 + 10, 0));
    });
}

/// A warp with two frames gives one if another waits. The run is over when both have nothing left, not before, and who ends it sees
/// what all have done.
#[test]
fn the_run_is_over_when_nobody_has_work() {
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(Shared::new(2));
        let done = Arc::new([UnsafeCell::new(0u32), UnsafeCell::new(0u32)]);
        let warp = |warp: usize, mut frames: u32, shared: &Shared, done: &[UnsafeCell<u32>; 2]| {
            let mut tokens = 1;
            loop {
                while frames > 0 {
                    if frames > 1 {
                        frames -= shared.donate(1, 1);
                    }
                    // SAFETY: loom tells whether the last reads meanwhile.
                    done[warp].with_mut(|done| unsafe { *done += 1 });
                    frames -= 1;
                }
                if shared.give_back(tokens) {
                    // SAFETY: as above.
                    let all = [0, 1].map(|of: usize| done[of].with(|done| unsafe { *done }));
                    assert_eq!(all[0] + all[1], 2);
                    return;
                }
                shared.draw_ticket(warp as u32);
                // The giver counted the batch's token.
                tokens = 1;
                match shared.receive(warp) {
                    Some(frame) => frames = frame,
                    None => return,
                }
            }
        };
        let other = {
            let (shared, done) = (shared.clone(), done.clone());
            spawn(move || warp(1, 0, &shared, &done))
        };
        warp(0, 2, &shared, &done);
        other.join().unwrap();
        assert_eq!(
            (shared.live.load(Ordering::Relaxed), shared.over.load(Ordering::Relaxed)),
            (0, 1)
        );
    });
}
