//! Alignments of files that are larger than memory: some records of both at a time, in their order.

use std::io::{self, Write};
use std::path::Path;

use warpweft::grid::io::write_whole;
use warpweft::report::Report;
use warpweft::{Error, Result};
use warpweft_apps::align::{Executor, Records, Scoring};

use super::Align;
use super::aligner::Aligner;
use super::check::Tally;
use super::choices::Strands;
use super::{files, input};
use crate::progress::Progress;

/// Pairs that are aligned at once, and the letters of their queries and of their targets.
const MOST: usize = 1 << 16;
const LETTERS: usize = 32 << 20;

/// What came of all parts.
#[derive(Default)]
pub struct Streamed {
    /// Pairs of the next part at most.
    most: usize,
    pub report: Option<Report>,
    pub pairs: usize,
    pub ambiguous: usize,
    pub check: Option<Tally>,
}

/// Aligns the records of both files of `of`, the first with the first and so on, and writes them to `output` as PAF.
///
/// # Errors
/// Files that can't be read or written, or of different numbers of records; as the alignment of any pair.
pub fn stream(
    of: &Align,
    output: &Path,
    scoring: &Scoring,
    executor: &mut dyn Executor,
) -> Result<Streamed> {
    let progress = Progress::waiting("aligning");
    let mut both = [Records::open(&of.query)?, Records::open(&of.target)?];
    let check = of.checking.unchecked().is_none().then(|| Tally::new(&of.checking));
    let (mut all, mut read) = (Streamed { most: MOST, check, ..Streamed::default() }, 0);
    let mut failed = None;
    let written = write_whole(output, |to| {
        loop {
            match all.part(of, (&mut both, &mut read), scoring, executor, to) {
                Ok(true) => progress.tell(format!("{} pairs", all.pairs)),
                Ok(false) => return Ok(()),
                Err(Failure::Writing(error)) => return Err(error),
                Err(Failure::Other(error)) => {
                    failed = Some(error);
                    return Err(io::Error::other("the alignment failed"));
                }
            }
        }
    });
    match failed {
        Some(error) => Err(error),
        None => written.map(|()| all),
    }
}

/// What ends a run: the file that is written, or anything else.
enum Failure {
    Writing(io::Error),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl Streamed {
    /// Aligns the next records of both files, of which so many were `read` before, and writes what is found; whether there
    /// were any.
    fn part(
        &mut self,
        of: &Align,
        ([queries, targets], read): (&mut [Records; 2], &mut usize),
        scoring: &Scoring,
        executor: &mut dyn Executor,
        to: &mut dyn Write,
    ) -> std::result::Result<bool, Failure> {
        let mut second = targets.take(self.most, Some(LETTERS))?;
        let first = queries.take(second.len().max(1), Some(LETTERS))?;
        if first.is_empty() != second.is_empty() {
            let what = match first.is_empty() {
                true => {
                    format!("the query file ends after {read} records, but there are more targets")
                }
                false => {
                    format!("the target file ends after {read} records, but there are more queries")
                }
            };
            return Err(Error::spec(what, "give the same number of both").into());
        }
        if first.is_empty() {
            return Ok(false);
        }
        // At the end of the queries as well: that they are too few is told by the next part.
        targets.put_back(second.split_off(first.len()));
        *read += first.len();
        // Of long queries few go into a part: about as many of the next one, so that few are put back.
        self.most = (2 * first.len()).min(MOST);
        let reversed = of.strand != Strands::Plus;
        let skip = of.skip_invalid;
        let first = input::checked(&of.query, first, scoring, reversed, skip)?;
        let second = input::checked(&of.target, second, scoring, false, skip)?;
        let (queries, targets): (Vec<_>, Vec<_>) =
            first.into_iter().zip(second).filter_map(|(a, b)| a.zip(b)).unzip();
        let letters = queries.iter().chain(&targets).map(|named| named.sequence.ambiguous());
        self.ambiguous += letters.sum::<usize>();
        let mut some = Aligner::new(scoring, of.scope(), &of.checking);
        some.check = self.check.take();
        some.align(of, &queries, &targets, executor)?;
        self.check = some.check.take();
        self.pairs += some.pairs.len();
        if let Some(report) = some.report.take() {
            report.add_to(&mut self.report);
        }
        files::paf(to, &some.pairs, of.eqx).map_err(Failure::Writing)?;
        Ok(true)
    }
}
