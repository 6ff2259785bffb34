//! One `spawn!` of a function: the type of its calls, which the deque forgets, and how long they borrow.

use std::marker::PhantomData;

use super::frame::Frame;
use super::slot;
use super::worker::Worker;
use crate::spawning::Call;

/// The `spawn!` number `NUMBER` of a function, whose calls are of type `C`.
///
/// A site is made before its [`Frame`] and dropped after it. So what its calls borrow is borrowed until the frame has
/// settled them: the compiler refuses a function that uses it before its `sync!()`.
#[derive(Debug)]
pub struct Site<C, const NUMBER: u8, const IN_LOOP: bool>(PhantomData<fn(C) -> C>);

impl<C, const NUMBER: u8, const IN_LOOP: bool> Default for Site<C, NUMBER, IN_LOOP> {
    #[inline(always)]
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<C, const NUMBER: u8, const IN_LOOP: bool> Drop for Site<C, NUMBER, IN_LOOP> {
    /// Nothing is done. That there is a `drop` is what lets `C` borrow up to here.
    #[inline(always)]
    fn drop(&mut self) {}
}

impl<C: Call, const NUMBER: u8, const IN_LOOP: bool> Site<C, NUMBER, IN_LOOP> {
    /// Leaves `call`, which a call of this level spawns, to the first worker that has time.
    ///
    /// # Safety
    /// [`Worker::shares`] has just said so; the frame was made after the site and is dropped before it, and by no means
    /// forgotten. Every call of the frame is pushed and settled by the site of its number.
    #[cold]
    #[inline(never)]
    pub unsafe fn push(&self, frame: &Frame<'_, '_>, call: C, level: u32) {
        let site = slot::Site { number: NUMBER, in_loop: IN_LOOP };
        let header = Worker::header::<C>(frame.base(), level + 1, site);
        // SAFETY: there was room; the frame settles or abandons its calls before the site ends, and with it their borrows.
        unsafe { frame.worker().push(call, header) };
    }

    /// The value of the newest call, which [`Frame::newest`] has named: it is run, or its thief is waited for.
    ///
    /// # Safety
    /// The newest call of the frame was pushed by this site, from a call of this level.
    #[cold]
    #[inline(never)]
    pub unsafe fn settle(&self, frame: &Frame<'_, '_>, level: u32) -> C::Output {
        let worker = frame.worker();
        let own = worker.pop();
        let slot = worker.slot(worker.top.get());
        if own {
            // SAFETY: by contract; the slot is this worker's again.
            let call = unsafe { slot.take::<C>() };
            return worker.call(call, level);
        }
        worker.join(slot);
        // SAFETY: the call is done, so its value is there.
        unsafe { slot.take::<C::Output>() }
    }
}
