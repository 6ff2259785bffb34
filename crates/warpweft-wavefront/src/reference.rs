//! The sequential loops that define the result: the reference solution for every executor.

use crate::frame::Frame;
use crate::recurrence::{Cells, WavefrontElement};
use crate::spec::{Kept, Wavefront};
use warpweft_core::error::Result;

/// Computes `wavefront` row by row, sweep by sweep, in one array of all cells.
///
/// Complexity: one call of the element function a cell and sweep, the whole matrix in memory.
///
/// # Errors
/// As [`Wavefront::check`]; too little memory.
pub fn reference<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> Result<Kept<E::Cell>> {
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
    frame.kept(wavefront, &cells)
}
