//! Kernels on the host: every thread of a block is a thread here, so that barriers are barriers. For tests, not for speed.

use std::any::Any;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle, scope};

use super::KernelFunction;
use super::memory::{Words, foreign};
use warpweft_core::cpu::panic_text;
use warpweft_core::element::{Shared, Word};
use warpweft_core::error::{Error, Result, no_thread};

/// The thread that runs a kernel.
#[derive(Debug)]
pub struct Thread<'a> {
    number: usize,
    block: usize,
    size: usize,
    blocks: usize,
    barrier: &'a Barrier,
}

impl Thread<'_> {
    /// Its number among all threads of the launch.
    pub fn index(&self) -> usize {
        self.block * self.size + self.number
    }

    /// How many threads the launch has: at least as many as were asked for, in whole blocks.
    pub fn threads(&self) -> usize {
        self.blocks * self.size
    }

    /// The number of its block.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Its number in its block.
    pub fn in_block(&self) -> usize {
        self.number
    }

    /// Threads of a block.
    pub fn block_size(&self) -> usize {
        self.size
    }

    /// Waits until all threads of the block have reached the barrier. What they wrote before it is visible to all of them
    /// after it.
    pub fn barrier(&self) {
        self.barrier.wait();
    }
}

/// Words that the threads of a block share while they run. They hold nothing before something is stored there.
pub struct BlockArray<T: Word, const N: usize>(Shared<T>);

impl<T: Word, const N: usize> BlockArray<T, N> {
    #[doc(hidden)]
    pub fn new() -> Self {
        Self(Shared::new(std::iter::repeat_n(T::default(), N)))
    }
}

impl<T: Word, const N: usize> Deref for BlockArray<T, N> {
    type Target = Shared<T>;

    fn deref(&self) -> &Shared<T> {
        &self.0
    }
}

/// Threads that a block of a GPU has at most.
const MOST_THREADS: usize = 1024;

/// A barrier that breaks where a thread panics.
#[derive(Debug)]
struct Barrier {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Threads that have not returned.
    threads: usize,
    count: usize,
    generation: u64,
    broken: bool,
}

impl Barrier {
    fn new(threads: usize) -> Self {
        let state = Waiting { threads, ..Waiting::default() };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn wait(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let own = state.generation;
        state.count += 1;
        self.open_if_all_wait(&mut state);
        while state.generation == own && !state.broken {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let broken = state.broken && state.generation == own;
        drop(state);
        assert!(!broken, "another thread of the block panicked");
    }

    /// A thread has returned: the others no longer wait for it, as on a GPU.
    fn leave(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.threads -= 1;
        self.open_if_all_wait(&mut state);
    }

    fn open_if_all_wait(&self, state: &mut Waiting) {
        if state.count > 0 && state.count == state.threads {
            (state.count, state.generation) = (0, state.generation + 1);
            self.changed.notify_all();
        }
    }

    fn break_up(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).broken = true;
        self.changed.notify_all();
    }
}

/// Buffers on the host, and kernels that run on them.
///
/// ```
/// use warpweft::farm::{HostMemory, Shared, Thread, kernel};
///
/// #[kernel(memory = coalesced)]
/// fn add(at: &Thread, from: &Shared<u32>, sum: &Shared<u32>) {
///     if at.index() < from.len() {
///         sum.add(0, from.load(at.index()));
///     }
/// }
///
/// # fn main() -> warpweft::Result<()> {
/// let mut memory = HostMemory::new();
/// let (from, sum) = (memory.words(1..=100u32), memory.words([0u32]));
/// memory.run(add(from, sum), 100, 32)?;
/// assert_eq!(memory.read(sum)?, [5050]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct HostMemory {
    id: u32,
    buffers: Vec<Arc<dyn Any + Send + Sync>>,
}

/// A number for each memory, so that no buffer is taken for one of another. Never 0.
pub(super) fn memory_id() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

impl HostMemory {
    /// No buffers yet.
    pub fn new() -> Self {
        Self { id: memory_id(), buffers: Vec::new() }
    }

    /// A new buffer with these words.
    pub fn words<T: Word>(&mut self, values: impl IntoIterator<Item = T>) -> Words<T> {
        self.buffers.push(Arc::new(Shared::new(values)));
        Words::new(self.id, self.buffers.len() - 1)
    }

    /// The buffer itself.
    ///
    /// # Errors
    /// It is of other memory.
    pub fn shared<T: Word>(&self, words: Words<T>) -> Result<Arc<Shared<T>>> {
        let number = words.number_in(self.id);
        let buffer = number.and_then(|number| self.buffers.get(number)).cloned();
        buffer.and_then(|any| any.downcast().ok()).ok_or_else(foreign)
    }

    /// The words of a buffer.
    ///
    /// # Errors
    /// As [`HostMemory::shared`].
    pub fn read<T: Word>(&self, words: Words<T>) -> Result<Vec<T>> {
        Ok(self.shared(words)?.to_vec())
    }

    /// Runs `kernel` by at least so many threads, in blocks of `size` of them.
    ///
    /// # Errors
    /// Blocks of no thread, or of more than 1024; a buffer of other memory; a panic of a thread, such as by an index outside
    /// of a buffer.
    pub fn run<K: KernelFunction>(&self, kernel: K, threads: usize, size: usize) -> Result<()> {
        if !(1..=MOST_THREADS).contains(&size) {
            let what = format!("kernel {} in blocks of {size} threads", K::NAME);
            return Err(Error::spec(what, "give 1 to 1024 threads, as a GPU has"));
        }
        let buffers = kernel.bind(self)?;
        let blocks = threads.max(1).div_ceil(size);
        let each: Vec<_> = (0..blocks).map(|_| (K::arrays(), Barrier::new(size))).collect();
        let work = |number: usize| {
            for (block, (arrays, barrier)) in each.iter().enumerate() {
                let at = Thread { number, block, size, blocks, barrier };
                let ran = catch_unwind(AssertUnwindSafe(|| kernel.on_host(&at, &buffers, arrays)));
                if let Err(panic) = ran {
                    each.iter().for_each(|(_, barrier)| barrier.break_up());
                    resume_unwind(panic);
                }
                barrier.leave();
            }
        };
        let panicked = scope(|scope| {
            let mut threads = Vec::new();
            for number in 0..size {
                match Builder::new().spawn_scoped(scope, move || work(number)) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        // Those that there are would wait for the others.
                        each.iter().for_each(|(_, barrier)| barrier.break_up());
                        threads
                            .into_iter()
                            .for_each(|thread: ScopedJoinHandle<'_, ()>| drop(thread.join()));
                        return Err(no_thread("running a kernel on the host", &error));
                    }
                }
            }
            let ended = threads.into_iter().map(|thread| thread.join().err());
            let panics: Vec<_> =
                ended.flatten().map(|panic| panic_text(&*panic).to_owned()).collect();
            Ok(panics.into_iter().min_by_key(|text| text.starts_with("another thread")))
        })?;
        match panicked {
            None => Ok(()),
            Some(what) => Err(Error::Element { place: format!("kernel {}", K::NAME), what }),
        }
    }
}
