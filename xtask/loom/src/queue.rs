//! The queue of a channel on a device, as in `queue.cuh` and `flow.cuh`, under loom: another algorithm than the ring on cores
//! (`flow.rs`). Positions are reserved and dispatched by additions; `ready` counts reserved ones, so who has dispatched a position waits for
//! its item; who has reserved one waits until the item of the round before has been read.
//!
//! Elements are two instead of at least 32; positions begin where they begin anew. Item and state are ordered by fences between relaxed
//! accesses, as in the kernel.

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use loom::thread::{spawn, yield_now};

use super::kernels::{FLOW, QUEUE, stands_in};

const SHIFT: u32 = 1;
const ELEMENTS: u32 = 1 << SHIFT;
const HALF: u32 = 1 << 31;
const ROUNDS: u32 = ((1u64 << (32 - SHIFT)) - 1) as u32;

/// The words of a queue, and the credits of its producers.
struct Queue {
    control: AtomicU64,
    head: AtomicU32,
    states: [AtomicU32; ELEMENTS as usize],
    items: [UnsafeCell<[u32; 2]>; ELEMENTS as usize],
    credits: AtomicU32,
}

fn available(position: u32) -> u32 {
    2u32.wrapping_mul(position >> SHIFT)
}

fn element(position: u32) -> usize {
    (position % ELEMENTS) as usize
}

impl Queue {
    /// Empty, with `start` as its next position.
    fn new(start: u32) -> Self {
        let state = |at: u32| {
            let position = (0..ELEMENTS).map(|k| start.wrapping_add(k));
            let first = position.into_iter().find(|position| position % ELEMENTS == at);
            AtomicU32::new(available(first.unwrap()))
        };
        Self {
            control: AtomicU64::new(u64::from(start)),
            head: AtomicU32::new(start),
            states: [state(0), state(1)],
            items: [UnsafeCell::new([0; 2]), UnsafeCell::new([0; 2])],
            credits: AtomicU32::new(ELEMENTS),
        }
    }

    /// `add`.
    fn add(&self, tail: u32, ready: u32) -> u64 {
        let both = u64::from(ready) << 32 | u64::from(tail);
        self.control.fetch_add(both, Ordering::Relaxed)
    }

    /// One credit, if there is one (`ww_warp::reserve`).
    fn credit(&self) -> bool {
        let got = self.credits.fetch_sub(1, Ordering::Relaxed) as i32 >= 1;
        if !got {
            self.credits.fetch_add(1, Ordering::Relaxed);
        }
        got
    }

    /// `reserve`, then `write` and `publish` of each item.
    fn put(&self, items: &[u32]) {
        let count = items.len() as u32;
        let first = self.add(count, count) as u32;
        if first < HALF && first.wrapping_add(count) >= HALF {
            self.control.fetch_add(0u64.wrapping_sub(u64::from(HALF)), Ordering::Relaxed);
        }
        for (k, &item) in items.iter().enumerate() {
            let position = first.wrapping_add(k as u32);
            let state = &self.states[element(position)];
            while (state.load(Ordering::Acquire) ^ available(position)) & ROUNDS != 0 {
                yield_now();
            }
            // SAFETY: loom tells whether somebody else reads or writes meanwhile.
            self.items[element(position)].with_mut(|to| unsafe { *to = [item; 2] });
            fence(Ordering::AcqRel);
            state.store(available(position).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// `dispatch` of at most `most`, then `take`, `read` and `release` of each.
    fn take(&self, most: u32) -> Vec<u32> {
        let before = (self.add(0, 0u32.wrapping_sub(most)) >> 32) as i32;
        let got = if before >= most as i32 { most } else { before.max(0) as u32 };
        if got < most {
            self.add(0, most - got);
        }
        if got == 0 {
            return Vec::new();
        }
        let first = self.head.fetch_add(got, Ordering::Relaxed);
        // As soon as positions are dispatched, before their items are read.
        let found = (0..got).map(|k| {
            let position = first.wrapping_add(k);
            let state = &self.states[element(position)];
            while (state.load(Ordering::Acquire) ^ available(position).wrapping_add(1)) & ROUNDS
                != 0
            {
                yield_now();
            }
            // SAFETY: as above.
            let [item, same] = self.items[element(position)].with(|from| unsafe { *from });
            assert_eq!(item, same);
            fence(Ordering::AcqRel);
            state.store(available(position).wrapping_add(2), Ordering::Relaxed);
            item
        });
        let found = found.collect();
        self.credits.fetch_add(got, Ordering::Relaxed);
        found
    }
}

/// The kernel has the lines that are modelled: who changes them changes the model.
#[test]
fn the_kernel_does_what_is_modelled() {
    stands_in(
        QUEUE,
        &[
            "return ww_add_long_relaxed((u64*)control, (u64)ready << 32 | tail);",
            "const u32 first = (u32)add(count, count);",
            "if (first < HALF && first + count >= HALF) ww_add_long_relaxed((u64*)control, 0ull - HALF);",
            "const i32 before = (i32)(add(0, 0u - most) >> 32);",
            "if (got < most) add(0, most - got);",
            "if (got > 0) first = ww_add_relaxed(head(), got);",
            "return ((ww_load_acquire_gpu(state(position)) ^ (available(position) + 1)) & ROUNDS) == 0;",
            "{ ww_store_relaxed(state(position), available(position) + 2); }",
            "return ((ww_load_acquire_gpu(state(position)) ^ available(position)) & ROUNDS) == 0;",
            "{ ww_store_relaxed(state(position), available(position) + 1); }",
        ],
    );
    stands_in(FLOW, &["// What was read and what was written.\n        ww_fence_gpu();"]);
}

/// Two producers and two consumers at a queue of two elements, from positions that begin anew on the way: each item comes once and
/// whole.
#[test]
fn no_item_is_lost_doubled_or_torn() {
    for start in [0, HALF - 1] {
        let mut model = Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let queue = Arc::new(Queue::new(start));
            assert!(queue.credit() && queue.credit());
            queue.put(&[1, 2]);
            let consumer = {
                let queue = queue.clone();
                spawn(move || queue.take(1))
            };
            // The element may still be read when its credit is back.
            let producer = {
                let queue = queue.clone();
                spawn(move || {
                    let room = queue.credit();
                    if room {
                        queue.put(&[4]);
                    }
                    room
                })
            };
            let mut found = queue.take(1);
            found.extend(consumer.join().unwrap());
            let more = producer.join().unwrap();
            found.extend(queue.take(2));
            found.sort_unstable();
            assert_eq!(found, if more { vec![1, 2, 4] } else { vec![1, 2] });
            assert_eq!(queue.credits.load(Ordering::Relaxed), ELEMENTS);
        });
    }
}

/// A consumer dispatches positions whose items are not there yet, and waits for them.
#[test]
fn who_has_dispatched_waits_for_its_item() {
    for start in [0, HALF - 1] {
        let mut model = Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let queue = Arc::new(Queue::new(start));
            let consumer = {
                let queue = queue.clone();
                spawn(move || queue.take(2))
            };
            queue.put(&[1, 10]);
            let mut found = consumer.join().unwrap();
            found.extend(queue.take(2));
            found.sort_unstable();
            assert_eq!(found, [1, 10]);
        });
    }
}
