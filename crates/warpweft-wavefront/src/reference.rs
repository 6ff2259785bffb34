//! The sequential loops that define the result: the reference solution for every executor.

use crate::frame::Frame;
use crate::recurrence::{Cells, WavefrontElement};
use crate::spec::{Keep, Kept, Wavefront};
use warpweft_core::error::Result;

/// Computes `wavefront` row by row, sweep by sweep, in one array of all cells.
///
/// Complexity: one call of the element function a cell and sweep, the whole matrix in memory.
///
/// # Errors
/// As [`Wavefront::check`]; too little memory.
pub fn reference<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> Result<Kept<E::Cell>> {
    Solution::of(wavefront)?.kept(wavefront.keep)
}

/// All cells of a wavefront, from which several results can be taken. [`reference`] computes the cells for one result.
pub struct Solution<'s, 'w, E: WavefrontElement> {
    wavefront: &'s Wavefront<'w, E>,
    frame: Frame,
    cells: Vec<E::Cell>,
}

impl<'s, 'w, E: WavefrontElement> Solution<'s, 'w, E> {
    /// Computes all cells of `wavefront`.
    ///
    /// # Errors
    /// As [`reference`].
    pub fn of(wavefront: &'s Wavefront<'w, E>) -> Result<Self> {
        wavefront.check()?;
        let frame = Frame::of(wavefront);
        let mut cells = frame.cells(wavefront)?;
        for _ in 0..wavefront.sweeps {
            for i in 0..frame.rows {
                for j in 0..frame.columns {
                    let at = frame.index(i as isize, j as isize);
                    let read = |vector| cells[at.wrapping_add_signed(frame.offset(vector))];
                    let earlier = E::Earlier::gather(|k| read(E::DEPENDENCES[k]));
                    let old = E::Old::gather(|k| read(E::OLD[k]));
                    cells[at] = wavefront.cell(earlier, old, i, j);
                }
            }
        }
        Ok(Self { wavefront, frame, cells })
    }

    /// What `keep` says of them, whatever the wavefront keeps.
    ///
    /// # Errors
    /// Scores whose sum is not exact; too little memory.
    pub fn kept(&self, keep: Keep) -> Result<Kept<E::Cell>> {
        if keep == Keep::Sum {
            self.wavefront.clone().keep(keep).check_sum()?;
        }
        self.frame.kept(self.wavefront, keep, &self.cells)
    }
}
