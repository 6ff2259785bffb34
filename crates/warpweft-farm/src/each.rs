//! Closures as tasks: a call for each input. Not for GPUs, which run no closures.

use std::marker::PhantomData;

use crate::drive::Run;
use crate::report::Outcome;
use crate::spec::inputs::Inputs;
use crate::spec::task::{Failure, Task};
use crate::spec::{Farm, OnFailure};
use warpweft_core::element::Packed;
use warpweft_core::error::Result;
use warpweft_core::machine::Machine;
use warpweft_core::report::Report;

/// A closure as a task, which fails where the closure panics.
pub struct Calls<F, I> {
    function: F,
    input: PhantomData<fn(I)>,
}

impl<F, I, O> Task for Calls<F, I>
where
    F: Fn(I) -> O + Sync,
    O: Packed,
{
    type Input = I;
    type Output = O;
    fn on_core(&self, input: I) -> Result<O, Failure> {
        Ok((self.function)(input))
    }
}

/// A function to be called for each input, made by [`Farm::each`]: `run` returns all values, `reduce` folds them into one.
pub struct Each<'i, F, I> {
    farm: Farm<Calls<F, I>>,
    inputs: Inputs<'i, I>,
}

impl Farm<()> {
    /// A farm that calls `function` for each of `inputs`, on the cores. Both may borrow what lives longer than the farm.
    ///
    /// ```
    /// use warpweft::farm::Inputs;
    /// use warpweft::prelude::*;
    ///
    /// # fn main() -> Result<()> {
    /// let machine = Machine::detect()?;
    /// let texts = vec!["a b".to_string(), "c".to_string(), "d e f".to_string()];
    /// let words = Farm::each(Inputs::borrowed(&texts), |text: &String| text.split(' ').count());
    /// let (words, _) = words.run(&machine)?;
    /// assert_eq!(words, [2, 1, 3]);
    /// // Values are added in the order of their inputs, so sums of floating point are the same each time.
    /// let (sum, _) = Farm::each(1..1000u64, |k| 1.0 / k as f64).reduce(&machine, 0.0, |sum, x| sum + x)?;
    /// assert_eq!(sum, (1..1000).fold(0.0, |sum, k| sum + 1.0 / k as f64));
    /// # Ok(())
    /// # }
    /// ```
    pub fn each<'i, I, O, F>(inputs: impl Into<Inputs<'i, I>>, function: F) -> Each<'i, F, I>
    where
        F: Fn(I) -> O + Sync,
        O: Packed,
    {
        let farm = Farm::of(Calls { function, input: PhantomData });
        Each { farm, inputs: inputs.into() }
    }
}

impl<F, I, O> Each<'_, F, I>
where
    F: Fn(I) -> O + Sync,
    O: Packed,
{
    /// Sets what happens when a call panics; the default is [`OnFailure::Stop`].
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.farm = self.farm.on_failure(on_failure);
        self
    }

    /// Repeats calls that panic, at most `retries` times.
    pub fn retries(mut self, retries: u32) -> Self {
        self.farm = self.farm.retries(retries);
        self
    }

    /// All values; value `k` is that of input `k`.
    ///
    /// # Errors
    /// As [`Farm::run`].
    pub fn run(self, machine: &Machine) -> Result<(Vec<O>, Report)> {
        self.farm.run(self.inputs, machine)
    }

    /// The same as `run` says.
    ///
    /// # Errors
    /// As [`Farm::run_with`].
    pub fn run_with(self, machine: &Machine, run: &Run<'_>) -> Result<(Vec<Option<O>>, Outcome)> {
        self.farm.run_with(self.inputs, machine, run)
    }

    /// Folds all values into one, starting from `first`, in the order of their inputs.
    ///
    /// # Errors
    /// As [`Farm::reduce`].
    pub fn reduce<A>(
        self,
        machine: &Machine,
        first: A,
        fold: impl FnMut(A, O) -> A,
    ) -> Result<(A, Outcome)> {
        self.farm.reduce(self.inputs, machine, &Run::default(), first, fold)
    }
}
