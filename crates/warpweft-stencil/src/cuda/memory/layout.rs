//! How a volume lies in device memory: padded so that kernels never branch on a boundary.
//!
//! Coordinates are (w, z, y, x), x contiguous. One array a field, all with the same strides in
//! elements. Cell x = 0 of every row starts a 128-byte line; the ghosts below it are the end of the
//! row before. Around the ghosts of a row there is room for the widest vector access.

use crate::{Boundary, Spec};
use warpweft_core::cuda::{Extents, Rows};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::Axes;

/// Elements of the widest vector: 16 bytes of one-byte scalars.
const VECTOR: usize = 16;
/// Bytes of a line of the L2 cache.
const LINE: usize = 128;

/// The axes of a volume of `dims` as (w, z, y, x): its own axis number, if it has it.
pub(crate) const fn axes(dims: usize) -> [Option<usize>; 4] {
    match dims {
        1 => [None, None, None, Some(0)],
        2 => [None, Some(0), None, Some(1)],
        3 => [None, Some(0), Some(1), Some(2)],
        _ => [Some(0), Some(1), Some(2), Some(3)],
    }
}

/// Extents, ghosts and strides of every field's array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The volume's number of axes.
    pub dims: usize,
    /// Cells along w, z, y, x; 1 where the volume has no such axis.
    pub extents: [usize; 4],
    /// Ghost cells `[below, above]` along each.
    pub ghosts: [[usize; 2]; 4],
    /// Elements from a cell to the next along each.
    pub strides: [usize; 4],
    /// Elements of a row before cell x = 0 that may be read.
    pub west: usize,
    /// Element index of cell (0, 0, 0, 0).
    pub origin: usize,
    /// Elements of an array.
    pub len: usize,
    /// Faces `[below, above]` along each beyond which lie cells of another device: their ghosts
    /// are that device's to fill.
    pub shared: [[bool; 2]; 4],
    /// Index of cell (0, 0, 0, 0) in the whole volume, which boundary functions are told.
    pub begin: [i64; 4],
    /// The whole volume's extent along axes on which such indices wrap; 0 along the others.
    pub period: [i64; 4],
}

impl Layout {
    /// The layout for sweeps of `stencil` over `extents` with `deep` ghost cells `[below, above]` an axis, and
    /// room for tiles that reach `slack` rows and planes beyond the last.
    ///
    /// # Errors
    /// More cells than kernels can index.
    pub fn of(
        stencil: &Spec,
        extents: Axes<usize>,
        deep: Axes<[usize; 2]>,
        slack: [usize; 2],
    ) -> Result<Self> {
        let smallest =
            stencil.cell.fields().iter().map(|field| field.kind.size()).min().unwrap_or(1);
        let (dims, mut sizes) = (stencil.rank(), [1; 4]);
        let mut ghosts = [[0; 2]; 4];
        for (to, axis) in axes(dims).into_iter().enumerate() {
            if let Some(axis) = axis {
                (sizes[to], ghosts[to]) = (extents[axis], deep[axis]);
            }
        }
        let layout = Self::new((dims, sizes), ghosts, LINE / smallest, slack).ok_or_else(|| {
            Error::spec(
                format!("extents {extents:?} with ghost cells are more than a GPU can index"),
                "choose smaller extents",
            )
        })?;
        let frame = &stencil.functions.frame;
        let place = |of: Axes<i64>| axes(dims).map(|axis| axis.map_or(0, |axis| of[axis]));
        Ok(Self { begin: place(frame.begin), period: place(frame.period), ..layout })
    }

