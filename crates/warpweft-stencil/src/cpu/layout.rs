//! How a volume lies in the executor's own arrays.
//!
//! Every volume is seen with four canonical axes: planes (Z), rows (Y), inner rows (M) and cells (X),
//! so that traversals and ghost cells are written once. All fields share extents and strides, in
//! elements.

use warpweft_core::grid::Axes;

/// The slowest axis, along which waves travel.
pub(super) const Z: usize = 0;
/// Rows.
pub(super) const Y: usize = 1;
/// Inner rows; only a volume of four dimensions has more than one.
pub(super) const M: usize = 2;
/// The contiguous axis.
pub(super) const X: usize = 3;

/// Extents, ghost cells and strides of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Cells per canonical axis.
    pub extents: [usize; 4],
    /// Ghost cells below and above, per canonical axis.
    pub ghosts: [[usize; 2]; 4],
    /// Elements to the next cell, per canonical axis.
    pub strides: [isize; 4],
    /// Index of cell `[0, 0, 0, 0]`.
    pub origin: isize,
    /// Elements of an array.
    pub len: usize,
}

/// The canonical axis of each axis of a volume of `dims`.
pub(super) fn canonical(dims: usize) -> Axes<usize> {
    let axes: &[usize] = match dims {
        1 => &[X],
        2 => &[Z, X],
        3 => &[Z, Y, X],
        _ => &[Z, Y, M, X],
    };
    Axes::from_fn(dims, |d| axes[d])
}

/// The axis that tiles cut: rows if there are any, else cells.
pub(super) fn tile_axis(dims: usize) -> usize {
    if dims >= 3 { Y } else { X }
}

impl Layout {
    /// A layout whose rows start on cache lines of 64 bytes for a scalar of `widest` bytes.
    ///
    /// Rows are an odd number of lines apart and planes 5 lines more than a multiple of 16, so that
    /// the rows and planes a footprint touches fall into different cache sets; without this
    /// power-of-two extents run at half the speed.
    pub fn new(extents: [usize; 4], ghosts: [[usize; 2]; 4], widest: usize) -> Option<Self> {
        let line = 64 / widest;
        let lead = ghosts[X][0].next_multiple_of(line);
        let span = |axis: usize| extents[axis].checked_add(ghosts[axis][0] + ghosts[axis][1]);
        let lines = extents[X].checked_add(lead + ghosts[X][1])?.div_ceil(line) | 1;
        let row = lines.checked_mul(line)?;
        let rows = row.checked_mul(span(M)?)?;
        let mut plane = rows.checked_mul(span(Y)?)?;
        if span(Y)? > 1 {
            plane = (plane / line).next_multiple_of(16).checked_add(5)?.checked_mul(line)?;
        }
        // A line more, for what rounds addresses up.
        let len = plane.checked_mul(span(Z)?)?.checked_add(line)?;
        isize::try_from(len.checked_mul(widest)?).ok()?;
        let strides = [plane as isize, rows as isize, row as isize, 1];
        let below = [ghosts[Z][0], ghosts[Y][0], ghosts[M][0], lead];
        let origin = (0..4).map(|axis| below[axis] as isize * strides[axis]).sum();
        Some(Self { extents, ghosts, strides, origin, len })
    }

    /// Index of a cell; ghost cells have coordinates outside the extents.
    #[inline(always)]
    pub fn index(&self, at: [isize; 4]) -> isize {
        self.origin + (0..4).map(|axis| at[axis] * self.strides[axis]).sum::<isize>()
    }

    /// First and one past the last coordinate along `axis`, ghost cells included.
    pub fn padded(&self, axis: usize) -> [isize; 2] {
        let [low, high] = self.ghosts[axis];
        [-(low as isize), (self.extents[axis] + high) as isize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_padded_cell_has_its_own_element_and_rows_start_on_lines() {
        let ghosts = [[2, 1], [1, 3], [0, 0], [2, 2]];
        let layout = Layout::new([3, 4, 1, 33], ghosts, 4).unwrap();
        let mut seen = vec![false; layout.len];
        for z in layout.padded(Z)[0]..layout.padded(Z)[1] {
            for y in layout.padded(Y)[0]..layout.padded(Y)[1] {
                assert_eq!(layout.index([z, y, 0, 0]) % 16, 0);
                for x in layout.padded(X)[0]..layout.padded(X)[1] {
                    let index = layout.index([z, y, 0, x]) as usize;
                    assert!(!std::mem::replace(&mut seen[index], true));
                }
            }
        }
    }

    #[test]
    fn overflow_is_noticed() {
        assert_eq!(Layout::new([usize::MAX / 2, 3, 1, 3], [[1; 2]; 4], 8), None);
    }
}
