//! Pairwise alignment of DNA: local and global, with linear and affine gaps; score and end position,
//! or letter by letter.
//!
//! Smith and Waterman (1981), Needleman and Wunsch (1970), Gotoh (1982).

mod back;
mod elements;
mod fasta;
mod gapped;
mod path;
mod plain;
mod sequence;
mod weights;

pub use elements::{Dna, global_letters, letters};
pub use fasta::{Record, read};
pub use gapped::{Gapped, affine, global_affine};
pub use path::{Aligned, Operation};
pub use plain::{plain, plain_path};
pub use sequence::Sequence;
pub use weights::Weights;

use std::path::PathBuf;

use warpweft::error::Result;
use warpweft::report::Report;
use warpweft::wavefront::traceback::{self, Checkpoint, End, Partition, Traced, Way};
use warpweft::wavefront::{Best, Border, Keep, Kept, Ranked, Wavefront, WavefrontExecutor};

/// Which alignments compete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Of any part of the query with any part of the target.
    Local,
    /// Of both, whole.
    Global,
}

impl Scope {
    /// What tells the score and the end.
    fn keep(self) -> Keep {
        match self {
            Self::Local => Keep::Best,
            Self::Global => Keep::LastRow,
        }
    }
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

/// The score and the end of the best alignment of `query` and `target`.
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
    let problem = Problem { query, target, weights, scope, tracing: None };
    let (found, report) = problem.solve(executor)?;
    Ok((found.alignment, report))
}

/// The score and the end of the best alignment of each query with its target: many short pairs take
/// little longer than few.
///
/// # Errors
/// As [`align`], of any pair; no pairs.
pub fn align_all(
    pairs: &[(&Sequence, &Sequence)],
    weights: Weights,
    scope: Scope,
    executor: &mut dyn Executor,
) -> Result<(Vec<Alignment>, Report)> {
    weights.check()?;
    let mut lengths = pairs.iter().map(|(query, target)| [query.len(), target.len()]);
    lengths.try_for_each(|lengths| weights.check_lengths(scope, lengths))?;
    let (border, gapped) = (weights.border(scope), weights.gapped_border(scope));
    let plain = pairs.iter().all(|(_, target)| target.is_plain());
    match (scope, weights.is_linear()) {
        (Scope::Local, true) if plain && Dna::can(&weights) => {
            batch(pairs, Dna::new(weights), scope, border, executor)
        }
        (Scope::Local, true) => batch(pairs, letters::with(weights), scope, border, executor),
        (Scope::Global, true) => {
            batch(pairs, global_letters::with(weights), scope, border, executor)
        }
        (Scope::Local, false) => batch(pairs, affine::with(weights), scope, gapped, executor),
        (Scope::Global, false) => {
            batch(pairs, global_affine::with(weights), scope, gapped, executor)
        }
    }
}

fn batch<E, X>(
    pairs: &[(&Sequence, &Sequence)],
    element: E,
    scope: Scope,
    border: Border<E::Cell>,
    executor: &mut X,
) -> Result<(Vec<Alignment>, Report)>
where
    E: Traced<Row = u8, Column = u8>,
    E::Cell: Ranked<Score = i32>,
    X: WavefrontExecutor<E> + ?Sized,
{
    let wavefronts: Vec<_> = pairs
        .iter()
        .map(|(query, target)| {
            Wavefront::of(element)
                .rows(query.as_rows())
                .columns(target.as_columns())
                .border(border.clone())
                .keep(scope.keep())
        })
        .collect();
    let (all, report) = executor.run_batch(&wavefronts)?;
    let found = all
        .iter()
        .zip(&wavefronts)
        .map(|(kept, wavefront)| found(kept, wavefront.extents()).unwrap_or(nothing().alignment));
    Ok((found.collect(), report))
}

/// The alignment of a query and a target of these lengths that `kept` tells of, if any.
fn found<C: Ranked<Score = i32>>(
    kept: &Kept<C>,
    [query_end, target_end]: [usize; 2],
) -> Option<Alignment> {
    match kept {
        Kept::Best(Some(Best { score, row, column })) if *score > 0 => {
            Some(Alignment { score: *score, query_end: row + 1, target_end: column + 1 })
        }
        Kept::LastRow(row) => {
            let score = row.last().map_or(0, Ranked::score);
            Some(Alignment { score, query_end, target_end })
        }
        _ => None,
    }
}

