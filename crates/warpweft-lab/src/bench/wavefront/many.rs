//! Many small problems: all pairs of series, reads with paths, a search of a database of proteins.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use warpweft::Result;
use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::machine::Machine;
use warpweft::report::Report;
use warpweft::tune::median;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::{Border, CpuPolicy, Wavefront};
use warpweft_apps::align::{
    Database, Executor, Gapped, Matrix, Scope, Scoring, Sequence, Weights, scored, search,
    trace_all,
};
use warpweft_apps::soup::SplitMix;
use warpweft_apps::warping::{self, Measure};

use super::cases::Case;
use warpweft_terminal::output::{note, scaled};

/// A set of problems.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    what: &'static str,
    problems: usize,
    device: String,
    /// The median of the repeats, in all: with copies and what the host does.
    seconds: f64,
    /// Of these, what the device computed.
    computing: f64,
    /// Cells over `seconds`, and over `computing`.
    rates: [f64; 2],
}

/// An executor of both applications.
trait Both: Executor + warping::Executor<f32> {}
impl<X: Executor + warping::Executor<f32>> Both for X {}

const AMINO: &[u8] = b"ARNDCQEGHILKMFPSTWYV";

fn letters(noise: &mut SplitMix, of: &[u8], count: usize) -> Vec<u8> {
    (0..count).map(|_| of[noise.next_u64() as usize % of.len()]).collect()
}

fn blosum62() -> Result<(Arc<Matrix>, Scoring)> {
    let matrix = Arc::new(Matrix::named("BLOSUM62")?);
    Ok((matrix.clone(), Scoring::by_matrix(matrix, -12, -1)))
}

/// Hands `run` the local alignment of two random proteins.
///
/// # Errors
/// Those of `run`.
pub fn protein<T>(case: Case, run: impl FnOnce(Wavefront<'_, scored>) -> Result<T>) -> Result<T> {
    let (matrix, scoring) = blosum62()?;
    let mut noise = SplitMix::new(case.size as u64);
    let mut one = || Sequence::of(&matrix, "protein", &letters(&mut noise, AMINO, case.size));
    let (a, b) = (one()?, one()?);
    let Some(element) = scored::with(&scoring, Scope::Local) else {
        return Err(warpweft::Error::spec("a matrix that scores nothing", "report this as a bug"));
    };
    let border = Border::Value(Gapped { h: 0, e: element.open, f: element.open });
    run(Wavefront::of(element).rows(a.as_rows()).columns(b.as_columns()).border(border))
}

/// Numbers of problems divided by `shrink`, on `gpu` or one core: all sets, or the reads alone.
///
/// # Errors
/// A fault of the device.
pub fn measure(
    machine: &Machine,
    gpu: Option<&Device>,
    shrink: usize,
    repeats: u32,
    only_reads: bool,
) -> Result<Vec<Row>> {
    let sets = |executor: &mut dyn Both| match only_reads {
        true => reads(executor, &mut SplitMix::new(25), shrink, repeats),
        false => all(executor, shrink, repeats),
    };
    match gpu {
        Some(device) => sets(&mut CudaExecutor::new(device, None)?),
        None => {
            let pool = Pool::new(machine.cpu.first(1))?;
            sets(&mut CpuExecutor::new(&pool, CpuPolicy::for_domain(1024, 1))?)
        }
    }
}

fn all(executor: &mut dyn Both, shrink: usize, repeats: u32) -> Result<Vec<Row>> {
    let mut noise = SplitMix::new(25);
    let mut rows = Vec::new();
    let count = (1000 / shrink).max(2);
    let series: Vec<Vec<f32>> =
        (0..count).map(|_| (0..1024).map(|_| noise.next_unit() as f32).collect()).collect();
    let series: Vec<_> = series.iter().map(Vec::as_slice).collect();
    let pairs = count * (count - 1) / 2;
    rows.push(timed("DTW f32, all pairs of series of 1,024", pairs, repeats, || {
        warping::distances(&series, Measure::default(), &|_, _| (), executor).map(|found| found.1)
    })?);
    rows.extend(reads(executor, &mut noise, shrink, repeats)?);
    let (matrix, scoring) = blosum62()?;
    let mut protein =
        |length| Sequence::of(&matrix, "protein", &letters(&mut noise, AMINO, length));
    let queries = [300, 1000, 5000].map(&mut protein);
    let count = (100_000 / shrink).max(2);
    // Lengths from 50 to 650, 350 on average.
    let database = (0..count).map(|k| protein(50 + k * 37 % 601)).collect::<Result<Vec<_>>>()?;
    let database = Database::of(&database)?;
    let names = [
        "SW BLOSUM62, query of 300 in a database",
        "SW BLOSUM62, query of 1,000 in a database",
        "SW BLOSUM62, query of 5,000 in a database",
    ];
    for (query, what) in queries.into_iter().zip(names) {
        let query = query?;
        rows.push(timed(what, count, repeats, || {
            search(&query, &database, &scoring, Scope::Local, executor).map(|found| found.1)
        })?);
    }
    Ok(rows)
}

/// Pairs of reads and windows, with paths.
fn reads(
    executor: &mut dyn Both,
    noise: &mut SplitMix,
    shrink: usize,
    repeats: u32,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let count = (10_000 / shrink).max(2);
    let mut sequences = |count: usize, length| -> Result<Vec<Sequence>> {
        let one = |_| Sequence::new("read", &letters(noise, b"ACGT", length));
        (0..count).map(one).collect()
    };
    let (queries, windows) = (sequences(count, 150)?, sequences(count, 200)?);
    let pairs: Vec<_> = queries.iter().zip(&windows).collect();
    let linear = Scoring::from(Weights::default());
    let affine = Scoring::from(Weights { matching: 2, mismatch: -3, open: -5, extend: -1 });
    for (what, scoring, scope) in [
        ("SW, reads 150 x 200, paths", &linear, Scope::Local),
        ("SW affine, reads 150 x 200, paths", &affine, Scope::Local),
        ("NW, reads 150 x 200, paths", &linear, Scope::Global),
    ] {
        rows.push(timed(what, count, repeats, || {
            trace_all(&pairs, scoring, scope, executor).map(|found| found.1)
        })?);
    }
    Ok(rows)
}

fn timed(
    what: &'static str,
    problems: usize,
    repeats: u32,
    mut run: impl FnMut() -> Result<Report>,
) -> Result<Row> {
    note(&format!("{what}, {problems} problems"));
    // The first run pays for what later ones find ready.
    let mut report = run()?;
    let mut seconds = Vec::new();
    for _ in 0..repeats {
        let begin = Instant::now();
        report = run()?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    let (seconds, computing) = (median(&seconds), report.seconds);
    let rates = [seconds, computing].map(|seconds| report.done as f64 / seconds);
    let device = report.device_list();
    Ok(Row { what, problems, device, seconds, computing, rates })
}

/// A line a set.
pub fn table(rows: &[Row]) -> String {
    let line = |Row { what, problems, seconds, computing, rates, .. }: &Row| {
        format!(
            "  {what:<42} {problems:>7}  {:.1} ms, {}cells/s; computing {:.1} ms, {}cells/s\n",
            1e3 * seconds,
            scaled(rates[0]),
            1e3 * computing,
            scaled(rates[1]),
        )
    };
    rows.iter().map(line).collect()
}
