//! A spawned call that waits to be run, by its owner or by whoever it is given to.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use super::worker::Worker;
use crate::combine::Combine;
use crate::spawning::Spawning;
use warpweft_core::cpu::sync::{AtomicUsize, Ordering};

/// Bytes for a call, and after it for its value.
const ROOM: usize = 96;

/// Its owner's.
const OWN: usize = 0;
/// Run by another; the value, if there is one, is in place.
const DONE: usize = 1;
/// Above this: given to a worker, by number.
const GIVEN: usize = 2;

// SAFETY: what is in it is used by its owner or, between giving and finishing, by who it was given to; the
// latter gets it through a release and finishes with one. Calls and outputs are `Send`.
unsafe impl Sync for Job {}

/// One place of a worker's stack of jobs. Owner and taker use it by turns, which `state` tells.
#[repr(C, align(128))]
pub(super) struct Job {
    /// The call; once it is done elsewhere, its value.
    room: UnsafeCell<MaybeUninit<[u8; ROOM]>>,
    /// Where the value goes; null for nowhere.
    target: UnsafeCell<*mut ()>,
    kind: UnsafeCell<&'static Kind>,
    state: AtomicUsize,
    level: UnsafeCell<u32>,
}

/// What there is to do with a job, of one kind of call and one way to combine its value.
///
/// # Safety
/// Its functions are for jobs that were filled with this kind, once each, under what they say further.
pub(super) struct Kind {
    /// Runs it here and combines its value: the job is the worker's own and holds its call; its target lives,
    /// and nobody else uses it.
    pub own: unsafe fn(*const Job, &mut Worker<'_>),
    /// Runs it here and leaves its value in the job, which holds its call and was given to this worker.
    pub taken: unsafe fn(*const Job, &mut Worker<'_>),
    /// Combines the value that was left: the job is its owner's again and holds it; its target lives, and
    /// nobody else uses it.
    pub combine: unsafe fn(*const Job),
    /// The function's name.
    pub name: &'static str,
}

struct Kinds<C, M>(std::marker::PhantomData<(C, M)>);

impl<C: Spawning, M: Combine<C::Output>> Kinds<C, M> {
    const FITS: () = assert!(
        size_of::<C>() <= ROOM
            && size_of::<C::Output>() <= ROOM
            && align_of::<C>() <= 128
            && align_of::<C::Output>() <= 128,
        "the arguments of a function that is spawned take 96 bytes at most, its value too; pass less"
    );
    const KIND: Kind =
        Kind { own: own::<C, M>, taken: taken::<C>, combine: combine::<C, M>, name: C::NAME };
}

/// # Safety
/// `job` holds a call of `C` and is the worker's own; its target lives and nobody else uses it.
unsafe fn own<C: Spawning, M: Combine<C::Output>>(job: *const Job, worker: &mut Worker<'_>) {
    // SAFETY: by contract. Both are copied out before the call, which uses the place again.
    let (call, target) =
        unsafe { ((*job).room.get().cast::<C>().read(), (*job).target.get().read()) };
    let value = worker.call(call);
    // SAFETY: the target lives until the frame that spawned the call is synced, which is what runs this.
    unsafe { deliver::<C, M>(target, value) };
}

/// # Safety
/// `job` holds a call of `C` that was given to this worker.
unsafe fn taken<C: Spawning>(job: *const Job, worker: &mut Worker<'_>) {
    // SAFETY: by contract.
    let call = unsafe { (*job).room.get().cast::<C>().read() };
    let value = worker.call(call);
    // SAFETY: the room is this worker's until the job is done, and large enough.
    unsafe { (*job).room.get().cast::<C::Output>().write(value) };
}

/// # Safety
/// `job` holds the value of a call of `C`, and is its owner's again; its target lives and nobody else uses it.
unsafe fn combine<C: Spawning, M: Combine<C::Output>>(job: *const Job) {
    // SAFETY: by contract.
    unsafe {
        let value = (*job).room.get().cast::<C::Output>().read();
        deliver::<C, M>((*job).target.get().read(), value);
    }
}

/// # Safety
/// `target` is null, or holds an output that nobody else uses.
#[inline(always)]
unsafe fn deliver<C: Spawning, M: Combine<C::Output>>(target: *mut (), value: C::Output) {
    let target = target.cast::<C::Output>();
    if !target.is_null() {
        // SAFETY: by contract.
        unsafe { target.write(M::combine(target.read(), value)) };
    }
}

impl Job {
    /// A place without a job.
    pub fn empty() -> Self {
        // A kind that nobody runs: places are filled before they are looked at.
        const NONE: Kind = {
            unsafe fn run(_: *const Job, _: &mut Worker<'_>) {}
            unsafe fn end(_: *const Job) {}
            Kind { own: run, taken: run, combine: end, name: "" }
        };
        Self {
            room: UnsafeCell::new(MaybeUninit::uninit()),
            target: UnsafeCell::new(std::ptr::null_mut()),
            kind: UnsafeCell::new(&NONE),
            state: AtomicUsize::new(OWN),
            level: UnsafeCell::new(0),
        }
    }

    /// Puts `call` there.
    ///
    /// # Safety
    /// The place is the caller's and empty.
    #[inline(always)]
    pub unsafe fn fill<C: Spawning, M: Combine<C::Output>>(
        &self,
        call: C,
        target: *mut C::Output,
        level: u32,
    ) {
        const { Kinds::<C, M>::FITS };
        // SAFETY: by contract; the room is large enough, as just asserted.
        unsafe {
            self.room.get().cast::<C>().write(call);
            self.target.get().write(target.cast());
            self.kind.get().write(&Kinds::<C, M>::KIND);
            self.level.get().write(level);
        }
        self.state.store(OWN, Ordering::Relaxed);
    }

    /// Its value goes nowhere.
    ///
    /// # Safety
    /// The job is its owner's, who calls this.
    pub unsafe fn forget_target(&self) {
        // SAFETY: by contract.
        unsafe { self.target.get().write(std::ptr::null_mut()) };
    }

    /// What can be done with it.
    ///
    /// # Safety
    /// There is a job, which is not being filled.
    #[inline(always)]
    pub unsafe fn kind(&self) -> &'static Kind {
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

    /// Whether its owner has it, who alone asks.
    #[inline(always)]
    pub fn is_own(&self) -> bool {
        self.state.load(Ordering::Relaxed) == OWN
    }

    /// Its owner gives it to `worker`.
    pub fn give(&self, worker: usize) {
        self.state.store(GIVEN + worker, Ordering::Relaxed);
    }

    /// Who has it, unless it is done; what was done is seen then.
    pub fn holder(&self) -> Option<usize> {
        self.state.load(Ordering::Acquire).checked_sub(GIVEN)
    }

    /// Its taker is done with it.
    pub fn finish(&self) {
        self.state.store(DONE, Ordering::Release);
    }
}
