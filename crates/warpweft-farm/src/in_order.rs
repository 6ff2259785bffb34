//! Outputs in the order of their inputs, and what is folded of them.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::drive::Run;
use crate::report::Outcome;
use crate::run::unpacked;
use crate::spec::Farm;
use crate::spec::chunk::Settled;
use crate::spec::inputs::Inputs;
use crate::spec::task::Task;
use warpweft_core::error::Result;
use warpweft_core::machine::Machine;

impl<T: Task> Farm<T> {
    /// As [`Farm::run_into`], with the outputs in the order of their inputs. Outputs that arrive before those of earlier inputs
    /// wait in memory; a failed task does not hold up the outputs after it. If some tasks are never run, the outputs
    /// after them are passed on when the farm ends. This happens before [`Settings::stuck`](crate::Settings::stuck) is called.
    ///
    /// ```
    /// use warpweft::farm::{Run, on_cores};
    /// use warpweft::prelude::*;
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let mut text = String::new();
    /// let mut sink = |k: u64, word: String| {
    ///     text += &format!("{k}:{word} ");
    ///     Ok(())
    /// };
    /// let farm = Farm::of(on_cores(|k: u64| Ok("x".repeat(k as usize))));
    /// farm.run_in_order(0..4u64, &Machine::detect()?, &Run::default(), &mut sink)?;
    /// assert_eq!(text, "0: 1:x 2:xx 3:xxx ");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Farm::run_into`].
    pub fn run_in_order<'i>(
        &self,
        inputs: impl Into<Inputs<'i, T::Input>>,
        machine: &Machine,
        run: &Run<'_>,
        sink: &mut dyn FnMut(u64, T::Output) -> Result<()>,
    ) -> Result<Outcome> {
        let inputs = inputs.into();
        let mut order = InOrder { next: 0, early: BTreeMap::new() };
        let mut taken = |range: Range<u64>, settled: Settled<'_>| match settled {
            Settled::Failed(_) => order.add(range.start, None, sink),
            Settled::End => order.rest(sink),
            Settled::Outputs(outputs) => {
                unpacked(range, outputs, &mut |k, output| order.add(k, Some(output), sink))
            }
        };
        self.drive((&inputs, inputs.count()), machine, run, &mut taken, None)
    }

    /// Folds all outputs into one value, starting from `first`, in the order of their inputs. So floating-point sums are the same
    /// on every machine.
    ///
    /// # Errors
    /// As [`Farm::run_into`].
    pub fn reduce<'i, A>(
        &self,
        inputs: impl Into<Inputs<'i, T::Input>>,
        machine: &Machine,
        run: &Run<'_>,
        first: A,
        mut fold: impl FnMut(A, T::Output) -> A,
    ) -> Result<(A, Outcome)> {
        let mut all = Some(first);
        let mut sink = |_, output| {
            all = all.take().map(|all| fold(all, output));
            Ok(())
        };
        let outcome = self.run_in_order(inputs, machine, run, &mut sink)?;
        match all {
            Some(all) => Ok((all, outcome)),
            // A fold that panics ends the run.
            None => unreachable!("the fold returned"),
        }
    }
}

/// What has come before its turn.
struct InOrder<O> {
    /// The task whose turn it is.
    next: u64,
    /// By task; `None` for those that failed.
    early: BTreeMap<u64, Option<O>>,
}

impl<O> InOrder<O> {
    /// Task `k` came to this: `sink` takes what follows on what it has.
    fn add(
        &mut self,
        k: u64,
        output: Option<O>,
        sink: &mut dyn FnMut(u64, O) -> Result<()>,
    ) -> Result<()> {
        if k > self.next {
            self.early.insert(k, output);
            return Ok(());
        }
        let mut now = Some(output);
        while let Some(output) = now {
            if let Some(output) = output {
                sink(self.next, output)?;
            }
            self.next += 1;
            now = self.early.remove(&self.next);
        }
        Ok(())
    }

    /// Nothing more comes: `sink` takes what lies behind tasks that are missing.
    fn rest(&mut self, sink: &mut dyn FnMut(u64, O) -> Result<()>) -> Result<()> {
        let early = std::mem::take(&mut self.early);
        early
            .into_iter()
            .try_for_each(|(k, output)| output.map_or(Ok(()), |output| sink(k, output)))
    }
}
