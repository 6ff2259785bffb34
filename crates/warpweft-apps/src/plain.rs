//! The straightforward loop that applications are checked against. It shares nothing with the
//! library but the names of boundaries: fields are arrays of `f64`, ghost cells are filled by copying
//! faces.

use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope};

use warpweft::stencil::Boundary;

/// Cells that are worth a thread.
const SHARE: usize = 1 << 14;

/// Padded arrays in up to three dimensions, slowest axis first, one a field.
#[derive(Clone, Debug)]
pub struct Plain {
    extents: [usize; 3],
    ghosts: [usize; 3],
    boundaries: [[Boundary; 2]; 3],
    /// Cells of a field, ghosts among them.
    size: usize,
    /// Field after field.
    cells: Vec<f64>,
    next: Vec<f64>,
}

/// Where a cell lies in a padded array.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    cells: &'a [f64],
    index: usize,
    /// The index of the same cell in field 0.
    first: usize,
    strides: [usize; 3],
    size: usize,
}

impl Place<'_> {
    /// The same cell in field number `field`; a place begins in field 0.
    #[inline]
    pub fn of(self, field: usize) -> Self {
        Self { index: self.first + field * self.size, ..self }
    }

    /// The cell at `offset`, slowest axis first.
    #[inline]
    pub fn at(&self, offset: [isize; 3]) -> f64 {
        let mut index = self.index;
        for d in 0..3 {
            index = index.wrapping_add_signed(offset[d] * self.strides[d] as isize);
        }
        self.cells[index]
    }

    /// The cells at `reach` below and above along `axis`, added.
    #[inline]
    pub fn both_sides(&self, axis: usize, reach: usize) -> f64 {
        let offset = reach * self.strides[axis];
        self.cells[self.index - offset] + self.cells[self.index + offset]
    }
}

impl Plain {
    /// One field of 1 to 3 axes with `radius` ghost cells on each face, from its cells in
    /// row-major order; those that are not given are no numbers. Missing axes are one cell thick, and
    /// nothing is read along them.
    pub fn new(
        extents: &[usize],
        radius: usize,
        boundaries: &[[Boundary; 2]],
        cells: impl IntoIterator<Item = f64>,
    ) -> Self {
        Self::of_fields(extents, radius, boundaries, [cells])
    }

    /// As [`Plain::new`], with several fields.
    pub fn of_fields<I: IntoIterator<Item = f64>>(
        extents: &[usize],
        radius: usize,
        boundaries: &[[Boundary; 2]],
        fields: impl IntoIterator<Item = I>,
    ) -> Self {
        let missing = 3 - extents.len();
        let mut all = [1; 3];
        all[missing..].copy_from_slice(extents);
        let mut ghosts = [0; 3];
        ghosts[missing..].fill(radius);
        let mut faces = [[Boundary::Neumann; 2]; 3];
        faces[missing..].copy_from_slice(boundaries);
        let size: usize = (0..3).map(|d| all[d] + 2 * ghosts[d]).product();
        let mut plain =
            Self { extents: all, ghosts, boundaries: faces, size, cells: vec![], next: vec![] };
        for (f, cells) in fields.into_iter().enumerate() {
            let mut cells = cells.into_iter();
            plain.cells.resize((f + 1) * size, 0.0);
            plain.each(|plain, index| {
                plain.cells[f * size + index] = cells.next().unwrap_or(f64::NAN);
            });
        }
        plain.next.resize(plain.cells.len(), 0.0);
        plain
    }

    /// Replaces every cell of the first field by `update` of its neighbourhood.
    pub fn step(&mut self, update: impl Fn(Place<'_>) -> f64 + Sync) {
        self.step_fields([0], |place| [update(place)]);
    }

    /// Replaces every cell of the fields `writes` by `update` of its neighbourhood.
    pub fn step_fields<const N: usize>(
        &mut self,
        writes: [usize; N],
        update: impl Fn(Place<'_>) -> [f64; N] + Sync,
    ) {
        for axis in (0..3).rev() {
            self.fill_ghosts(axis);
        }
        let size = self.size;
        self.update_all(writes, &update);
        for f in writes {
            let field = f * size..(f + 1) * size;
            self.cells[field.clone()].swap_with_slice(&mut self.next[field]);
        }
    }

    /// Computes the new cells of the fields `writes`, slab by slab of the outermost axis that has several cells; threads
    /// take slabs in turn.
    fn update_all<const N: usize>(
        &mut self,
        writes: [usize; N],
        update: &(impl Fn(Place<'_>) -> [f64; N] + Sync),
    ) {
        let (strides, size, ghosts, [nz, ny, nx]) =
            (self.strides(), self.size, self.ghosts, self.extents);
        // A slab is a plane, or a row where there is one plane.
        let below = ghosts[0] * (ny + 2 * ghosts[1]) + ghosts[1];
        let [stride, first, slabs] =
            if nz > 1 { [strides[0], ghosts[0], nz] } else { [strides[1], below, ny] };
        let rows = if nz > 1 { ny } else { 1 };
        let cells = &self.cells;
        let mut slab_parts: Vec<Vec<(usize, &mut [f64])>> = (0..slabs).map(|_| vec![]).collect();
        for (f, field) in self.next.chunks_mut(size).enumerate() {
            let Some(which) = writes.iter().position(|&write| write == f) else { continue };
            let parts = field.chunks_mut(stride).skip(first);
            slab_parts.iter_mut().zip(parts).for_each(|(to, part)| to.push((which, part)));
        }
        let take = |(slab, parts): (usize, &mut Vec<(usize, &mut [f64])>)| {
            let begin = (slab + first) * stride;
            for row in 0..rows {
                let start = ghosts[2] + if nz > 1 { (row + ghosts[1]) * strides[1] } else { 0 };
                for at in start..start + nx {
                    let index = begin + at;
                    let new = update(Place { cells, index, first: index, strides, size });
                    parts.iter_mut().for_each(|(which, part)| part[at] = new[*which]);
                }
            }
        };
        let threads = available_parallelism().map_or(1, usize::from);
        let threads = threads.min(slabs).min((nz * ny * nx).div_ceil(SHARE));
        let slabs = Mutex::new(slab_parts.iter_mut().enumerate());
        let next = || slabs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let all = || std::iter::from_fn(next).for_each(take);
        scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(all)));
            all();
        });
    }

