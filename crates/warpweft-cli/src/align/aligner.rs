//! The alignments of a run: of which pairs, and in which order they are computed.

use std::num::NonZero;
use std::path::Path;

use warpweft::grid::io::Claim;
use warpweft::report::Report;
use warpweft::wavefront::traceback::holds_rows;
use warpweft::{Error, Result};
use warpweft_apps::align::{
    Aligned, Database, Executor, Scope, Scoring, Sequence, Tracing, align_all, best, score_all,
    search, trace, trace_all,
};

use super::check::Tally;
use super::choices::Strands;
use super::extend::extensions;
use super::pair::{Named, Pair};
use super::{Align, Traceback};
use crate::device::cut;
use crate::output::note;
use crate::progress::Progress;
use crate::run::check::choice::Checking;
use crate::world;

/// Cells of pairs whose paths are found many at once.
const SMALL: usize = 1 << 20;

/// Targets from which on they are a database, which queries are searched in one after another.
const DATABASE: usize = 1000;

/// All pairs and their results.
pub struct Aligner<'s> {
    pub pairs: Vec<Pair<'s>>,
    pub report: Option<Report>,
    /// `None` where nothing is to be compared.
    pub check: Option<Tally>,
    scoring: &'s Scoring,
    scope: Scope,
}

impl<'s> Aligner<'s> {
    /// Of alignments that are compared with a reference solution as `checking` says.
    pub fn new(scoring: &'s Scoring, scope: Scope, checking: &Checking) -> Self {
        let check = checking.unchecked().is_none().then(|| Tally::new(checking));
        Self { pairs: Vec::new(), report: None, check, scoring, scope }
    }

    fn push(&mut self, pair: Pair<'s>) {
        if let Some(check) = &mut self.check {
            check.add(&pair, self.scoring, self.scope);
        }
        self.pairs.push(pair);
    }

    /// The same for a pair of which only the path can be checked.
    fn push_path(&mut self, pair: Pair<'s>) {
        if let Some(check) = &mut self.check {
            check.add_path(&pair, self.scoring);
        }
        self.pairs.push(pair);
    }

    /// Aligns what `of` asks for.
    pub fn align(
        &mut self,
        of: &Align,
        queries: &'s [Named],
        targets: &'s [Named],
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let mut chosen = candidates(of, queries, targets);
        // For all pairs, whichever the run was at. A missing folder has nothing to resume either.
        let folder = of.checkpoint.as_ref().filter(|folder| !of.resume || folder.is_dir());
        let claim = folder.map(|folder| Claim::of(folder)).transpose()?;
        folder
            .zip(claim.as_ref())
            .and_then(|(at, claim)| claim.note(at))
            .iter()
            .for_each(|what| note(what));
        if chosen.is_empty() {
            return Ok(());
        }
        if let Some(drop) = of.x_drop {
            return self.extend(of, drop, chosen);
        }
        if of.score_only || of.top.is_some() || of.strand == Strands::Both {
            self.score(&mut chosen, of.score_only, executor)?;
            chosen = best_strands(chosen);
            if let Some(top) = of.top {
                chosen = best_targets(chosen, top.get());
            }
        }
        if of.score_only {
            chosen.into_iter().for_each(|pair| self.push(pair));
            return Ok(());
        }
        match of.best {
            Some(count) => self.several(count.get(), chosen, executor),
            None => self.paths(of, chosen, executor),
        }
    }

    /// The `count` best alignments of each pair; one without any stays, for the report.
    fn several(
        &mut self,
        count: usize,
        pairs: Vec<Pair<'s>>,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let progress = Progress::waiting("aligning");
        let all = pairs.len();
        for (k, mut pair) in pairs.into_iter().enumerate() {
            progress.tell(format!("pair {} of {all}", k + 1));
            let (query, target) = pair.sequences();
            let (found, report) = best(query, target, self.scoring, (count, 1), executor)?;
            report.add_to(&mut self.report);
            if found.is_empty() {
                pair.path = Some(Aligned::none());
                self.push(pair);
                continue;
            }
            for (rank, path) in found.into_iter().enumerate() {
                let mut one = Pair::new(pair.query, pair.target, pair.minus);
                one.alignment = path.alignment;
                one.path = Some(path);
                // The plain loop finds the best alone.
                match rank {
                    0 => self.push(one),
                    _ => self.push_path(one),
                }
            }
        }
        Ok(())
    }

