//! Ghost cells of an executor's arrays: who holds what, and when it is brought up to date.
//!
//! Three kinds, next to those that functions decide (`faces`). *Fixed* ones hold a Dirichlet value and
//! are written once. *Followers* copy a cell of the same array and are refreshed right after it was
//! computed (Neumann, mirror, and periodic along axes that are always swept whole). *Deep* ones belong
//! to periodic axes that traversals tilt, and are filled before a block of levels.

use super::layout::{Layout, M, X, Y, Z};
use crate::{Boundaries, Boundary, Source};
use warpweft_core::grid::Axes;

/// The ghost cells of a layout.
#[derive(Clone, Debug)]
pub(super) struct Ghosts {
    layout: Layout,
    /// Per canonical axis, ghost coordinate and the coordinate it follows.
    followers: [Vec<(isize, isize)>; 4],
    /// Per canonical axis, whether its ghost cells are deep.
    pub deep: [bool; 4],
    /// Per canonical axis, the faces that hold values: this one, or a function's.
    held: [[Option<Held>; 2]; 4],
    tile_axis: usize,
}

/// What a face that holds values holds.
#[derive(Clone, Copy, Debug)]
enum Held {
    Value(f64),
    /// What its function says.
    Function,
}

/// Where an array of one field is: its address and the size of its scalar.
#[derive(Clone, Copy)]
pub(super) struct Array {
    pub base: *mut u8,
    pub size: usize,
}

impl Array {
    /// Address of an element.
    ///
    /// # Safety
    /// The element must be inside the array.
    pub unsafe fn at(&self, index: isize) -> *mut u8 {
        // SAFETY: the caller's contract.
        unsafe { self.base.offset(index * self.size as isize) }
    }

    /// Copies `count` elements; the two ranges do not overlap.
    ///
    /// # Safety
    /// As for [`Array::at`], and nothing else may access the target meanwhile, nor write the source.
    pub unsafe fn copy(&self, from: isize, to: isize, count: usize) {
        // SAFETY: the caller's contract.
        unsafe { std::ptr::copy_nonoverlapping(self.at(from), self.at(to), count * self.size) }
    }
}

/// A box in canonical coordinates, `[low, high)` per axis.
pub(super) type Box4 = [[isize; 2]; 4];

impl Ghosts {
    /// The ghost cells of `layout`, whose axis `axes[d]` is axis `d` of a volume.
    pub fn new(
        layout: Layout,
        boundaries: &Boundaries,
        axes: Axes<usize>,
        tile_axis: usize,
    ) -> Self {
        let mut ghosts = Self {
            layout,
            followers: Default::default(),
            deep: [false; 4],
            held: [[None; 2]; 4],
            tile_axis,
        };
        for (d, &axis) in axes.iter().enumerate() {
            let faces = boundaries.0[d];
            ghosts.deep[axis] = faces[0] == Boundary::Periodic && (axis == Z || axis == tile_axis);
            for side in 0..2 {
                ghosts.held[axis][side] = match faces[side] {
                    Boundary::Dirichlet(value) => Some(Held::Value(value)),
                    Boundary::Function => Some(Held::Function),
                    _ => None,
                };
            }
            if ghosts.deep[axis] {
                continue;
            }
            let (n, [low, high]) = (layout.extents[axis], layout.padded(axis));
            for at in (low..0).chain(n as isize..high) {
                if let Source::Cell(source) = boundaries.source(d, at, n) {
                    ghosts.followers[axis].push((at, source as isize));
                }
            }
        }
        ghosts
    }

    /// The value of a cell that a Dirichlet face decides: the slowest face that holds values and that
    /// the cell is beyond.
    pub fn fixed(&self, at: [isize; 4]) -> Option<f64> {
        let held = (0..4).find_map(|axis| {
            let n = self.layout.extents[axis] as isize;
            match at[axis] {
                i if i < 0 => self.held[axis][0],
                i if i >= n => self.held[axis][1],
                _ => None,
            }
        });
        held.and_then(|held| match held {
            Held::Value(value) => Some(value),
            Held::Function => None,
        })
    }

    /// Refreshes the followers of the cells of `done`. Along the axes that are neither Z nor the tile axis
    /// whole rows of the same tile are copied, the cells beyond `done` in them too, which nobody reads before
    /// they are computed anew.
    ///
    /// # Safety
    /// `array` must have this layout; nothing else may access `done` and its followers meanwhile.
    pub unsafe fn refresh(&self, array: Array, done: Box4) {
        let within = |axis: usize| {
            let range = done[axis];
            self.followers[axis]
                .iter()
                .copied()
                .filter(move |&(_, s)| range[0] <= s && s < range[1])
        };
        // SAFETY: every coordinate is inside the padded layout, and sources are not ghosts along
        // the axis that is being filled.
        unsafe {
            match array.size {
                1 => self.refresh_rows::<u8>(array, done),
                2 => self.refresh_rows::<u16>(array, done),
                4 => self.refresh_rows::<u32>(array, done),
                _ => self.refresh_rows::<u64>(array, done),
            }
            if !self.followers[M].is_empty() {
                for z in done[Z][0]..done[Z][1] {
                    for y in done[Y][0]..done[Y][1] {
                        for (ghost, source) in within(M) {
                            let from = self.layout.index([z, y, source, 0]);
                            self.copy_row(
                                array,
                                from,
                                self.layout.index([z, y, ghost, 0]),
                                Some(done[X]),
                            );
                        }
                    }
                }
            }
            for (ghost, source) in within(Y) {
                for z in done[Z][0]..done[Z][1] {
                    self.copy_line(array, [z, source], [z, ghost], Some(done[X]));
                }
            }
            for (ghost, source) in within(Z) {
                let rows = (done[Y][0]..done[Y][1]).chain(within(Y).map(|(ghost, _)| ghost));
                for y in rows {
                    self.copy_line(array, [source, y], [ghost, y], Some(done[X]));
                }
            }
        }
    }

