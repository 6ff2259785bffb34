//! Calls that borrow slices of the caller: their form on a GPU, and runs of them on any device.

use super::cpu::CpuExecutor;
use super::cuda::{CudaExecutor, Lent};
use super::policy::{CpuPolicy, Policy, StacksPolicy};
use super::run::{Run, in_one_process, on_cores, several_devices};
use super::spawning::{Call, Spawning};
use super::spec::Channels;
use warpweft_core::element::{DeviceType, Slot, Unit};
use warpweft_core::error::Result;
use warpweft_core::machine::Machine;
use warpweft_core::report::Report;

/// A call in its form for GPUs: values, and slices as address and length.
///
/// # Safety
/// The struct that [`DeviceCall::cuda`] names has this type's members with this type's layout.
pub unsafe trait DeviceCall: Copy + 'static {
    /// What the function returns.
    type Value: DeviceType + Default;
    /// The function's name.
    const NAME: &'static str;

    /// The name of the C++ struct that has the function's routines. On first use the struct, and
    /// those of all functions that it spawns, are added to `unit`.
    fn cuda(unit: &mut Unit) -> String;
}

// SAFETY: so `Spawning` promises.
unsafe impl<C: Spawning> DeviceCall for C {
    type Value = C::Output;
    const NAME: &'static str = <C as Call>::NAME;

    fn cuda(unit: &mut Unit) -> String {
        <C as Spawning>::cuda(unit)
    }
}

/// The C++ name of a slot's function.
#[doc(hidden)]
pub fn name_of<C: DeviceCall>(_: &Slot<C>, unit: &mut Unit) -> String {
    C::cuda(unit)
}

/// A call of a function with `#[spawning]` that takes slices, or of one with `#[spawning(team)]`, for cores and GPUs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a call that borrows and runs on a GPU",
    note = "put `#[spawning]` on a function that takes slices of words, `&[u32]` or `&mut [f32]`"
)]
pub trait Borrowing: Call<Output: DeviceType> {
    /// The same call on a GPU.
    #[doc(hidden)]
    type Device: DeviceCall<Value = Self::Output>;

    /// The call with copies of its slices in `memory`.
    #[doc(hidden)]
    fn lend(&self, memory: &mut Lent<'_>) -> Result<Self::Device>;

    /// Copies back what may have been written.
    #[doc(hidden)]
    fn take_back(&mut self, memory: &mut Lent<'_>) -> Result<()>;
}

impl<C: Borrowing> Channels<C> {
    /// Runs the calls and returns the value of each, in order: on the first GPU, or on all cores
    /// if there is none, or on the target that `run` names.
    ///
    /// A GPU gets copies of all slices. The slices that calls may have written are copied back
    /// when all calls have ended. After an error of a GPU the slices are unchanged.
    ///
    /// ```
    /// use warpweft::channels::{Run, Team};
    /// use warpweft::prelude::*;
    ///
    /// /// Doubles words, by all lanes of a team.
    /// #[spawning(team)]
    /// fn double(team: &Team, words: &mut [u32]) {
    ///     let mut i = team.lane();
    ///     while i < words.len() {
    ///         words[i] *= 2;
    ///         i += team.lanes();
    ///     }
    /// }
    ///
    /// /// Doubles any number of words, half by half.
    /// #[spawning]
    /// fn all(words: &mut [u32]) {
    ///     if words.len() <= 1000 {
    ///         spawn!(double(words));
    ///     } else {
    ///         let (low, high) = words.split_at_mut(words.len() / 2);
    ///         spawn!(all(low));
    ///         spawn!(all(high));
    ///     }
    ///     sync!();
    /// }
    ///
    /// # fn main() -> Result<()> {
    /// let mut words: Vec<u32> = (0..10_000).collect();
    /// Channels::of(all::call(&mut words)).run_borrowing(&Machine::detect()?, &Run::default())?;
    /// assert!(words.iter().enumerate().all(|(k, &word)| word == 2 * k as u32));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Channels::run_all_with`].
    pub fn run_borrowing(
        mut self,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<(Vec<C::Output>, Report)> {
        let devices = run.devices(machine)?;
        in_one_process(run)?;
        let watch = run.watch(self.roots.len() as u64, "calls");
        watch.check()?;
        let (outputs, mut report) = match (devices.threads, &devices.gpus[..], run.policy) {
            (Some(threads), [], _) => {
                let policy = on_cores(run, || CpuPolicy::of(threads));
                CpuExecutor::new(machine, policy)?.run_once(self, &watch, run.trace.as_deref())?
            }
            (None, [gpu], policy) => {
                let policy = match policy {
                    Some(Policy::Stacks(policy)) => policy,
                    _ => StacksPolicy::default(),
                };
                CudaExecutor::new(&gpu.device()?, policy)?.run_borrowing(&mut self, &watch)?
            }
            _ => return Err(several_devices(run)),
        };
        watch.ended()?;
        report.notes.extend(devices.notes);
        Ok((outputs, report))
    }
}
