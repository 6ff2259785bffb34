//! What a user implements: a task on a core, and what runs chunks of them.

use std::error;
use std::marker::PhantomData;

use crate::spec::chunk::Results;
use crate::spec::lane::GpuLane;
use crate::spec::worker::Grain;
use warpweft_core::element::Packed;
use warpweft_core::error::Result;

/// Why a task failed: `?` takes any error, and text by `.into()`.
pub type Failure = Box<dyn error::Error + Send + Sync>;

/// Independent work: one input, one output, nothing shared that changes.
///
/// Outputs must depend on the task and the input alone: a task that a lost worker had is run again.
pub trait Task: Sync {
    /// What one task is given, made where it runs.
    type Input;
    /// What comes out of it. It travels as bytes.
    type Output: Packed;

    /// Does one task on a core.
    ///
    /// # Errors
    /// Whatever keeps this one task from having an output. A panic is a failure too.
    fn on_core(&self, input: Self::Input) -> Result<Self::Output, Failure>;

    /// An input in words, for the list of tasks that failed. `None`: the task's number says it.
    fn describe(&self, input: &Self::Input) -> Option<String> {
        let _ = input;
        None
    }

    /// What runs chunks on one core, in place of [`Task::on_core`] for each of their tasks: where tasks share a
    /// workspace that is worth keeping, or are quicker together. Made on the thread that will run it.
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
    /// What runs chunks on `lane`. Made on the thread that will run it, which sleeps while the device works; what it
    /// allocates is best allocated here, since the driver's frees wait for the whole device.
    ///
    /// # Errors
    /// What keeps this lane from working: others do its tasks.
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
    /// What ends this worker: it gets nothing more, and others do all tasks of this chunk. So does a panic.
    fn run(&mut self, inputs: &[T::Input], outputs: &mut ChunkOutputs<'_, T>) -> Result<()>;
}

/// Where a [`ChunkExecutor`](super::ChunkExecutor) puts the result of each task of its chunk.
pub struct ChunkOutputs<'a, T: Task + ?Sized> {
    results: &'a mut Results,
    task: PhantomData<fn(&T)>,
}

impl<'a, T: Task + ?Sized> ChunkOutputs<'a, T> {
    /// For the tasks of `results`.
    pub(crate) fn new(results: &'a mut Results) -> Self {
        Self { results, task: PhantomData }
    }

    /// Task `k`, by its place in the chunk, has this output.
    #[inline]
    pub fn done(&mut self, k: usize, output: &T::Output) {
        self.results.done(k, |bytes| output.pack(bytes));
    }

    /// Task `k`, by its place in the chunk, has none, for this reason.
    pub fn failed(&mut self, k: usize, why: &Failure) {
        self.results.fail(k, why.to_string());
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
