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

use super::candidates::{alike, best_strands, best_targets, candidates};
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

/// Targets from which on they are a database, which queries are searched in one after another. Only local scores without a
/// band are searched for: others take less time many at once.
const DATABASE: usize = 1000;

/// Pairs of which the best are chosen at once, unless a query has more.
const TOGETHER: usize = 1 << 18;

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
        // For all pairs, whichever the run was at. A missing folder has nothing to resume either.
        let folder = of.checkpoint.as_ref().filter(|folder| !of.resume || folder.is_dir());
        let claim = folder.map(|folder| Claim::of(folder)).transpose()?;
        folder
            .zip(claim.as_ref())
            .and_then(|(at, claim)| claim.note(at))
            .iter()
            .for_each(|what| note(what));
        let mut chosen = match of.top {
            Some(top) => self.search(of, top.get(), (queries, targets), executor)?,
            None => candidates(of, self.scoring, queries, targets)?,
        };
        if chosen.is_empty() {
            return Ok(());
        }
        if let Some(drop) = of.x_drop {
            return self.extend(of, drop, chosen);
        }
        if let Some(count) = of.best {
            // All strands of a pair compete.
            chosen.dedup_by(|one, before| alike(one, before));
            return self.several(of.strand, count.get(), chosen, executor);
        }
        if of.score_only {
            self.ends(&mut chosen, executor)?;
            best_strands(chosen).into_iter().for_each(|pair| self.push(pair));
            return Ok(());
        }
        if of.top.is_none() && of.strand == Strands::Both {
            self.scores(&mut chosen, executor)?;
            chosen = best_strands(chosen);
        }
        self.paths(of, chosen, executor)
    }

    /// The pairs of each query with the `top` targets that score most, best first.
    fn search(
        &mut self,
        of: &Align,
        top: usize,
        (queries, targets): (&'s [Named], &'s [Named]),
        executor: &mut dyn Executor,
    ) -> Result<Vec<Pair<'s>>> {
        let local = self.scope == Scope::Local && self.scoring.band().is_none();
        let letters = targets.iter().map(|target| &target.sequence);
        let searched = local && targets.len() >= DATABASE;
        let database = searched.then(|| Database::of(letters)).transpose()?;
        let strands = of.strand.reversed().len();
        let of_query = targets.len() * strands;
        let mut all = Vec::new();
        for queries in queries.chunks((TOGETHER / of_query).max(1)) {
            let mut pairs = candidates(of, self.scoring, queries, targets)?;
            match &database {
                // None was left out.
                Some(database) if pairs.len() == queries.len() * of_query => {
                    self.searched(database, strands, &mut pairs, executor)?;
                }
                _ if pairs.is_empty() => continue,
                _ => self.scores(&mut pairs, executor)?,
            }
            all.extend(best_targets(best_strands(pairs), top));
        }
        Ok(all)
    }

    /// The scores of `pairs`, which are those of each query with each target of `database`, each with so many strands.
    fn searched(
        &mut self,
        database: &Database<'_>,
        strands: usize,
        pairs: &mut [Pair<'s>],
        executor: &mut dyn Executor,
    ) -> Result<()> {
        for of_query in pairs.chunks_mut(database.len() * strands) {
            for strand in 0..strands {
                let (query, _) = of_query[strand].sequences();
                let (scores, report) = search(query, database, self.scoring, self.scope, executor)?;
                let of_strand = of_query.iter_mut().skip(strand).step_by(strands);
                of_strand.zip(scores).for_each(|(pair, score)| pair.alignment.score = score);
                report.add_to(&mut self.report);
            }
        }
        Ok(())
    }

    /// The `count` best alignments of each pair, of whichever strand; a pair without any stays, for the report.
    fn several(
        &mut self,
        strands: Strands,
        count: usize,
        pairs: Vec<Pair<'s>>,
        executor: &mut dyn Executor,
    ) -> Result<()> {
        let progress = Progress::waiting("aligning");
        let all = pairs.len();
        for (k, mut pair) in pairs.into_iter().enumerate() {
            progress.tell(format!("pair {} of {all}", k + 1));
            let minus = strands.reversed();
            let of = |&minus: &bool| Pair::new(pair.query, pair.target, minus).sequences().0;
            let queries: Vec<_> = minus.iter().map(of).collect();
            let target = &pair.target.sequence;
            let (found, report) = best(&queries, target, self.scoring, (count, 1), executor)?;
            report.add_to(&mut self.report);
            if found.is_empty() {
                pair.path = Some(Aligned::none());
                self.push(pair);
                continue;
            }
            for (rank, (strand, path)) in found.into_iter().enumerate() {
                let mut one = Pair::new(pair.query, pair.target, minus[strand]);
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

    /// The score of each.
    fn scores(&mut self, pairs: &mut [Pair<'s>], executor: &mut dyn Executor) -> Result<()> {
        let sequences: Vec<_> = pairs.iter().map(|pair| pair.sequences()).collect();
        let (scores, report) = score_all(&sequences, self.scoring, self.scope, executor)?;
        pairs.iter_mut().zip(scores).for_each(|(pair, score)| pair.alignment.score = score);
        report.add_to(&mut self.report);
        Ok(())
    }

    /// The score of each, and where it ends.
    fn ends(&mut self, pairs: &mut [Pair<'s>], executor: &mut dyn Executor) -> Result<()> {
        let sequences: Vec<_> = pairs.iter().map(|pair| pair.sequences()).collect();
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
