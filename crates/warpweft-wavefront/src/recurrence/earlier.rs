//! What a recurrence's function is written over: the cells before its own, and before this sweep.

use std::ops::Index;

use super::Dependence;

/// The cells a cell depends on: north is the row before, west the column before.
///
/// `h.n`, `h.w`, `h.nw` and `h.ne` are the usual ones, `h[[-1, 2]]` is any.
///
/// ```
/// use warpweft::wavefront::Earlier;
/// let h = Earlier::of(&[([-1, 0], 3), ([0, -1], 4), ([-2, 1], 5)]);
/// assert_eq!((h.n, h.w, h[[-2, 1]]), (3, 4, 5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earlier<'a, C> {
    /// Cell `[i - 1, j - 1]`.
    pub nw: C,
    /// Cell `[i - 1, j]`.
    pub n: C,
    /// Cell `[i - 1, j + 1]`.
    pub ne: C,
    /// Cell `[i, j - 1]`.
    pub w: C,
    cells: &'a [(Dependence, C)],
}

impl<'a, C: Copy + Default> Earlier<'a, C> {
    /// The cells at these vectors; others of the four with a name hold the default.
    pub fn of(cells: &'a [(Dependence, C)]) -> Self {
        let [nw, n, ne, w] = [[-1, -1], [-1, 0], [-1, 1], [0, -1]].map(|vector| at(cells, vector));
        Self { nw, n, ne, w, cells }
    }
}

impl<C: Copy> Index<Dependence> for Earlier<'_, C> {
    type Output = C;

    /// # Panics
    /// On a vector that was not given.
    #[inline]
    fn index(&self, vector: Dependence) -> &C {
        given(self.cells, vector)
    }
}

/// What the cell itself and later ones held before this sweep: east is the column after, south the
/// row after.
///
/// `old.c` is the cell itself, `old.e`, `old.s`, `old.sw` and `old.se` are its neighbours, and
/// `old[[2, -1]]` is any cell that is not computed earlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Old<'a, C> {
    /// Cell `[i, j]`.
    pub c: C,
    /// Cell `[i, j + 1]`.
    pub e: C,
    /// Cell `[i + 1, j - 1]`.
    pub sw: C,
    /// Cell `[i + 1, j]`.
    pub s: C,
    /// Cell `[i + 1, j + 1]`.
    pub se: C,
    cells: &'a [(Dependence, C)],
}

impl<'a, C: Copy + Default> Old<'a, C> {
    /// The cells at these vectors; others of the five with a name hold the default.
    pub fn of(cells: &'a [(Dependence, C)]) -> Self {
        let [c, e, sw, s, se] =
            [[0, 0], [0, 1], [1, -1], [1, 0], [1, 1]].map(|vector| at(cells, vector));
        Self { c, e, sw, s, se, cells }
    }
}

impl<C: Copy> Index<Dependence> for Old<'_, C> {
    type Output = C;

    /// # Panics
    /// On a vector that was not given.
    #[inline]
    fn index(&self, vector: Dependence) -> &C {
        given(self.cells, vector)
    }
}

fn find<C>(cells: &[(Dependence, C)], vector: Dependence) -> Option<&C> {
    cells.iter().find(|(known, _)| *known == vector).map(|(_, cell)| cell)
}

fn at<C: Copy + Default>(cells: &[(Dependence, C)], vector: Dependence) -> C {
    find(cells, vector).copied().unwrap_or_default()
}

fn given<C>(cells: &[(Dependence, C)], vector: Dependence) -> &C {
    match find(cells, vector) {
        Some(cell) => cell,
        None => panic!("no cell was given at {vector:?}"),
    }
}
