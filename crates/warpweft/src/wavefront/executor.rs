//! The seam between a spec and a device.

use super::element::WavefrontElement;
use super::spec::{Kept, Wavefront};
use crate::error::Result;
use crate::report::Report;

/// Runs wavefronts of `E` on one device.
pub trait WavefrontExecutor<E: WavefrontElement> {
    /// Computes all cells and returns what was to be kept.
    ///
    /// # Errors
    /// As [`Wavefront::check`]; what the executor [`misses`](Self::misses); too little memory; a
    /// fault of the device.
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)>;

    /// What this executor can't do that `wavefront` needs, if anything.
    fn misses(&self, wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
        let _ = wavefront;
        None
    }
}
