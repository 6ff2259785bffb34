//! `warpweft align`: the best alignment of DNA sequences from FASTA files.

mod check;
mod files;
mod pair;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use warpweft::grid::io::{Claim, check_folder};
use warpweft::report::{Report, counted};
use warpweft::run::Target;
use warpweft::wavefront::traceback::{Way, holds_rows};
use warpweft::wavefront::{RankExecutor, Run, RunExecutor};
use warpweft::{Error, Result};
use warpweft_apps::align::{Executor, Scope, Sequence, Tracing, Weights, align_all, read, trace};

use crate::arguments::threads;
use crate::device::{Place, cut, for_wavefronts, note_crowd};
use crate::output::note;
use crate::place;
use crate::progress::Progress;
use crate::run::outcome::Outcome;
use crate::world;

use self::check::Tally;
use self::files::Files;
use self::pair::{Answer, Named, Pair};

/// The method that finds a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Traceback {
    #[default]
    Auto,
    Directions,
    LinearSpace,
}

impl From<Traceback> for Way {
    fn from(asked: Traceback) -> Self {
        match asked {
            Traceback::Auto => Self::Auto,
            Traceback::Directions => Self::Directions,
            Traceback::LinearSpace => Self::LinearSpace,
        }
    }
}

/// Align every sequence of one file with every sequence of another.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Finds the best alignment, local (Smith and Waterman) or global (Needleman and Wunsch). Prints its \
score, its first and last letter in either sequence (counted from 1), its identity (equal letters over \
columns), its gaps and its CIGAR. If several ends have the best score, the one with the smallest query end is \
taken, then the one with the smallest target end. In a CIGAR, I is a letter of the query opposite a gap, D one \
of the target. If several paths are best, they are compared from the end: a pair is preferred to D, and D to \
I. --score-only prints only the score and the end.

--traceback directions records two bits per cell, four with an affine gap, in one pass. linear-space needs \
memory only for the sum of the lengths, and about two passes. auto takes directions if they fit and are known \
to be faster. Both find the same path.

--output takes names that end in .paf (cg:Z: and AS:i:) or .sam (soft clips, SEQ with N for every \
ambiguous letter, NM:i:, AS:i:). In SAM the line with a query's best score is primary (the first target's, if \
several scores are equal); the other lines are secondary, without SEQ. A query without an alignment has an \
unmapped line in SAM and none in PAF.
--checkpoint saves the state of a long run about eight times per pair. A killed run continues with --resume, \
which refuses a folder without a state or with that of another run.

A gap of k letters scores gap-open + gap-extend * (k - 1), as in parasail; 5 and -5 mean the same for \
--gap, --gap-open and --gap-extend. With equal numbers, or --gap alone, the gap is linear.

Files are FASTA, plain or gzip. Ambiguous letters (N, R, ..) match nothing.

Examples:
  warpweft align query.fa target.fa.gz
  warpweft align a.fa b.fa --match 5 --mismatch -4 --gap -8 --json
  warpweft align a.fa b.fa --output hits.paf --eqx --plot
  warpweft align a.fa b.fa --checkpoint saved --resume
  warpweft align reads.fa windows.fa --batch --score-only
  warpweft align a.fa b.fa --global --match 2 --mismatch -3 --gap-open -5 --gap-extend -2"
)]
pub struct Align {
    /// The query sequences.
    query: PathBuf,
    /// The target sequences.
    target: PathBuf,
    /// Score of a pair of equal letters.
    #[arg(long = "match", value_name = "N", default_value_t = 2)]
    matching: i32,
    /// Score of a pair of different letters.
    #[arg(long, value_name = "N", default_value_t = -1, allow_negative_numbers = true)]
    mismatch: i32,
    /// Score of each letter of a gap; 1 and -1 mean the same.
    #[arg(long, value_name = "N", default_value_t = -1, allow_negative_numbers = true, conflicts_with = "gap_open")]
    gap: i32,
    /// Score of the first letter of a gap; needs --gap-extend [default: that of --gap].
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "gap_extend")]
    gap_open: Option<i32>,
    /// Score of each further letter of a gap; needs --gap-open [default: that of --gap].
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "gap_open")]
    gap_extend: Option<i32>,
    /// Align any part of the query with any part of the target [default].
    #[arg(long, conflicts_with = "global")]
    local: bool,
    /// Align both sequences from end to end.
    #[arg(long)]
    global: bool,
    /// Align the first sequence of one file with the first of the other, the second with the second,
    /// and so on.
    #[arg(long)]
    batch: bool,
    /// Compute only the score and the end. This is faster: many pairs are computed at once.
    #[arg(long, conflicts_with_all = ["eqx", "output", "plot", "checkpoint"])]
    score_only: bool,
    /// The method that finds the path; the report names the one that was used.
    #[arg(long, value_name = "METHOD", value_enum, default_value_t, conflicts_with = "score_only")]
    traceback: Traceback,
    /// Write equal (=) and different letters (X) in CIGARs, instead of M for both.
    #[arg(long)]
    eqx: bool,
    /// Save the alignments: .paf or .sam. May be repeated.
    #[arg(long, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Draw the path of the alignment of one pair [default file: align.png].
    #[arg(long, value_name = "FILE.png", num_args = 0..=1)]
    plot: Option<Option<PathBuf>>,
    /// Save the state of a long run in this folder.
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// Continue from the state that an earlier run of the same sequences and weights saved there.
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// Where to run: cpu, gpu, gpu:N, gpu:N,M,.., gpus, or auto for as many GPUs as make it faster.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Target,
    /// Threads on the CPU [default: one per core].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    json: bool,
}

