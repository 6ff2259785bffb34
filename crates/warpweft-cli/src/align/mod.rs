//! `warpweft align`: the best alignment of DNA sequences from FASTA files.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use warpweft::cpu::Pool;
use warpweft::machine::Machine;
use warpweft::report::{Quantity, Report};
use warpweft::stencil::Target;
use warpweft::wavefront::CpuPolicy;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::{Error, Result};
use warpweft_apps::align::{Alignment, Executor, Scope, Sequence, Weights, align, plain, read};

use crate::arguments::{DeviceChoice, at_least_one};
use crate::device::target;
use crate::output::{counted, fail};
use crate::run::check::Check;
use crate::run::files::Saved;
use crate::run::outcome::Outcome;

/// Cells that the straightforward loop is given to check with: less than a second.
const CHECKED_CELLS: u64 = 100_000_000;

/// Align every sequence of one file with every sequence of another.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "The score of the best alignment, and where it ends in either sequence (letters \
counted from 1; of equal scores the smallest query end, then target end): local by Smith and Waterman, \
global by Needleman and Wunsch. Its start and its path are not computed.

A gap of k letters scores gap-open + gap-extend * (k - 1), as in parasail; --gap-open 5 and \
--gap-open -5 mean the same. With equal numbers, or --gap alone, the gap is linear.

Files are FASTA, plain or gzip. Ambiguous letters (N, R, ..) match nothing.

Examples:
  warpweft align query.fa target.fa.gz
  warpweft align a.fa b.fa --match 5 --mismatch -4 --gap -8 --json
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
    /// Score of each letter of a gap.
    #[arg(long, value_name = "N", default_value_t = -1, allow_negative_numbers = true)]
    gap: i32,
    /// Score of the first letter of a gap [default: that of --gap].
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "gap_extend")]
    gap_open: Option<i32>,
    /// Score of each further letter of a gap [default: that of --gap].
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "gap_open")]
    gap_extend: Option<i32>,
    /// Align any part of the query with any part of the target; the default.
    #[arg(long, conflicts_with = "global")]
    local: bool,
    /// Align both sequences whole.
    #[arg(long)]
    global: bool,
    /// Where to run: cpu, gpu, gpu:N, or auto for the first GPU if there is one.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
    /// Threads on the CPU [default: one a core].
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZero<usize>>)]
    threads: Option<NonZero<usize>>,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    json: bool,
}

/// A checked sequence and its name.
struct Named {
    name: String,
    sequence: Sequence,
}

impl Align {
    /// Reads, aligns, checks and prints.
    pub fn execute(&self) -> ExitCode {
        match self.outcome() {
            Ok(outcome) => outcome.report(),
            Err(error) => fail(&error),
        }
    }

    fn outcome(&self) -> Result<Outcome> {
        let weights = self.weights();
        weights.check()?;
        if [&self.query, &self.target].iter().all(|path| path.as_os_str() == "-") {
            let remedy = "give a file for the query or for the target";
            return Err(Error::spec("standard input can be read once", remedy));
        }
        let (queries, targets) = (sequences(&self.query)?, sequences(&self.target)?);
        let machine = Machine::detect()?;
        let threads = self.threads.map_or(machine.cpu.threads(), NonZero::get);
        let longest = queries.iter().map(|query| query.sequence.len()).max().unwrap_or(0);
        match gpu(self.device, &machine)? {
            Some(number) => {
                let mut executor = CudaExecutor::new(&machine.gpus[number].device()?, None)?;
                self.align(&queries, &targets, weights, &mut executor)
            }
            None => {
                let cores = machine.cpu.first(machine.cpu.cores.len());
                let cores: Vec<_> = cores.iter().copied().cycle().take(threads).collect();
                let pool = Pool::new(&cores)?;
                let policy = CpuPolicy::for_domain(longest, threads);
                self.align(&queries, &targets, weights, &mut CpuExecutor::new(&pool, policy)?)
            }
        }
    }

    /// Gaps cost, whatever the sign they were given with.
    fn weights(&self) -> Weights {
        let [open, extend] = [self.gap_open, self.gap_extend]
            .map(|given| given.map_or(self.gap, |given| given.saturating_abs().saturating_neg()));
        Weights { matching: self.matching, mismatch: self.mismatch, open, extend }
    }

