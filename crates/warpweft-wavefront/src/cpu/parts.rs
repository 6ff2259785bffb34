//! The cells of a front, one a lane: an array for each part of a cell.

use std::ops::Range;

use crate::recurrence::{MOST_PARTS, Parts};

/// What to do where memory does not hold the rows that a run keeps.
pub(super) const HINT: &str = "take a domain of fewer columns";

/// Elements of a vector: 16-bit cells of AVX-512. Narrower machines take several instructions.
pub(super) const GROUP: usize = 32;

/// Arrays of parts, as vectors; those beyond the parts are empty.
pub(super) type Vectors<'l, H> = [&'l mut [[<H as Parts>::Part; GROUP]]; MOST_PARTS];

/// An array for each part; those beyond the cell's parts are empty.
pub(super) type Arrays<'l, H> = [&'l mut [<H as Parts>::Part]; MOST_PARTS];

/// Cells in memory of their own.
#[derive(Clone)]
pub(super) struct Lanes<H: Parts>([Vec<H::Part>; MOST_PARTS]);

/// Cells that are only read.
#[derive(Clone, Copy)]
pub(super) struct View<'l, H: Parts>([&'l [H::Part]; MOST_PARTS]);

impl<H: Parts> Lanes<H> {
    /// These cells, of lane 0 on.
    pub fn of(cells: impl Iterator<Item = H>) -> Self {
        let mut arrays = [const { Vec::new() }; MOST_PARTS];
        for cell in cells {
            for (k, array) in arrays.iter_mut().enumerate().take(H::PARTS) {
                array.push(cell.part(k));
            }
        }
        Self(arrays)
    }

    /// The number of lanes.
    pub fn len(&self) -> usize {
        self.0[0].len()
    }

    /// The cell of `lane`.
    #[inline(always)]
    pub fn at(&self, lane: usize) -> H {
        H::of(|k| self.0[k][lane])
    }

    /// Replaces the cell of `lane`.
    pub fn set(&mut self, lane: usize, cell: H) {
        for (k, array) in self.0.iter_mut().enumerate().take(H::PARTS) {
            array[lane] = cell.part(k);
        }
    }

    /// Replaces every cell by what `of` makes of it.
    pub fn replace(&mut self, of: impl Fn(H) -> H) {
        (0..self.len()).for_each(|lane| self.set(lane, of(self.at(lane))));
    }

    /// Puts the first `lanes` cells into another order: `order` of each array.
    pub fn reorder(&mut self, lanes: usize, order: fn(&[H::Part]) -> Vec<H::Part>) {
        for array in self.0.iter_mut().take(H::PARTS) {
            let ordered = order(&array[..lanes]);
            array[..lanes].copy_from_slice(&ordered);
        }
    }

    /// The arrays of the first `lanes`, to be overwritten vector by vector.
    pub fn vectors(&mut self, lanes: usize) -> Vectors<'_, H> {
        self.0.each_mut().map(|array| array.get_mut(..lanes).unwrap_or_default().as_chunks_mut().0)
    }

    /// Copies the cells of `lanes` from `other`.
    pub fn copy(&mut self, lanes: Range<usize>, other: &Self) {
        for (to, from) in self.0.iter_mut().zip(&other.0).take(H::PARTS) {
            to[lanes.clone()].copy_from_slice(&from[lanes.clone()]);
        }
    }

    /// Gives all of `lanes` the same cell.
    pub fn fill(&mut self, lanes: Range<usize>, cell: H) {
        for (k, array) in self.0.iter_mut().enumerate().take(H::PARTS) {
            array[lanes.clone()].fill(cell.part(k));
        }
    }

    /// The cells of `lanes`, to be read.
    pub fn view(&self, lanes: Range<usize>) -> View<'_, H> {
        View(self.0.each_ref().map(|array| array.get(lanes.clone()).unwrap_or_default()))
    }

    /// The arrays of `lanes`, to be overwritten.
    pub fn arrays(&mut self, lanes: Range<usize>) -> Arrays<'_, H> {
        self.0.each_mut().map(|array| array.get_mut(lanes.clone()).unwrap_or_default())
    }
}

impl<H: Parts> View<'_, H> {
    /// The number of lanes.
    pub fn len(&self) -> usize {
        self.0[0].len()
    }

    /// The cell of the lane `at` after the first.
    #[inline(always)]
    pub fn at(&self, at: usize) -> H {
        H::of(|k| self.0[k][at])
    }
}

/// Cuts arrays to `count` lanes, so that the compiler knows their lengths.
#[inline(always)]
pub(super) fn cut<H: Parts>([a, b, c, d]: Arrays<'_, H>, count: usize) -> Arrays<'_, H> {
    let of = |k: usize| if k < H::PARTS { count } else { 0 };
    [&mut a[..of(0)], &mut b[..of(1)], &mut c[..of(2)], &mut d[..of(3)]]
}

/// The cell of `lane`.
#[inline(always)]
pub(super) fn load<H: Parts>(arrays: &Arrays<'_, H>, lane: usize) -> H {
    H::of(|k| arrays[k][lane])
}

/// Replaces the cell of `lane`; each part written out, so that it is a constant.
#[inline(always)]
pub(super) fn store<H: Parts>([a, b, c, d]: &mut Arrays<'_, H>, lane: usize, cell: H) {
    a[lane] = cell.part(0);
    if const { H::PARTS > 1 } {
        b[lane] = cell.part(1);
    }
    if const { H::PARTS > 2 } {
        c[lane] = cell.part(2);
    }
    if const { H::PARTS > 3 } {
        d[lane] = cell.part(3);
    }
}
