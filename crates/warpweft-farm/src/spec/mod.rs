//! What is to be done: a task, and what becomes of those that fail.

pub(crate) mod attempt;
pub(crate) mod bytes;
pub(crate) mod caught;
pub(crate) mod chunk;
pub(crate) mod identity;
pub(crate) mod inputs;
pub(crate) mod known;
pub(crate) mod lane;
pub(crate) mod task;
pub(crate) mod worker;

use crate::spec::task::Task;

/// Many tasks of one kind.
///
/// ```
/// use warpweft::prelude::*;
///
/// struct Collatz;
/// impl Task for Collatz {
///     type Input = u64;
///     type Output = u32;
///     fn on_core(&self, mut n: u64) -> Result<u32, Failure> {
///         let mut steps = 0;
///         while n != 1 {
///             n = if n % 2 == 0 { n / 2 } else { n.checked_mul(3).and_then(|n| n.checked_add(1)).ok_or("overflow")? };
///             steps += 1;
///         }
///         Ok(steps)
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let (steps, report) = Farm::of(Collatz).run(1..10_000u64, &Machine::detect()?)?;
/// assert_eq!((steps[26], report.done), (111, 9_999)); // of 27
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Farm<T> {
    pub(crate) task: T,
    pub(crate) on_failure: OnFailure,
    pub(crate) retries: u32,
}

impl<T: Task> Farm<T> {
    /// A farm of `task`.
    pub fn of(task: T) -> Self {
        Self { task, on_failure: OnFailure::default(), retries: 0 }
    }

    /// Sets what happens when a task fails; the default is [`OnFailure::Stop`].
    ///
    /// ```
    /// use warpweft::farm::{OnFailure, Run, on_cores};
    /// use warpweft::prelude::*;
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let parse = on_cores(|text: &str| Ok(text.parse::<f64>()?));
    /// let farm = Farm::of(parse).on_failure(OnFailure::Skip);
    /// let texts = ["1.5", "two"].as_slice();
    /// let (numbers, outcome) = farm.run_with(texts, &Machine::detect()?, &Run::default())?;
    /// assert_eq!(numbers, [Some(1.5), None]);
    /// assert_eq!(outcome.failed[0].what, "invalid float literal");
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// Runs a task that failed again, at most `retries` times, before it counts as failed: for temporary errors, such as of
    /// files on a network. The loss of a worker does not count as a failure of its tasks.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use warpweft::farm::on_cores;
    /// use warpweft::prelude::*;
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let tries = AtomicU32::new(0);
    /// let flaky = on_cores(|k: u64| match tries.fetch_add(1, Ordering::Relaxed) {
    ///     0 => Err("busy".into()),
    ///     _ => Ok(k),
    /// });
    /// let (outputs, _) = Farm::of(flaky).retries(1).run(0..3u64, &Machine::detect()?)?;
    /// assert_eq!(outputs, [0, 1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// The task.
    pub fn task(&self) -> &T {
        &self.task
    }
}

/// What is done about a task that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// No more chunks are given out. The chunks that run are completed and delivered, and the run ends with the error of
    /// the failed task with the lowest number.
    #[default]
    Stop,
    /// The others are done, and the [`Outcome`](super::Outcome) names those that failed.
    Skip,
}
