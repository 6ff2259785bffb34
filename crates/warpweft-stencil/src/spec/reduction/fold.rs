//! Reductions by a function of the user's: what it is, and the tree in which it is taken.
//!
//! Cells are numbered in row-major order. Cells 2 i and 2 i + 1 make one, then these in the same way, until one is left;
//! what has no partner stays as it is. So the result is the same however the cells are dealt out, even of a function
//! that is not associative.

use std::any::TypeId;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use warpweft_core::element::{Fields, MAX_FIELDS, Unit};

/// A function that makes one cell of two, with its parameters: what `#[reduction]` makes of `larger()`.
///
/// # Safety
/// `Self` must be laid out as the C++ struct that [`CellReduction::cuda`] defines.
pub unsafe trait CellReduction<S: Fields>: Clone + Send + Sync + 'static {
    /// The function's name.
    const NAME: &'static str;
    /// One cell of two, of which the first comes before the second.
    fn combine(&self, first: S, second: S) -> S;
    /// Defines a C++ struct in `unit` and returns its name. Its data members are the parameters, and it is called with
    /// two cells.
    fn cuda(unit: &mut Unit) -> String;
}

/// Cells of a subtree whose results a worker hands over: a power of two.
pub(crate) const SUBTREE: usize = 4096;

/// Results in the order of their cells, on their way into the tree.
struct Tree<'r, S, R> {
    by: &'r R,
    /// Results of subtrees from left to right, with the levels of these, which fall.
    left: Vec<(u32, S)>,
}

impl<S: Fields, R: CellReduction<S>> Tree<'_, S, R> {
    #[inline(always)]
    fn take(&mut self, mut cell: S) {
        let mut level = 0;
        while let Some((_, first)) = self.left.pop_if(|(other, _)| *other == level) {
            cell = self.by.combine(first, cell);
            level += 1;
        }
        self.left.push((level, cell));
    }

    fn end(mut self) -> Option<S> {
        let (_, mut last) = self.left.pop()?;
        while let Some((_, first)) = self.left.pop() {
            last = self.by.combine(first, last);
        }
        Some(last)
    }
}

/// A run of cells: where the first is in the array of each field, and how many there are.
pub type Piece = ([*const u8; MAX_FIELDS], usize);

/// A reduction of cells whose type the executor does not know.
pub trait Folded: Sync {
    /// Takes subtree number `number` of [`SUBTREE`] cells, fewer at the end, given by its pieces.
    ///
    /// # Safety
    /// The pieces must be cells of `S` in live arrays that nobody writes.
    unsafe fn subtree(&self, number: usize, pieces: &mut dyn Iterator<Item = Piece>);
    /// Tells functions apart.
    fn function(&self) -> TypeId;
    /// The function's name.
    fn name(&self) -> &'static str;
    /// What a kernel is made of.
    fn cuda(&self, unit: &mut Unit) -> FoldText;
    /// The parameters, laid out as the functor's data members.
    fn parameters(&self) -> *const c_void;
    /// Size in bytes behind [`Folded::parameters`] (0 for none).
    fn parameters_size(&self) -> usize;
}

/// C++ of a reduction: the functor's and the cell's name, an expression that reads a cell off `now`, and what stands
/// before and after a cell that goes to `next`.
pub struct FoldText {
    /// The functor.
    pub functor: String,
    /// The cell.
    pub cell: String,
    /// What reads one.
    pub load: String,
    /// What stores one.
    pub store: [String; 2],
}

/// A function with what came of subtrees.
pub(crate) struct Folding<S, R> {
    by: R,
    parts: Mutex<Vec<Option<S>>>,
}

impl<S: Fields, R: CellReduction<S>> Folding<S, R> {
    pub fn new(by: R) -> Self {
        Self { by, parts: Mutex::default() }
    }

    /// The result of these cells in order; none of none.
    pub fn of(&self, cells: impl Iterator<Item = S>) -> Option<S> {
        let mut tree = Tree { by: &self.by, left: Vec::new() };
        cells.for_each(|cell| tree.take(cell));
        tree.end()
    }

    /// The result of all subtrees.
    pub fn result(self) -> Option<S> {
        let parts = self.parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut tree = Tree { by: &self.by, left: Vec::new() };
        parts.into_iter().flatten().for_each(|part| tree.take(part));
        tree.end()
    }
}

impl<S: Fields, R: CellReduction<S>> Folded for Folding<S, R> {
    unsafe fn subtree(&self, number: usize, pieces: &mut dyn Iterator<Item = Piece>) {
        let mut tree = Tree { by: &self.by, left: Vec::with_capacity(16) };
        for (base, cells) in pieces {
            for index in 0..cells as isize {
                // SAFETY: the caller's contract.
                tree.take(unsafe { S::load(&base, index) });
            }
        }
        let result = tree.end();
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if parts.len() <= number {
            parts.resize(number + 1, None);
        }
        parts[number] = result;
    }
    fn function(&self) -> TypeId {
        TypeId::of::<R>()
    }
    fn name(&self) -> &'static str {
        R::NAME
    }
    fn cuda(&self, unit: &mut Unit) -> FoldText {
        FoldText {
            functor: R::cuda(unit),
            cell: S::cuda(unit),
            load: S::cuda_load(unit, "0"),
            store: S::cuda_store(unit),
        }
    }
    fn parameters(&self) -> *const c_void {
        (&raw const self.by).cast()
    }
    fn parameters_size(&self) -> usize {
        size_of::<R>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::reduction;

    /// Neither associative nor commutative.
    #[reduction]
    fn twisted(a: f64, b: f64, weight: f64) -> f64 {
        a * weight - b
    }

    /// The tree by its definition.
    fn plainly(mut cells: Vec<f64>) -> f64 {
        while cells.len() > 1 {
            let pairs = cells.chunks(2);
            cells = pairs
                .map(|it| if let [a, b] = it { twisted::cell(*a, *b, 0.5) } else { it[0] })
                .collect();
        }
        cells[0]
    }

    #[test]
    fn a_tree_is_the_same_in_one_piece_and_by_subtrees() {
        for count in (1..40).chain([SUBTREE - 1, SUBTREE, 3 * SUBTREE + 77]) {
            let cells: Vec<f64> =
                (0..count).map(|n| ((n * 7919 % 101) as f64 - 50.0) / 7.0).collect();
            let expect = plainly(cells.clone());
            let folding = Folding::<f64, _>::new(twisted(0.5));
            assert_eq!(folding.of(cells.iter().copied()), Some(expect), "{count}");
            for (number, some) in cells.chunks(SUBTREE).enumerate().rev() {
                let middle = some.len() / 3;
                let piece = |cells: &[f64]| {
                    let mut base = [std::ptr::null(); MAX_FIELDS];
                    base[0] = cells.as_ptr().cast();
                    (base, cells.len())
                };
                let (first, second) = some.split_at(middle);
                // SAFETY: the cells are alive.
                unsafe { folding.subtree(number, &mut [piece(first), piece(second)].into_iter()) };
            }
            assert_eq!(folding.result(), Some(expect), "{count}");
        }
    }
}
