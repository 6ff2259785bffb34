//! A bounded queue of many producers and many consumers: the array channel of Orr et al., section 3.2, on cores.
//!
//! States of an element (section 3.2.1) are the values of one word, as in D. Vyukov's bounded MPMC queue: in round `r` of
//! position `p` it is `2r` while the element is *available* or *reserved* (below the tail), `2r + 1` while it is *ready* or
//! *dispatched* (below the head), and `2(r + 1)` when it is *done*, which is available in the next round. Positions are
//! reserved several at once, by one addition (Gottlieb, Lubachevsky and Rudolph, TOPLAS 1983).
//!
//! A producer holds [`Credits`](super::credits::Credits) for what it reserves, so at most `capacity` elements are reserved
//! or ready. An element may still be read when its credit is back: its next producer then waits until it has been copied,
//! which waits for nothing else.

use std::mem::MaybeUninit;

use super::cell::UnsafeCell;
use warpweft_core::cpu::sync::{AtomicUsize, Ordering};

/// A word on a cache line of its own.
#[repr(align(128))]
struct Line(AtomicUsize);

/// An element: its state and its item.
pub struct Slot<T> {
    state: AtomicUsize,
    item: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    /// Available in the first round.
    pub fn empty() -> Self {
        Self { state: AtomicUsize::new(0), item: UnsafeCell::new(MaybeUninit::uninit()) }
    }
}

/// One channel, or one level of a stack of channels.
pub struct Ring<T> {
    slots: Box<[Slot<T>]>,
    /// log2 of their number.
    shift: u32,
    tail: Line,
    head: Line,
}

// SAFETY: an item is written by the thread that reserved its position and read by the one that dispatched it; the word
// `state` orders the two, and the next round's write after that.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: it owns its items.
unsafe impl<T: Send> Send for Ring<T> {}

/// Positions of a ring, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl<T: Copy> Ring<T> {
    /// For `capacity` items, at least 1.
    pub fn new(capacity: usize) -> Self {
        Self::of((0..Self::elements(capacity)).map(|_| Slot::empty()).collect())
    }

    /// The elements of a ring for `capacity` items.
    pub fn elements(capacity: usize) -> usize {
        capacity.max(1).next_power_of_two()
    }

    /// Of so many elements, a power of two.
    pub fn of(slots: Vec<Slot<T>>) -> Self {
        let shift = slots.len().trailing_zeros();
        Self {
            slots: slots.into(),
            shift,
            tail: Line(AtomicUsize::new(0)),
            head: Line(AtomicUsize::new(0)),
        }
    }

    fn slot(&self, position: usize) -> &Slot<T> {
        &self.slots[position & (self.slots.len() - 1)]
    }

    /// The state of an element that is available at this position.
    fn available(&self, position: usize) -> usize {
        2 * (position >> self.shift)
    }

    /// Items that are reserved or ready; may be seen late.
    pub fn pending(&self) -> usize {
        let head = self.head.0.load(Ordering::Relaxed);
        self.tail.0.load(Ordering::Relaxed).saturating_sub(head)
    }

    /// Reserves positions (`talloc` of the paper's Table 1). The caller has credits for them.
    pub fn reserve(&self, count: usize) -> Span {
        Span { first: self.tail.0.fetch_add(count, Ordering::Relaxed), count }
    }

    /// Writes the item of a reserved position and publishes it (`enq`).
    pub fn publish(&self, position: usize, item: T) {
        let slot = self.slot(position);
        let available = self.available(position);
        // Acquire: the consumer of the round before has read its item.
        while slot.state.load(Ordering::Acquire) != available {
            relax();
        }
        // SAFETY: this thread alone has reserved the position, and nobody reads an available element.
        slot.item.with_mut(|to| unsafe { (*to).write(item) });
        slot.state.store(available + 1, Ordering::Release);
    }

    /// Dispatches at most `most` ready items, the oldest (`deq`): no other thread gets their positions.
    pub fn dispatch(&self, most: usize) -> Span {
        loop {
            let first = self.head.0.load(Ordering::Relaxed);
            let ready = |position: &usize| {
                // Acquire: the item is written.
                self.slot(*position).state.load(Ordering::Acquire) == self.available(*position) + 1
            };
            let count = (first..first + most.min(self.slots.len())).take_while(ready).count();
            let order = Ordering::Relaxed;
            if count == 0 {
                return Span { first, count };
            }
            // Positions only grow: if the head is still the same, these are still ready.
            if self.head.0.compare_exchange(first, first + count, order, order).is_ok() {
                return Span { first, count };
            }
        }
    }

    /// The item of a dispatched position, which is then free (`tfree`).
    pub fn take(&self, position: usize) -> T {
        let slot = self.slot(position);
        // SAFETY: the element was ready when this thread dispatched it, and nobody writes a ready element.
        let item = slot.item.with(|from| unsafe { (*from).assume_init_read() });
        slot.state.store(self.available(position) + 2, Ordering::Release);
        item
    }

    /// Dispatches and takes at most `most` items onto the end of `to`. How many.
    pub fn consume(&self, most: usize, to: &mut Vec<T>) -> usize {
        let Span { first, count } = self.dispatch(most);
        to.extend((first..first + count).map(|position| self.take(position)));
        count
    }
}

