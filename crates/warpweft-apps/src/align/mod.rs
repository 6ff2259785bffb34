//! Pairwise alignment of DNA: local and global, with linear and affine gaps; score and end position.
//!
//! Smith and Waterman (1981), Needleman and Wunsch (1970), Gotoh (1982). Traceback is not here yet.

mod elements;
mod fasta;
mod gapped;
mod plain;
mod sequence;
mod weights;

pub use elements::{Dna, global_letters, letters};
pub use fasta::{Record, read};
pub use gapped::{Gapped, affine, global_affine};
pub use plain::plain;
pub use sequence::Sequence;
pub use weights::Weights;

use warpweft::error::Result;
use warpweft::report::Report;
use warpweft::wavefront::{
    Best, Border, Keep, Kept, Wavefront, WavefrontElement, WavefrontExecutor,
};

/// Which alignments compete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Of any part of the query with any part of the target.
    Local,
    /// Of both, whole.
    Global,
}

/// A best alignment: its score and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Its score; 0 when it is local and no letters match.
    pub score: i32,
    /// Letters of the query up to and including its last; of equal scores the least.
    pub query_end: usize,
    /// Letters of the target up to and including its last; of these the least.
    pub target_end: usize,
}

/// An executor that runs all forms of the recurrence.
pub trait Executor:
    WavefrontExecutor<Dna>
    + WavefrontExecutor<letters>
    + WavefrontExecutor<global_letters>
    + WavefrontExecutor<affine>
    + WavefrontExecutor<global_affine>
{
}

impl<X> Executor for X where
    X: WavefrontExecutor<Dna>
        + WavefrontExecutor<letters>
        + WavefrontExecutor<global_letters>
        + WavefrontExecutor<affine>
        + WavefrontExecutor<global_affine>
{
}

/// The best alignment of `query` and `target`.
///
/// # Errors
/// As [`Weights::check`]; scores beyond 32 bits; the executor's.
pub fn align(
    query: &Sequence,
    target: &Sequence,
    weights: Weights,
    scope: Scope,
    executor: &mut dyn Executor,
) -> Result<(Alignment, Report)> {
    weights.check()?;
    let problem = Problem { query, target, scope };
    match (scope, weights.is_linear()) {
        // The plain four letters have a shorter inner loop on the device.
        (Scope::Local, true) if target.is_plain() && Dna::can(&weights) => {
            problem.run(Dna::new(weights), weights.border(scope), executor, |cell| cell)
        }
        (Scope::Local, true) => {
            problem.run(letters::with(weights), weights.border(scope), executor, |cell| cell)
        }
        (Scope::Global, true) => {
            problem.run(global_letters::with(weights), weights.border(scope), executor, |cell| cell)
        }
        (Scope::Local, false) => {
            let border = weights.gapped_border(scope);
            problem.run(affine::with(weights), border, executor, |cell| cell.h)
        }
        (Scope::Global, false) => {
            let border = weights.gapped_border(scope);
            problem.run(global_affine::with(weights), border, executor, |cell| cell.h)
        }
    }
}

/// What is aligned.
struct Problem<'a> {
    query: &'a Sequence,
    target: &'a Sequence,
    scope: Scope,
}

impl Problem<'_> {
    fn run<E, X>(
        &self,
        element: E,
        border: Border<E::Cell>,
        executor: &mut X,
        score: impl Fn(E::Cell) -> i32,
    ) -> Result<(Alignment, Report)>
    where
        E: WavefrontElement<Row = u8, Column = u8, Input = ()>,
        E::Cell: warpweft::wavefront::Ranked<Score = i32>,
        X: WavefrontExecutor<E> + ?Sized,
    {
        let keep = match self.scope {
            Scope::Local => Keep::Best,
            Scope::Global => Keep::LastRow,
        };
        let wavefront = Wavefront::of(element)
            .rows(self.query.as_rows())
            .columns(self.target.as_columns())
            .border(border)
            .keep(keep);
        let (kept, report) = executor.run(&wavefront)?;
        let [query_end, target_end] = [self.query.len(), self.target.len()];
        let alignment = match kept {
            Kept::Best(Some(Best { score, row, column })) if score > 0 => {
                Alignment { score, query_end: row + 1, target_end: column + 1 }
            }
            Kept::LastRow(row) => {
                let score = row.last().map_or(0, |cell| score(*cell));
                Alignment { score, query_end, target_end }
            }
            _ => Alignment { score: 0, query_end: 0, target_end: 0 },
        };
        Ok((alignment, report))
    }
}