    /// The cells of the first field in row-major order.
    pub fn cells(&self) -> Vec<f64> {
        self.cells_of(0)
    }

    /// The cells of field number `field` in row-major order.
    pub fn cells_of(&self, field: usize) -> Vec<f64> {
        let mut cells = Vec::with_capacity(self.extents.iter().product());
        let [nz, ny, nx] = self.extents;
        for z in 0..nz {
            for y in 0..ny {
                let start = field * self.size + self.index([z, y, 0]);
                cells.extend_from_slice(&self.cells[start..start + nx]);
            }
        }
        cells
    }

    /// Fills the ghost cells of one axis from its faces. Filling the fastest axis first and whole
    /// padded planes after it makes corners right, with the slowest axis deciding.
    fn fill_ghosts(&mut self, axis: usize) {
        let (n, ghosts) = (self.extents[axis], self.ghosts[axis]);
        let strides = self.strides();
        let stride = strides[axis];
        let line = n + 2 * ghosts;
        for outer in 0..self.cells.len() / (stride * line) {
            for inner in 0..stride {
                let start = outer * stride * line + inner;
                for depth in 0..ghosts {
                    // Positions along the padded line of the ghost and, inwards, of its source.
                    for (face, ghost) in [(0, ghosts - 1 - depth), (1, ghosts + n + depth)] {
                        let source = match (self.boundaries[axis][face], face) {
                            (Boundary::Dirichlet(value), _) => {
                                self.cells[start + ghost * stride] = value;
                                continue;
                            }
                            // No reference solution has one, so a read gives NaN.
                            (Boundary::Function, _) => {
                                self.cells[start + ghost * stride] = f64::NAN;
                                continue;
                            }
                            (Boundary::Periodic, 0) => ghost + n,
                            (Boundary::Periodic, _) => ghost - n,
                            (Boundary::Neumann, 0) => ghosts + depth,
                            (Boundary::Neumann, _) => ghosts + n - 1 - depth,
                            (Boundary::Mirror, 0) => ghosts + depth + 1,
                            (Boundary::Mirror, _) => ghosts + n - 2 - depth,
                        };
                        self.cells[start + ghost * stride] = self.cells[start + source * stride];
                    }
                }
            }
        }
    }

    fn each(&mut self, mut visit: impl FnMut(&mut Self, usize)) {
        let [nz, ny, nx] = self.extents;
        for z in 0..nz {
            for y in 0..ny {
                let start = self.index([z, y, 0]);
                for x in 0..nx {
                    visit(self, start + x);
                }
            }
        }
    }

    fn strides(&self) -> [usize; 3] {
        let row = self.extents[2] + 2 * self.ghosts[2];
        [row * (self.extents[1] + 2 * self.ghosts[1]), row, 1]
    }

    fn index(&self, at: [usize; 3]) -> usize {
        let strides = self.strides();
        (0..3).map(|d| (at[d] + self.ghosts[d]) * strides[d]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The padded line or plane that a copy of all reads shows.
    fn padded(extents: &[usize], boundaries: &[[Boundary; 2]], offset: [isize; 3]) -> Vec<f64> {
        let cells = (0..extents.iter().product()).map(|i: usize| i as f64);
        let mut plain = Plain::new(extents, 2, boundaries, cells);
        plain.step(|place| place.at(offset));
        plain.cells()
    }

    #[test]
    fn ghosts_are_those_of_numpy_pad() {
        // numpy.pad([0, 1, 2, 3], 2, mode) with wrap, symmetric, reflect and constant.
        for (boundary, below, above) in [
            (Boundary::Periodic, [2.0, 3.0], [0.0, 1.0]),
            (Boundary::Neumann, [1.0, 0.0], [3.0, 2.0]),
            (Boundary::Mirror, [2.0, 1.0], [2.0, 1.0]),
            (Boundary::Dirichlet(7.0), [7.0, 7.0], [7.0, 7.0]),
        ] {
            let low = padded(&[4], &[[boundary; 2]], [0, 0, -2]);
            assert_eq!(low, [below[0], below[1], 0.0, 1.0], "{boundary:?}");
            let high = padded(&[4], &[[boundary; 2]], [0, 0, 2]);
            assert_eq!(high, [2.0, 3.0, above[0], above[1]], "{boundary:?}");
        }
    }

    #[test]
    fn corners_are_decided_by_the_slowest_axis() {
        let faces = [[Boundary::Dirichlet(9.0); 2], [Boundary::Periodic; 2]];
        assert_eq!(padded(&[2, 2], &faces, [0, -1, -1]), [9.0, 9.0, 1.0, 0.0]);
        let faces = [[Boundary::Periodic; 2], [Boundary::Dirichlet(9.0); 2]];
        assert_eq!(padded(&[2, 2], &faces, [0, -1, -1]), [9.0, 2.0, 9.0, 0.0]);
    }
}
