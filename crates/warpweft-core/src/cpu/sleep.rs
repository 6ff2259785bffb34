//! How a worker waits: it spins as long as a sleep would take, then sleeps until it is woken.
//!
//! Spinning for the cost of a sleep takes at most twice as long as the best choice with knowledge of the wait
//! (Karlin, Li, Manasse and Owicki, "Empirical studies of competitive spinning for a shared-memory
//! multiprocessor", SOSP 1991). Waits don't yield: a yield gives up the rest of a time slice, which costs
//! milliseconds if other work runs on the cores, while a sleeping thread keeps its claim to the core.
//!
//! Flags hold no list of sleepers. A flag's address selects one of a few places with lists, as in a parking
//! lot (Pizlo, "Locking in WebKit", 2016). A place counts its sleepers. A thread checks once more between
//! registering and sleeping, as with an event count (Reed and Kanodia, "Synchronization with eventcounts and
//! sequencers", CACM 1979). If no thread sleeps, waking is a fence and a load. A thread that is woken for
//! another flag of the same place checks and sleeps again.

use super::sync::{AtomicUsize, Condvar, Mutex, Ordering, PoisonError, fence, spin};

/// Sleepers of some flags.
#[repr(align(128))]
struct Place {
    count: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

macro_rules! place {
    () => {
        Place { count: AtomicUsize::new(0), lock: Mutex::new(()), changed: Condvar::new() }
    };
}

#[cfg(not(all(test, loom)))]
static PLACES: [Place; 64] = [const { place!() }; 64];
#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref PLACES: [Place; 1] = [place!()];
}

impl Place {
    /// The place of threads that wait for `flag`.
    fn of<T>(flag: &T) -> &'static Self {
        // Flags with many waiting threads are two lines long.
        &PLACES[std::ptr::from_ref(flag).addr() / 128 % PLACES.len()]
    }

    fn wake(&self) {
        if self.count.load(Ordering::Relaxed) > 0 {
            // A thread that has checked and does not sleep yet holds the lock.
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.changed.notify_all();
        }
    }
}

/// Waits until `ready` returns a value. The thread that makes it do so calls [`wake`] with the same flag, or
/// [`wake_all`].
pub fn until<T, R>(flag: &T, ready: impl Fn() -> Option<R>) -> R {
    if let Some(found) = spin(&ready) {
        return found;
    }
    let place = Place::of(flag);
    let mut guard = place.lock.lock().unwrap_or_else(PoisonError::into_inner);
    place.count.fetch_add(1, Ordering::Relaxed);
    // Pairs with the waker's fence: one of the two sees what the other wrote before.
    fence(Ordering::SeqCst);
    let found = loop {
        if let Some(found) = ready() {
            break found;
        }
        guard = place.changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
    };
    place.count.fetch_sub(1, Ordering::Relaxed);
    found
}

/// Wakes the threads that wait for `flag`. Call it after changing the flag.
pub fn wake<T>(flag: &T) {
    fence(Ordering::SeqCst);
    Place::of(flag).wake();
}

/// Wakes everybody.
pub(super) fn wake_all() {
    fence(Ordering::SeqCst);
    PLACES.iter().for_each(Place::wake);
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread::spawn;

    /// A thread that sleeps at a flag is woken by it, whatever else wakes the place.
    #[test]
    fn no_wake_is_lost_and_a_neighbours_is_no_ones_own() {
        loom::model(|| {
            let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let raise = |i: usize| {
                let flags = flags.clone();
                move || {
                    flags[i].store(i + 1, Ordering::Relaxed);
                    wake(&flags[i]);
                }
            };
            let threads = [spawn(raise(0)), spawn(raise(1))];
            let seen = || Some(flags[1].load(Ordering::Relaxed)).filter(|&seen| seen > 0);
            assert_eq!(until(&flags[1], seen), 2);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(Place::of(&flags[1]).count.load(Ordering::Relaxed), 0);
        });
    }

    #[test]
    fn several_sleep_at_one_flag() {
        loom::model(|| {
            let flag = Arc::new(AtomicUsize::new(0));
            let wait = |flag: &AtomicUsize| {
                until(flag, || (flag.load(Ordering::Relaxed) > 0).then_some(()));
            };
            let other = flag.clone();
            let thread = spawn(move || wait(&other));
            let raiser = flag.clone();
            let raiser = spawn(move || {
                raiser.store(1, Ordering::Relaxed);
                wake(&*raiser);
            });
            wait(&flag);
            thread.join().unwrap();
            raiser.join().unwrap();
        });
    }
}
