//! Many problems of one recurrence that share their inputs: all pairs of a set of series, a query and a database.

use std::borrow::Cow;

use super::{Border, Database, Wavefront, check_lookups, of_problem};
use crate::recurrence::{Interval, WavefrontElement};
use warpweft_core::error::{Error, Result};

/// Problems of one recurrence, each over one of several sequences of rows and one of several of columns.
///
/// A device gets each sequence once, whatever number of pairs it is in. A single value is found of each problem:
/// [`WavefrontExecutor::ends`](crate::WavefrontExecutor::ends). For other results give an executor the problems one by
/// one ([`WavefrontExecutor::run_batch`](crate::WavefrontExecutor::run_batch)).
///
/// ```
/// use warpweft::prelude::*;
/// use warpweft::wavefront::traceback::End;
/// use warpweft::wavefront::{Pairs, Run, RunExecutor, WavefrontExecutor};
///
/// #[wavefront]
/// fn common(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
///     if a == b { h.nw + 1 } else { h.n.max(h.w) }
/// }
///
/// # fn main() -> warpweft::Result<()> {
/// let run = Run { threads: Some(1), ..Run::default() };
/// let mut executor = RunExecutor::new(&Machine::detect()?, &run)?;
/// let words: [&[u8]; 3] = [b"GATTACA", b"ATTACK", b"CAT"];
/// let pairs = Pairs::of(common(), &words, &words, &[[0, 1], [0, 2], [1, 2]]);
/// let (found, _) = executor.ends(&pairs, End::Corner)?;
/// let lengths: Vec<_> = found.iter().flatten().map(|end| end.score).collect();
/// assert_eq!(lengths, [5, 2, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Pairs<'a, E: WavefrontElement> {
    pub(crate) element: E,
    pub(crate) rows: Cow<'a, [&'a [E::Row]]>,
    pub(crate) columns: &'a [&'a [E::Column]],
    pub(crate) pairs: &'a [[u32; 2]],
    pub(crate) border: Border<E::Cell>,
    /// What the columns are, if they are all of a database, in order, each once.
    pub(crate) database: Option<&'a Database<'a, E::Column>>,
}

impl<'a, E: WavefrontElement> Pairs<'a, E> {
    /// Problem k has the rows `rows[pairs[k][0]]` and the columns `columns[pairs[k][1]]`; the border is the cell's
    /// default unless [`Pairs::border`] says otherwise.
    pub fn of(
        element: E,
        rows: &'a [&'a [E::Row]],
        columns: &'a [&'a [E::Column]],
        pairs: &'a [[u32; 2]],
    ) -> Self {
        let border = Border::Value(E::Cell::default());
        Self { element, rows: rows.into(), columns, pairs, border, database: None }
    }

    /// Problem k has the rows `query` and for columns sequence k of `database`.
    pub fn search(element: E, query: &'a [E::Row], database: &'a Database<'a, E::Column>) -> Self {
        Self {
            element,
            rows: vec![query].into(),
            columns: &database.sequences,
            pairs: &database.pairs,
            border: Border::Value(E::Cell::default()),
            database: Some(database),
        }
    }

    /// What cells outside of each problem's domain hold.
    pub fn border(mut self, border: Border<E::Cell>) -> Self {
        self.border = border;
        self
    }

    /// How many problems there are.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Rows and columns of problem `k`.
    ///
    /// # Panics
    /// `k` is not less than [`Pairs::len`], or it names a sequence that there is not.
    pub fn extents(&self, k: usize) -> [usize; 2] {
        let [a, b] = self.pairs[k];
        [self.rows[a as usize].len(), self.columns[b as usize].len()]
    }

    /// Problem `k` alone.
    ///
    /// # Panics
    /// As [`Pairs::extents`].
    pub fn problem(&self, k: usize) -> Wavefront<'a, E> {
        let [a, b] = self.pairs[k];
        let [a, b] = [a as usize, b as usize];
        Wavefront::of(self.element)
            .rows(self.rows[a])
            .columns(self.columns[b])
            .border(self.border.clone())
    }

    /// The numbers of the longest sequences of rows and of columns in pairs, and whether one of them all is empty.
    fn longest(&self) -> ([usize; 2], bool) {
        if let Some(Database { sequences, ends: [longest, shortest], .. }) = self.database {
            let empty = self.rows[0].is_empty() || sequences[*shortest].is_empty();
            return ([0, *longest], empty);
        }
        let (mut numbers, mut longest, mut empty) = ([0; 2], [0; 2], false);
        for (k, pair) in self.pairs.iter().enumerate() {
            for (which, length) in self.extents(k).into_iter().enumerate() {
                empty |= length == 0;
                if length > longest[which] {
                    (longest[which], numbers[which]) = (length, pair[which] as usize);
                }
            }
        }
        (numbers, empty)
    }

    /// Whether all indexes into slices are inside, whichever sequences meet.
    fn lookups_are_inside(&self) -> bool {
        let of_rows = self.rows.iter().map(|one| E::symbols(one, &[])[0]).reduce(Interval::or);
        let of_columns = match self.database {
            Some(database) => database.symbols::<E>(),
            None => self.columns.iter().map(|one| E::symbols(&[], one)[1]).reduce(Interval::or),
        };
        let symbols = [of_rows, of_columns].map(|all| all.unwrap_or(Interval::ANY));
        check_lookups(E::NAME, symbols, &self.element.lookups(symbols)).is_ok()
    }

    /// Checks that there are problems and that each is well posed.
    ///
    /// # Errors
    /// No pair; a pair of a sequence that there is not; as [`Wavefront::check`] of any; with the number of the problem
    /// from 1.
    pub fn check(&self) -> Result<()> {
        let [rows, columns] = [self.rows.len(), self.columns.len()];
        if self.pairs.is_empty() {
            return Err(Error::spec("a batch of no problems", "give at least one"));
        }
        let out = |[a, b]: &[u32; 2]| *a as usize >= rows || *b as usize >= columns;
        if self.database.is_none()
            && let Some(k) = self.pairs.iter().position(out)
        {
            let what = format!("sequences {:?}, of {rows} and {columns}", self.pairs[k]);
            return Err(of_problem(k, Error::spec(what, "count sequences from 0")));
        }
        let (longest, empty) = self.longest();
        // What the longest ones may be, shorter ones may, but for their symbols.
        let given = matches!(self.border, Border::Lines { .. }) || !self.lookups_are_inside();
        if !empty && !given {
            let [a, b] = longest;
            let most = Wavefront::of(self.element).rows(self.rows[a]).columns(self.columns[b]);
            if most.border(self.border.clone()).check().is_ok() {
                return Ok(());
            }
        }
        (0..self.pairs.len())
            .try_for_each(|k| self.problem(k).check().map_err(|error| of_problem(k, error)))
    }
}
