//! Pairwise alignment of DNA and proteins: local, global or with free ends, with linear and affine gaps, by two
//! weights or a matrix; score and end position, or letter by letter.
//!
//! Smith and Waterman (1981), Needleman and Wunsch (1970), Gotoh (1982).

mod best;
mod database;
mod matrix;
mod pairs;
mod path;
mod plain;
mod problem;
mod read;
mod recurrences;
mod scope;
mod scoring;
mod sequence;
mod weights;
mod xdrop;

pub use best::best;
pub use database::{Database, search};
pub use matrix::{Matrix, SYMBOLS};
pub use pairs::{align_all, score_all, trace_all};
pub use path::{Aligned, Operation};
pub use plain::{plain, plain_path};
pub use read::{Record, Records, read, read_each};
pub use recurrences::{Dna, Gapped, affine, global_affine, global_letters, letters, scored};
pub use scope::{Ends, Scope};
pub use scoring::Scoring;
pub use sequence::Sequence;
pub use weights::Weights;
pub use xdrop::extend;

use std::path::PathBuf;

use warpweft::error::Result;
use warpweft::machine::Machine;
use warpweft::report::Report;
use warpweft::wavefront::traceback::{Partition, Way};
use warpweft::wavefront::{Tuned, Tuning, WavefrontExecutor};

use self::problem::Problem;

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
    + WavefrontExecutor<scored>
{
}

impl<X> Executor for X where
    X: WavefrontExecutor<Dna>
        + WavefrontExecutor<letters>
        + WavefrontExecutor<global_letters>
        + WavefrontExecutor<affine>
        + WavefrontExecutor<global_affine>
        + WavefrontExecutor<scored>
{
}

/// How a path is looked for.
#[derive(Clone, Debug, Default)]
pub struct Tracing {
    /// By directions or in linear space.
    pub way: Way,
    /// What is kept meanwhile in linear space; by default what fits [`MEMORY`] bytes.
    pub cut: Option<Partition>,
    /// Where rows of blocks are saved, and whether to go on from there.
    pub checkpoint: Option<(PathBuf, bool)>,
}

/// Bytes that a search for a path in linear space keeps in memory, unless told otherwise: half of what
/// there is, if that is less.
pub const MEMORY: u64 = 512 << 20;

/// The score and the end of the best alignment of `query` and `target`. Of a scope with free ends it may be
/// negative, and aligns one letter at least.
///
/// # Errors
/// As [`Scoring::check`]; sequences of another alphabet than what scores them; scores beyond 32 bits; the
/// executor's.
pub fn align(
    query: &Sequence,
    target: &Sequence,
    scoring: impl Into<Scoring>,
    scope: Scope,
    executor: &mut dyn Executor,
) -> Result<(Alignment, Report)> {
    let scoring = &scoring.into();
    let problem = Problem { query, target, scoring, scope, tracing: None };
    let (found, report) = problem.solve(executor)?;
    Ok((found.alignment, report))
}

/// The best alignment of `query` and `target`, letter by letter. Of equal ends the
/// one of [`align`]; of equal paths the one that, seen from the end, prefers a pair of letters to a
/// letter of the target against nothing, and that to a letter of the query against nothing.
///
/// # Errors
/// As [`align`]; directions asked for that don't fit; a checkpoint with these, of other sequences or
/// weights, with free ends, or that can't be written.
pub fn trace(
    query: &Sequence,
    target: &Sequence,
    scoring: impl Into<Scoring>,
    scope: Scope,
    tracing: &Tracing,
    executor: &mut dyn Executor,
) -> Result<(Aligned, Report)> {
    let scoring = &scoring.into();
    Problem { query, target, scoring, scope, tracing: Some(tracing) }.solve(executor)
}

/// The fastest policy for the score of `query` and `target`, found by running it, and kept for later runs of pairs
/// about as long ([`warpweft::wavefront::Wavefront::tune`]).
///
/// # Errors
/// As [`align`]; those of the search.
pub fn tune(
    query: &Sequence,
    target: &Sequence,
    scoring: &Scoring,
    scope: Scope,
    (machine, tuning): (&Machine, &Tuning),
) -> Result<Tuned> {
    Problem { query, target, scoring, scope, tracing: None }.tune(machine, tuning)
}