    /// The followers within each row of `done`, as scalars of `T`'s size: a copy of a known size is
    /// one instruction, and there are a few for every row that is computed.
    ///
    /// # Safety
    /// As for [`Ghosts::refresh`], and `T` must have the size of the array's scalars.
    unsafe fn refresh_rows<T: Copy>(&self, array: Array, done: Box4) {
        let followers = &self.followers[X];
        if followers.is_empty() {
            return;
        }
        let [low, high] = done[X];
        let all = followers.iter().all(|&(_, source)| low <= source && source < high);
        for z in done[Z][0]..done[Z][1] {
            for y in done[Y][0]..done[Y][1] {
                for m in done[M][0]..done[M][1] {
                    // SAFETY: ghosts and sources are cells of this row.
                    unsafe {
                        let row = array.at(self.layout.index([z, y, m, 0])).cast::<T>();
                        for &(ghost, source) in followers {
                            if all || (low <= source && source < high) {
                                *row.offset(ghost) = *row.offset(source);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Copies the cells `cells` of one row to another, with the ghosts that follow them, or all of it.
    ///
    /// # Safety
    /// As for [`Ghosts::refresh`].
    unsafe fn copy_row(&self, array: Array, from: isize, to: isize, cells: Option<[isize; 2]>) {
        // SAFETY: the caller's contract.
        unsafe {
            // Where rows belong to one tile, all of them, fixed ghosts and all.
            let Some(cells) = cells.filter(|_| self.tile_axis == X) else {
                let [low, high] = self.layout.padded(X);
                array.copy(from + low, to + low, (high - low) as usize);
                return;
            };
            array.copy(from + cells[0], to + cells[0], (cells[1] - cells[0]) as usize);
            for &(ghost, source) in &self.followers[X] {
                if cells[0] <= source && source < cells[1] {
                    array.copy(from + ghost, to + ghost, 1);
                }
            }
        }
    }

    /// As [`Ghosts::copy_row`], for all inner rows of `[plane, row]`, ghost ones included.
    ///
    /// # Safety
    /// As for [`Ghosts::refresh`].
    unsafe fn copy_line(
        &self,
        array: Array,
        from: [isize; 2],
        to: [isize; 2],
        cells: Option<[isize; 2]>,
    ) {
        for m in self.layout.padded(M)[0]..self.layout.padded(M)[1] {
            let from = self.layout.index([from[0], from[1], m, 0]);
            // SAFETY: the caller's contract.
            unsafe { self.copy_row(array, from, self.layout.index([to[0], to[1], m, 0]), cells) };
        }
    }

    /// Fills the deep ghost cells of the planes that `mine` selects, `depth` deep along Z and the
    /// tile axis.
    ///
    /// # Safety
    /// As for [`Ghosts::refresh`], for all ghosts of those planes; the volume's own cells and
    /// followers must be up to date and not be written meanwhile.
    pub unsafe fn fill(&self, array: Array, depth: [usize; 2], mine: impl Fn(usize) -> bool) {
        let range = |axis: usize, depth: usize| {
            if self.deep[axis] {
                let n = self.layout.extents[axis] as isize;
                [-(depth as isize), n + depth as isize]
            } else {
                self.layout.padded(axis)
            }
        };
        let wrap = |axis: usize, at: isize| {
            if self.deep[axis] { at.rem_euclid(self.layout.extents[axis] as isize) } else { at }
        };
        let planes = range(Z, depth[0]);
        let rows = if self.tile_axis == Y { range(Y, depth[1]) } else { self.layout.padded(Y) };
        let whole = [0, self.layout.extents[X] as isize];
        for (number, z) in (planes[0]..planes[1]).enumerate() {
            if !mine(number) {
                continue;
            }
            for y in rows[0]..rows[1] {
                let (from, to) = ([wrap(Z, z), wrap(Y, y)], [z, y]);
                // SAFETY: sources are cells of the volume or followers along another axis; no
                // target is a source.
                unsafe {
                    if from != to {
                        // Nobody is computing, so rows are copied to their ends but for deep ones.
                        self.copy_line(array, from, to, self.deep[X].then_some(whole));
                    }
                    if self.deep[X] {
                        let cells = range(X, depth[1]);
                        let from = self.layout.index([from[0], from[1], 0, 0]);
                        let to = self.layout.index([z, y, 0, 0]);
                        for x in (cells[0]..0).chain(whole[1]..cells[1]) {
                            array.copy(from + wrap(X, x), to + x, 1);
                        }
                    }
                }
            }
        }
    }

    /// Whether any axis needs [`Ghosts::fill`].
    pub fn any_deep(&self) -> bool {
        self.deep.contains(&true)
    }
}
