//! Steal requests between workers: each worker has one cell for the request made of it and one for the reply to its own.
//!
//! A worker does not take work from another worker's deque; it requests it (Acar, Charguéraud and Rainey, "Scheduling
//! parallel programs by work stealing with private deques", PPoPP 2013). A deque is private and costs no fence until
//! its owner sees a request. A thief may withdraw a request that has no reply yet. The work itself is a number here;
//! its meaning and its memory are the caller's.

use super::sync::{AtomicUsize, Ordering};

/// No request; the worker has work.
const OPEN: usize = 0;
/// The worker has no work, so none can be requested.
const CLOSED: usize = 1;
/// The run is over for all workers.
const STOPPED: usize = 2;
/// A request is above these: the thief's number plus 1, and the level that the work must be deeper than.
const LEVEL_BITS: u32 = 20;

/// No reply yet.
const WAITING: usize = 0;
/// The victim has no work to give.
const NOTHING: usize = 1;

/// The two cells of one worker, on cache lines that hold nothing else.
#[repr(align(128))]
struct Mailbox {
    request: AtomicUsize,
    reply: AtomicUsize,
}

/// The mailboxes of all workers.
pub struct Mailboxes(Vec<Mailbox>);

/// What a worker finds in its mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// No request.
    None,
    /// This worker requests work deeper than a level.
    From(usize, u32),
    /// The run is over.
    Stopped,
}

impl Mailboxes {
    /// The deepest level that a request can name.
    pub const LEVELS: u32 = (1 << LEVEL_BITS) - 1;

    /// For `workers` workers, none of which has work.
    pub fn new(workers: usize) -> Self {
        let mailbox =
            || Mailbox { request: AtomicUsize::new(CLOSED), reply: AtomicUsize::new(WAITING) };
        Self((0..workers).map(|_| mailbox()).collect())
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.0.len()
    }

    /// Whether `me` has a request or is stopped; may be seen late.
    #[inline(always)]
    pub fn has_request(&self, me: usize) -> bool {
        self.0[me].request.load(Ordering::Relaxed) != OPEN
    }

    /// `me` has work from now on. Whether the run goes on.
    pub fn open(&self, me: usize) -> bool {
        self.swap_request(me, OPEN) != Request::Stopped
    }

    /// `me` has no work any more; a request that came meanwhile must get a reply.
    pub fn close(&self, me: usize) -> Request {
        self.swap_request(me, CLOSED)
    }

    /// Takes the request made of `me`, which must then get a reply.
    pub fn take_request(&self, me: usize) -> Request {
        self.swap_request(me, OPEN)
    }

    fn swap_request(&self, me: usize, to: usize) -> Request {
        // Acquire: the thief emptied its reply cell before it sent the request; it is filled after this.
        match self.0[me].request.swap(to, Ordering::AcqRel) {
            OPEN | CLOSED => Request::None,
            STOPPED => {
                self.stop_one(me);
                Request::Stopped
            }
            word => decoded(word),
        }
    }

    fn stop_one(&self, worker: usize) {
        let before = self.0[worker].request.swap(STOPPED, Ordering::AcqRel);
        if before > STOPPED
            && let Request::From(thief, _) = decoded(before)
        {
            self.reply(thief, None);
        }
    }

    /// Requests work deeper than `level` from `victim`, for `me`, which waits for no other reply. Whether the request
    /// was sent.
    pub fn request(&self, victim: usize, me: usize, level: u32) -> bool {
        self.0[me].reply.store(WAITING, Ordering::Relaxed);
        let request = &self.0[victim].request;
        let order = (Ordering::Release, Ordering::Relaxed);
        request.compare_exchange(OPEN, encoded(me, level), order.0, order.1).is_ok()
    }

    /// Withdraws a request. `false` if it is too late: the reply is under way.
    pub fn withdraw(&self, victim: usize, me: usize, level: u32) -> bool {
        let request = &self.0[victim].request;
        let order = Ordering::Relaxed;
        request.compare_exchange(encoded(me, level), OPEN, order, order).is_ok()
    }

    /// Replies to `thief` with the work that `work` stands for, all of whose memory the thief will see, or with nothing.
    pub fn reply(&self, thief: usize, work: Option<usize>) {
        let word = work.unwrap_or(NOTHING);
        debug_assert!(word != WAITING);
        self.0[thief].reply.store(word, Ordering::Release);
    }

    /// The reply to the request of `me`, if there is one.
    pub fn poll_reply(&self, me: usize) -> Option<Option<usize>> {
        match self.0[me].reply.load(Ordering::Acquire) {
            WAITING => None,
            NOTHING => Some(None),
            work => Some(Some(work)),
        }
    }

    /// Ends the run for all workers; requests that no worker has taken get a reply of nothing.
    pub fn stop(&self) {
        (0..self.workers()).for_each(|worker| self.stop_one(worker));
    }
}

fn decoded(word: usize) -> Request {
    Request::From((word >> LEVEL_BITS) - 1, word as u32 & Mailboxes::LEVELS)
}

fn encoded(me: usize, level: u32) -> usize {
    (me + 1) << LEVEL_BITS | level.min(Mailboxes::LEVELS) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_worker_without_work_gets_no_request() {
        let mailboxes = Mailboxes::new(2);
        assert!(!mailboxes.request(1, 0, 3));
        assert!(mailboxes.open(1) && mailboxes.request(1, 0, 3));
        assert_eq!(mailboxes.take_request(1), Request::From(0, 3));
        mailboxes.reply(0, None);
        assert_eq!(mailboxes.poll_reply(0), Some(None));
        assert!(mailboxes.request(1, 0, 7) && mailboxes.withdraw(1, 0, 7));
        assert_eq!(mailboxes.close(1), Request::None);
        mailboxes.stop();
        assert!(!mailboxes.request(1, 0, 3) && !mailboxes.open(1) && mailboxes.has_request(1));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread::{spawn, yield_now};

    /// One worker has one piece of work, which two thieves request; each may withdraw its request. The work is run
    /// once, by the worker that has it, which sees all of it.
    #[test]
    fn work_is_neither_lost_nor_doubled() {
        loom::model(|| {
            let mailboxes = Arc::new(Mailboxes::new(3));
            let work = Arc::new(UnsafeCell::new(0));
            assert!(mailboxes.open(0));
            let thief = |me: usize| {
                let (mailboxes, work) = (mailboxes.clone(), work.clone());
                move || {
                    if !mailboxes.request(0, me, 0) || mailboxes.withdraw(0, me, 0) {
                        return 0;
                    }
                    loop {
                        match mailboxes.poll_reply(me) {
                            None => yield_now(),
                            Some(None) => return 0,
                            Some(Some(stolen)) => {
                                assert_eq!(stolen, 40);
                                // SAFETY: the work is this thread's now.
                                return work
                                    .with_mut(|work| unsafe { std::mem::replace(&mut *work, 0) });
                            }
                        }
                    }
                }
            };
            let threads = [1, 2].map(|me| spawn(thief(me)));
            // SAFETY: no thief has got it yet.
            work.with_mut(|work| unsafe { *work = 7 });
            let mut own = true;
            let mut reply = |request| {
                if let Request::From(thief, _) = request {
                    mailboxes.reply(thief, own.then_some(40));
                    own = false;
                }
            };
            reply(mailboxes.take_request(0));
            reply(mailboxes.close(0));
            let mut run = if own { 7 } else { 0 };
            for thread in threads {
                run += thread.join().unwrap();
            }
            assert_eq!(run, 7);
        });
    }
}