    /// The extension of each pair.
    fn extend(&mut self, of: &Align, drop: i32, pairs: Vec<Pair<'s>>) -> Result<()> {
        let sequences: Vec<_> = pairs.iter().map(|pair| pair.sequences()).collect();
        let threads = of.threads.map(NonZero::get);
        let (found, report) = extensions(&sequences, self.scoring, drop, threads)?;
        report.add_to(&mut self.report);
        let extended = pairs.into_iter().zip(found).map(|(mut pair, path)| {
            pair.alignment = path.alignment;
            pair.path = (!of.score_only).then_some(path);
            pair
        });
        for pair in best_strands(extended.collect()) {
            self.push_path(pair);
        }
        Ok(())
    }

    /// The score of each, and where it ends if `ends` are wanted.
    fn score(
        &mut self,
        pairs: &mut [Pair<'s>],
        ends: bool,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let sequences: Vec<_> = pairs.iter().map(|pair| pair.sequences()).collect();
        if !ends {
            let run = of_each_query(&sequences, self.scoring, self.scope);
            let database = run.map(|run| Database::of(run.iter().map(|(_, target)| *target)));
            let Some(database) = database.transpose()? else {
                let (scores, report) = score_all(&sequences, self.scoring, self.scope, executor)?;
                pairs.iter_mut().zip(scores).for_each(|(pair, score)| pair.alignment.score = score);
                report.add_to(&mut self.report);
                return Ok(());
            };
            for pairs in pairs.chunks_mut(database.len()) {
                let (query, _) = pairs[0].sequences();
                let (scores, report) =
                    search(query, &database, self.scoring, self.scope, executor)?;
                pairs.iter_mut().zip(scores).for_each(|(pair, score)| pair.alignment.score = score);
                report.add_to(&mut self.report);
            }
            return Ok(());
        }
        let (found, report) = align_all(&sequences, self.scoring, self.scope, executor)?;
        pairs.iter_mut().zip(found).for_each(|(pair, found)| pair.alignment = found);
        report.add_to(&mut self.report);
        Ok(())
    }

    /// The path of each: of the small ones at once, of others one after another.
    fn paths(
        &mut self,
        of: &Align,
        pairs: Vec<Pair<'s>>,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let progress = Progress::waiting("aligning");
        let alone = of.checkpoint.is_some() || of.traceback != Traceback::Auto;
        let small = |pair: &Pair<'_>| {
            let (query, target) = pair.sequences();
            !alone && world::net().is_none() && query.len().saturating_mul(target.len()) <= SMALL
        };
        let together: Vec<_> =
            pairs.iter().filter(|pair| small(pair)).map(Pair::sequences).collect();
        let mut found = Vec::new().into_iter();
        if together.len() > 1 {
            progress.tell(format!("{} pairs at once", together.len()));
            let (paths, report) = trace_all(&together, self.scoring, self.scope, executor)?;
            report.add_to(&mut self.report);
            found = paths.into_iter();
        }
        let count = pairs.len();
        for (k, mut pair) in pairs.into_iter().enumerate() {
            let (path, resumed) = match found.as_slice().is_empty() || !small(&pair) {
                false => (found.next(), 0),
                true => {
                    progress.tell(format!("pair {} of {count}", k + 1));
                    let (path, resumed) = self.path(of, k, pair.sequences(), executor)?;
                    (Some(path), resumed)
                }
            };
            let path = path
                .ok_or_else(|| Error::spec("an alignment has no path", "report this as a bug"))?;
            pair.alignment = path.alignment;
            (pair.path, pair.resumed) = (Some(path), resumed);
            self.push(pair);
        }
        Ok(())
    }

    /// The path of pair `k`, and how many of its rows were resumed.
    fn path(
        &mut self,
        of: &Align,
        k: usize,
        (query, target): (&Sequence, &Sequence),
        executor: &mut dyn Executor,
    ) -> Result<(Aligned, usize)> {
        let checkpoint = of.checkpoint.as_ref().map(|path| path.join(format!("pair-{}", k + 1)));
        // A run saves its first pair first, and may not have reached the others.
        let reached = |path: &Path| k == 0 || holds_rows(path).unwrap_or(true);
        let checkpoint = checkpoint.map(|path| (path.clone(), of.resume && reached(&path)));
        // The size of cells with affine gaps; others are smaller.
        let cut = cut([query.len(), target.len()], 12);
        let tracing = Tracing { way: of.traceback.into(), cut, checkpoint };
        let (path, report) = trace(query, target, self.scoring, self.scope, &tracing, executor)?;
        let resumed = (report.first / target.len() as u64) as usize;
        report.add_to(&mut self.report);
        Ok((path, resumed))
    }
}

