//! What a user implements: a task on a core, and what runs chunks of them.

use std::error;
use std::marker::PhantomData;
use std::ops::Range;

use crate::spec::caught::caught;
use crate::spec::chunk::{Collected, Results};
use crate::spec::lane::GpuLane;
use crate::spec::worker::Grain;
use warpweft_core::element::Packed;
use warpweft_core::error::{Error, Result};

/// Why a task failed: `?` takes any error, and text by `.into()`.
pub type Failure = Box<dyn error::Error + Send + Sync>;

/// Independent work: one input, one output, no shared mutable state.
///
/// An output must depend only on the task and the input, because a task may run twice: on a lost worker and again on
/// another, or as a backup copy.
pub trait Task: Sync {
    /// The input of one task, made on the worker that runs it.
    type Input;
    /// What comes out of it. It travels as bytes.
    type Output: Packed;

    /// Does one task on a core.
    ///
    /// # Errors
    /// Why this task has no output. A panic counts as a failure too.
    fn on_core(&self, input: Self::Input) -> Result<Self::Output, Failure>;

    /// An input in words, for the list of tasks that failed. `None`: the task's number says it.
    fn describe(&self, input: &Self::Input) -> Option<String> {
        let _ = input;
        None
    }

    /// Appends the bytes of the task's parameters. Ranks compare them with one another, and a resumed run compares them with its
    /// journal. `#[task]` functions do this for parameters that are [`Packed`].
    fn pack_parameters(&self, to: &mut Vec<u8>) {
        let _ = to;
    }

    /// The same of an input.
    fn pack_input(&self, input: &Self::Input, to: &mut Vec<u8>) {
        let _ = (input, to);
    }

    /// An executor that runs whole chunks on one core, in place of [`Task::on_core`] for each task. Use it if tasks can reuse a
    /// workspace, or are faster together. It is created on the thread that runs it.
    fn on_core_chunks(&self) -> Option<Box<dyn ChunkExecutor<Self> + '_>> {
        None
    }

    /// The form that runs on GPUs, if there is one. Its outputs must be those of [`Task::on_core`].
    fn on_gpu(&self) -> Option<&dyn OnGpu<Self>> {
        None
    }
}

/// A task's form for GPUs.
pub trait OnGpu<T: Task + ?Sized>: Sync {
    /// Makes an executor that runs chunks on `lane`. It is created on the thread that runs it; this thread sleeps while the
    /// device works. Allocate device memory here rather than in each chunk, because freeing device memory waits for the
    /// whole device.
    ///
    /// # Errors
    /// Any error; the lane then gets no tasks, and other workers run them.
    fn open(&self, lane: GpuLane) -> Result<Box<dyn ChunkExecutor<T> + '_>>;
}

/// What runs chunks of tasks on one worker: the seam between a farm and a device.
pub trait ChunkExecutor<T: Task + ?Sized> {
    /// The sizes of chunks it likes.
    fn grain(&self) -> Grain {
        Grain::ANY
    }

    /// Runs the tasks of `inputs` and gives `outputs` the result of each, once, in any order.
    ///
    /// # Errors
    /// Any error ends this worker: it gets no more chunks, and other workers run all tasks of this chunk. A panic does the same.
    fn run(&mut self, inputs: &[T::Input], outputs: &mut ChunkOutputs<'_, T>) -> Result<()>;
}

/// Where a [`ChunkExecutor`](super::ChunkExecutor) puts the result of each task of its chunk.
pub struct ChunkOutputs<'a, T: Task + ?Sized> {
    /// Of the tasks from `sent` on.
    results: &'a mut Results,
    /// How many tasks, from the first on, were handed over before the chunk ends.
    sent: usize,
    /// Hands them over; returns whether the farm goes on.
    send: &'a mut dyn FnMut(Collected) -> bool,
    /// Whether an output counts.
    accept: Option<Accept<'a, T::Output>>,
    /// The input of a task in words.
    describe: &'a dyn Fn(usize) -> Option<String>,
    task: PhantomData<fn(&T)>,
}

/// Why an output does not count, if it does not.
type Accept<'a, O> = &'a dyn Fn(&O) -> Result<(), Failure>;

impl<'a, T: Task + ?Sized> ChunkOutputs<'a, T> {
    /// For the tasks of `results`, whose inputs `describe` has in words by their places in the chunk.
    pub(crate) fn new(
        results: &'a mut Results,
        send: &'a mut dyn FnMut(Collected) -> bool,
        describe: &'a dyn Fn(usize) -> Option<String>,
    ) -> Self {
        Self { results, sent: 0, send, accept: None, describe, task: PhantomData }
    }

