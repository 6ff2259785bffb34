//! The seam between a plan and a device: one executor runs sweeps over one volume on one device.

use super::plan::Sweep;
use super::residual::Residual;
use crate::element::Fields;
use crate::error::Result;
use crate::grid::Volume;

/// Runs sweeps over a copy of a volume that lives on its device.
///
/// Built from a spec, a volume and a policy; the volume is copied in then and copied back by
/// [`SweepExecutor::store`]. In between nothing leaves the device.
pub trait SweepExecutor<S: Fields, const D: usize> {
    /// Advances the region by the sweep's steps. May return before the device is done.
    ///
    /// # Errors
    /// A fault of the element function or of the device.
    fn sweep(&mut self, sweep: &Sweep<D>) -> Result<()>;

    /// The residual of the last step swept, which must have been a sweep of one step over the
    /// whole volume announced with [`Sweep::keep_change`].
    ///
    /// # Errors
    /// As [`SweepExecutor::sweep`].
    fn residual(&mut self, kind: Residual) -> Result<f64>;

    /// Waits until everything swept so far is done.
    ///
    /// # Errors
    /// As [`SweepExecutor::sweep`]: faults of earlier sweeps surface here at the latest.
    fn finish(&mut self) -> Result<()>;

    /// Copies the present state back, after [`SweepExecutor::finish`].
    ///
    /// # Errors
    /// As [`SweepExecutor::sweep`].
    fn store(&mut self, volume: &mut Volume<S, D>) -> Result<()>;
}
