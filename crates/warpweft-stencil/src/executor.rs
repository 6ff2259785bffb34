//! The seam between a plan and a device: one executor runs sweeps over one volume on one device.

use super::plan::Sweep;
use super::residual::Residual;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::RawVolumeMut;

/// Runs sweeps over a copy of a volume that lives on its device.
///
/// Built from a spec, a volume and a policy; the volume is copied in then and copied back by
/// [`SweepExecutor::store`]. In between nothing leaves the device.
pub trait SweepExecutor<const D: usize> {
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

    /// Adds `amount` to field number `field` of the cells `at`, one after another, after everything
    /// swept so far. The sum is taken in `f64` and rounded once, as `as` converts.
    ///
    /// # Errors
    /// As [`SweepExecutor::sweep`]; an executor that has no access to single cells.
    fn add(&mut self, _field: usize, _at: &[[usize; D]], _amount: f64) -> Result<()> {
        Err(no_points())
    }

    /// Field number `field` of the cells `at`, after everything swept so far.
    ///
    /// # Errors
    /// As [`SweepExecutor::add`].
    fn sample(&mut self, _field: usize, _at: &[[usize; D]]) -> Result<Vec<f64>> {
        Err(no_points())
    }

    /// Copies the present state back, after [`SweepExecutor::finish`].
    ///
    /// # Errors
    /// As [`SweepExecutor::sweep`].
    fn store(&mut self, volume: RawVolumeMut<'_, D>) -> Result<()>;
}

/// What an executor without access to single cells says.
fn no_points() -> Error {
    Error::spec("sources and probes by this executor", "run on a GPU, or on the cores")
}
