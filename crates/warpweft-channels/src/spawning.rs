//! What `#[spawning]` promises: one function in three forms, and the two words in its body.

use super::cpu::Worker;
use warpweft_core::element::{DeviceType, Slot, Unit};

/// A call, as workers on cores run it: the arguments of a function.
pub trait Call: Send {
    /// What the function returns.
    type Output: Default + Send;
    /// The function's name.
    const NAME: &'static str;

    /// The function on `worker`, as a call of this level, with the calls that it spawns left to thieves where there are
    /// some.
    fn forked(self, worker: &Worker<'_>, level: u32) -> Self::Output;
}

/// A call of a function that `#[spawning]` was put on, for cores and GPUs.
///
/// A type of the function's own name implements this; `name::call(arguments)` makes one.
///
/// # Safety
/// The struct that [`Spawning::cuda`] names has this type's members with this type's layout, and takes no
/// addresses.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a call that can be spawned",
    note = "put `#[spawning]` on the function"
)]
pub unsafe trait Spawning: Call<Output: DeviceType> + Copy + Sync + 'static {
    /// The function as it was written.
    fn plain(self) -> Self::Output;

    /// The name of the C++ struct that has the function in pieces, one for each wait; it and all functions
    /// that it spawns are added to `unit` on first use.
    fn cuda(unit: &mut Unit) -> String;
}

/// Calls a function that may run concurrently with what follows, up to the next [`sync!`](crate::sync).
///
/// Without `#[spawning]` around it `spawn!(f(x))` is `f(x)`.
#[macro_export]
macro_rules! spawn {
    ($call:expr) => {
        $call
    };
}

/// Waits for all calls that this one has spawned. Without `#[spawning]` around it, it does nothing.
#[macro_export]
macro_rules! sync {
    () => {
        ()
    };
}

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
