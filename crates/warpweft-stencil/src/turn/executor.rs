//! An executor of turned volumes, seen in the user's axes.

use std::ops::{Deref, DerefMut};

use super::Turn;
use crate::{Region, Residual, Spec, Sweep, SweepExecutor};
use warpweft_core::element::CellType;
use warpweft_core::error::Result;
use warpweft_core::grid::{RawVolume, RawVolumeMut};

/// Volumes are turned as they are copied in and back as they are copied out, regions and cells when they
/// are named. An executor whose axes stay is as it was.
pub struct Turned<X, const D: usize> {
    turn: Turn<D>,
    cell: CellType,
    extents: [usize; D],
    own: X,
}

impl<X, const D: usize> Turned<X, D> {
    /// What `make` makes of the turned stencil and volume.
    ///
    /// # Errors
    /// As [`Turn::spec`], and those of `make`.
    pub fn new(
        turn: Turn<D>,
        (stencil, volume): (&Spec<D>, &RawVolume<D>),
        make: impl FnOnce(&Spec<D>, &RawVolume<D>) -> Result<X>,
    ) -> Result<Self> {
        let own = match turn.is_none() {
            true => make(stencil, volume)?,
            false => make(&turn.spec(stencil)?, &volume.turned(turn.order)?)?,
        };
        Ok(Self { turn, cell: volume.cell_type(), extents: volume.extents(), own })
    }
}

impl<X, const D: usize> Deref for Turned<X, D> {
    type Target = X;
    fn deref(&self) -> &X {
        &self.own
    }
}

impl<X, const D: usize> DerefMut for Turned<X, D> {
    fn deref_mut(&mut self) -> &mut X {
        &mut self.own
    }
}

impl<X: SweepExecutor<D>, const D: usize> SweepExecutor<D> for Turned<X, D> {
    fn sweep(&mut self, sweep: &Sweep<D>) -> Result<()> {
        let Region { low, high } = sweep.region;
        let region = Region { low: self.turn.turned(low), high: self.turn.turned(high) };
        self.own.sweep(&Sweep { region, ..*sweep })
    }

    fn residual(&mut self, kind: Residual) -> Result<f64> {
        self.own.residual(kind)
    }

    fn finish(&mut self) -> Result<()> {
        self.own.finish()
    }

    fn add(&mut self, field: usize, at: &[[usize; D]], amount: f64) -> Result<()> {
        let at: Vec<_> = at.iter().map(|&at| self.turn.turned(at)).collect();
        self.own.add(field, &at, amount)
    }

    fn sample(&mut self, field: usize, at: &[[usize; D]]) -> Result<Vec<f64>> {
        let at: Vec<_> = at.iter().map(|&at| self.turn.turned(at)).collect();
        self.own.sample(field, &at)
    }

    fn store(&mut self, volume: RawVolumeMut<'_, D>) -> Result<()> {
        if self.turn.is_none() {
            return self.own.store(volume);
        }
        let volume = volume.of(self.cell, self.extents)?;
        let mut turned = RawVolume::zeroed(self.cell, self.turn.turned(self.extents))?;
        self.own.store(turned.writable())?;
        turned.turn_into(self.turn.undone(), volume)
    }
}