    /// `line` is the number of elements of a line for the smallest scalar.
    fn new(
        (dims, extents): (usize, [usize; 4]),
        ghosts: [[usize; 2]; 4],
        line: usize,
        slack: [usize; 2],
    ) -> Option<Self> {
        let [west, east] = ghosts[3].map(|depth| depth.next_multiple_of(VECTOR));
        let padded = |axis: usize| extents[axis].checked_add(ghosts[axis][0] + ghosts[axis][1]);
        let pitch = extents[3].checked_add(west + east)?.next_multiple_of(line);
        let plane = pitch.checked_mul(padded(2)?)?;
        let block = plane.checked_mul(padded(1)?)?;
        let strides = [block, plane, pitch, 1];
        let front = west.next_multiple_of(line);
        let origin = front + (0..3).map(|d| ghosts[d][0] * strides[d]).sum::<usize>();
        let beyond = slack[0].checked_mul(pitch)?.checked_add(slack[1].checked_mul(plane)?)?;
        let len = block.checked_mul(padded(0)?)?.checked_add(front)?.checked_add(beyond)?;
        // Kernels count cells of an axis and ghosts of a face in 32 bits, bytes of an array in 63.
        let countable = (0..4).all(|d| {
            let depth = ghosts[d][0].max(ghosts[d][1]);
            let face = (0..4).filter(|&e| e != d).try_fold(depth, |n, e| n.checked_mul(padded(e)?));
            extents[d] <= i32::MAX as usize / 2 && face.is_some_and(|n| n < u32::MAX as usize / 2)
        });
        (countable && len <= isize::MAX as usize / 8).then_some(Self {
            dims,
            extents,
            ghosts,
            strides,
            west,
            origin,
            len,
            shared: [[false; 2]; 4],
            begin: [0; 4],
            period: [0; 4],
        })
    }

    /// The same with so many cells along x as one element.
    pub fn packed(&self, cells: usize) -> Self {
        let mut packed = *self;
        packed.extents[3] /= cells;
        packed.ghosts[3] = self.ghosts[3].map(|deep| deep / cells);
        packed.strides = self.strides.map(|stride| stride / cells);
        packed.strides[3] = 1;
        packed.west /= cells;
        packed
    }

    /// `struct Box` (cells.cuh) from cell `low` up to `high`, of kernels that read across periodic faces of a volume of
    /// `wrap` cells along x.
    pub fn box_of(&self, [low, high]: [[i32; 4]; 2], wrap: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = low.iter().chain(&high).flat_map(|n| n.to_ne_bytes()).collect();
        bytes.extend(self.strides[..3].iter().flat_map(|&n| (n as i64).to_ne_bytes()));
        bytes.extend([wrap as i32, 0].into_iter().flat_map(i32::to_ne_bytes));
        bytes
    }

    /// The interior of a field of `size`-byte scalars, for copies.
    pub fn interior(&self, size: usize) -> (Extents, Rows) {
        let [w, z, y, x] = self.extents;
        let [block, plane, pitch, _] = self.strides.map(|stride| stride * size);
        let rows = Rows { offset: self.origin * size, strides: [pitch, plane, block] };
        ([x * size, y, z, w], rows)
    }
}

/// Ghost cells that volumes of fused steps need around them: for all steps of a pass beyond open faces, for one beyond others.
pub fn ghosts_of_pass(stencil: &Spec, depth: usize) -> Axes<[usize; 2]> {
    let (radius, reach) = (stencil.radius(), stencil.reach());
    Axes::from_fn(stencil.rank(), |axis| match stencil.boundaries.0[axis][0] {
        Boundary::Periodic => reach[axis].map(|cells| cells * depth),
        _ => radius[axis],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_start_on_lines_and_leave_room_for_ghosts_and_vectors() {
        let layout =
            Layout::new((3, [1, 5, 6, 70]), [[0, 0], [1, 2], [3, 1], [1, 4]], 32, [0; 2]).unwrap();
        assert_eq!(layout.west, 16);
        assert_eq!(layout.strides, [128 * 10 * 8, 128 * 10, 128, 1]);
        assert_eq!(layout.origin % 32, 0);
        // The last vector that a row may read ends inside the array.
        let last = layout.origin + (5 - 1 + 2) * 128 * 10 + (6 - 1 + 1) * 128 + 70 + 16;
        assert!(last <= layout.len, "{last} {layout:?}");
        // The first one starts inside it.
        assert!(layout.origin >= 16 + 3 * 128 + 128 * 10);
    }

    #[test]
    fn what_can_not_be_indexed_is_refused() {
        assert_eq!(Layout::new((1, [1, 1, 1, usize::MAX - 3]), [[0; 2]; 4], 32, [0; 2]), None);
        assert_eq!(
            Layout::new((4, [1 << 20, 1 << 20, 1 << 20, 1 << 20]), [[0; 2]; 4], 32, [0; 2]),
            None
        );
    }
}
