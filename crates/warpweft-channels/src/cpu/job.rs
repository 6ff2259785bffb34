//! One place of a worker's deque: a spawned call, its target and who holds it. Not: how it is run, which its kind says.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use warpweft_core::cpu::sync::{AtomicUsize, Ordering};

/// Bytes for a call, and after it for its value. A larger one is on the heap, and its address here.
const ROOM: usize = 96;

/// Whether a value is kept in the job itself.
const fn fits<T>() -> bool {
    size_of::<T>() <= ROOM && align_of::<T>() <= 128
}

/// The owner holds it.
const OWN: usize = 0;
/// A thief has run it; the value, if there is one, is in place.
const DONE: usize = 1;
/// From here on: stolen by the worker of this number.
const STOLEN: usize = 2;

// SAFETY: the contents are used by the owner or, between `give` and `finish`, by the thief, which gets them through a
// release and finishes with one. Calls and outputs are `Send`; kinds are shared constants.
unsafe impl<K: Sync> Sync for Job<K> {}

/// A spawned call of a kind `K`. Owner and thief use it in turn, as `state` says.
#[repr(C, align(128))]
pub(super) struct Job<K: 'static> {
    /// The call; once it is done elsewhere, its value.
    room: UnsafeCell<MaybeUninit<[u8; ROOM]>>,
    /// Where the value goes; null for nowhere.
    target: UnsafeCell<*mut ()>,
    kind: UnsafeCell<&'static K>,
    state: AtomicUsize,
    level: UnsafeCell<u32>,
}

impl<K> Job<K> {
    /// A place without a job; `kind` is any.
    pub fn empty(kind: &'static K) -> Self {
        Self {
            room: UnsafeCell::new(MaybeUninit::uninit()),
            target: UnsafeCell::new(std::ptr::null_mut()),
            kind: UnsafeCell::new(kind),
            state: AtomicUsize::new(OWN),
            level: UnsafeCell::new(0),
        }
    }

    /// Puts `call` there.
    ///
    /// # Safety
    /// The place is the caller's and empty.
    #[inline(always)]
    pub unsafe fn fill<C: Copy>(&self, call: C, target: *mut (), kind: &'static K, level: u32) {
        // SAFETY: by contract.
        unsafe {
            self.put(call);
            self.target.get().write(target);
            self.kind.get().write(kind);
            self.level.get().write(level);
        }
        self.state.store(OWN, Ordering::Relaxed);
    }

    /// Takes the call out, or once it is done elsewhere its value.
    ///
    /// # Safety
    /// It holds a `V`, and the caller holds the job.
    #[inline(always)]
    pub unsafe fn take<V: Copy>(&self) -> V {
        let room = self.room.get();
        // SAFETY: by contract; `put` left the value, or the address of its box, which nobody else has.
        unsafe {
            match fits::<V>() {
                true => room.cast::<V>().read(),
                false => *Box::from_raw(room.cast::<*mut V>().read()),
            }
        }
    }

    /// Leaves the value of the call in its place.
    ///
    /// # Safety
    /// The caller holds the job and has taken its call out.
    #[inline(always)]
    pub unsafe fn put<V: Copy>(&self, value: V) {
        let room = self.room.get();
        // SAFETY: by contract; the room begins the job, whose alignment it has, and is large enough for either.
        unsafe {
            match fits::<V>() {
                true => room.cast::<V>().write(value),
                false => room.cast::<*mut V>().write(Box::into_raw(Box::new(value))),
            }
        }
    }

    /// Where its value goes; null for nowhere.
    ///
    /// # Safety
    /// There is a job, whose owner calls this.
    #[inline(always)]
    pub unsafe fn target(&self) -> *mut () {
        // SAFETY: by contract.
        unsafe { self.target.get().read() }
    }

    /// Its value goes nowhere.
    ///
    /// # Safety
    /// There is a job, whose owner calls this.
    pub unsafe fn forget_target(&self) {
        // SAFETY: by contract.
        unsafe { self.target.get().write(std::ptr::null_mut()) };
    }

    /// What can be done with it.
    ///
    /// # Safety
    /// There is a job, which is not being filled.
    #[inline(always)]
    pub unsafe fn kind(&self) -> &'static K {
        // SAFETY: by contract.
        unsafe { self.kind.get().read() }
    }

    /// The level of the call.
    ///
    /// # Safety
    /// As [`Job::kind`].
    pub unsafe fn level(&self) -> u32 {
        // SAFETY: by contract.
        unsafe { self.level.get().read() }
    }

    /// Whether its owner holds it. For the owner alone.
    #[inline(always)]
    pub fn is_own(&self) -> bool {
        self.state.load(Ordering::Relaxed) == OWN
    }

    /// Its owner gives it to the worker `thief`.
    pub fn give(&self, thief: usize) {
        self.state.store(STOLEN + thief, Ordering::Relaxed);
    }

    /// The thief that holds it; `None` once it is done, and its value is seen then.
    pub fn thief(&self) -> Option<usize> {
        self.state.load(Ordering::Acquire).checked_sub(STOLEN)
    }

    /// Its thief is done with it.
    pub fn finish(&self) {
        self.state.store(DONE, Ordering::Release);
    }
}
