//! Workers, pinned or not, that all run one closure at the same time.
//!
//! This is not a task scheduler: `run` gives the same closure to every worker and returns when all are done,
//! as an OpenMP parallel region does. All workers run at once, so they may wait for one another.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use super::affinity::pin;
use super::sleep::{until, wake};
use super::{Abort, Aborted};
use crate::error::{Error, Result, no_thread};

/// What a closure knows about the worker that runs it.
#[derive(Debug)]
pub struct Worker<'a> {
    /// Number of this worker, below `count`.
    pub index: usize,
    /// Number of workers.
    pub count: usize,
    /// Set when any worker panics; pass it to every wait.
    pub abort: &'a Abort,
}

impl Worker<'_> {
    /// This worker's contiguous part of `0..n`. The parts of all workers make up the whole.
    pub fn share(&self, n: usize) -> std::ops::Range<usize> {
        n * self.index / self.count..n * (self.index + 1) / self.count
    }
}

/// A closure panicked in a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerPanic {
    /// Which worker.
    pub worker: usize,
    /// The panic's message.
    pub message: String,
}

type Body<'a> = dyn Fn(&Worker<'_>) -> Result<(), Aborted> + Sync + 'a;

#[derive(Clone, Copy)]
struct Job(*const Body<'static>);

// SAFETY: the closure is `Sync`, and `Pool::run` keeps it alive until every worker is done.
unsafe impl Send for Job {}

#[derive(Default)]
struct State {
    job: Option<Job>,
    panic: Option<WorkerPanic>,
    stop: bool,
}

/// A number that threads wait at, on lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Flag(AtomicUsize);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Numbers of jobs: worker 0 sleeps at the first, all others at the second.
    generations: [Flag; 2],
    /// Threads that have yet to end the present job.
    busy: Flag,
    done: Condvar,
    abort: Abort,
}

impl Shared {
    /// Wakes threads to read the state, which must not be locked: all, or all but that of worker 0.
    fn begin(&self, all: bool) {
        for generation in &self.generations[usize::from(!all)..] {
            generation.0.fetch_add(1, Ordering::Release);
            wake(generation);
        }
    }

    /// Whether all threads have ended the present job.
    fn is_idle(&self) -> bool {
        self.busy.0.load(Ordering::Acquire) == 0
    }

