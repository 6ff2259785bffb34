//! Calls that borrow slices of the caller: copies of those on a GPU. Not: their runs (`run`).

use super::cuda::Lent;
use super::spawning::{Call, DeviceCall};
use warpweft_core::element::DeviceType;
use warpweft_core::error::Result;

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
