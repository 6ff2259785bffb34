//! Targets that many queries are scored against.

use warpweft::error::{Error, Result};
use warpweft::report::Report;

use super::pairs::{Many, Want};
use super::{Executor, Scope, Scoring, Sequence, score_all};

/// Targets that many queries are scored against, looked over once: see [`search`].
#[derive(Debug)]
pub struct Database<'a> {
    targets: Vec<&'a Sequence>,
    pub(super) columns: warpweft::wavefront::Database<'a, u8>,
    longest: usize,
    /// Whether all letters are plain nucleotides.
    pub(super) is_plain: bool,
}

impl<'a> Database<'a> {
    /// That of `targets`, in their order.
    ///
    /// # Errors
    /// None; 2^32 or more; targets of different alphabets, with the number of the first that differs, from 1.
    pub fn of(targets: impl IntoIterator<Item = &'a Sequence>) -> Result<Self> {
        let targets: Vec<_> = targets.into_iter().collect();
        let Some(first) = targets.first() else {
            return Err(Error::spec("a database of no sequences", "give at least one"));
        };
        if let Some(k) = targets.iter().position(|target| target.matrix() != first.matrix()) {
            return Err(Error::spec(
                format!("sequence {} of a database, whose letters are of another alphabet", k + 1),
                "make all sequences of the same matrix, or all of nucleotides",
            ));
        }
        Ok(Self {
            columns: warpweft::wavefront::Database::of(targets.iter().map(|one| one.as_columns()))?,
            longest: targets.iter().map(|target| target.len()).max().unwrap_or(0),
            is_plain: targets.iter().all(|target| target.is_plain()),
            targets,
        })
    }

    /// How many targets there are, at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is no empty one")]
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether `query` can be scored against all targets.
    pub(super) fn check(&self, query: &Sequence, scoring: &Scoring, scope: Scope) -> Result<()> {
        [query, self.targets[0]].into_iter().try_for_each(|of| scoring.check_alphabet(of))?;
        scoring.check_lengths(scope, [query.len(), self.longest])
    }
}

/// The score of the best alignment of `query` with each target, as [`score_all`] finds them. A GPU keeps its copy of the last
/// database that it searched, so further queries take less time.
///
/// # Errors
/// As [`score_all`].
pub fn search(
    query: &Sequence,
    database: &Database<'_>,
    scoring: impl Into<Scoring>,
    scope: Scope,
    executor: &mut dyn Executor,
) -> Result<(Vec<i32>, Report)> {
    let scoring = &scoring.into();
    if scope != Scope::Local || scoring.band().is_some() {
        let pairs: Vec<_> = database.targets.iter().map(|target| (query, *target)).collect();
        return score_all(&pairs, scoring, scope, executor);
    }
    let many = Many { pairs: &[], database: Some((query, database)), scoring, scope };
    let (found, report) = many.find(executor, Want::Scores)?;
    Ok((found.scores(), report))
}
