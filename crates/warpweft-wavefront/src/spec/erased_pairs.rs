//! Problems that share their inputs, with their element's types as values: what executors work on that only move bytes.

use super::{Erased, Keep, Pairs};
use crate::recurrence::{WavefrontElement, bytes_of};
use warpweft_core::error::Result;

/// What a [`Database`](super::Database) tells of itself.
#[derive(Clone, Copy)]
pub(crate) struct DatabaseFacts {
    /// No other database of this process has it.
    pub number: u64,
    /// Symbols of all sequences.
    pub symbols: u64,
    /// Those of the longest.
    pub longest: usize,
}

/// [`Pairs`] as bytes; each sequence is asked for by its number, as there may be many.
pub(crate) trait ErasedPairs {
    /// Which sequences of rows and of columns meet in each problem.
    fn pairs(&self) -> &[[u32; 2]];
    /// How many sequences of rows and of columns there are.
    fn counts(&self) -> [usize; 2];
    /// The symbols of a sequence of rows, and how many they are.
    fn rows(&self, sequence: usize) -> (&[u8], usize);
    /// Those of a sequence of columns.
    fn columns(&self, sequence: usize) -> (&[u8], usize);
    /// The database, if the columns are all of one, in order.
    fn database(&self) -> Option<DatabaseFacts>;
    /// [`WavefrontElement::bounds`].
    fn bounds(&self, rows: usize, columns: usize) -> Option<[f64; 2]>;
    /// Problem `k` alone, of which `keep` is kept, to `work`.
    ///
    /// # Errors
    /// That of `work`.
    fn problem(
        &self,
        k: usize,
        keep: Keep,
        work: &mut dyn FnMut(&Erased<'_>) -> Result<()>,
    ) -> Result<()>;
}

impl dyn ErasedPairs + '_ {
    /// How many problems there are.
    pub fn len(&self) -> usize {
        self.pairs().len()
    }

    /// Rows and columns of problem `k`.
    pub fn extents(&self, k: usize) -> [usize; 2] {
        let [a, b] = self.pairs()[k];
        [self.rows(a as usize).1, self.columns(b as usize).1]
    }
}

impl<E: WavefrontElement> ErasedPairs for Pairs<'_, E> {
    fn pairs(&self) -> &[[u32; 2]] {
        self.pairs
    }

    fn counts(&self) -> [usize; 2] {
        [self.rows.len(), self.columns.len()]
    }

    fn rows(&self, sequence: usize) -> (&[u8], usize) {
        let rows = self.rows[sequence];
        (bytes_of(rows), rows.len())
    }

    fn columns(&self, sequence: usize) -> (&[u8], usize) {
        let columns = self.columns[sequence];
        (bytes_of(columns), columns.len())
    }

    fn database(&self) -> Option<DatabaseFacts> {
        self.database.map(|database| DatabaseFacts {
            number: database.number,
            symbols: database.count,
            longest: database.longest(),
        })
    }

    fn bounds(&self, rows: usize, columns: usize) -> Option<[f64; 2]> {
        self.element.bounds(rows as u64, columns as u64)
    }

    fn problem(
        &self,
        k: usize,
        keep: Keep,
        work: &mut dyn FnMut(&Erased<'_>) -> Result<()>,
    ) -> Result<()> {
        work(&Pairs::problem(self, k).keep(keep).erased())
    }
}
