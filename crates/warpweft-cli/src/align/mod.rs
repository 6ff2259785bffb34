//! `warpweft align`: the best alignments of DNA and protein sequences from FASTA and FASTQ files.

mod aligner;
mod blast;
mod candidates;
mod check;
mod choices;
mod extend;
mod files;
mod input;
mod pair;
mod stream;

use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;

use warpweft::grid::io::check_folder;
use warpweft::machine::Machine;
use warpweft::report::counted;
use warpweft::run::Target;
use warpweft::wavefront::traceback::Way;
use warpweft::wavefront::{RankExecutor, Run, RunExecutor};
use warpweft::{Error, Result};
use warpweft_apps::align::{Executor, Scoring, Weights};

use crate::arguments::{threads, whole};
use crate::device::{Place, for_wavefronts, note_crowd};
use crate::place;
use crate::run::check::Check;
use crate::run::check::choice::Checking;
use crate::run::files::Saved;
use crate::run::outcome::Outcome;
use crate::world;

use self::aligner::Aligner;
use self::choices::{FreeEnd, Strands};
use self::files::Files;
use self::pair::{Answer, Named, Pair};
use self::stream::Streamed;

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
    after_help = "Finds the best alignment: local (Smith and Waterman), global (Needleman and Wunsch), or with free ends. Prints its \
score, its first and last position in each sequence (counted from 1), its identity (equal letters divided by \
columns), its gaps and its CIGAR. If the best score is reached at several ends, the one with the smallest query end is \
taken, then the one with the smallest target end. In a CIGAR, I is a letter of the query opposite a gap, D one \
of the target. If several paths are best, they are compared from the end: a pair is preferred to D, and D to \
I. --score-only prints only the score and the end.

An alignment ends at a letter of each sequence, as in parasail: with free ends too, leaving one sequence out altogether is not \
considered, even if that scores more.

--traceback directions records two bits per cell (four with affine gaps or --matrix) in one pass. linear-space needs memory \
proportional to the sum of the lengths, and the time of about two passes. auto uses directions if they fit into memory \
and are expected to be faster. Both find the same path.

