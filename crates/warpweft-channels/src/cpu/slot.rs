//! One slot of a worker's deque: a spawned call, later its value, and who has it. Not: how it is run, which its kind says.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use warpweft_core::cpu::sync::{AtomicUsize, Ordering};

/// Bytes for a call, and after it for its value. A larger one is on the heap, and its address here.
const ROOM: usize = 40;

/// Whether a value is kept in the slot itself.
const fn fits<T>() -> bool {
    size_of::<T>() <= ROOM && align_of::<T>() <= align_of::<u64>()
}

/// Public, and not stolen yet.
const PENDING: usize = 0;
/// A thief has run it; its value is in place.
const DONE: usize = 1;
/// A thief has run it and has no value: the call panicked.
const FAILED: usize = 2;
/// From here on: stolen by the worker of this number.
const STOLEN: usize = 3;
/// With any of these: its owner waits for its end.
const AWAITED: usize = 1 << (usize::BITS - 1);

// SAFETY: the contents are used by the owner or, from a steal to `finish`, by the thief, which gets them through an
// acquire of the borders and leaves them with a release. Calls and outputs are `Send`; kinds are shared constants.
unsafe impl<K: Sync> Sync for Slot<K> {}
// SAFETY: the same; no slot is tied to a thread.
unsafe impl<K: Sync> Send for Slot<K> {}

/// A spawned call of a kind `K`.
#[repr(C, align(64))]
pub(super) struct Slot<K: 'static> {
    header: UnsafeCell<MaybeUninit<Header<K>>>,
    state: AtomicUsize,
    room: UnsafeCell<MaybeUninit<[u64; ROOM / 8]>>,
}

/// What is known of a spawned call.
pub(super) struct Header<K: 'static> {
    pub kind: &'static K,
    /// The slot with which its frame begins.
    pub frame: u32,
    /// Its level, from 1 for roots.
    pub level: u16,
    /// Which `spawn!` of its function made it.
    pub site: Site,
}

/// Which `spawn!` of a function, and whether it stands in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub number: u8,
    pub in_loop: bool,
}

impl<K> Clone for Header<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Header<K> {}

/// How a stolen call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Its value is there.
    WithValue,
    /// It panicked.
    WithoutValue,
}

impl<K> Slot<K> {
    /// A slot that holds nothing.
    pub fn empty() -> Self {
        Self {
            header: UnsafeCell::new(MaybeUninit::uninit()),
            state: AtomicUsize::new(PENDING),
            room: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Puts `call` there.
    ///
    /// # Safety
    /// The slot is the caller's and empty.
    #[inline(always)]
    pub unsafe fn fill<C>(&self, call: C, header: Header<K>) {
        // SAFETY: by contract.
        unsafe {
            self.put(call);
            self.header.get().cast::<Header<K>>().write(header);
        }
    }

    /// What is known of the call.
    ///
    /// # Safety
    /// The slot was filled, and is the caller's.
    #[inline(always)]
    pub unsafe fn header(&self) -> Header<K> {
        // SAFETY: by contract.
        unsafe { self.header.get().cast::<Header<K>>().read() }
    }

    /// Takes the call out, or once it is done elsewhere its value.
    ///
    /// # Safety
    /// It holds a `V`, and the slot is the caller's.
    #[inline(always)]
    pub unsafe fn take<V>(&self) -> V {
        let room = self.room.get();
        // SAFETY: by contract; `put` left the value, or the address of its box, which nobody else has.
        unsafe {
            match fits::<V>() {
                true => room.cast::<V>().read(),
                false => *Box::from_raw(room.cast::<*mut V>().read()),
            }
        }
    }

    /// Leaves `value` there: the call, or the value in its place.
    ///
    /// # Safety
    /// The slot is the caller's, and what it held was taken out.
    #[inline(always)]
    pub unsafe fn put<V>(&self, value: V) {
        let room = self.room.get();
        // SAFETY: by contract; the room is large enough for either and aligned for it.
        unsafe {
            match fits::<V>() {
                true => room.cast::<V>().write(value),
                false => room.cast::<*mut V>().write(Box::into_raw(Box::new(value))),
            }
        }
    }

    /// Its owner is about to publish it.
    pub fn offer(&self) {
        self.state.store(PENDING, Ordering::Relaxed);
    }

    /// The worker `thief` has stolen it.
    pub fn mark(&self, thief: usize) {
        // Its owner may wait already, which must stay known.
        self.state.fetch_add(STOLEN + thief, Ordering::Relaxed);
    }

    /// Its thief, while it is at work and known.
    pub fn thief(&self) -> Option<usize> {
        (self.state.load(Ordering::Relaxed) & !AWAITED).checked_sub(STOLEN)
    }

    /// How it ended, once it has, and then the value is seen.
    pub fn ended(&self) -> Option<Ended> {
        match self.state.load(Ordering::Acquire) & !AWAITED {
            DONE => Some(Ended::WithValue),
            FAILED => Some(Ended::WithoutValue),
            _ => None,
        }
    }

    /// Its owner is about to wait for its end.
    pub fn wait_for(&self) {
        self.state.fetch_or(AWAITED, Ordering::Relaxed);
    }

    /// Its thief is done with it: from now on it is its owner's. Whether that waits, and is to be woken.
    #[must_use]
    pub fn finish(&self, ended: Ended) -> bool {
        let state = match ended {
            Ended::WithValue => DONE,
            Ended::WithoutValue => FAILED,
        };
        self.state.swap(state, Ordering::AcqRel) & AWAITED != 0
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::super::borders::Borders;
    use super::*;
    use loom::sync::Arc;
    use loom::thread::{spawn, yield_now};

    /// A call that is stolen comes back as its value, in every order of the two.
    #[test]
    fn a_stolen_call_comes_back_as_its_value() {
        loom::model(|| {
            let woken = loom::sync::atomic::AtomicBool::new(false);
            let shared = Arc::new((Borders::new(), Slot::<u8>::empty(), woken));
            let other = shared.clone();
            let thief = spawn(move || {
                let (borders, slot, _) = &*other;
                let stolen = borders.steal(1).is_some();
                if stolen {
                    slot.mark(1);
                    // SAFETY: the slot is this thread's until it is finished, and holds a call, which is a number.
                    unsafe { slot.put(slot.take::<u64>() + 1) };
                    if slot.finish(Ended::WithValue) {
                        other.2.store(true, Ordering::Release);
                    }
                }
                stolen
            });
            let (borders, slot, woken) = &*shared;
            let site = Site { number: 0, in_loop: false };
            // SAFETY: nobody has the slot yet.
            unsafe { slot.fill(41u64, Header { kind: &0, frame: 0, level: 1, site }) };
            slot.offer();
            borders.publish(1);
            let own = borders.reclaim(0).is_some();
            if !own {
                slot.wait_for();
                // Either it has ended already, or its thief will wake this thread.
                let ended = slot.ended().is_some();
                while !ended && !woken.load(Ordering::Acquire) {
                    yield_now();
                }
                assert!(slot.ended().is_some());
            }
            // SAFETY: the slot is this thread's again and holds a number.
            let value = unsafe { slot.take::<u64>() };
            assert_eq!(value, if own { 41 } else { 42 });
            assert_eq!(thief.join().unwrap(), !own);
        });
    }
}
