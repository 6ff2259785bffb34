//! Channels on whatever the machine has: the one place where a device is chosen.

use super::cpu::CpuExecutor;
use super::cuda::CudaExecutor;
use super::executor::ChannelsExecutor;
use super::policy::{CpuPolicy, StacksPolicy};
use super::spawning::Spawning;
use super::spec::Channels;
use warpweft_core::error::Result;
use warpweft_core::machine::Machine;
use warpweft_core::report::Report;

impl<C: Spawning> Channels<C> {
    /// The value of the first call, by way of all that it spawns, on the first GPU, or on all cores where there is
    /// none.
    ///
    /// # Errors
    /// As [`Channels::run_all`].
    pub fn run(&self, machine: &Machine) -> Result<(C::Output, Report)> {
        let (outputs, report) = self.run_all(machine)?;
        // Checked: there is at least one call.
        Ok((outputs.first().copied().unwrap_or_default(), report))
    }

    /// The value of each call, in order.
    ///
    /// # Errors
    /// As [`Channels::check`]; calls deeper than the levels; what the function panics for; on a GPU, more children than
    /// the spec allows; too little memory.
    pub fn run_all(&self, machine: &Machine) -> Result<(Vec<C::Output>, Report)> {
        if let Some(gpu) = machine.gpus.first() {
            return CudaExecutor::new(&gpu.device()?, StacksPolicy::default())?.run(self);
        }
        let policy = CpuPolicy::of(machine.cpu.threads());
        CpuExecutor::new(machine, policy)?.run(self)
    }
}
