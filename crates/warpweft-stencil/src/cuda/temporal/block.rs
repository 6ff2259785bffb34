//! The region of one launch of fused steps: `struct TimeBlock` of levels.cuh and the blocks of the grid.

use super::shape::TemporalShape;
use crate::cuda::launch::boxes::{FAR, placed};
use crate::cuda::limits::clamped;
use crate::cuda::memory::layout::Layout;
use crate::{CudaPolicy, Region};
use warpweft_core::grid::Axes;

/// What a launch of fused steps covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBlock {
    /// Blocks.
    pub blocks: [u32; 3],
    /// Cells (w, z, y, x) that are stored.
    pub low: [usize; 4],
    /// The end of them.
    pub high: [usize; 4],
    /// `struct TimeBlock` up to its strides.
    pub numbers: [i32; 22],
    /// Elements from a plane, and from a row, to the next.
    pub strides: [usize; 2],
}

impl TemporalShape {
    /// Whether at most a quarter of the tiles of a volume of `extents` are at closed faces along x or y.
    pub(super) fn few_at_faces(&self, extents: Axes<usize>) -> bool {
        let tiles = |axis: usize, size: usize, tile: usize, overlap: usize| {
            let all = 1 + size.saturating_sub(tile).div_ceil((tile - overlap).max(1));
            (all, [0, 1].into_iter().filter(|&side| self.closed(axis, side)).count().min(all))
        };
        let rank = extents.rank();
        let (across, at_x) =
            tiles(2, extents[rank - 1] / self.packed, self.columns, self.overlap.iter().sum());
        let (down, at_y) = match rank {
            3 => tiles(1, extents[1], self.rows, self.overlap_y.iter().sum()),
            _ => (1, 0),
        };
        let inner = (across - at_x) * (down - at_y);
        inner < across * down && 4 * (across * down - inner) <= across * down
    }
}

impl TimeBlock {
    /// For the cells of `region`. Rows begin at multiples of [`TemporalShape::align`], and where the steps of
    /// the launch come by a face, cells up to the face are stored.
    pub fn new(
        layout: &Layout,
        shape: &TemporalShape,
        policy: &CudaPolicy,
        region: &Region,
    ) -> Self {
        let (mut low, mut size) = placed(region);
        (low[3], size[3]) = (low[3] / shape.packed, size[3].div_ceil(shape.packed));
        let layout = &layout.packed(shape.packed);
        let mut high = [0; 4];
        let mut faces = [[-FAR; 3], [FAR; 3]];
        for d in 0..4 {
            let deep = |side: usize| match d {
                0 => 0,
                d => shape.depth * shape.reach[d - 1][side],
            };
            let (end, all) = (low[d] + size[d], layout.extents[d]);
            let (begins, ends) = (low[d] < deep(0), end + deep(1) > all);
            low[d] = if begins { 0 } else { low[d] };
            if d == 3 {
                low[d] -= low[d] % shape.align;
            }
            high[d] = if ends { all } else { end };
            let Some(axis) = d.checked_sub(1) else { continue };
            // Another device's cells beyond a shared face change as any others do.
            if begins && shape.closed(axis, 0) && !layout.shared[d][0] {
                faces[0][axis] = 0;
            }
            if ends && shape.closed(axis, 1) && !layout.shared[d][1] {
                faces[1][axis] = all as i32;
            }
        }
        Self::placed(layout, (shape, policy), (low, high), faces)
    }

    fn placed(
        layout: &Layout,
        (shape, policy): (&TemporalShape, &CudaPolicy),
        (low, high): ([usize; 4], [usize; 4]),
        faces: [[i32; 3]; 2],
    ) -> Self {
        let vx = policy.cells[0] as i32 / shape.packed as i32;
        let (first, end) = (low[3] as i32, high[3] as i32);
        let open = [faces[0][2] == -FAR, faces[1][2] == FAR];
        let overlap = shape.overlap.map(|cells| cells as i32);
        // Lanes begin at multiples of their cells.
        let origin = if open[0] { (first - overlap[0]).div_euclid(vx) * vx } else { first };
        let across = end - origin + if open[1] { overlap[1] } else { 0 };
        let beyond = usize::try_from(across).unwrap_or(0).saturating_sub(shape.columns);
        let tiles = 1 + beyond.div_ceil(shape.inner());
        let (origin_y, last_tile, down) = rows_of(shape, (low[2], high[2]), faces);
        let chunk = policy.chunk.max(1) as usize;
        let line = layout.dims == 1;
        // Each warp of a line has a tile.
        let across = if line { tiles.div_ceil(policy.warps as usize) } else { tiles };
        let blocks = clamped([across, down, (high[1] - low[1]).div_ceil(chunk)]);
        let mut numbers = [0; 22];
        for axis in 0..3 {
            let d = axis + 1;
            let [below, above] = layout.ghosts[d].map(|cells| cells as i32);
            numbers[axis] = low[d] as i32;
            numbers[3 + axis] = high[d] as i32;
            numbers[6 + axis] = faces[0][axis];
            numbers[9 + axis] = faces[1][axis];
            numbers[12 + axis] = -below;
            numbers[15 + axis] = layout.extents[d] as i32 + above;
        }
        // All of a row may be read.
        numbers[14] = -(layout.west as i32);
        numbers[17] = (layout.strides[2] - layout.west) as i32;
        numbers[18] = origin_y;
        numbers[19] = origin;
        numbers[20] = if line { tiles as i32 } else { last_tile };
        numbers[21] = chunk as i32;
        Self { blocks, low, high, numbers, strides: [layout.strides[1], layout.strides[2]] }
    }

    /// `struct TimeBlock`, byte for byte.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(self.strides.iter().flat_map(|&n| (n as i64).to_ne_bytes()));
        bytes
    }
}

/// The first row of the first tile along y, the row at which the last begins at the latest, and how many there
/// are, over rows `low .. high`.
fn rows_of(
    shape: &TemporalShape,
    (low, high): (usize, usize),
    faces: [[i32; 3]; 2],
) -> (i32, i32, usize) {
    let [above, below] = shape.overlap_y.map(|rows| rows as i32);
    let (low, high, rows) = (low as i32, high as i32, shape.rows as i32);
    let origin = if faces[0][1] == -FAR { low - above } else { low };
    let closed = faces[1][1] < FAR;
    let end = if closed { high } else { high + below };
    let beyond = usize::try_from(end - origin).unwrap_or(0).saturating_sub(shape.rows);
    // At a closed end rows are the last of a tile; at an open one nothing beyond the ghosts is read.
    let last = if closed { end - rows } else { (end - rows).max(origin) };
    (origin, last, 1 + beyond.div_ceil(shape.inner_y()))
}
