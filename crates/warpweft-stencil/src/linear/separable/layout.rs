//! Where cells lie on the device, with margins that the kernels read, and which boxes of cells lie next to fixed faces.

use crate::spec::boundary::{Boundaries, Boundary};

/// Cells of a block of the pass along x, and of one in a volume along y.
pub(super) const COLUMNS: usize = 128;
pub(super) const TILE_ROWS: usize = 16;
/// Cells to each side that a pass reads at most, in a plane and in a volume.
pub(super) const REACH: [usize; 2] = [24, 4];

/// The faces of a volume, by axis, slowest first: fixed or periodic.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::linear) struct Faces {
    pub fixed: Vec<bool>,
    /// What fixed faces hold.
    pub outside: f64,
}

impl Faces {
    /// Of `boundaries`; `None` unless both faces of an axis are periodic or fixed, all fixed ones with the same value.
    pub fn of(boundaries: &Boundaries, dims: usize) -> Option<Self> {
        let mut outside = None;
        let mut fixed = Vec::new();
        for axis in 0..dims {
            fixed.push(match boundaries.0[axis] {
                [Boundary::Periodic, Boundary::Periodic] => false,
                [Boundary::Dirichlet(low), Boundary::Dirichlet(high)]
                    if low == high && outside.is_none_or(|value| value == low) =>
                {
                    outside = Some(low);
                    true
                }
                _ => return None,
            });
        }
        Some(Self { fixed, outside: outside.unwrap_or(0.0) })
    }
}

/// The layout of a volume on the device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// x, y, z; 1 where there is no such axis.
    pub size: [usize; 3],
    /// Whether cells next to the faces across x, y, z are left to single steps.
    pub fixed: [bool; 3],
    /// How cells are continued beyond these faces, else 0: `Separable::images`.
    pub images: [f64; 3],
    pub outside: f64,
    pub reach: usize,
    pub radius: usize,
    pub dims: usize,
    /// The first cell, and from a row and a plane to the next, in cells.
    pub origin: usize,
    pub pitch: usize,
    pub plane: usize,
    /// Cells in all.
    pub cells: usize,
}

impl Layout {
    /// Of a volume of these extents, slowest axis first, two or three; `images`: `Separable::images`.
    pub fn of(extents: &[usize], faces: &Faces, radius: usize, images: &[f64]) -> Self {
        let dims = extents.len();
        let reach = REACH[dims - 2];
        let axis = |n: usize| dims.checked_sub(n + 1);
        let size = [0, 1, 2].map(|n| axis(n).map_or(1, |axis| extents[axis]));
        let fixed =
            [0, 1, 2].map(|n| axis(n).is_some_and(|axis| faces.fixed[axis] && images[axis] == 0.0));
        let images = [0, 1, 2].map(|n| axis(n).map_or(0.0, |axis| images[axis]));
        // Ghost cells before the first; rows begin at multiples of 128 bytes.
        let ghosts = reach + radius;
        let left = ghosts.next_multiple_of(16);
        let pitch = left + size[0].next_multiple_of(COLUMNS) + ghosts.next_multiple_of(16);
        // The last block along an axis reads whole groups of rows or planes, up to twice as many as its outputs need.
        let windows = 1 + reach / 4;
        let (rows, front, back) = match dims {
            2 => (size[1] + ghosts + 16 * windows, 0, 0),
            _ => (
                size[1].next_multiple_of(TILE_ROWS) + 2 * ghosts,
                ghosts,
                2 * ghosts + 2 * reach + 1,
            ),
        };
        let rows = ghosts + rows;
        let plane = rows * pitch;
        let origin = front * plane + ghosts * pitch + left;
        let outside = faces.outside;
        let cells = plane * (front + size[2] + back);
        Self { size, fixed, images, outside, reach, radius, dims, origin, pitch, plane, cells }
    }

    /// Cells next to each face that the rim's kernel writes, by axis.
    pub fn skipped(&self) -> [usize; 3] {
        self.fixed.map(|fixed| if fixed { self.reach } else { 0 })
    }

