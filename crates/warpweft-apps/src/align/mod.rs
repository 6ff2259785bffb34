//! Pairwise alignment of DNA: Smith-Waterman with a linear gap, score and end position.
//!
//! Smith and Waterman (1981). Affine gaps, global alignment and traceback are not here yet.

mod elements;
mod fasta;
mod plain;
mod sequence;

pub use elements::{Dna, letters};
pub use fasta::{Record, read};
pub use plain::plain;
pub use sequence::Sequence;

use warpweft::error::{Error, Result};
use warpweft::report::Report;
use warpweft::wavefront::{Best, Keep, Kept, Wavefront, WavefrontElement, WavefrontExecutor};

/// What letters and gaps are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Added when letters are equal.
    pub matching: i32,
    /// Added when they differ, or when one of them is ambiguous.
    pub mismatch: i32,
    /// Added for each letter against nothing.
    pub gap: i32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { matching: 2, mismatch: -1, gap: -1 }
    }
}

impl Weights {
    /// Whether local alignment makes sense with them.
    ///
    /// # Errors
    /// A match that is not rewarded, or a mismatch or gap that is.
    pub fn check(&self) -> Result<()> {
        let Self { matching, mismatch, gap } = *self;
        if matching <= 0 || mismatch > 0 || gap > 0 {
            return Err(Error::spec(
                format!("weights match {matching}, mismatch {mismatch}, gap {gap}"),
                "give a positive match and no positive mismatch or gap",
            ));
        }
        Ok(())
    }

    /// Least and greatest number that scoring `rows` × `columns` letters can come upon.
    fn bounds(&self, rows: u64, columns: u64) -> [f64; 2] {
        let least = f64::from(self.mismatch) + f64::from(self.gap);
        [least, f64::from(self.matching) * rows.min(columns) as f64]
    }
}

/// A best local alignment: its score and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Its score; 0 when no letters match.
    pub score: i32,
    /// Letters of the query up to and including its last; of equal scores the least.
    pub query_end: usize,
    /// Letters of the target up to and including its last; of these the least.
    pub target_end: usize,
}

/// An executor that runs both forms of the recurrence.
pub trait Executor: WavefrontExecutor<Dna> + WavefrontExecutor<letters> {}

impl<X: WavefrontExecutor<Dna> + WavefrontExecutor<letters>> Executor for X {}

/// The best local alignment of `query` and `target`.
///
/// # Errors
/// As [`Weights::check`]; scores beyond 32 bits; the executor's.
pub fn local(
    query: &Sequence,
    target: &Sequence,
    weights: Weights,
    executor: &mut dyn Executor,
) -> Result<(Alignment, Report)> {
    weights.check()?;
    // The plain four letters have a shorter inner loop on the device.
    let (kept, report) = if target.is_plain() && Dna::can(&weights) {
        run(Dna::new(weights), query, target, &mut |w| executor.run(w))?
    } else {
        run(letters::with(weights), query, target, &mut |w| executor.run(w))?
    };
    let best = match kept {
        Kept::Best(Some(best)) if best.score > 0 => best,
        _ => return Ok((Alignment { score: 0, query_end: 0, target_end: 0 }, report)),
    };
    let Best { score, row, column } = best;
    Ok((Alignment { score, query_end: row + 1, target_end: column + 1 }, report))
}

type Run<'a, E> = &'a mut dyn FnMut(&Wavefront<'_, E>) -> Result<(Kept<i32>, Report)>;

fn run<E: WavefrontElement<Cell = i32, Row = u8, Column = u8, Input = ()>>(
    element: E,
    query: &Sequence,
    target: &Sequence,
    executor: Run<'_, E>,
) -> Result<(Kept<i32>, Report)> {
    let wavefront =
        Wavefront::of(element).rows(query.as_rows()).columns(target.as_columns()).keep(Keep::Best);
    executor(&wavefront)
}
