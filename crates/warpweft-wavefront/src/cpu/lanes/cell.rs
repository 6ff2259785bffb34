//! A cell of all lanes: an array for each part, so that loops over lanes become vectors.

use crate::recurrence::{MOST_PARTS, Parts};

/// Problems at once: four vectors of 64 bytes of words. Loops over fewer are unrolled before they would
/// become vectors, which then fails.
pub(crate) const LANES: usize = 64;

/// A number a lane.
pub(super) type Each<T> = [T; LANES];

/// A cell of all lanes. Arrays beyond the cell's parts are not used.
#[derive(Clone, Copy)]
pub(super) struct CellOfLanes<C: Parts>(
    [C::Part; LANES],
    [C::Part; LANES],
    [C::Part; LANES],
    [C::Part; LANES],
);

/// The arrays of a cell's parts in memory.
pub(super) type Arrays<C> = [[<C as Parts>::Part; LANES]];

impl<C: Parts> CellOfLanes<C> {
    /// Defaults.
    #[inline(always)]
    pub fn new() -> Self {
        const { assert!(C::PARTS <= MOST_PARTS) }
        let none = [C::Part::default(); LANES];
        Self(none, none, none, none)
    }

    /// Of these cells.
    pub fn of(each: &Each<C>) -> Self {
        let mut all = Self::new();
        each.iter().enumerate().for_each(|(l, &cell)| all.set(l, cell));
        all
    }

    /// Becomes what `arrays` hold, of as many as there are parts.
    #[inline(always)]
    pub fn load(&mut self, arrays: &Arrays<C>) {
        self.0 = arrays[0];
        if const { C::PARTS > 1 } {
            self.1 = arrays[1];
        }
        if const { C::PARTS > 2 } {
            self.2 = arrays[2];
        }
        if const { C::PARTS > 3 } {
            self.3 = arrays[3];
        }
    }

    /// Copies the parts to `arrays`.
    #[inline(always)]
    pub fn store(&self, arrays: &mut Arrays<C>) {
        arrays[0] = self.0;
        if const { C::PARTS > 1 } {
            arrays[1] = self.1;
        }
        if const { C::PARTS > 2 } {
            arrays[2] = self.2;
        }
        if const { C::PARTS > 3 } {
            arrays[3] = self.3;
        }
    }

    /// Becomes `other`.
    #[inline(always)]
    pub fn copy(&mut self, other: &Self) {
        self.0 = other.0;
        if const { C::PARTS > 1 } {
            self.1 = other.1;
        }
        if const { C::PARTS > 2 } {
            self.2 = other.2;
        }
        if const { C::PARTS > 3 } {
            self.3 = other.3;
        }
    }

    /// The cell of lane `l`.
    #[inline(always)]
    pub fn at(&self, l: usize) -> C {
        C::of(|part| match part {
            0 => self.0[l],
            1 => self.1[l],
            2 => self.2[l],
            _ => self.3[l],
        })
    }

    /// Replaces it.
    #[inline(always)]
    pub fn set(&mut self, l: usize, cell: C) {
        self.0[l] = cell.part(0);
        if const { C::PARTS > 1 } {
            self.1[l] = cell.part(1);
        }
        if const { C::PARTS > 2 } {
            self.2[l] = cell.part(2);
        }
        if const { C::PARTS > 3 } {
            self.3[l] = cell.part(3);
        }
    }
}
