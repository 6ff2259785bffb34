//! What kernels tell element functions about their cells (place.cuh): where they are, and which step it is.

use super::queued::Queued;
use crate::Spec;
use crate::cuda::memory::layout::Layout;
use warpweft_core::cuda::{Args, Global, Kernel, Launch, Module, Stream};
use warpweft_core::error::Result;

/// The kernel's text, before the stages.
pub(crate) const TEXT: &str = include_str!("../kernels/place.cuh");

/// The device's `ww_place`.
#[derive(Debug)]
pub(crate) struct Placed {
    place: Global,
    tick: Kernel,
    begin: [i64; 4],
    period: [i64; 4],
    /// Whether a function asks for the step.
    counts: bool,
    /// Steps that the device has counted to, once it was told.
    done: Option<u64>,
}

impl Placed {
    /// For `stencil`, if its functions ask for anything.
    pub fn new(stencil: &Spec, module: &Module, layout: &Layout) -> Result<Option<Self>> {
        if !stencil.knows().anything() {
            return Ok(None);
        }
        let (place, tick) = (module.global("ww_place")?, module.kernel("ww_tick")?);
        let Layout { begin, period, .. } = *layout;
        Ok(Some(Self { place, tick, begin, period, counts: stencil.knows().step, done: None }))
    }

    /// Tells the device that `steps` steps are done, unless it has counted so far. Waits if it must.
    pub fn set(&mut self, stream: &Stream, steps: u64) -> Result<()> {
        let known = self.done.is_some_and(|done| done == steps || !self.counts);
        if known {
            return Ok(());
        }
        let mut words = [0u64; 10];
        let numbers = self.begin.iter().chain(&self.period).map(|&n| n as u64).chain([steps]);
        words.iter_mut().zip(numbers).for_each(|(word, n)| *word = n);
        self.place.write(stream, words)?;
        self.done = Some(steps);
        Ok(())
    }

    /// The address of the steps done and the count behind it, `struct StepClock` of frame.cuh, where steps are counted.
    pub fn clock(&self) -> u64 {
        if self.counts { self.place.address() + 8 * 8 } else { 0 }
    }

    /// Notes that so many steps were queued since.
    pub fn count(&mut self, steps: u64) {
        self.done = self.done.map(|done| done + steps);
    }

    /// The launch that ends a step, if steps are counted.
    pub fn tick(&self) -> Option<Queued> {
        let launch = Launch::line(1, 1);
        self.counts.then(|| Queued { kernel: self.tick.clone(), launch, args: Args::new() })
    }
}
