//! Sequences that many queries go through: looked over once.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::recurrence::{Interval, WavefrontElement};
use warpweft_core::error::{Error, Result};

/// Sequences of columns that many queries go through, such as proteins.
///
/// The sequences are borrowed, so they can't change while the database exists. A GPU keeps its copy of the last database that it
/// searched, up to 256 MiB. Further queries of this database then need no pass over its sequences on the host, unless the
/// query could score more than 16 bits with the longest sequence. See [`Pairs::search`](super::Pairs::search).
///
/// ```
/// use warpweft::prelude::*;
/// use warpweft::wavefront::traceback::End;
/// use warpweft::wavefront::{Database, Pairs, Run, RunExecutor, WavefrontExecutor};
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
/// let database = Database::of(words)?;
/// for (query, expected) in [(b"TACK", [3, 4, 1]), (b"GATE", [3, 2, 2])] {
///     let (found, _) = executor.scores(&Pairs::search(common(), query, &database), End::Best)?;
///     assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), expected);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Database<'a, T> {
    pub(crate) sequences: Vec<&'a [T]>,
    /// The first of several sequences of rows with each.
    pub(super) pairs: Vec<[u32; 2]>,
    /// The numbers of a longest and a shortest one.
    pub(super) ends: [usize; 2],
    /// Items of all together.
    pub(crate) count: u64,
    /// No other database of this process has it.
    pub(crate) number: u64,
    /// What the symbols of all lie between, by the function that tells it of one.
    symbols: Mutex<HashMap<usize, Interval>>,
}

impl<'a, T> Database<'a, T> {
    /// A database of `sequences`, in their order. It may be empty, but searching an empty one is an error.
    ///
    /// # Errors
    /// 2^32 sequences or more.
    pub fn of(sequences: impl IntoIterator<Item = &'a [T]>) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let sequences: Vec<_> = sequences.into_iter().collect();
        let Ok(count) = u32::try_from(sequences.len()) else {
            return Err(Error::spec(
                format!("a database of {} sequences", sequences.len()),
                "give fewer than 2^32",
            ));
        };
        let length = |&k: &usize| sequences[k].len();
        let [all, again] = [0, 0].map(|first| first..sequences.len());
        let ends =
            [all.max_by_key(length), again.min_by_key(length)].map(Option::unwrap_or_default);
        Ok(Self {
            ends,
            pairs: (0..count).map(|k| [0, k]).collect(),
            count: sequences.iter().map(|one| one.len() as u64).sum(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            symbols: Mutex::default(),
            sequences,
        })
    }

    /// How many sequences there are.
    pub fn len(&self) -> usize {
        self.sequences.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }

    /// Its sequences.
    pub fn sequences(&self) -> &[&'a [T]] {
        &self.sequences
    }

    /// Columns of the longest sequence.
    pub(crate) fn longest(&self) -> usize {
        self.sequences.get(self.ends[0]).map_or(0, |one| one.len())
    }

    /// What the symbols of all lie between, as columns of `E`.
    pub(super) fn symbols<E: WavefrontElement<Column = T>>(&self) -> Option<Interval> {
        let of: fn(&[E::Row], &[T]) -> [Interval; 2] = E::symbols;
        let mut known = self.symbols.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&(of as usize)) {
            return Some(*known);
        }
        let all = self.sequences.iter().map(|one| of(&[], one)[1]).reduce(Interval::or)?;
        known.insert(of as usize, all);
        Some(all)
    }
}

impl<T> fmt::Debug for Database<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a database of {} sequences, {} in all", self.len(), self.count)
    }
}