--output takes names that end in .paf (cg:Z: and AS:i:), .sam (soft clips, SEQ with N for every \
ambiguous letter, with --matrix the letters themselves but X for *, NM:i:, AS:i:), or .tsv or .m8 (the twelve columns of BLAST's -outfmt 6; the E-value and the bit score \
are those of Karlin and Altschul without length correction, or nan for a scoring scheme without BLAST statistics and for \
alignments that are not local). In SAM the line with a query's best score is primary (the first target's, if \
several scores are equal); the other lines are secondary, without SEQ. A query without an alignment has an \
unmapped line in SAM and none in PAF.
--checkpoint saves the state of a long run about eight times per pair. A killed run continues with --resume, \
which refuses a folder without a state or with that of another run.

A gap of k letters scores gap-open + gap-extend * (k - 1), as in parasail; 5 and -5 mean the same for \
--gap, --gap-open and --gap-extend. With equal numbers, or --gap alone, the gap is linear.

With --strand both, each query and its reverse complement are aligned, and the one that scores more is reported; \
positions are those of the query as it is in its file. --top searches a set of targets: all scores first, then \
the paths of the best.

A file for --matrix has a line of letters, then for each of them a line: the letter, then its score with each \
letter of the first line. U, O and J are scored as X if the matrix lacks them. A matrix of nucleotides may be used with --strand: \
U is T there.

--band N leaves out cells more than N away from the diagonal that starts at the first letters of both sequences; the ends must lie \
within the band. --x-drop runs on the cores, one pair per core. --best N finds the best alignment, then the best of those that share no \
letter of the target with the ones before, and so on; with --strand both, those of both strands.

--skip-invalid leaves out records that have letters outside the alphabet, no name, no letters, or more or fewer quality values \
than letters; with --batch also the other record of the pair. It leaves out pairs whose ends lie outside of the --band, or \
whose scores may exceed 32 bits. Each FASTQ record must then have exactly four lines.

Files are FASTA or FASTQ, plain or gzip. Ambiguous nucleotides (N, R, ..) match nothing, \
except by --matrix NUC44, where N with any base scores -2 and R with A or G scores 1; in CIGARs, NM:i: and identities \
only A, C, G and T are equal to themselves.

Examples:
  warpweft align query.fa target.fa.gz
  warpweft align a.fa b.fa --match 5 --mismatch -4 --gap -8 --json
  warpweft align a.fa b.fa --output hits.paf --eqx --plot
  warpweft align a.fa b.fa --checkpoint saved
  warpweft align a.fa b.fa --checkpoint saved --resume
  warpweft align reads.fa windows.fa --batch --score-only
  warpweft align reads.fq windows.fa --batch --stream --output hits.paf
  warpweft align query.fa proteins.fa --matrix BLOSUM62 --top 10
  warpweft align reads.fq genome.fa --semi-global --strand both --output hits.sam
  warpweft align exons.fa genome.fa --best 20 --output hits.tsv
  warpweft align a.fa b.fa --global --band 500
  warpweft align a.fa b.fa --global --match 2 --mismatch -3 --gap-open -5 --gap-extend -2"
)]
pub struct Align {
    /// The query sequences.
    query: PathBuf,
    /// The target sequences.
    target: PathBuf,
    /// Score of a pair of equal letters.
    #[arg(long = "match", value_name = "N", default_value_t = 2, conflicts_with = "matrix")]
    matching: i32,
    /// Score of a pair of different letters, at most 0.
    #[arg(long, value_name = "N", default_value_t = -1, allow_negative_numbers = true, conflicts_with = "matrix")]
    mismatch: i32,
    /// Score pairs of letters by a matrix: BLOSUM62, BLOSUM50, PAM250, NUC44 or a file. The sequences may then contain the
    /// matrix's letters, for example amino acids, or with NUC44 nucleotides and their IUPAC codes.
    #[arg(long, value_name = "MATRIX")]
    matrix: Option<String>,
    /// Score of each letter of a gap; 1 and -1 mean the same [default: -1].
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "gap_open")]
    gap: Option<i32>,
    /// Score of the first letter of a gap; needs --gap-extend [default: that of --gap; -12 with --matrix].
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "gap_extend")]
    gap_open: Option<i32>,
    /// Score of each further letter of a gap; needs --gap-open [default: that of --gap; -1 with --matrix].
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "gap_open")]
    gap_extend: Option<i32>,
    /// Align any part of the query with any part of the target [default].
    #[arg(long, group = "scopes")]
    local: bool,
    /// Align both sequences from end to end.
    #[arg(long, group = "scopes")]
    global: bool,
    /// Align the whole query with any part of the target.
    #[arg(long, group = "scopes")]
    semi_global: bool,
    /// Align sequences that overlap: gaps at all four ends cost nothing.
    #[arg(long, group = "scopes")]
    overlap: bool,
    /// Align both sequences from end to end; gaps at these ends cost nothing.
    #[arg(long, value_name = "ENDS", value_enum, value_delimiter = ',', group = "scopes")]
    free_ends: Vec<FreeEnd>,
    /// Extend an alignment from the first letters of both sequences to the cell with the best score, and prune cells that
    /// score more than N below the best so far (X-drop).
    #[arg(long, value_name = "N", group = "scopes", conflicts_with_all = ["checkpoint", "traceback", "top"])]
    x_drop: Option<i32>,
    /// Align only letters whose positions in both sequences differ by at most N.
    #[arg(long, value_name = "N", conflicts_with = "x_drop", value_parser = whole::<usize>)]
    band: Option<usize>,
    /// Find the N best local alignments of each pair that lie in different parts of the target.
    #[arg(long, value_name = "N", conflicts_with_all = ["global", "semi_global", "overlap", "free_ends", "x_drop", "band", "score_only", "checkpoint", "plot", "traceback"])]
    best: Option<NonZero<usize>>,
    /// Leave out records and pairs that can't be aligned, with a note for each.
    #[arg(long)]
    skip_invalid: bool,
    /// The strands of each query: as it is, its reverse complement, or whichever scores more.
    #[arg(long, value_name = "STRAND", value_enum, default_value_t)]
    strand: Strands,
    /// Report only the N targets that score most with each query, best first.
    #[arg(long, value_name = "N")]
    top: Option<NonZero<usize>>,
    /// Align the first sequence of one file with the first of the other, the second with the second,
    /// and so on.
    #[arg(long)]
    batch: bool,
    /// Read, align and write some records of both files at a time: the files may be larger than memory. Each FASTQ
    /// record must then have exactly four lines.
    #[arg(long, requires_all = ["batch", "output"], conflicts_with_all = ["score_only", "best", "top", "plot", "checkpoint"])]
    stream: bool,
    /// Compute only the score and the end. This is faster: many pairs are computed at once.
    #[arg(long, conflicts_with_all = ["eqx", "output", "plot", "checkpoint"])]
    score_only: bool,
    /// The method that finds the path; the report names the one that was used.
    #[arg(long, value_name = "METHOD", value_enum, default_value_t, conflicts_with = "score_only")]
    traceback: Traceback,
    /// Write equal (=) and different letters (X) in CIGARs, instead of M for both.
    #[arg(long)]
    eqx: bool,
    /// Save the alignments: .paf, .sam, or .tsv (BLAST's tabular format). May be repeated.
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
    #[command(flatten)]
    checking: Checking,
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
        self.check()?;
        let scoring = self.scoring()?;
        scoring.check()?;
        if [&self.query, &self.target].iter().all(|path| path.as_os_str() == "-") {
            let hint = "give a file for the query or for the target";
            return Err(Error::spec("standard input can be read once", hint));
        }
        if let Some(place) = place::place() {
            self.over_ranks(place.ranks)?;
        }
        let files = self.prepared()?;
        if self.stream {
            return self.streamed(&files, &scoring);
        }
        let reversed = self.strand != Strands::Plus;
        let queries = input::sequences(&self.query, &scoring, reversed, self.skip_invalid)?;
        let targets = input::sequences(&self.target, &scoring, false, self.skip_invalid)?;
        let [queries, targets] = input::valid(queries, targets, self.batch)?;
        files.check(&queries, &targets)?;
        let (machine, run) = self.chosen()?;
        let mut executor = RunExecutor::new(&machine, &run)?;
        let aligned = self.align((&queries, &targets), &scoring, &mut executor)?;
        let Aligner { pairs, report: Some(report), check, .. } = aligned else {
            return Err(Error::spec("no pair of sequences", "give files with records"));
        };
        let (how, settings) = self.described(&scoring);
        let title = match &pairs[..] {
            [pair] => {
                let of = |it: &Named| format!("{} ({} letters)", it.name, it.sequence.len());
                format!("{} and {} {how}", of(pair.query), of(pair.target))
            }
            pairs => format!("{} pairs of sequences {how}", pairs.len()),
        };
        let ambiguous: usize =
            queries.iter().chain(&targets).map(|named| named.sequence.ambiguous()).sum();
        let (answer, mut lines) = self.answer(&pairs, ambiguous);
        lines.extend(report.notes.iter().map(|note| ("note", note.clone())));
        Ok(Outcome {
            app: "align",
            title,
            settings,
            report,
            answer,
            check: check.map_or_else(|| Check::none("--no-check"), |tally| tally.made()),
            lines,
            saved: files.write(&pairs, &targets, (&scoring, self.scope()), self.eqx),
            json: self.json,
            interrupted: None,
        })
    }

    /// The files that this process writes: only one does.
    fn prepared(&self) -> Result<Files> {
        if !place::speaks() {
            return Files::prepare(&[], None, &[]);
        }
        self.checkpoint.as_ref().map_or(Ok(()), |folder| check_folder(folder))?;
        Files::prepare(&self.output, self.plot.as_ref(), &[&self.query, &self.target])
    }

    /// The machine, and how to run on it.
    fn chosen(&self) -> Result<(Machine, Run<'static>)> {
        let Place { machine, target, threads, .. } = for_wavefronts(self.device)?;
        if threads.is_some() {
            note_crowd(self.threads, &machine.cpu);
        }
        let run = Run { target, threads: self.threads.map(NonZero::get), ..Run::default() };
        Ok((machine, run))
    }

    /// How pairs are aligned: in words, and as values.
    fn described(&self, scoring: &Scoring) -> (String, Vec<(&'static str, serde_json::Value)>) {
        let weights = scoring.weights();
        let Weights { matching, mismatch, open, extend } = weights;
        let gap = match weights.is_linear() {
            true => format!("gap {open}"),
            false => format!("gap {open} and {extend}"),
        };
        let [scope, how] = self.scope_name();
        let mut settings = vec![("scope", scope.into())];
        let how = match scoring.matrix() {
            Some(matrix) => {
                settings.push(("matrix", matrix.name().into()));
                format!("{how}, {}, {gap}", matrix.name())
            }
            None => {
                settings.extend([("match", matching.into()), ("mismatch", mismatch.into())]);
                format!("{how}, match {matching}, mismatch {mismatch}, {gap}")
            }
        };
        settings.extend([("gap_open", open.into()), ("gap_extend", extend.into())]);
        (how, settings)
    }

    /// Aligns some records of both files at a time.
    fn streamed(&self, files: &Files, scoring: &Scoring) -> Result<Outcome> {
        let output = files.streamed()?;
        let (machine, run) = self.chosen()?;
        let mut executor = RunExecutor::new(&machine, &run)?;
        let found = stream::stream(self, output, scoring, &mut executor)?;
        let Streamed { report: Some(report), pairs, ambiguous, check, .. } = found else {
            return Err(Error::spec("no pair of sequences", "give files with records"));
        };
        let (how, settings) = self.described(scoring);
        let mut saved = Saved::default();
        saved.add(output, Ok(()));
        let lines = report.notes.iter().map(|note| ("note", note.clone())).collect();
        let answer = vec![("alignments", pairs.into()), ("ambiguous_letters", ambiguous.into())];
        Ok(Outcome {
            app: "align",
            title: format!("{pairs} pairs of sequences {how}"),
            settings,
            report,
            answer,
            check: check.map_or_else(|| Check::none("--no-check"), |tally| tally.made()),
            lines,
            saved,
            json: self.json,
            interrupted: None,
        })
    }

    /// Refuses options that several ranks don't support.
    fn over_ranks(&self, ranks: usize) -> Result<()> {
        let refuse = |what: &str, hint: &str| {
            Err(Error::spec(
                format!("{what} works with one process only, but there are {ranks}"),
                hint,
            ))
        };
        if self.checkpoint.is_some() {
            return refuse("--checkpoint", "leave it out, or start one process");
        }
        if self.stream {
            return refuse("--stream", "start one process");
        }
        if [&self.query, &self.target].iter().any(|path| path.as_os_str() == "-") {
            return refuse("standard input", "name files that every process can read");
        }
        Ok(())
    }

    /// Aligns all pairs on `executor`, over all processes if there are several.
    fn align<'s>(
        &self,
        (queries, targets): (&'s [Named], &'s [Named]),
        scoring: &'s Scoring,
        executor: &mut dyn Executor,
    ) -> Result<Aligner<'s>> {
        let mut all = Aligner::new(scoring, self.scope(), &self.checking);
        match world::net() {
            Some(net) => {
                let mut executor = RankExecutor::new(net, executor);
                all.align(self, queries, targets, &mut executor)?;
            }
            None => all.align(self, queries, targets, executor)?,
        }
        Ok(all)
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
            let which = match self.matrix {
                Some(_) => "scored as X",
                None => "matching nothing",
            };
            lines.push(("note", format!("{letters} in all, {which}")));
        }
        (answer, lines)
    }
}