/// The best alignment of `query` and `target`, letter by letter. Of equal ends the
/// one of [`align`]; of equal paths the one that, seen from the end, prefers a pair of letters to a
/// letter of the target against nothing, and that to a letter of the query against nothing.
///
/// # Errors
/// As [`align`]; directions asked for that don't fit; a checkpoint with these, of other sequences or
/// weights, or that can't be written.
pub fn trace(
    query: &Sequence,
    target: &Sequence,
    weights: Weights,
    scope: Scope,
    tracing: &Tracing,
    executor: &mut dyn Executor,
) -> Result<(Aligned, Report)> {
    Problem { query, target, weights, scope, tracing: Some(tracing) }.solve(executor)
}

/// What is aligned.
struct Problem<'a> {
    query: &'a Sequence,
    target: &'a Sequence,
    weights: Weights,
    scope: Scope,
    /// How a path is looked for, if at all.
    tracing: Option<&'a Tracing>,
}

impl Problem<'_> {
    fn solve(&self, executor: &mut dyn Executor) -> Result<(Aligned, Report)> {
        let Self { query, target, weights, scope, .. } = *self;
        weights.check()?;
        weights.check_lengths(scope, [query.len(), target.len()])?;
        let (border, gapped) = (weights.border(scope), weights.gapped_border(scope));
        match (scope, weights.is_linear()) {
            // The plain four letters have a shorter inner loop on the device.
            (Scope::Local, true) if target.is_plain() && Dna::can(&weights) => {
                self.run(Dna::new(weights), border, executor)
            }
            (Scope::Local, true) => self.run(letters::with(weights), border, executor),
            (Scope::Global, true) => self.run(global_letters::with(weights), border, executor),
            (Scope::Local, false) => self.run(affine::with(weights), gapped, executor),
            (Scope::Global, false) => self.run(global_affine::with(weights), gapped, executor),
        }
    }

    fn run<E, X>(
        &self,
        element: E,
        border: Border<E::Cell>,
        executor: &mut X,
    ) -> Result<(Aligned, Report)>
    where
        E: Traced<Row = u8, Column = u8>,
        E::Cell: Ranked<Score = i32>,
        X: WavefrontExecutor<E> + ?Sized,
    {
        let wavefront = Wavefront::of(element)
            .rows(self.query.as_rows())
            .columns(self.target.as_columns())
            .border(border);
        match self.tracing {
            None => self.score(wavefront, executor),
            Some(tracing) => self.path(wavefront, tracing, executor),
        }
    }

    /// Score and end only.
    fn score<E, X>(
        &self,
        wavefront: Wavefront<'_, E>,
        executor: &mut X,
    ) -> Result<(Aligned, Report)>
    where
        E: Traced,
        E::Cell: Ranked<Score = i32>,
        X: WavefrontExecutor<E> + ?Sized,
    {
        let (kept, report) = executor.run(&wavefront.keep(self.scope.keep()))?;
        let lengths = [self.query.len(), self.target.len()];
        Ok(match found(&kept, lengths) {
            Some(alignment) => (Aligned { alignment, ..nothing() }, report),
            None => (nothing(), report),
        })
    }

    /// The path, too.
    fn path<E, X>(
        &self,
        wavefront: Wavefront<'_, E>,
        tracing: &Tracing,
        executor: &mut X,
    ) -> Result<(Aligned, Report)>
    where
        E: Traced<Row = u8, Column = u8>,
        E::Cell: Ranked<Score = i32>,
        X: WavefrontExecutor<E> + ?Sized,
    {
        let end = match self.scope {
            Scope::Local => End::Best,
            Scope::Global => End::Corner,
        };
        let cell = size_of::<E::Cell>();
        // What a checkpoint holds must not depend on the machine.
        let within =
            if tracing.checkpoint.is_some() { Partition::within } else { Partition::fitting };
        let cut = tracing.cut.unwrap_or_else(|| within(MEMORY, wavefront.extents(), cell));
        let checkpoint = tracing.checkpoint.as_ref().map(|(directory, resume)| Checkpoint {
            directory: directory.clone(),
            resume: *resume,
            of: format!(
                "{:?} {:?} {} {}",
                self.scope,
                self.weights,
                self.query.fingerprint(),
                self.target.fingerprint()
            ),
        });
        let (path, report) =
            traceback::trace(&wavefront, end, tracing.way, &cut, checkpoint.as_ref(), executor)?;
        let global = self.scope == Scope::Global;
        Ok(match path {
            Some(path) if global || path.score > 0 => {
                (Aligned::of(&path, self.query, self.target, global)?, report)
            }
            _ => (nothing(), report),
        })
    }
}

/// No letters.
fn nothing() -> Aligned {
    let alignment = Alignment { score: 0, query_end: 0, target_end: 0 };
    Aligned { alignment, query_start: 0, target_start: 0, operations: Vec::new() }
}