#[cfg(not(all(test, loom)))]
fn relax() {
    std::hint::spin_loop();
}

#[cfg(all(test, loom))]
fn relax() {
    loom::thread::yield_now();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_order_and_elements_are_used_again() {
        let ring = Ring::new(3);
        let mut out = Vec::new();
        for round in 0..10u32 {
            let Span { first, count } = ring.reserve(3);
            // The second element is published last: what is behind it waits.
            for k in [0, 2] {
                ring.publish(first + k, 3 * round + k as u32);
            }
            assert_eq!((ring.consume(8, &mut out), ring.pending()), (1, 2));
            ring.publish(first + 1, 3 * round + 1);
            assert_eq!((ring.consume(1, &mut out), ring.consume(8, &mut out), count), (1, 1, 3));
        }
        assert!(out.into_iter().eq(0..30));
    }

    #[test]
    fn a_ring_of_one_element_goes_round() {
        let ring = Ring::new(1);
        let mut out = Vec::new();
        for k in 0..5u8 {
            assert_eq!(ring.consume(1, &mut out), 0);
            ring.publish(ring.reserve(1).first, k);
            assert_eq!(ring.consume(9, &mut out), 1);
        }
        assert_eq!(out, [0, 1, 2, 3, 4]);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::super::credits::Credits;
    use super::*;
    use loom::model::Builder;
    use loom::sync::Arc;
    use loom::thread::spawn;

    /// Two consumers free two elements in any order, while a producer uses the credit of one for the other, which may
    /// still be read: every item comes once and whole.
    #[test]
    fn no_item_is_lost_doubled_or_torn() {
        let mut model = Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new((Ring::new(2), Credits::new(2)));
            assert!(shared.1.take(2));
            let first = shared.0.reserve(2).first;
            (0..2).for_each(|k| shared.0.publish(first + k, [1usize << k; 2]));
            let consumer = |shared: Arc<(Ring<[usize; 2]>, Credits)>| {
                let mut found = Vec::new();
                let count = shared.0.consume(1, &mut found);
                shared.1.give(count);
                found
            };
            let other = {
                let shared = shared.clone();
                spawn(move || consumer(shared))
            };
            let producer = {
                let shared = shared.clone();
                spawn(move || {
                    let room = shared.1.take(1);
                    if room {
                        shared.0.publish(shared.0.reserve(1).first, [4; 2]);
                    }
                    room
                })
            };
            let mut found = consumer(shared.clone());
            found.extend(other.join().unwrap());
            let more = producer.join().unwrap();
            shared.0.consume(2, &mut found);
            let sum = |k: usize| found.iter().map(|item| item[k]).sum::<usize>();
            let expect = 3 + if more { 4 } else { 0 };
            assert_eq!([sum(0), sum(1)], [expect; 2]);
        });
    }

    /// Two consumers at a ring of two elements that two producers fill: each item goes to one of them.
    #[test]
    fn an_item_is_dispatched_once() {
        let mut model = Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let ring = Arc::new(Ring::new(2));
            let producer = {
                let ring = ring.clone();
                spawn(move || {
                    let Span { first, .. } = ring.reserve(2);
                    // Later positions may be published first: nobody sees a hole.
                    ring.publish(first + 1, 10);
                    ring.publish(first, 1);
                })
            };
            let consumer = {
                let ring = ring.clone();
                spawn(move || {
                    let mut found = Vec::new();
                    ring.consume(2, &mut found);
                    found
                })
            };
            let mut found = Vec::new();
            ring.consume(1, &mut found);
            producer.join().unwrap();
            found.extend(consumer.join().unwrap());
            ring.consume(2, &mut found);
            found.sort_unstable();
            assert_eq!(found, [1, 10]);
        });
    }
}
