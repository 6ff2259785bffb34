//! Tasks whose outputs are checked before they count: if an output is rejected, its task has failed.

use crate::drive::context::no_form;
use crate::spec::Farm;
use crate::spec::lane::GpuLane;
use crate::spec::task::{ChunkExecutor, ChunkOutputs, Failure, OnGpu, Task};
use crate::spec::worker::Grain;
use warpweft_core::error::Result;

/// A task with a check of its outputs; made by [`Farm::accept`].
#[derive(Clone, Debug)]
pub struct Accepted<T, F> {
    task: T,
    accept: F,
}

impl<T: Task> Farm<T> {
    /// Calls `accept` with each output, on the worker that computed it. If `accept` returns an error, the task has failed,
    /// as if the task itself had returned this error: it is retried, listed in the journal's file `quarantine` and reported
    /// like any other failure. Outputs that an executor hands over packed ([`ChunkOutputs::hand_over`]) are not checked.
    ///
    /// ```
    /// use warpweft::farm::{OnFailure, Run, on_cores};
    /// use warpweft::prelude::*;
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let roots = Farm::of(on_cores(|x: f64| Ok(x.sqrt()))).accept(|root: &f64| match root.is_nan() {
    ///     true => Err("the root is NaN".into()),
    ///     false => Ok(()),
    /// });
    /// let roots = roots.on_failure(OnFailure::Skip);
    /// let (found, outcome) = roots.run_with([4.0, -1.0], &Machine::detect()?, &Run::default())?;
    /// assert_eq!(found, [Some(2.0), None]);
    /// assert_eq!(outcome.failed[0].what, "the root is NaN");
    /// # Ok(())
    /// # }
    /// ```
    pub fn accept<F>(self, accept: F) -> Farm<Accepted<T, F>>
    where
        F: Fn(&T::Output) -> Result<(), Failure> + Sync,
    {
        let Self { task, on_failure, retries } = self;
        Farm { task: Accepted { task, accept }, on_failure, retries }
    }
}

impl<T: Task, F: Fn(&T::Output) -> Result<(), Failure> + Sync> Task for Accepted<T, F> {
    type Input = T::Input;
    type Output = T::Output;

    fn on_core(&self, input: T::Input) -> Result<T::Output, Failure> {
        let output = self.task.on_core(input)?;
        (self.accept)(&output)?;
        Ok(output)
    }

    fn describe(&self, input: &T::Input) -> Option<String> {
        self.task.describe(input)
    }

    fn pack_parameters(&self, to: &mut Vec<u8>) {
        self.task.pack_parameters(to);
    }

    fn pack_input(&self, input: &T::Input, to: &mut Vec<u8>) {
        self.task.pack_input(input, to);
    }

    fn on_core_chunks(&self) -> Option<Box<dyn ChunkExecutor<Self> + '_>> {
        let executor = self.task.on_core_chunks()?;
        Some(Box::new(Checked { executor, accept: &self.accept }))
    }

    fn on_gpu(&self) -> Option<&dyn OnGpu<Self>> {
        self.task.on_gpu().map(|_| self as _)
    }
}

impl<T: Task, F: Fn(&T::Output) -> Result<(), Failure> + Sync> OnGpu<Self> for Accepted<T, F> {
    fn open(&self, lane: GpuLane) -> Result<Box<dyn ChunkExecutor<Self> + '_>> {
        let form = self.task.on_gpu().ok_or_else(no_form)?;
        Ok(Box::new(Checked { executor: form.open(lane)?, accept: &self.accept }))
    }
}

struct Checked<'t, T: Task, F> {
    executor: Box<dyn ChunkExecutor<T> + 't>,
    accept: &'t F,
}

impl<T: Task, F> ChunkExecutor<Accepted<T, F>> for Checked<'_, T, F>
where
    F: Fn(&T::Output) -> Result<(), Failure> + Sync,
{
    fn grain(&self) -> Grain {
        self.executor.grain()
    }

    fn run(
        &mut self,
        inputs: &[T::Input],
        outputs: &mut ChunkOutputs<'_, Accepted<T, F>>,
    ) -> Result<()> {
        let Self { executor, accept } = self;
        outputs.checked(*accept, |outputs| executor.run(inputs, outputs))
    }
}
