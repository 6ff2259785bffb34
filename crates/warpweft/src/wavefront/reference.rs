//! The obviously right sequential loops: the oracle of every executor.

use super::element::{Earlier, WavefrontElement};
use super::rank::{Best, Ranked};
use super::spec::{Keep, Kept, Wavefront};
use crate::error::Result;

/// Computes `wavefront` row by row.
///
/// Complexity: one call of the element function a cell, one row of memory (the matrix if kept).
///
/// # Errors
/// As [`Wavefront::check`].
pub fn reference<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> Result<Kept<E::Cell>> {
    wavefront.check()?;
    let [rows, columns] = wavefront.extents();
    let border = &wavefront.border;
    let mut row: Vec<E::Cell> = (0..columns as isize).map(|j| border.top(j)).collect();
    let mut best = None;
    let mut last_column = Vec::new();
    let mut matrix = Vec::new();
    for i in 0..rows {
        let mut nw = border.left(i as isize - 1);
        let mut w = border.left(i as isize);
        for (j, cell) in row.iter_mut().enumerate() {
            let n = *cell;
            *cell = wavefront.cell(Earlier { nw, n, w }, i, j);
            (nw, w) = (n, *cell);
            let score = cell.score();
            // Only a NaN differs from itself.
            #[expect(clippy::eq_op, reason = "only a NaN differs from itself")]
            if score == score {
                best = Best::of(best, Some(Best { score, row: i, column: j }));
            }
        }
        match wavefront.keep {
            Keep::LastColumn => last_column.push(w),
            Keep::Matrix => matrix.extend_from_slice(&row),
            Keep::Best | Keep::LastRow => {}
        }
    }
    Ok(match wavefront.keep {
        Keep::Best => Kept::Best(best),
        Keep::LastRow => Kept::LastRow(row),
        Keep::LastColumn => Kept::LastColumn(last_column),
        Keep::Matrix => Kept::Matrix(matrix),
    })
}