    fn align(
        &self,
        queries: &[Named],
        targets: &[Named],
        weights: Weights,
        executor: &mut dyn Executor,
    ) -> Result<Outcome> {
        let scope = if self.global { Scope::Global } else { Scope::Local };
        let mut pairs = Vec::new();
        let mut total: Option<Report> = None;
        let mut check = Tally::default();
        let mut last = None;
        for query in queries {
            for target in targets {
                let (a, b) = (&query.sequence, &target.sequence);
                let (found, report) = align(a, b, weights, scope, executor)?;
                check.add((a, b), (weights, scope), &found);
                pairs.push(json!({
                    "query": query.name,
                    "query_length": query.sequence.len(),
                    "query_end": found.query_end,
                    "target": target.name,
                    "target_length": target.sequence.len(),
                    "target_end": found.target_end,
                    "score": found.score,
                }));
                total = Some(total.map_or(report.clone(), |total| sum(total, &report)));
                last = Some(found);
            }
        }
        let (Some(report), Some(last)) = (total, last) else {
            return Err(Error::spec("no pair of sequences", "give files with records"));
        };
        let title = match &pairs[..] {
            [_] => format!(
                "{} ({} letters) and {} ({} letters)",
                queries[0].name,
                queries[0].sequence.len(),
                targets[0].name,
                targets[0].sequence.len()
            ),
            pairs => format!("{} pairs of sequences", pairs.len()),
        };
        let ambiguous: usize =
            queries.iter().chain(targets).map(|named| named.sequence.ambiguous()).sum();
        let (answer, lines) = answer(&pairs, &last, ambiguous, self.json);
        Ok(Outcome {
            app: "align",
            title,
            report,
            answer,
            check: check.made(),
            lines,
            saved: Saved::default(),
            json: self.json,
            interrupted: false,
        })
    }
}

/// A run's answer by name, and further lines of its report.
type Answer = (Vec<(&'static str, Value)>, Vec<(&'static str, String)>);

/// The application's answer: as JSON always a list of pairs; for people one line a pair.
fn answer(pairs: &[Value], last: &Alignment, ambiguous: usize, json: bool) -> Answer {
    if json {
        let answer = vec![("pairs", pairs.into()), ("ambiguous_letters", ambiguous.into())];
        return (answer, Vec::new());
    }
    let (answer, mut lines) = match pairs {
        [_] => {
            let answer = vec![
                ("score", last.score.into()),
                ("query end", last.query_end.into()),
                ("target end", last.target_end.into()),
            ];
            (answer, Vec::new())
        }
        pairs => {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
            let line = |pair: &Value| {
                let what = format!(
                    "{} and {}: score {}, query end {}, target end {}",
                    text(&pair["query"]),
                    text(&pair["target"]),
                    pair["score"],
                    pair["query_end"],
                    pair["target_end"]
                );
                ("pair", what)
            };
            (vec![("alignments", pairs.len().into())], pairs.iter().map(line).collect())
        }
    };
    if ambiguous > 0 {
        let letters = counted(ambiguous as u64, "ambiguous letter");
        lines.push(("note", format!("{letters} in all, which match nothing")));
    }
    (answer, lines)
}

/// Which GPU to run on, if any.
fn gpu(choice: DeviceChoice, machine: &Machine) -> Result<Option<usize>> {
    Ok(match target(choice, machine)? {
        Target::Gpu(number) => Some(number),
        Target::Auto => Some(0),
        Target::Cpu => None,
        Target::Gpus(_) => {
            return Err(Error::spec(format!("--device {choice}"), "align on one GPU, e.g. gpu:0"));
        }
    })
}

fn sequences(path: &Path) -> Result<Vec<Named>> {
    read(path)?
        .into_iter()
        .map(|record| {
            let label = &record.name;
            // What stands in a file is the file's fault, not the command line's.
            let sequence = Sequence::new(label, &record.letters).map_err(|error| match error {
                Error::Spec { what, remedy } => Error::file(path, what, remedy),
                other => other,
            });
            Ok(Named { sequence: sequence?, name: record.name })
        })
        .collect()
}

/// Two runs as one.
fn sum(mut total: Report, report: &Report) -> Report {
    total.seconds += report.seconds;
    total.setup_seconds += report.setup_seconds;
    total.bytes += report.bytes;
    total.done += report.done;
    total.rate = Quantity { value: total.done as f64 / total.seconds, unit: total.rate.unit };
    total
}

/// Comparison with the straightforward loop, as far as the pairs are short enough.
#[derive(Default)]
struct Tally {
    checked: usize,
    skipped: usize,
    cells: u64,
    error: f64,
}

impl Tally {
    fn add(
        &mut self,
        (query, target): (&Sequence, &Sequence),
        (weights, scope): (Weights, Scope),
        found: &Alignment,
    ) {
        let cells = query.len() as u64 * target.len() as u64;
        if self.cells + cells > CHECKED_CELLS {
            self.skipped += 1;
            return;
        }
        self.cells += cells;
        self.checked += 1;
        let expect = plain(query, target, weights, scope);
        let distance = |a: usize, b: usize| a.abs_diff(b) as f64;
        let error = [
            f64::from(found.score.abs_diff(expect.score)),
            distance(found.query_end, expect.query_end),
            distance(found.target_end, expect.target_end),
        ];
        self.error = error.into_iter().fold(self.error, f64::max);
    }

    fn made(&self) -> Check {
        match (self.checked, self.skipped) {
            (0, _) => Check::none(format!(
                "not made: the straightforward loop is run for up to {CHECKED_CELLS} cells"
            )),
            (_, 0) => Check::made("straightforward loop", self.error, 0.0),
            (checked, skipped) => {
                let pairs = checked + skipped;
                let oracle = format!("straightforward loop, {checked} of {pairs} pairs");
                Check::made(oracle, self.error, 0.0)
            }
        }
    }
}