    /// Has `run` fill in outputs of a task with the same outputs, of which those count that `accept` accepts.
    pub(crate) fn checked<U: Task<Output = T::Output> + ?Sized>(
        &mut self,
        accept: Accept<'_, T::Output>,
        run: impl FnOnce(&mut ChunkOutputs<'_, U>) -> Result<()>,
    ) -> Result<()> {
        let outer = self.accept;
        let both = |output: &T::Output| {
            accept(output)?;
            outer.map_or(Ok(()), |outer| outer(output))
        };
        let mut outputs = ChunkOutputs {
            results: self.results,
            sent: self.sent,
            send: &mut *self.send,
            accept: Some(&both as Accept<'_, T::Output>),
            describe: self.describe,
            task: PhantomData,
        };
        let outcome = run(&mut outputs);
        self.sent = outputs.sent;
        outcome
    }

    /// Task `k`, by its place in the chunk, has this output. The task has failed if a check of it or [`Packed`]
    /// panics, or if it can't be read back.
    #[inline]
    pub fn done(&mut self, k: usize, output: &T::Output) {
        let (place, before) = (self.place(k), self.results.mark());
        let taken = caught(|| {
            let accepted = self.accept.map_or(Ok(()), |accept| accept(output));
            accepted.map_err(|why| why.to_string())?;
            self.results.done(place, output)
        });
        if let Err(why) = taken {
            self.results.cut(before);
            self.results.fail(place, &why, (self.describe)(k));
        }
    }

    /// Task `k`, by its place in the chunk, has none, for this reason.
    pub fn failed(&mut self, k: usize, why: &Failure) {
        let words = caught(|| Ok(why.to_string())).unwrap_or_else(|panic| panic);
        self.results.fail(self.place(k), &words, (self.describe)(k));
    }

    /// Hands over the outputs of `tasks`, by their places in the chunk, before the chunk ends: `bytes` holds them packed,
    /// one after another, and goes to the sink as it is. It is dropped when the sink is done with it. So an executor that
    /// writes large outputs into page-locked memory pays for no copy, and a `Drop` gives it the memory back. All tasks
    /// before must have their results. Returns whether the farm goes on; if not, the executor may leave the other tasks.
    ///
    /// # Errors
    /// A task before has no result, or two; a range that ends before it starts.
    pub fn hand_over(
        &mut self,
        tasks: Range<usize>,
        bytes: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<bool> {
        if tasks.end < tasks.start {
            let what = format!("outputs of tasks {}..{} of a chunk", tasks.start, tasks.end);
            return Err(Error::spec(what, "give a range that ends where it starts or later"));
        }
        let before = self.results.take(tasks.start.wrapping_sub(self.sent))?;
        let goes_on = before.tasks == 0 || (self.send)(before);
        self.sent = tasks.end;
        if tasks.is_empty() {
            return Ok(goes_on);
        }
        Ok(goes_on && (self.send)(Collected::lent(tasks.len(), bytes)))
    }

    /// What is there of a chunk of `tasks` tasks and was not handed over.
    ///
    /// # Errors
    /// As [`Results::take`].
    pub(crate) fn rest(self, tasks: usize) -> Result<Collected> {
        self.results.take(tasks.wrapping_sub(self.sent))
    }

    /// The place of task `k` among those that were not handed over; that of no task, if it was.
    #[inline]
    fn place(&self, k: usize) -> usize {
        k.checked_sub(self.sent).unwrap_or(usize::MAX)
    }
}

/// A function as a task.
pub struct OnCores<F, I> {
    function: F,
    input: PhantomData<fn(I)>,
}

/// A task of a function that runs on cores.
///
/// ```
/// use warpweft::farm::on_cores;
/// use warpweft::prelude::*;
///
/// # fn main() -> Result<()> {
/// let squares = Farm::of(on_cores(|n: u64| Ok(n * n)));
/// let (squares, _) = squares.run(0..5u64, &Machine::detect()?)?;
/// assert_eq!(squares, [0, 1, 4, 9, 16]);
/// # Ok(())
/// # }
/// ```
pub fn on_cores<F, I, O>(function: F) -> OnCores<F, I>
where
    F: Fn(I) -> Result<O, Failure> + Sync,
{
    OnCores { function, input: PhantomData }
}

impl<F, I, O> Task for OnCores<F, I>
where
    F: Fn(I) -> Result<O, Failure> + Sync,
    O: Packed,
{
    type Input = I;
    type Output = O;
    fn on_core(&self, input: I) -> Result<O, Failure> {
        (self.function)(input)
    }
}
