//! Asking another worker for work: each has one cell for who asks it and one for what it is answered.
//!
//! Work is not taken but given (Acar, Charguéraud and Rainey, "Scheduling parallel programs by work stealing
//! with private deques", PPoPP 2013): what a worker has is its own, and costs no fence, until it sees that
//! another asks. Who asks may take its request back as long as it isn't answered. What is given is a number
//! here, whose meaning and memory are the caller's.

use super::sync::{AtomicUsize, Ordering};

/// Nobody asks.
const OPEN: usize = 0;
/// Has nothing and gives nothing.
const CLOSED: usize = 1;
/// The run is over for everybody.
const STOPPED: usize = 2;
/// A request is above these: who asks, from 1, and above which level.
const LEVEL_BITS: u32 = 20;

/// No answer yet.
const WAITING: usize = 0;
/// There is nothing to give.
const NOTHING: usize = 1;

/// The two cells of one worker, on lines that are written by nobody else's business.
#[repr(align(128))]
struct Window {
    request: AtomicUsize,
    answer: AtomicUsize,
}

/// The cells of all workers.
pub struct Windows(Vec<Window>);

/// What a worker finds in its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing.
    Nobody,
    /// This worker asks for work deeper than a level.
    Worker(usize, u32),
    /// The run is over.
    Stopped,
}

impl Windows {
    /// The deepest level that can be asked for.
    pub const LEVELS: u32 = (1 << LEVEL_BITS) - 1;

    /// For `workers` workers, all of whom have nothing.
    pub fn new(workers: usize) -> Self {
        let window =
            || Window { request: AtomicUsize::new(CLOSED), answer: AtomicUsize::new(WAITING) };
        Self((0..workers).map(|_| window()).collect())
    }

    /// Number of workers.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether `me` has been asked or stopped, seen late perhaps.
    #[inline(always)]
    pub fn is_asked(&self, me: usize) -> bool {
        self.0[me].request.load(Ordering::Relaxed) != OPEN
    }

    /// `me` has work now. Whether the run goes on.
    pub fn open(&self, me: usize) -> bool {
        self.turn(me, OPEN) != Asked::Stopped
    }

    /// `me` has none any more; who asked meanwhile must be answered.
    pub fn close(&self, me: usize) -> Asked {
        self.turn(me, CLOSED)
    }

    /// Takes the request made of `me`, which must then be answered.
    pub fn take(&self, me: usize) -> Asked {
        self.turn(me, OPEN)
    }

    fn turn(&self, me: usize, to: usize) -> Asked {
        // Acquire: the asker's cell was emptied before it asked, and is filled after this.
        match self.0[me].request.swap(to, Ordering::AcqRel) {
            OPEN | CLOSED => Asked::Nobody,
            STOPPED => {
                self.stop_one(me);
                Asked::Stopped
            }
            word => asked(word),
        }
    }

    fn stop_one(&self, worker: usize) {
        let before = self.0[worker].request.swap(STOPPED, Ordering::AcqRel);
        if before > STOPPED
            && let Asked::Worker(who, _) = asked(before)
        {
            self.answer(who, None);
        }
    }

    /// Asks `whom` for work deeper than `level`, for `me`, who waits for no other answer. Whether it was asked.
    pub fn ask(&self, whom: usize, me: usize, level: u32) -> bool {
        self.0[me].answer.store(WAITING, Ordering::Relaxed);
        let request = &self.0[whom].request;
        let order = (Ordering::Release, Ordering::Relaxed);
        request.compare_exchange(OPEN, word(me, level), order.0, order.1).is_ok()
    }

    /// Takes a request back. If it is too late the answer is under way.
    pub fn withdraw(&self, whom: usize, me: usize, level: u32) -> bool {
        let request = &self.0[whom].request;
        let order = Ordering::Relaxed;
        request.compare_exchange(word(me, level), OPEN, order, order).is_ok()
    }

    /// Answers `whom` with what `given` stands for, all of which it will see, or with nothing.
    pub fn answer(&self, whom: usize, given: Option<usize>) {
        let word = given.unwrap_or(NOTHING);
        debug_assert!(word != WAITING);
        self.0[whom].answer.store(word, Ordering::Release);
    }

    /// What `me` was answered, if it was.
    pub fn answered(&self, me: usize) -> Option<Option<usize>> {
        match self.0[me].answer.load(Ordering::Acquire) {
            WAITING => None,
            NOTHING => Some(None),
            given => Some(Some(given)),
        }
    }

    /// Ends the run for everybody; requests that nobody has taken are answered with nothing.
    pub fn stop(&self) {
        (0..self.len()).for_each(|worker| self.stop_one(worker));
    }
}

fn asked(word: usize) -> Asked {
    Asked::Worker((word >> LEVEL_BITS) - 1, word as u32 & Windows::LEVELS)
}

fn word(me: usize, level: u32) -> usize {
    (me + 1) << LEVEL_BITS | level.min(Windows::LEVELS) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_has_nothing_is_not_asked() {
        let windows = Windows::new(2);
        assert!(!windows.ask(1, 0, 3));
        assert!(windows.open(1) && windows.ask(1, 0, 3));
        assert_eq!(windows.take(1), Asked::Worker(0, 3));
        windows.answer(0, None);
        assert_eq!(windows.answered(0), Some(None));
        assert!(windows.ask(1, 0, 7) && windows.withdraw(1, 0, 7));
        assert_eq!(windows.close(1), Asked::Nobody);
        windows.stop();
        assert!(!windows.ask(1, 0, 3) && !windows.open(1) && windows.is_asked(1));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread::{spawn, yield_now};

    /// A worker has one piece of work, which two others ask for, each of whom may give up. It is run once,
    /// by whoever has it, who sees all of it.
    #[test]
    fn work_is_neither_lost_nor_doubled() {
        loom::model(|| {
            let windows = Arc::new(Windows::new(3));
            let work = Arc::new(UnsafeCell::new(0));
            assert!(windows.open(0));
            let asker = |me: usize| {
                let (windows, work) = (windows.clone(), work.clone());
                move || {
                    if !windows.ask(0, me, 0) || windows.withdraw(0, me, 0) {
                        return 0;
                    }
                    loop {
                        match windows.answered(me) {
                            None => yield_now(),
                            Some(None) => return 0,
                            Some(Some(given)) => {
                                assert_eq!(given, 40);
                                // SAFETY: the work is this thread's now.
                                return work
                                    .with_mut(|work| unsafe { std::mem::replace(&mut *work, 0) });
                            }
                        }
                    }
                }
            };
            let threads = [1, 2].map(|me| spawn(asker(me)));
            // SAFETY: nobody has been given it.
            work.with_mut(|work| unsafe { *work = 7 });
            let mut own = true;
            let mut tell = |asked| {
                if let Asked::Worker(who, _) = asked {
                    windows.answer(who, own.then_some(40));
                    own = false;
                }
            };
            tell(windows.take(0));
            tell(windows.close(0));
            let mut run = if own { 7 } else { 0 };
            for thread in threads {
                run += thread.join().unwrap();
            }
            assert_eq!(run, 7);
        });
    }
}