    /// Runs a worker's closure. A panic ends the waits of the others.
    fn attempt(&self, body: &Body<'_>, worker: &Worker<'_>) {
        let outcome = catch_unwind(AssertUnwindSafe(|| body(worker)));
        if let Err(payload) = outcome {
            self.abort.raise();
            let message = panic_text(payload.as_ref()).to_string();
            let panic = WorkerPanic { worker: worker.index, message };
            self.lock().panic.get_or_insert(panic);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics under the lock; if it did, the state would still be consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Workers that live as long as the pool, each pinned to a core or scheduled by the system.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// One closure at a time.
    running: Mutex<()>,
    /// Whether the thread that asks is worker 0. It needs a usual stack, and is not pinned.
    joins: bool,
}

impl Pool {
    /// More workers than this are a slip: no host has as many cores.
    pub const MOST: usize = 4096;

    /// Starts one worker for each entry of `cores` (system core numbers; repeats are allowed).
    ///
    /// # Errors
    /// No cores, a core that the process may not use, or a thread that the system refuses.
    pub fn new(cores: &[usize]) -> Result<Self> {
        Self::on(cores.iter().copied().map(Some).collect(), None, false)
    }

    /// Starts `threads` workers for a thread that may use `cores`. With as many threads as cores or more,
    /// they are pinned, one a core in turn. With fewer, the system places them, because other programs that
    /// leave cores unused would pin to the same ones.
    ///
    /// # Errors
    /// See [`Pool::new`]; more than [`Pool::MOST`] threads.
    pub fn over(cores: &[usize], threads: usize) -> Result<Self> {
        let places = places(cores, threads)?;
        let alone = places == [None];
        Self::on(places, None, alone)
    }

    /// Like [`Pool::over`], but [`Pool::run`] computes worker 0's part on the thread that calls it, which is not
    /// pinned: for closures of some microseconds, because a thread that sleeps takes longer to wake.
    ///
    /// # Errors
    /// See [`Pool::over`].
    pub fn joined(cores: &[usize], threads: usize) -> Result<Self> {
        Self::on(places(cores, threads)?, None, true)
    }

    /// Like [`Pool::over`], for workers with a stack of `stack` bytes. A stack takes memory only as it is
    /// used.
    ///
    /// # Errors
    /// See [`Pool::over`].
    pub fn with_stack(cores: &[usize], threads: usize, stack: usize) -> Result<Self> {
        Self::on(places(cores, threads)?, Some(stack), false)
    }

    fn on(places: Vec<Option<usize>>, stack: Option<usize>, joins: bool) -> Result<Self> {
        if places.is_empty() {
            return Err(Error::spec("a pool of 0 workers", "ask for at least 1 thread"));
        }
        let failed = |core: Option<usize>, error: std::io::Error| Error::Device {
            stage: "starting a worker".into(),
            device: core.map_or("the cores".into(), |core| format!("core {core}")),
            what: error.to_string(),
            hint: "use cores that the process may run on (see `taskset -p`)".into(),
        };
        let shared = Arc::new(Shared::default());
        let mut pool = Self { shared, threads: Vec::new(), running: Mutex::new(()), joins };
        let (pinned, reports) = mpsc::channel();
        for (index, &core) in places.iter().enumerate() {
            let (shared, pinned, count) = (pool.shared.clone(), pinned.clone(), places.len());
            let named = std::thread::Builder::new().name(format!("worker {index}"));
            let sized = match stack {
                Some(bytes) => named.stack_size(bytes),
                None => named,
            };
            let thread = sized.spawn(move || {
                let result = core.map_or(Ok(()), pin);
                let go = result.is_ok();
                let _ = pinned.send((core, result));
                // The receiver waits until the last sender is dropped.
                drop(pinned);
                if go {
                    work(&shared, index, count);
                }
            });
            pool.threads.push(thread.map_err(|error| no_thread("starting a worker", &error))?);
        }
        drop(pinned);
        for (core, result) in reports {
            result.map_err(|error| failed(core, error))?;
        }
        Ok(pool)
    }

    /// Number of workers.
    #[expect(clippy::len_without_is_empty, reason = "no pool is empty")]
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// Runs `body` on every worker at once and returns when all are done.
    ///
    /// # Errors
    /// The first panic, if any; [`Worker::abort`] then ends the other workers' waits.
    pub fn run(
        &self,
        body: impl Fn(&Worker<'_>) -> Result<(), Aborted> + Sync,
    ) -> Result<(), WorkerPanic> {
        if self.joins { self.with_this_thread(&body) } else { self.all(&body, None) }
    }

    /// Runs the closure of worker 0 on this thread.
    fn with_this_thread(&self, body: &Body<'_>) -> Result<(), WorkerPanic> {
        let _one_at_a_time = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.abort.reset();
        let others = self.threads.len() - 1;
        if others > 0 {
            // SAFETY: this function does not return before they are idle: the closure's panic is caught.
            unsafe { self.give(body, others) };
            self.shared.begin(false);
        }
        let worker = Worker { index: 0, count: others + 1, abort: &self.shared.abort };
        self.shared.attempt(body, &worker);
        until(&self.shared.busy, || self.shared.is_idle().then_some(()));
        self.ended()
    }

    /// Hands a closure to so many threads, which have yet to be woken.
    ///
    /// # Safety
    /// The closure must live until [`Shared::is_idle`].
    unsafe fn give(&self, body: &Body<'_>, threads: usize) {
        // SAFETY: only the lifetime changes, and after the caller's wait no thread holds the pointer.
        let job =
            Job(unsafe { std::mem::transmute::<*const Body<'_>, *const Body<'static>>(body) });
        self.shared.busy.0.store(threads, Ordering::Relaxed);
        self.shared.lock().job = Some(job);
    }

    /// What came of a closure that all have ended.
    fn ended(&self) -> Result<(), WorkerPanic> {
        let mut state = self.shared.lock();
        state.job = None;
        state.panic.take().map_or(Ok(()), Err)
    }

    /// Like [`Pool::run`], while this thread calls `look` at an interval. When `look` returns true,
    /// [`Worker::abort`] is set: waits end, and so does a worker that checks it.
    ///
    /// # Errors
    /// See [`Pool::run`].
    pub fn run_watched(
        &self,
        every: Duration,
        look: &dyn Fn() -> bool,
        body: impl Fn(&Worker<'_>) -> Result<(), Aborted> + Sync,
    ) -> Result<(), WorkerPanic> {
        self.all(&body, Some((every, look)))
    }

    fn all(
        &self,
        body: &Body<'_>,
        watch: Option<(Duration, &dyn Fn() -> bool)>,
    ) -> Result<(), WorkerPanic> {
        let _one_at_a_time = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.abort.reset();
        // SAFETY: this function does not return before they are idle.
        unsafe { self.give(body, self.threads.len()) };
        self.shared.begin(true);
        let mut state = self.shared.lock();
        while !self.shared.is_idle() {
            let done = &self.shared.done;
            let Some((every, look)) = watch else {
                state = done.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (held, waited) =
                done.wait_timeout(state, every).unwrap_or_else(PoisonError::into_inner);
            state = held;
            if waited.timed_out() && !self.shared.is_idle() {
                // Workers that end need the lock.
                drop(state);
                if look() {
                    self.shared.abort.raise();
                }
                state = self.shared.lock();
            }
        }
        drop(state);
        self.ended()
    }
}

/// The core of each of `threads` workers, if it is pinned: see [`Pool::over`].
fn places(cores: &[usize], threads: usize) -> Result<Vec<Option<usize>>> {
    if threads > Pool::MOST {
        return Err(too_many(threads));
    }
    Ok(match threads < cores.len() {
        true => vec![None; threads],
        false => cores.iter().copied().map(Some).cycle().take(threads).collect(),
    })
}

/// The error of more threads than [`Pool::MOST`].
pub(crate) fn too_many(threads: usize) -> Error {
    let hint = format!("use {} or fewer: one per core is best", Pool::MOST);
    Error::spec(format!("{threads} threads"), hint)
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.begin(true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(shared: &Shared, index: usize, count: usize) {
    let worker = Worker { index, count, abort: &shared.abort };
    let generation = &shared.generations[index.min(1)];
    let mut seen = 0;
    loop {
        seen = until(generation, || {
            Some(generation.0.load(Ordering::Acquire)).filter(|&now| now != seen)
        });
        let state = shared.lock();
        if state.stop {
            return;
        }
        let Some(job) = state.job else { continue };
        drop(state);
        // SAFETY: who gave the closure waits for this thread before it is dropped.
        shared.attempt(unsafe { &*job.0 }, &worker);
        if shared.busy.0.fetch_sub(1, Ordering::AcqRel) == 1 {
            wake(&shared.busy);
            // Who sleeps there has checked under the lock.
            drop(shared.lock());
            shared.done.notify_all();
        }
    }
}

/// The message of a panic.
pub fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message")
}

#[cfg(all(test, not(loom)))]
mod tests;
