//! Reductions that sweeps take in along the way. Not: the kernels (`sums`), or what is expected (`ahead`).

use super::CudaSweeps;
use crate::cuda::launch::queue::Queue;
use crate::cuda::memory::arrays::STEP;
use crate::cuda::summing::{Summed, Summing};
use crate::cuda::sums::{COPIES, Summand};
use crate::cuda::text::{StepText, grid, summed_text};
use crate::spec::reduction::ahead::Asked;
use crate::spec::reduction::scalar::{Code, SessionScalar};
use crate::spec::stage::StageList;
use crate::{CudaPolicy, Spec};
use warpweft_core::error::Result;

/// A reduction that a step takes in.
pub(in crate::cuda) struct Taking {
    asked: Asked,
    number: SessionScalar,
    /// The accumulator.
    pub words: u64,
}

impl CudaSweeps {
    /// What the sweep by `stages` over all cells, which begins, is expected to take in, if anything.
    pub(in crate::cuda) fn expected(&mut self, stages: &StageList) -> Option<(Asked, Summand)> {
        let all = self.ahead.expected(stages, &self.whole());
        all.into_iter().find_map(|asked| {
            let summand = Summand::of(&asked, self.stencil.cell)?;
            self.holds(&asked.fields).then_some((asked, summand))
        })
    }

    /// An accumulator for it, and the number that is taken out of it; none where there is no room for one.
    pub(in crate::cuda) fn begin_sum(&mut self, asked: Asked) -> Result<Option<Taking>> {
        let Some(reducing) = &mut self.reducing else { return Ok(None) };
        let (words, accumulator) = reducing.numbers.accumulator(&self.stream)?;
        let from = [accumulator, COPIES as u32 - 1];
        let number = reducing.numbers.bank.queue(Code::Sum, from, [0.0; 2]);
        Ok(number.known().is_ok().then_some(Taking { asked, number, words }))
    }

    /// The number is there for the call that asks for it.
    pub(in crate::cuda) fn end_sum(&mut self, taking: Taking) {
        self.history.summed += 1;
        self.ahead.came(std::iter::once((taking.asked, taking.number)));
    }

    /// A step by its own stages that takes in what is expected; whether that could be.
    pub(in crate::cuda) fn step_summed(
        &mut self,
        (asked, summand): (Asked, Summand),
    ) -> Result<bool> {
        let device = *self.stream.device();
        let mut summing = std::mem::take(&mut self.summing);
        let text = || self.text_summed(&self.stencil, &self.single, summand);
        let contract = self.single.contraction;
        let done = match summing.get(summand, text, (&device, contract))? {
            Some(summed) => self.launch_summed(summed, asked)?,
            None => false,
        };
        self.summing = summing;
        Ok(done)
    }

    /// The kernels of the functions number `by` that take in what is expected, and what they do.
    pub(in crate::cuda) fn summed_by<'s>(
        &mut self,
        by: usize,
        (asked, summand): (Asked, Summand),
        summing: &'s mut Summing,
    ) -> Result<(Option<&'s Summed>, Option<Taking>)> {
        let device = *self.stream.device();
        let Some(other) = self.others.get(by) else { return Ok((None, None)) };
        let text = || self.text_summed(&other.stencil, &other.policy, summand);
        let Some(summed) = summing.get(summand, text, (&device, other.policy.contraction))? else {
            return Ok((None, None));
        };
        let taking = self.begin_sum(asked)?;
        Ok((taking.is_some().then_some(summed), taking))
    }

    fn launch_summed(&mut self, summed: &Summed, asked: Asked) -> Result<bool> {
        let Some(taking) = self.begin_sum(asked)? else { return Ok(false) };
        let whole = self.whole();
        let queue = Queue { text: &summed.text, words: taking.words, ..self.queue() };
        for queued in queue.step(&summed.kernels, self.state, |_| whole)? {
            // SAFETY: the arrays and the accumulators live as long as `self`, and dropping one waits for the device.
            unsafe { queued.launch(&self.stream)? };
        }
        self.state ^= STEP;
        self.end_sum(taking);
        Ok(true)
    }

    /// The text of a step that sums up, if there is one.
    pub(in crate::cuda) fn text_summed(
        &self,
        stencil: &Spec,
        policy: &CudaPolicy,
        summand: Summand,
    ) -> Option<StepText> {
        let strided = grid(&self.arrays.layout, policy)[2] > 65_535;
        summed_text(stencil, policy, strided, summand)
    }

    /// Waits for the kernels that take in reductions, for tests.
    pub(in crate::cuda) fn await_sums(&mut self) {
        let others = self.others.iter().map(|other| &other.summing);
        others.chain([&self.summing]).for_each(Summing::wait);
    }
}