impl Align {
    /// Reads, aligns, checks and prints.
    pub fn execute(&self) -> ExitCode {
        match world::join().and_then(|()| self.outcome()) {
            Ok(outcome) => world::leave(outcome.report()),
            Err(error) => world::fail(&error),
        }
    }

    fn outcome(&self) -> Result<Outcome> {
        let weights = self.weights();
        weights.check()?;
        if [&self.query, &self.target].iter().all(|path| path.as_os_str() == "-") {
            let hint = "give a file for the query or for the target";
            return Err(Error::spec("standard input can be read once", hint));
        }
        if let Some(place) = place::place() {
            self.over_ranks(place.ranks)?;
        }
        // Only one process writes.
        let files = match place::speaks() {
            true => {
                self.checkpoint.as_ref().map_or(Ok(()), |folder| check_folder(folder))?;
                let read = [&self.query, &self.target];
                Files::prepare(&self.output, self.plot.as_ref(), &read)?
            }
            false => Files::prepare(&[], None, &[])?,
        };
        let (queries, targets) = (sequences(&self.query)?, sequences(&self.target)?);
        files.check(&queries, &targets)?;
        let Place { machine, target, threads, .. } = for_wavefronts(self.device)?;
        if threads.is_some() {
            note_crowd(self.threads, &machine.cpu);
        }
        let run = Run { target, threads: self.threads.map(NonZero::get), ..Run::default() };
        let mut executor = RunExecutor::new(&machine, &run)?;
        let aligned = self.align(&queries, &targets, weights, &mut executor)?;
        let Aligner { pairs, report: Some(report), check } = aligned else {
            return Err(Error::spec("no pair of sequences", "give files with records"));
        };
        let Weights { matching, mismatch, open, extend } = weights;
        let gap = match weights.is_linear() {
            true => format!("gap {open}"),
            false => format!("gap {open} and {extend}"),
        };
        let how = if self.global { "globally" } else { "locally" };
        let how = format!("{how}, match {matching}, mismatch {mismatch}, {gap}");
        let title = match &pairs[..] {
            [pair] => format!(
                "{} ({} letters) and {} ({} letters) {how}",
                pair.query.name,
                pair.query.sequence.len(),
                pair.target.name,
                pair.target.sequence.len()
            ),
            pairs => format!("{} pairs of sequences {how}", pairs.len()),
        };
        let ambiguous: usize =
            queries.iter().chain(&targets).map(|named| named.sequence.ambiguous()).sum();
        let (answer, mut lines) = self.answer(&pairs, ambiguous);
        lines.extend(report.notes.iter().map(|note| ("note", note.clone())));
        Ok(Outcome {
            app: "align",
            title,
            settings: vec![
                ("scope", if self.global { "global" } else { "local" }.into()),
                ("match", weights.matching.into()),
                ("mismatch", weights.mismatch.into()),
                ("gap_open", weights.open.into()),
                ("gap_extend", weights.extend.into()),
            ],
            report,
            answer,
            check: check.made(),
            lines,
            saved: files.write(&pairs, &targets, self.eqx),
            json: self.json,
            interrupted: None,
        })
    }

    /// Gap scores are costs, whatever their sign.
    fn weights(&self) -> Weights {
        let [open, extend] = [self.gap_open, self.gap_extend]
            .map(|given| given.unwrap_or(self.gap).saturating_abs().saturating_neg());
        Weights { matching: self.matching, mismatch: self.mismatch, open, extend }
    }

    /// Refuses options that several ranks don't support.
    fn over_ranks(&self, ranks: usize) -> Result<()> {
        let refuse = |what: &str, hint: &str| {
            Err(Error::spec(format!("{what} with {ranks} processes"), hint))
        };
        if self.checkpoint.is_some() {
            return refuse("--checkpoint", "leave it out, or start one process");
        }
        if [&self.query, &self.target].iter().any(|path| path.as_os_str() == "-") {
            return refuse("standard input", "name files that every process can read");
        }
        Ok(())
    }

