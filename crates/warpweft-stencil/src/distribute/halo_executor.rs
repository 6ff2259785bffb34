//! What an executor must offer beyond sweeps to compute one part of several.

use std::time::Instant;

use super::super::executor::SweepExecutor;
use super::super::halo::Margin;
use super::super::plan::Region;
use super::super::points::{add_to, value_of};
use super::super::residual::Residual;
use super::super::total::Total;
use super::halves::Halves;
use super::links::{Parcel, decline};
use super::routes::{Route, Routes};
use warpweft_core::cluster::{Tag, Transport};
use warpweft_core::element::CellType;
use warpweft_core::error::{Error, Result};

/// A box of one field.
pub(crate) type Cells<const D: usize> = (usize, Region<D>);

/// An executor whose cells other parts may read and write between sweeps.
///
/// The bytes written must come from [`HaloExecutor::read`] of an executor of the same cells: not every
/// byte is a `bool`, which is why this is no public interface.
pub(crate) trait HaloExecutor<const D: usize>: SweepExecutor<D> {
    /// Appends the present cells of `boxes` to `to`, box by box in row-major order.
    ///
    /// # Errors
    /// No such field or region; as [`SweepExecutor::finish`].
    fn read(&mut self, boxes: &[Cells<D>], to: &mut Vec<u8>) -> Result<()>;

    /// Replaces the present cells of `boxes`.
    ///
    /// # Errors
    /// As [`HaloExecutor::read`]; a wrong number of bytes.
    fn write(&mut self, boxes: &[Cells<D>], bytes: &[u8]) -> Result<()>;

    /// What the last step changed in the cells of `region`, for a residual of that `kind`; it must have
    /// been swept as for [`SweepExecutor::residual`].
    ///
    /// # Errors
    /// As [`SweepExecutor::residual`].
    fn changes(&mut self, kind: Residual, region: &Region<D>) -> Result<Total>;

    /// Sends the present cells of `boxes`.
    ///
    /// # Errors
    /// As [`HaloExecutor::read`] and [`Transport::send`].
    fn send(
        &mut self,
        boxes: &[Cells<D>],
        net: &dyn Transport,
        (to, tag): (usize, Tag),
    ) -> Result<()> {
        let mut bytes = Vec::new();
        self.read(boxes, &mut bytes)?;
        net.send(to, tag, bytes)
    }

    /// Receives cells of `boxes`, `bytes` bytes in all; returns the seconds waited.
    ///
    /// # Errors
    /// As [`HaloExecutor::write`] and [`Transport::receive`].
    fn receive(
        &mut self,
        boxes: &[Cells<D>],
        bytes: usize,
        net: &dyn Transport,
        (from, tag): (usize, Tag),
    ) -> Result<f64> {
        let mut message = vec![0; bytes];
        let start = Instant::now();
        net.receive_into(from, tag, &mut message)?;
        let waited = start.elapsed().as_secs_f64();
        self.write(boxes, &message).map(|()| waited)
    }

    /// The last launch of a sweep of `steps` steps over `own` in two parts, of whose cells those up to `sent` deep are
    /// sent; none where that can't be, or can't pay. Ranks may differ in this, as their parts and devices do.
    fn halves(&self, _own: &Region<D>, _sent: &Margin<D>, _steps: u64) -> Option<Halves<D>> {
        None
    }

    /// Takes the steps of `halves`, which this executor cut `own` into: begins to compute the rim, whose new cells
    /// [`HaloExecutor::send`] then sends, and the core. Does not wait. Until the next sweep only cells of the rim
    /// are sent, and received ones, and those of no box are undefined until they are written.
    ///
    /// # Errors
    /// As [`SweepExecutor::sweep`]; an executor that can't.
    fn sweep_halves(&mut self, _halves: &Halves<D>, _own: &Region<D>) -> Result<()> {
        Err(Error::spec("a sweep in two parts", "this is a fault of Warpweft: report it"))
    }

    /// Agrees with the neighbours, which all come here with theirs, on how each of the `parcels` of
    /// this rank travels: as `wanted`, or the fastest way if `None`.
    ///
    /// # Errors
    /// A way that is wanted and not possible, with the reason; as [`Transport::receive`].
    fn connect(
        &mut self,
        parcels: &[Parcel],
        net: &dyn Transport,
        _wanted: Option<Route>,
    ) -> Result<()> {
        decline(parcels, net, "it computes on the cores")
    }

    /// Ends what [`HaloExecutor::connect`] began, after the last message of a run that went well; all
    /// neighbours come here.
    ///
    /// # Errors
    /// As [`SweepExecutor::finish`] and [`Transport::receive`].
    fn disconnect(&mut self, _net: &dyn Transport) -> Result<()> {
        Ok(())
    }

    /// How halos travel to the neighbours.
    fn routes(&self) -> Routes {
        Route::Host.into()
    }
}

/// The cell at `at` as a box.
fn single<const D: usize>(at: &[usize; D]) -> Region<D> {
    Region { low: *at, high: at.map(|index| index + 1) }
}

/// [`SweepExecutor::add`] by way of the host.
///
/// # Errors
/// As [`HaloExecutor::write`].
pub(crate) fn add_to_cells<const D: usize>(
    (cell, executor): (CellType, &mut impl HaloExecutor<D>),
    field: usize,
    at: &[[usize; D]],
    amount: f64,
) -> Result<()> {
    let mut bytes = Vec::new();
    for at in at {
        bytes.clear();
        executor.read(&[(field, single(at))], &mut bytes)?;
        add_to(cell.kind(field), &mut bytes, amount);
        executor.write(&[(field, single(at))], &bytes)?;
    }
    Ok(())
}

/// [`SweepExecutor::sample`] by way of the host.
///
/// # Errors
/// As [`HaloExecutor::read`].
pub(crate) fn values_of_cells<const D: usize>(
    (cell, executor): (CellType, &mut impl HaloExecutor<D>),
    field: usize,
    at: &[[usize; D]],
) -> Result<Vec<f64>> {
    let mut bytes = Vec::new();
    let value = |at: &[usize; D]| {
        bytes.clear();
        executor.read(&[(field, single(at))], &mut bytes)?;
        Ok(value_of(cell.kind(field), &bytes))
    };
    at.iter().map(value).collect()
}
