//! Paths of alignments by directions next to those in linear space, on one GPU or, where there is none,
//! on one core.

use std::time::Instant;

use serde::Serialize;
use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::machine::Machine;
use warpweft::tune::median;
use warpweft::wavefront::CpuPolicy;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::traceback::Way;
use warpweft::{Error, Result};
use warpweft_apps::align::{Executor, Scope, Sequence, Tracing, Weights, trace};
use warpweft_apps::soup::SplitMix;

use warpweft_terminal::output::{note, scaled};

/// A way at one size.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The gap.
    what: &'static str,
    /// Letters of either sequence.
    size: usize,
    way: &'static str,
    device: String,
    /// The median of the repeats, in all: with copies and the walk on the host.
    seconds: f64,
    /// Of these, what the device computed.
    computing: f64,
    /// Cells of the domain over `seconds`, and the slowest and fastest repeat.
    rate: f64,
    range: [f64; 2],
    /// What the run said.
    notes: Vec<String>,
}

const GAPS: [(&str, Weights); 2] = [
    ("SW i32, path", Weights::linear(2, -1, -1)),
    ("SW affine, path", Weights { matching: 2, mismatch: -3, open: -5, extend: -1 }),
];
const WAYS: [(&str, Way); 2] =
    [("linear space", Way::LinearSpace), ("directions", Way::Directions)];

/// Sequences of these lengths divided by `shrink`, one changed in a tenth of its letters.
///
/// # Errors
/// A fault of the device; paths that differ.
pub fn measure(
    machine: &Machine,
    gpu: Option<&Device>,
    shrink: usize,
    repeats: u32,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    match gpu {
        Some(device) => {
            let mut executor = CudaExecutor::new(device, None)?;
            for size in [20_000, 100_000] {
                both(&mut executor, (size / shrink).max(64), repeats, &mut rows)?;
            }
        }
        None => {
            let pool = Pool::new(machine.cpu.first(1))?;
            let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(20_000 / 8, 1))?;
            both(&mut executor, (20_000 / shrink).max(64), repeats, &mut rows)?;
        }
    }
    Ok(rows)
}

fn both(executor: &mut dyn Executor, size: usize, repeats: u32, rows: &mut Vec<Row>) -> Result<()> {
    let mut noise = SplitMix::new(size as u64);
    let a: Vec<u8> = (0..size).map(|_| b"ACGT"[noise.next_u64() as usize % 4]).collect();
    let mut changed = |&letter: &u8| match noise.next_u64() % 40 {
        number @ 0..4 => b"ACGT"[number as usize],
        _ => letter,
    };
    let b: Vec<u8> = a.iter().map(&mut changed).collect();
    let (a, b) = (Sequence::new("query", &a)?, Sequence::new("target", &b)?);
    for (what, weights) in GAPS {
        let mut known = None;
        for (name, way) in WAYS {
            note(&format!("{what} {size}, {name}"));
            let tracing = Tracing { way, ..Tracing::default() };
            let mut run = || {
                let begin = Instant::now();
                let (path, report) = trace(&a, &b, weights, Scope::Local, &tracing, executor)?;
                Ok::<_, Error>((begin.elapsed().as_secs_f64(), path, report))
            };
            // The first run pays for compiled kernels.
            let (_, path, _) = run()?;
            if known.get_or_insert_with(|| path.clone()) != &path {
                let what = format!("{what} {size}: the paths of both ways differ");
                return Err(Error::spec(what, "report this as a bug"));
            }
            let mut times = (0..repeats.max(1)).map(|_| run()).collect::<Result<Vec<_>>>()?;
            times.sort_by(|a, b| a.0.total_cmp(&b.0));
            let rate = |seconds: f64| (size * size) as f64 / seconds;
            let seconds = median(&times.iter().map(|run| run.0).collect::<Vec<_>>());
            let report = &times[times.len() / 2].2;
            rows.push(Row {
                what,
                size,
                way: name,
                device: report.devices.join(", "),
                seconds,
                computing: report.seconds,
                rate: rate(seconds),
                range: [rate(times[times.len() - 1].0), rate(times[0].0)],
                notes: report.notes.clone(),
            });
        }
    }
    Ok(())
}

/// A line a way, with how much faster directions are.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for pair in rows.chunks(2) {
        for row in pair {
            text.push_str(&format!(
                "  {:<16} {:>7} {:<12}  {}cells/s ({} to {}), {:.2} ms, {:.2} computing",
                row.what,
                row.size,
                row.way,
                scaled(row.rate),
                scaled(row.range[0]),
                scaled(row.range[1]),
                1e3 * row.seconds,
                1e3 * row.computing
            ));
            if row.way == WAYS[1].0 {
                let ratio = row.rate / pair[0].rate;
                text.push_str(&format!(", {ratio:.2} times linear space"));
            }
            text.push('\n');
        }
    }
    text
}