    /// Aligns all pairs on `executor`, over all processes if there are several.
    fn align<'s>(
        &self,
        queries: &'s [Named],
        targets: &'s [Named],
        weights: Weights,
        executor: &mut dyn Executor,
    ) -> Result<Aligner<'s>> {
        match world::net() {
            Some(net) => {
                let mut executor = RankExecutor::new(net, executor);
                self.align_on(queries, targets, weights, &mut executor)
            }
            None => self.align_on(queries, targets, weights, executor),
        }
    }

    fn align_on<'s>(
        &self,
        queries: &'s [Named],
        targets: &'s [Named],
        weights: Weights,
        executor: &mut dyn Executor,
    ) -> Result<Aligner<'s>> {
        let scope = if self.global { Scope::Global } else { Scope::Local };
        let mut all = Aligner { pairs: Vec::new(), report: None, check: Tally::default() };
        let chosen = self.pairs(queries, targets)?;
        // For all pairs, whichever the run was at. A missing folder has nothing to resume either.
        let folder = self.checkpoint.as_ref().filter(|folder| !self.resume || folder.is_dir());
        let claim = folder.map(|folder| Claim::of(folder)).transpose()?;
        folder
            .zip(claim.as_ref())
            .and_then(|(at, claim)| claim.note(at))
            .iter()
            .for_each(|what| note(what));
        let progress = Progress::waiting("aligning");
        let count = chosen.len();
        if self.score_only && !chosen.is_empty() {
            let sequences: Vec<_> =
                chosen.iter().map(|(a, b)| (&a.sequence, &b.sequence)).collect();
            let (found, report) = align_all(&sequences, weights, scope, executor)?;
            for ((query, target), alignment) in chosen.into_iter().zip(found) {
                let pair = Pair { query, target, alignment, path: None, resumed: 0 };
                all.check.add(&pair, weights, scope);
                all.pairs.push(pair);
            }
            return Ok(Aligner { report: Some(report), ..all });
        }
        for (query, target) in chosen {
            progress.tell(format!("pair {} of {count}", all.pairs.len() + 1));
            let folder = format!("pair-{}", all.pairs.len() + 1);
            let checkpoint = self.checkpoint.as_ref().map(|path| path.join(folder));
            // A run saves its first pair first, and may not have reached the others.
            let reached = |path: &Path| all.pairs.is_empty() || holds_rows(path).unwrap_or(true);
            let checkpoint = checkpoint.map(|path| (path.clone(), self.resume && reached(&path)));
            // The size of cells with affine gaps; others are smaller.
            let cut = cut([query.sequence.len(), target.sequence.len()], 12);
            let tracing = Tracing { way: self.traceback.into(), cut, checkpoint };
            let (a, b) = (&query.sequence, &target.sequence);
            let (path, report) = trace(a, b, weights, scope, &tracing, executor)?;
            let resumed = (report.first / target.sequence.len() as u64) as usize;
            let alignment = path.alignment;
            let pair = Pair { query, target, alignment, path: Some(path), resumed };
            all.check.add(&pair, weights, scope);
            all.pairs.push(pair);
            all.report = Some(match all.report.take() {
                Some(total) => total.followed_by(&report),
                None => report,
            });
        }
        Ok(all)
    }

    /// The pairs of queries and targets.
    fn pairs<'s>(
        &self,
        queries: &'s [Named],
        targets: &'s [Named],
    ) -> Result<Vec<(&'s Named, &'s Named)>> {
        if !self.batch {
            let with = |query| targets.iter().map(move |target| (query, target));
            return Ok(queries.iter().flat_map(with).collect());
        }
        if queries.len() != targets.len() {
            let counts = format!("{} queries for {} targets", queries.len(), targets.len());
            return Err(Error::spec(counts, "give the same number of both, or leave out --batch"));
        }
        Ok(queries.iter().zip(targets).collect())
    }

    /// The application's result: in JSON always a list of pairs; in text one line for each pair.
    fn answer(&self, pairs: &[Pair<'_>], ambiguous: usize) -> Answer {
        if self.json {
            let pairs: Vec<_> = pairs.iter().map(|pair| pair.to_json(self.eqx)).collect();
            let answer = vec![("pairs", pairs.into()), ("ambiguous_letters", ambiguous.into())];
            return (answer, Vec::new());
        }
        let (answer, mut lines): Answer = match pairs {
            [pair] => (pair.numbers(), pair.cigar(self.eqx).into_iter().collect()),
            pairs => {
                let of = |pair: &Pair<'_>| {
                    [Some(("pair", pair.line())), pair.cigar(self.eqx)].into_iter().flatten()
                };
                let lines = pairs.iter().flat_map(of).collect();
                (vec![("alignments", pairs.len().into())], lines)
            }
        };
        if ambiguous > 0 {
            let letters = counted(ambiguous as u64, "ambiguous letter");
            lines.push(("note", format!("{letters} in all, which match nothing")));
        }
        (answer, lines)
    }
}

/// All pairs and their results.
struct Aligner<'s> {
    pairs: Vec<Pair<'s>>,
    report: Option<Report>,
    check: Tally,
}

fn sequences(path: &Path) -> Result<Vec<Named>> {
    read(path)?
        .into_iter()
        .map(|record| {
            let label = &record.name;
            // The error is in the file, not in the command line.
            let sequence = Sequence::new(label, &record.letters).map_err(|error| match error {
                Error::Spec { what, hint } => Error::file(path, what, hint),
                other => other,
            });
            Ok(Named { sequence: sequence?, name: record.name })
        })
        .collect()
}
