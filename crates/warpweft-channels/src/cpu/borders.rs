//! The borders of a worker's deque in one atomic word: which calls are stolen, which may be, and which are private.
//!
//! Slots are filled in the order of spawning. Those below `head` are stolen, those from `head` to `split` are public, and
//! those from `split` on are the owner's alone, at no cost. Thieves move `head`, the owner moves `split`, both by
//! compare-and-swap of the whole word, so no slot is ever taken by two. The source is the split deque of Lace (van Dijk
//! and van de Pol, "Lace: Non-blocking split deque for work-stealing", Euro-Par 2014 workshops); here a thief takes half
//! of what is public at once. Not here: what the slots hold, and when the owner publishes.

use warpweft_core::cpu::sync::{AtomicU64, Ordering};

/// `head` in the lower half, `split` in the upper.
pub(super) struct Borders(AtomicU64);

/// What a thief has taken: these slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub from: u32,
    pub to: u32,
    /// Whether nothing public is left.
    pub all: bool,
}

const fn packed(head: u32, split: u32) -> u64 {
    head as u64 | (split as u64) << 32
}

const fn unpacked(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

impl Borders {
    /// Of an empty deque.
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Thieves: half of the public slots, `most` at most.
    pub fn steal(&self, most: u32) -> Option<Taken> {
        // Acquire at the swap: what the owner wrote into the slots before it published them is seen.
        let taken = |word| {
            let (head, split) = unpacked(word);
            let count = split.saturating_sub(head).div_ceil(2).min(most);
            Taken { from: head, to: head + count, all: head + count == split }
        };
        let swap = |word| {
            let Taken { from, to, .. } = taken(word);
            (from < to).then(|| packed(to, unpacked(word).1))
        };
        self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, swap).ok().map(taken)
    }

    /// The owner: all slots below `to`, which are filled, are public from now on.
    pub fn publish(&self, to: u32) {
        self.update(|head, _| Some((head, to)));
    }

    /// The owner, which wants its last public slot back, takes that and half of the others. The new `split`; `None` if
    /// the slot is stolen.
    pub fn reclaim(&self, at: u32) -> Option<u32> {
        let to = |head: u32| head + at.saturating_sub(head).div_ceil(2);
        self.update(|head, _| (head <= at).then(|| (head, to(head)))).map(|(head, _)| to(head))
    }

    /// The owner takes back what is public from `from` on. `head`, and the new `split`.
    pub fn retract(&self, from: u32) -> (u32, u32) {
        let to = |head: u32, split: u32| split.min(head.max(from));
        let before = self.update(|head, split| Some((head, to(head, split))));
        before.map_or((0, 0), |(head, split)| (head, to(head, split)))
    }

    /// The owner, of whose slots none is public: all below `at` are stolen, the others free.
    pub fn reset(&self, at: u32) {
        self.0.store(packed(at, at), Ordering::Release);
    }

    /// The word before it was changed; `None` if it is to stay.
    fn update(&self, to: impl Fn(u32, u32) -> Option<(u32, u32)>) -> Option<(u32, u32)> {
        let swap = |word| {
            let (head, split) = unpacked(word);
            to(head, split).map(|(head, split)| packed(head, split))
        };
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, swap).ok().map(unpacked)
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread::spawn;

    /// A deque of four slots, each of which holds a number.
    struct Deque {
        borders: Borders,
        slots: [UnsafeCell<u32>; 4],
    }

    impl Deque {
        fn new() -> Arc<Self> {
            let slots = std::array::from_fn(|_| UnsafeCell::new(0));
            Arc::new(Self { borders: Borders::new(), slots })
        }

        fn fill(&self, at: u32, value: u32) {
            // SAFETY: loom tells whether somebody else uses the slot meanwhile.
            self.slots[at as usize].with_mut(|slot| unsafe { *slot = value });
        }

        fn empty(&self, at: u32) -> u32 {
            // SAFETY: the same.
            self.slots[at as usize].with_mut(|slot| unsafe { std::mem::replace(&mut *slot, 0) })
        }

        fn steal(&self) -> u32 {
            let taken = self.borders.steal(9);
            taken.map_or(0, |Taken { from, to, .. }| (from..to).map(|at| self.empty(at)).sum())
        }

        /// Pops slot `at` as its owner does; `split` is the owner's copy of the border.
        fn pop(&self, at: u32, split: &mut u32) -> Option<u32> {
            if at < *split {
                *split = self.borders.reclaim(at)?;
            }
            Some(self.empty(at))
        }
    }

    fn thieves(deque: &Arc<Deque>, steals: [usize; 2]) -> [loom::thread::JoinHandle<u32>; 2] {
        steals.map(|times| {
            let deque = deque.clone();
            spawn(move || (0..times).map(|_| deque.steal()).sum())
        })
    }

    /// An owner publishes three of four and pops all while two steal: each is had once, whole.
    #[test]
    fn no_call_is_lost_or_run_twice() {
        loom::model(|| {
            let deque = Deque::new();
            let thieves = thieves(&deque, [1, 1]);
            (0..4).for_each(|at| deque.fill(at, 1 << at));
            deque.borders.publish(3);
            let mut split = 3;
            let own: u32 = (0..4).rev().map_while(|at| deque.pop(at, &mut split)).sum();
            let stolen: u32 = thieves.map(|thief| thief.join().unwrap()).iter().sum();
            assert_eq!(own + stolen, 15);
        });
    }

    /// A deque is used again after all that it had is stolen: a thief with an old word takes nothing that is not public.
    #[test]
    fn a_deque_that_is_used_again_gives_each_call_once() {
        loom::model(|| {
            let deque = Deque::new();
            let other = deque.clone();
            let thief = spawn(move || other.steal() + other.steal());
            let (mut own, mut at) = (0, 0);
            for value in [1, 2] {
                deque.fill(at, value);
                deque.borders.publish(at + 1);
                match deque.pop(at, &mut (at + 1)) {
                    Some(value) => own += value,
                    // Its thief is not waited for here: the slot after it is used instead.
                    None => {
                        at += 1;
                        deque.borders.reset(at);
                    }
                }
            }
            let stolen = thief.join().unwrap();
            assert_eq!(own + stolen, 3);
        });
    }

    /// An owner that unwinds takes back what nobody has stolen.
    #[test]
    fn what_is_retracted_is_not_stolen() {
        loom::model(|| {
            let deque = Deque::new();
            (0..3).for_each(|at| deque.fill(at, 1 << at));
            deque.borders.publish(3);
            let thieves = thieves(&deque, [1, 1]);
            let (head, split) = deque.borders.retract(1);
            assert_eq!(split, head.max(1));
            let own: u32 = (split..3).map(|at| deque.empty(at)).sum();
            let stolen: u32 = thieves.map(|thief| thief.join().unwrap()).iter().sum();
            // The slot below stays public.
            let rest = deque.steal();
            assert_eq!(own + stolen + rest, 7);
        });
    }
}
