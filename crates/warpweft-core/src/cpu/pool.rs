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
    busy: usize,
    panic: Option<WorkerPanic>,
    stop: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Number of the present job; workers sleep at it.
    generation: AtomicUsize,
    done: Condvar,
    abort: Abort,
}

impl Shared {
    /// Wakes the workers to read the state, which must not be locked.
    fn begin(&self) {
        self.generation.fetch_add(1, Ordering::Release);
        wake(&self.generation);
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
    /// Whether closures run on the thread that asks for them: a lone worker, not pinned, with a usual stack.
    here: bool,
}

impl Pool {
    /// Starts one worker for each entry of `cores` (system core numbers; repeats are allowed).
    ///
    /// # Errors
    /// No cores, a core that the process may not use, or a thread that the system refuses.
    pub fn new(cores: &[usize]) -> Result<Self> {
        Self::on(cores.iter().copied().map(Some).collect(), None)
    }

    /// Starts `threads` workers for a thread that may use `cores`. With as many threads as cores or more,
    /// they are pinned, one a core in turn. With fewer, the system places them, because other programs that
    /// leave cores unused would pin to the same ones.
    ///
    /// # Errors
    /// See [`Pool::new`].
    pub fn over(cores: &[usize], threads: usize) -> Result<Self> {
        Self::on(places(cores, threads), None)
    }

    /// Like [`Pool::over`], for workers with a stack of `stack` bytes. A stack takes memory only as it is
    /// used.
    ///
    /// # Errors
    /// See [`Pool::new`].
    pub fn with_stack(cores: &[usize], threads: usize, stack: usize) -> Result<Self> {
        Self::on(places(cores, threads), Some(stack))
    }

    fn on(places: Vec<Option<usize>>, stack: Option<usize>) -> Result<Self> {
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
        let mut pool = Self {
            shared,
            threads: Vec::new(),
            running: Mutex::new(()),
            here: stack.is_none() && places == [None],
        };
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
        if self.here {
            return self.alone(&body);
        }
        self.all(&body, None)
    }

    /// Runs the closure of a lone worker on this thread: waking another takes longer than a short closure.
    fn alone(&self, body: &Body<'_>) -> Result<(), WorkerPanic> {
        let _one_at_a_time = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.abort.reset();
        let worker = Worker { index: 0, count: 1, abort: &self.shared.abort };
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&worker)));
        outcome.map(drop).map_err(|payload| {
            let message = panic_text(payload.as_ref()).to_string();
            WorkerPanic { worker: 0, message }
        })
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
        // SAFETY: only the lifetime changes, and this function does not return before `busy` is 0,
        // after which no worker holds the pointer.
        let job =
            Job(unsafe { std::mem::transmute::<*const Body<'_>, *const Body<'static>>(body) });
        self.shared.abort.reset();
        let mut state = self.shared.lock();
        state.job = Some(job);
        state.busy = self.threads.len();
        state.panic = None;
        drop(state);
        self.shared.begin();
        let mut state = self.shared.lock();
        while state.busy > 0 {
            let done = &self.shared.done;
            let Some((every, look)) = watch else {
                state = done.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (held, waited) =
                done.wait_timeout(state, every).unwrap_or_else(PoisonError::into_inner);
            state = held;
            if waited.timed_out() && state.busy > 0 {
                // Workers that end need the lock.
                drop(state);
                if look() {
                    self.shared.abort.raise();
                }
                state = self.shared.lock();
            }
        }
        state.job = None;
        state.panic.take().map_or(Ok(()), Err)
    }
}

/// The core of each of `threads` workers, if it is pinned: see [`Pool::over`].
fn places(cores: &[usize], threads: usize) -> Vec<Option<usize>> {
    match threads < cores.len() {
        true => vec![None; threads],
        false => cores.iter().copied().map(Some).cycle().take(threads).collect(),
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.begin();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(shared: &Shared, index: usize, count: usize) {
    let worker = Worker { index, count, abort: &shared.abort };
    let mut seen = 0;
    loop {
        seen = until(&shared.generation, || {
            Some(shared.generation.load(Ordering::Acquire)).filter(|&now| now != seen)
        });
        let state = shared.lock();
        if state.stop {
            return;
        }
        let Some(job) = state.job else { continue };
        drop(state);
        // SAFETY: `run` waits for this worker before the closure is dropped.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*job.0)(&worker) }));
        if outcome.is_err() {
            shared.abort.raise();
        }
        let mut state = shared.lock();
        if let Err(payload) = outcome {
            let message = panic_text(payload.as_ref()).to_string();
            state.panic.get_or_insert(WorkerPanic { worker: index, message });
        }
        state.busy -= 1;
        if state.busy == 0 {
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
