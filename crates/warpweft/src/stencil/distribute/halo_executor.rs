//! What an executor must offer beyond sweeps to compute one part of several.

use super::super::executor::SweepExecutor;
use super::super::plan::Region;
use super::super::points::{add_to, value_of};
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

/// The cell at `at` as a box.
fn single<const D: usize>(at: &[usize; D]) -> Region<D> {
    Region { low: *at, high: at.map(|index| index + 1) }
}

/// [`SweepExecutor::add`] by way of the host.
///
/// # Errors
/// As [`HaloExecutor::write`].
pub(crate) fn add_to_cells<S: Fields, const D: usize>(
    executor: &mut impl HaloExecutor<S, D>,
    field: usize,
    at: &[[usize; D]],
    amount: f64,
) -> Result<()> {
    let mut bytes = Vec::new();
    for at in at {
        bytes.clear();
        executor.read(field, single(at), &mut bytes)?;
        add_to(S::FIELDS[field].kind, &mut bytes, amount);
        executor.write(field, single(at), &bytes)?;
    }
    Ok(())
}

/// [`SweepExecutor::sample`] by way of the host.
///
/// # Errors
/// As [`HaloExecutor::read`].
pub(crate) fn values_of_cells<S: Fields, const D: usize>(
    executor: &mut impl HaloExecutor<S, D>,
    field: usize,
    at: &[[usize; D]],
) -> Result<Vec<f64>> {
    let mut bytes = Vec::new();
    let value = |at: &[usize; D]| {
        bytes.clear();
        executor.read(field, single(at), &mut bytes)?;
        Ok(value_of(S::FIELDS[field].kind, &bytes))
    };
    at.iter().map(value).collect()
}