    /// The kernels' `Volume`.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let far = [self.origin, self.pitch, self.plane].map(|n| n as i64);
        far.iter().for_each(|n| bytes.extend(n.to_ne_bytes()));
        for n in self.size.into_iter().chain(self.skipped()) {
            bytes.extend((n as i32).to_ne_bytes());
        }
        bytes.extend(self.outside.to_ne_bytes());
        bytes
    }

    /// The boxes that cover the cells next to fixed faces: `Box` of the kernel, ten numbers each. An axis that comes first
    /// has its corners; later ones leave them out.
    pub fn boxes(&self) -> Vec<[i32; 10]> {
        let side: usize = if self.dims == 3 { 16 } else { 64 };
        let (reach, radius) = (self.reach as i32, self.radius as i32);
        let size = self.size.map(|n| n as i32);
        let mut boxes = Vec::new();
        for across in (0..self.dims).rev().filter(|&axis| self.fixed[axis]) {
            // What the axes before have left along the others.
            let range = |axis: usize| match axis > across && self.fixed[axis] {
                true => (reach.min(size[axis]), (size[axis] - reach).max(0)),
                false => (0, size[axis]),
            };
            let others: Vec<_> = (0..self.dims).filter(|&axis| axis != across).collect();
            let tiles = |axis: usize| {
                let (low, high) = range(axis);
                (low..high).step_by(side).map(move |at| (at, (at + side as i32).min(high)))
            };
            let mut places = vec![([0i32; 3], [1i32; 3])];
            for &axis in &others {
                places = places
                    .iter()
                    .flat_map(|&(low, high)| {
                        tiles(axis).map(move |(from, to)| {
                            let (mut low, mut high) = (low, high);
                            (low[axis], high[axis]) = (from, to);
                            (low, high)
                        })
                    })
                    .collect();
            }
            for (mut low, mut high) in places {
                for last in [false, true] {
                    let mut from = [0; 3];
                    for &axis in &others {
                        from[axis] = low[axis] - reach;
                    }
                    (from[across], low[across], high[across]) = match last {
                        false => (-radius, 0, reach.min(size[across])),
                        true => {
                            let first = (size[across] - reach).max(0);
                            (size[across] - 2 * reach, first, size[across])
                        }
                    };
                    let [f, l, h] = [from, low, high];
                    boxes.push([
                        f[0],
                        f[1],
                        f[2],
                        l[0],
                        l[1],
                        l[2],
                        h[0],
                        h[1],
                        h[2],
                        across as i32,
                    ]);
                }
            }
        }
        boxes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_cover_what_the_pass_leaves_out() {
        for (extents, fixed) in [
            (vec![70, 150], vec![true, true]),
            (vec![30, 40], vec![true, true]),
            (vec![100, 90], vec![false, true]),
            (vec![13, 40, 21], vec![true, true, true]),
            (vec![5, 40, 21], vec![true, false, true]),
        ] {
            let faces = Faces { fixed, outside: 1.0 };
            let layout = Layout::of(&extents, &faces, 1, &vec![0.0; extents.len()]);
            let [nx, ny, nz] = layout.size;
            let skipped = layout.skipped();
            let mut written = vec![false; nx * ny * nz];
            for [.., lx, ly, lz, hx, hy, hz, _] in layout.boxes() {
                for (z, y, x) in (lz..hz)
                    .flat_map(|z| (ly..hy).flat_map(move |y| (lx..hx).map(move |x| (z, y, x))))
                {
                    written[(z as usize * ny + y as usize) * nx + x as usize] = true;
                }
            }
            for (n, written) in written.into_iter().enumerate() {
                let at = [n % nx, n / nx % ny, n / nx / ny];
                let inner =
                    (0..3).all(|a| at[a] >= skipped[a] && at[a] + skipped[a] < layout.size[a]);
                assert!(written || inner, "{extents:?}: {at:?}");
            }
        }
    }

    #[test]
    fn faces_are_periodic_or_fixed_at_one_value() {
        let of = |faces: [[Boundary; 2]; 2]| {
            let axes = warpweft_core::grid::Axes::from_fn(2, |axis| faces[axis]);
            Faces::of(&Boundaries(axes), 2)
        };
        let (around, zero, one) =
            ([Boundary::Periodic; 2], [Boundary::Dirichlet(0.0); 2], [Boundary::Dirichlet(1.0); 2]);
        assert_eq!(of([around, one]), Some(Faces { fixed: vec![false, true], outside: 1.0 }));
        assert_eq!(of([zero, one]), None);
        assert_eq!(of([around, [Boundary::Neumann; 2]]), None);
    }
}
