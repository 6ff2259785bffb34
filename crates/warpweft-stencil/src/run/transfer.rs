//! Sessions over grids of two spacings: fields brought from one to the other, for multigrid methods.

use super::session::Session;
use crate::plan::transfer::Transfer;
use warpweft_core::element::{FieldName, Fields};
use warpweft_core::error::Result;

impl<S: Fields, const D: usize> Session<'_, S, D> {
    /// Brings a field to a grid of twice the spacing, into field `to` of `coarse`: along each axis the mean of the three
    /// vertices around a coarse one, with weights ¼, ½ and ¼ ("full weighting").
    ///
    /// An axis of `n` coarse cells has `2 n + 1` fine ones, and coarse cell `i` lies on the fine cell `2 i + 1`. Sums are
    /// taken in `f64` in a fixed order, so cores and GPUs have the same bits. Between two sessions on one GPU no cell
    /// leaves it.
    ///
    /// ```
    /// use warpweft::prelude::*;
    ///
    /// #[stencil]
    /// fn keep(u: Near<f64, 1>) -> f64 {
    ///     u[[0]]
    /// }
    ///
    /// let machine = Machine::detect()?;
    /// let (mut line, mut half) = (Volume::from_fn([7], |[x]| x as f64), Volume::from_fn([3], |_| 0.0));
    /// let stencil = Stencil::of(keep());
    /// let (mut fine, mut coarse) = (stencil.on(&mut line, &machine)?, stencil.on(&mut half, &machine)?);
    /// fine.restrict(0, &mut coarse, 0)?;
    /// assert_eq!(coarse.volume()?.as_slice(), [1.0, 3.0, 5.0]);
    /// coarse.prolong(0, &mut fine, 0)?;
    /// // Halfway between two coarse cells is their mean; outside is 0.
    /// assert_eq!(fine.volume()?.as_slice(), [0.5, 2.0, 4.0, 6.0, 8.0, 10.0, 8.5]);
    /// # Ok::<(), warpweft::Error>(())
    /// ```
    ///
    /// # Errors
    /// Extents that do not fit together, or more than three axes; a field that there is not, or not of `f32` or `f64`;
    /// the device's.
    pub fn restrict<S2: Fields>(
        &mut self,
        field: impl FieldName,
        coarse: &mut Session<'_, S2, D>,
        to: impl FieldName,
    ) -> Result<()> {
        self.bring(Transfer::Restrict, field, coarse, to)
    }

    /// Brings a field to a grid of half the spacing, and adds it to field `to` of `fine`: between cells it is interpolated
    /// linearly along each axis, and outside it is 0. The grids lie as for [`Session::restrict`].
    ///
    /// # Errors
    /// As [`Session::restrict`].
    pub fn prolong<S2: Fields>(
        &mut self,
        field: impl FieldName,
        fine: &mut Session<'_, S2, D>,
        to: impl FieldName,
    ) -> Result<()> {
        self.bring(Transfer::Prolong, field, fine, to)
    }

    fn bring<S2: Fields>(
        &mut self,
        by: Transfer,
        field: impl FieldName,
        other: &mut Session<'_, S2, D>,
        to: impl FieldName,
    ) -> Result<()> {
        let fields = [self.number(field)?, other.number(to)?];
        other.raw.transfer(by, &mut self.raw, fields)
    }
}
