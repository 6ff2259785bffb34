//! The seam between a spec and a device.

use super::spawning::Spawning;
use super::spec::Channels;
use warpweft_core::error::Result;
use warpweft_core::report::Report;

/// Runs calls of `C` on one device.
pub trait ChannelsExecutor<C: Spawning> {
    /// The value of each call, in order.
    ///
    /// # Errors
    /// As [`Channels::check`]; calls deeper than the levels; what the function panics for; too little memory;
    /// a fault of the device.
    fn run(&mut self, channels: &Channels<C>) -> Result<(Vec<C::Output>, Report)>;
}
