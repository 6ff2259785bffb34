//! The sequences of a run, from files.

use std::path::Path;

use warpweft::report::counted;
use warpweft::{Error, Result};
use warpweft_apps::align::{Record, Scoring, read, read_each};
use warpweft_apps::errors::in_file;

use super::pair::Named;
use crate::output::note;

/// Records and pairs left out that are named one by one.
const NAMED: usize = 10;

/// The checked records of a file; the reverse complement, too, if it is `reversed`. None stands for a record that is
/// left out, if `skip` allows that.
pub fn sequences(
    path: &Path,
    scoring: &Scoring,
    reversed: bool,
    skip: bool,
) -> Result<Vec<Option<Named>>> {
    let records = match skip {
        false => read(path)?.into_iter().map(Ok).collect(),
        true => read_each(path)?,
    };
    checked(path, records, scoring, reversed, skip)
}

/// The same of `records` of the file.
pub fn checked(
    path: &Path,
    records: Vec<Result<Record>>,
    scoring: &Scoring,
    reversed: bool,
    skip: bool,
) -> Result<Vec<Option<Named>>> {
    let named = |record: Record| {
        // The error is in the file, not in the command line.
        let sequence = record.sequence(scoring.matrix()).map_err(|error| in_file(path, error))?;
        let reverse = if reversed { sequence.reverse_complement() } else { None };
        Ok(Named { sequence, reverse, name: record.name, quality: record.quality })
    };
    let each = records.into_iter().map(|record| record.and_then(named));
    if !skip {
        return each.map(|named| named.map(Some)).collect();
    }
    let mut left_out = LeftOut::default();
    let all =
        each.map(|named| named.map_err(|error| left_out.add("record", &error)).ok()).collect();
    left_out.end("record", &format!("{}: ", path.display()));
    Ok(all)
}

/// The notes of what is left out.
#[derive(Default)]
pub struct LeftOut(usize);

impl LeftOut {
    /// One more `thing` is left out; the first ones are named.
    pub fn add(&mut self, thing: &str, error: &Error) {
        self.0 += 1;
        if self.0 <= NAMED {
            note(&format!("a {thing} is left out: {error}"));
        }
    }

    /// Says how many more there are; `place` begins the note.
    pub fn end(self, thing: &str, place: &str) {
        if self.0 > NAMED {
            let more = counted((self.0 - NAMED) as u64, &format!("further {thing}"));
            note(&format!("{place}{more} are left out"));
        }
    }
}

/// The queries and the targets that can be aligned; in a `batch` the pairs both of which can.
///
/// # Errors
/// A batch of other numbers of queries than of targets; nothing that can be aligned.
pub fn valid(
    queries: Vec<Option<Named>>,
    targets: Vec<Option<Named>>,
    batch: bool,
) -> Result<[Vec<Named>; 2]> {
    if batch && queries.len() != targets.len() {
        let counts = format!("{} queries for {} targets", queries.len(), targets.len());
        return Err(Error::spec(counts, "give the same number of both, or leave out --batch"));
    }
    let [queries, targets]: [Vec<_>; 2] = match batch {
        true => {
            let pairs = queries.into_iter().zip(targets);
            let (queries, targets) = pairs.filter_map(|(a, b)| a.zip(b)).unzip();
            [queries, targets]
        }
        false => [queries, targets].map(|all| all.into_iter().flatten().collect()),
    };
    match queries.is_empty() || targets.is_empty() {
        true => {
            Err(Error::spec("no records are left", "give files with records that can be aligned"))
        }
        false => Ok([queries, targets]),
    }
}
