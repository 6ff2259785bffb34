//! The seam between a spec and a device.

use super::edges::{Edges, one_by_one};
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

    /// Computes all cells and returns the last row, the last column and, if it is asked for, the
    /// greatest score; what `wavefront` says to keep does not matter.
    ///
    /// # Errors
    /// As [`WavefrontExecutor::run`].
    fn edges(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        best: bool,
    ) -> Result<(Edges<E::Cell>, Report)> {
        one_by_one(self, wavefront, best)
    }
}
