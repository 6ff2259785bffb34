//! The sequences of a run, from files.

use std::path::Path;

use warpweft::report::counted;
use warpweft::{Error, Result};
use warpweft_apps::align::{Record, Scoring, read, read_each};

use super::pair::Named;
use crate::output::note;

/// Records left out that are named one by one.
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
        let sequence = record.sequence(scoring.matrix()).map_err(|error| match error {
            Error::Spec { what, hint } => Error::file(path, what, hint),
            other => other,
        })?;
        let reverse = if reversed { sequence.reverse_complement() } else { None };
        Ok(Named { sequence, reverse, name: record.name, quality: record.quality })
    };
    let each = records.into_iter().map(|record| record.and_then(named));
    if !skip {
        return each.map(|named| named.map(Some)).collect();
    }
    let mut left_out = 0;
    let each = each.map(|named| match named {
        Ok(named) => Some(named),
        Err(error) => {
            left_out += 1;
            if left_out <= NAMED {
                note(&format!("a record is left out: {error}"));
            }
            None
        }
    });
    let all = each.collect();
    if left_out > NAMED {
        let more = counted((left_out - NAMED) as u64, "further record");
        note(&format!("{}: {more} are left out", path.display()));
    }
    Ok(all)
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
