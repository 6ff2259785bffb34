//! What an executor must offer beyond sweeps to compute one part of several.

use super::super::executor::SweepExecutor;
use super::super::plan::Region;
use crate::element::Fields;
use crate::error::Result;

/// An executor whose cells other parts may read and write between sweeps.
pub(crate) trait HaloExecutor<S: Fields, const D: usize>: SweepExecutor<S, D> {
    /// Appends the present cells of one field in `region` to `to`, in row-major order.
    ///
    /// # Errors
    /// No such field or region; as [`SweepExecutor::finish`].
    fn read(&mut self, field: usize, region: Region<D>, to: &mut Vec<u8>) -> Result<()>;

    /// Replaces the present cells of one field in `region`. The bytes must come from
    /// [`HaloExecutor::read`] of an executor of the same cells: not every byte is a `bool`, which is
    /// why this is no public interface.
    ///
    /// # Errors
    /// As [`HaloExecutor::read`]; a wrong number of bytes.
    fn write(&mut self, field: usize, region: Region<D>, bytes: &[u8]) -> Result<()>;
}