/// The pairs of queries and targets, in a batch as many of both, once for each strand.
fn candidates<'s>(of: &Align, queries: &'s [Named], targets: &'s [Named]) -> Vec<Pair<'s>> {
    let strands = |query, target| {
        of.strand.reversed().iter().map(move |&minus| Pair::new(query, target, minus))
    };
    if !of.batch {
        let with = |query| targets.iter().flat_map(move |target| strands(query, target));
        return queries.iter().flat_map(with).collect();
    }
    let both = queries.iter().zip(targets);
    both.flat_map(|(query, target)| strands(query, target)).collect()
}

/// The pairs of the first query, if all queries have the same targets and these are many. Only local scores without a band
/// are searched for: others take less time all at once.
fn of_each_query<'p, 's>(
    pairs: &'p [(&'s Sequence, &'s Sequence)],
    scoring: &Scoring,
    scope: Scope,
) -> Option<&'p [(&'s Sequence, &'s Sequence)]> {
    if scope != Scope::Local || scoring.band().is_some() {
        return None;
    }
    let same = |one: &&Sequence, other: &&Sequence| std::ptr::eq(*one, *other);
    let (first, _) = pairs.first()?;
    let count = pairs.iter().take_while(|(query, _)| same(query, first)).count();
    let of_first = &pairs[..count];
    let alike = |some: &[(&Sequence, &Sequence)]| {
        let each = some.iter().zip(of_first);
        some.len() == count
            && each.into_iter().all(|((a, b), (_, target))| same(a, &some[0].0) && same(b, target))
    };
    (count >= DATABASE && pairs.chunks(count).all(alike)).then_some(of_first)
}

/// Of the strands of a query with the same target, the first that scores most.
fn best_strands(pairs: Vec<Pair<'_>>) -> Vec<Pair<'_>> {
    let mut best: Vec<Pair<'_>> = Vec::with_capacity(pairs.len());
    for pair in pairs {
        match best.last_mut() {
            Some(last)
                if std::ptr::eq(last.query, pair.query)
                    && std::ptr::eq(last.target, pair.target) =>
            {
                if pair.alignment.score > last.alignment.score {
                    *last = pair;
                }
            }
            _ => best.push(pair),
        }
    }
    best
}

/// Of each query the `top` targets that score most, best first; of equal ones the first.
fn best_targets(pairs: Vec<Pair<'_>>, top: usize) -> Vec<Pair<'_>> {
    let mut all = Vec::new();
    let mut rest = pairs.into_iter().peekable();
    while let Some(first) = rest.next() {
        let query = first.query;
        let mut of_query = vec![first];
        while let Some(pair) = rest.next_if(|pair| std::ptr::eq(pair.query, query)) {
            of_query.push(pair);
        }
        of_query.sort_by_key(|pair| std::cmp::Reverse(pair.alignment.score));
        all.extend(of_query.into_iter().take(top));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft_apps::align::Weights;

    #[test]
    fn many_targets_that_all_queries_have_are_a_database() {
        let one = |_| Sequence::new("s", b"ACGT").unwrap();
        let [queries, targets] = [2, DATABASE].map(|count| (0..count).map(one).collect::<Vec<_>>());
        let with = |query| targets.iter().map(move |target| (query, target));
        let weights = Weights { matching: 2, mismatch: -3, open: -5, extend: -1 };
        let [scoring, banded] = [None, Some(8)].map(|band| Scoring::from(weights).within(band));
        let local = |pairs| of_each_query(pairs, &scoring, Scope::Local).map(<[_]>::len);
        let pairs: Vec<_> = queries.iter().flat_map(with).collect();
        assert_eq!(local(&pairs), Some(DATABASE));
        assert!(of_each_query(&pairs, &scoring, Scope::Global).is_none(), "one batch of all");
        assert!(of_each_query(&pairs, &banded, Scope::Local).is_none(), "one batch of all");
        assert!(local(&pairs[1..]).is_none(), "too few");
        assert!(local(&pairs[..2 * DATABASE - 1]).is_none(), "of the second one less");
        let mut swapped = pairs.clone();
        swapped.swap(DATABASE, DATABASE + 1);
        assert!(local(&swapped).is_none(), "in another order");
    }
}
