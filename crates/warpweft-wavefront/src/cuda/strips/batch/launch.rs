//! A launch of the kernel of a batch, and of the one that reads paths off its choices.

use std::time::Instant;

use super::choices::{place_words, word_bytes};
use super::memory::{Memory, Outside};
use super::place::Batch;
use super::text::{Arguments, Problem, Trail, options, source};
use super::{LINES, WARPS};
use crate::cuda::filled::Found;
use crate::cuda::signature::{ALONE, Values};
use crate::cuda::strips::executor::CudaExecutor;
use crate::cuda::strips::recording::Recording;
use crate::cuda::strips::subdomain::Gpu;
use crate::cuda::tables::OnDevice;
use crate::cuda::upload::inputs;
use crate::policy::{CudaPolicy, Policy};
use crate::recurrence::bytes_of;
use crate::report::{Totals, report_of};
use warpweft_core::cuda::{Args, Buffer, Event, Kernel, Launch, Module, Stream, compile};
use warpweft_core::error::Result;
use warpweft_core::report::Report;

/// Threads of a block that reads paths.
const READERS: u32 = 128;
/// Kernels that are kept loaded at most.
const KERNELS: usize = 16;
/// Bytes of choices whose memory is kept for the next launch at most.
const KEPT: usize = 256 << 20;
/// Problems by which the rows of a lane are chosen: of more, some.
const SOME: usize = 512;

/// What to record: the choices, and what they mean.
#[derive(Clone, Copy)]
pub(super) struct Recorded<'r> {
    pub recording: &'r Recording,
    pub meanings: &'r [u16],
}

/// What a launch found.
pub(super) struct Done {
    /// Of each problem, by its number among the results, if a score was looked for.
    pub found: Found,
    /// The path of each, and the runs of all, if choices were recorded.
    pub trails: Vec<Trail>,
    pub runs: Vec<u32>,
    pub report: Report,
}

/// Rows that a lane may own: of more numbers more kernels would be compiled, for little.
const ROWS: [u32; 12] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32];

/// Rows a lane owns, at most `most`: the fewest steps over all problems, each of which takes a row's time a
/// row.
fn rows_of(problems: &[Problem], most: u32) -> u32 {
    // What a step costs in addition to its rows, in rows.
    let step = 2;
    let some = problems.len().div_ceil(SOME).max(1);
    let cost = |rows: u32| -> u64 {
        let passes = problems.iter().step_by(some).map(|problem| {
            let [m, n] = [problem.row_count, problem.column_count].map(|count| count as u64);
            m.div_ceil(32 * u64::from(rows)) * (n + 31)
        });
        passes.sum::<u64>() * u64::from(rows + step)
    };
    ROWS.into_iter().filter(|&rows| rows <= most).min_by_key(|&rows| cost(rows)).unwrap_or(1)
}

/// The memory that what is recorded takes, and what reads it.
struct Choices {
    directions: Buffer,
    functions: Buffer,
    /// What those point to.
    _copies: Option<OnDevice>,
    back: Buffer,
    cursor: Buffer,
    runs: Buffer,
    trails: Buffer,
}

impl Choices {
    /// For the words of `batch`, whose lanes own `rows` rows; those of another launch may be `kept`.
    fn new(
        batch: &mut Batch<'_>,
        rows: u32,
        recorded: Option<Recorded<'_>>,
        kept: Option<Buffer>,
        stream: &Stream,
    ) -> Result<Self> {
        let device = stream.device();
        let count = batch.problems.len();
        let (mut words, mut moves, mut functions, mut meanings) = (0, 0, vec![], &[][..]);
        let mut copies = None;
        if let Some(Recorded { recording, meanings: known }) = recorded {
            words = place_words(&mut batch.problems, rows) * word_bytes(rows, recording);
            let most = |problem: &Problem| (problem.row_count + problem.column_count) as usize;
            moves = batch.problems.iter().map(most).sum();
            let choice = recording.on_device(stream)?;
            functions = choice.parameters.repeat(if batch.each { count } else { 1 });
            copies = Some(choice);
            meanings = known;
        }
        let paths = if recorded.is_some() { batch.results } else { 0 };
        Ok(Self {
            directions: match kept.filter(|kept| kept.bytes() >= words) {
                Some(kept) => kept,
                None => Buffer::new(device, words)?,
            },
            functions: inputs(stream, &functions, count)?,
            _copies: copies,
            back: Buffer::from_slice(stream, meanings)?,
            cursor: Buffer::zeroed(stream, 8)?,
            runs: Buffer::new(device, 4 * moves)?,
            trails: Buffer::new(device, paths * size_of::<Trail>())?,
        })
    }

    /// What was read off, on the host.
    fn fetch(&self, stream: &Stream) -> Result<(Vec<Trail>, Vec<u32>)> {
        let mut bytes = vec![0; self.trails.bytes()];
        if bytes.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        stream.download(&self.trails, 0, &mut bytes)?;
        let number = |bytes: &[u8], at: usize| {
            bytes[at..at + 4].iter().rev().fold(0u32, |number, &byte| number << 8 | u32::from(byte))
        };
        let trail = |bytes: &[u8]| Trail {
            first: u64::from(number(bytes, 0)) | u64::from(number(bytes, 4)) << 32,
            count: number(bytes, 8),
            row: number(bytes, 12) as i32,
            column: number(bytes, 16) as i32,
            good: number(bytes, 20) as i32,
        };
        let trails: Vec<_> = bytes.chunks_exact(size_of::<Trail>()).map(trail).collect();
        let end = trails.iter().map(|trail| trail.first as usize + trail.count as usize).max();
        let mut runs = vec![0; end.unwrap_or(0)];
        stream.download(&self.runs, 0, &mut runs)?;
        Ok((trails, runs))
    }
}

impl CudaExecutor {
    /// The kernel of `text`, and the one that reads paths if it `records`: compiled and loaded once.
    fn kernels(&mut self, text: String, name: &str, records: bool) -> Result<[Kernel; 2]> {
        if let Some(kernels) = self.batches.get(&text) {
            return Ok(kernels.clone());
        }
        let device = &self.gpus[0].device;
        let cubin = compile(&text, name, &device.arch()?, &options())?;
        let module = Module::load(device, &cubin)?;
        let batch = module.kernel("wavefront_batch")?;
        let trails = if records { module.kernel("wavefront_trails")? } else { batch.clone() };
        Ok(self.keep_kernels(text, [batch, trails]))
    }

    /// Keeps the kernels of `text`.
    pub(super) fn keep_kernels(&mut self, text: String, kernels: [Kernel; 2]) -> [Kernel; 2] {
        if self.batches.len() >= KERNELS {
            self.batches.clear();
        }
        self.batches.insert(text, kernels.clone());
        kernels
    }

    /// Blocks for `count` problems that have lines of so many bytes between passes.
    fn blocks_of(&self, kernel: &Kernel, count: usize, line: usize) -> Result<usize> {
        let sms = self.gpus[0].device.sms()?;
        let resident = (kernel.blocks_per_sm(32 * WARPS, 0)?.max(1) * sms) as usize;
        let affordable = LINES / line.max(1) / WARPS as usize;
        Ok(resident.min(affordable).min(count.div_ceil(WARPS as usize)).max(1))
    }

    /// One launch for all problems of `batch`, which fills `cells` with what is kept of their cells.
    pub(super) fn launch(
        &mut self,
        mut batch: Batch<'_>,
        recorded: Option<Recorded<'_>>,
        cells: &mut [u8],
        unchecked: Option<String>,
    ) -> Result<Done> {
        let begin = Instant::now();
        let (element, wanted, count) = (batch.element, batch.wanted, batch.problems.len());
        let cell = element.cell;
        let recording = recorded.map(|recorded| recorded.recording);
        let rows = rows_of(&batch.problems, wanted.most_rows(cell, recording));
        let (outside, lines) = batch.outside();
        let text = source(element, wanted, [rows, WARPS], lines, recording);
        let [kernel, reader] = self.kernels(text, element.name, recorded.is_some())?;
        let Gpu { device, stream, .. } = &self.gpus[0];
        let outside = Outside::of(outside.each_ref().map(|cells| &cells[..]), &batch, stream)?;
        let line = longest_line(&batch, rows);
        let blocks = self.blocks_of(&kernel, count, line * cell)?;
        let choices = Choices::new(&mut batch, rows, recorded, self.directions.take(), stream)?;
        let memory = Memory::of(&batch, (blocks, line), stream)?;
        let arguments = arguments((&outside, &memory, &choices), line, (count, batch.each));
        let values = Values {
            arguments: (bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>()),
            watchdog: None,
            edges: &[],
            element: &[],
            choice: None,
        };
        let args = values.launch(ALONE, element)?;
        let launch = Launch::line(blocks as u32, 32 * WARPS);
        let mut steps = vec![Step { kernel, launch, args: args.clone() }];
        if recorded.is_some() {
            let launch = Launch::line((count as u32).div_ceil(READERS), READERS);
            steps.push(Step { kernel: reader, launch, args });
        }
        stream.synchronize()?;
        let mut setup_seconds = begin.elapsed().as_secs_f64();
        // SAFETY: the arguments are those of both kernels in order and layout; every buffer
        // holds what the kernels' comments say and lives past the wait.
        let seconds = unsafe { timed(stream, &steps, || Ok(()))? };

        let begin = Instant::now();
        let found = memory.fetch(cells, stream)?;
        let (trails, runs) = choices.fetch(stream)?;
        if recorded.is_some() {
            self.directions = Some(choices.directions).filter(|kept| kept.bytes() <= KEPT);
        }
        setup_seconds += begin.elapsed().as_secs_f64();
        let devices = vec![device.label().to_string()];
        let blocks = blocks as u32;
        let packed_16x2 = false;
        let policy = CudaPolicy { rows, columns: 1, chunk: 32, warps: WARPS, blocks, packed_16x2 };
        let [updates, bytes] = batch.updates();
        let totals = Totals { updates, bytes, seconds, setup_seconds };
        let report = report_of(totals, devices, Policy::Cuda(policy).to_json(), unchecked);
        Ok(Done { found, trails, runs, report })
    }
}

/// Cells of the longest line that one pass leaves for the next, if a problem takes several.
fn longest_line(batch: &Batch<'_>, rows: u32) -> usize {
    let lanes = 32 * rows as usize;
    if batch.sizes.most[0] <= lanes {
        return 0;
    }
    let several = batch.problems.iter().filter(|problem| problem.row_count as usize > lanes);
    several.map(|problem| problem.column_count as usize).max().unwrap_or(0)
}

/// Where all is, for both kernels.
fn arguments(
    (outside, memory, choices): (&Outside, &Memory, &Choices),
    line: usize,
    (count, each): (usize, bool),
) -> Arguments {
    Arguments {
        rows: memory.rows.address(),
        columns: memory.columns.as_ref().unwrap_or(&memory.rows).address(),
        problems: memory.problems.address(),
        elements: memory.elements.address(),
        borders: outside.borders.address(),
        top: outside.top.address(),
        left: outside.left.address(),
        next: memory.next.address(),
        lines: memory.lines.address(),
        kept: memory.kept.address(),
        candidates: memory.candidates.address(),
        directions: choices.directions.address(),
        choices: choices.functions.address(),
        back: choices.back.address(),
        cursor: choices.cursor.address(),
        runs: choices.runs.address(),
        trails: choices.trails.address(),
        line: line as u64,
        count: count as u32,
        each: each.into(),
    }
}

/// A launch with its arguments.
pub(super) struct Step {
    pub kernel: Kernel,
    pub launch: Launch,
    pub args: Args,
}

/// Launches all `steps` one after another, queues what `after` does and waits for the end; the seconds that the steps took.
///
/// # Safety
/// The arguments are those of the kernels in order and layout, and what they point to lives until this returns.
pub(super) unsafe fn timed(
    stream: &Stream,
    steps: &[Step],
    after: impl FnOnce() -> Result<()>,
) -> Result<f64> {
    let device = stream.device();
    let (start, end) = (Event::new(device)?, Event::new(device)?);
    stream.record(&start)?;
    for Step { kernel, launch, args } in steps {
        // SAFETY: as the caller promises.
        unsafe { stream.launch(kernel, *launch, args)? };
    }
    stream.record(&end)?;
    // Whatever became of it, what was launched ends before its memory is given back.
    let after = after();
    stream.synchronize()?;
    after?;
    start.seconds_until(&end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_own_as_many_rows_as_make_the_fewest_steps() {
        let of = |m, n| Problem { row_count: m, column_count: n, ..Problem::default() };
        assert_eq!(rows_of(&[of(1024, 1024)], 32), 32);
        assert_eq!(rows_of(&[of(150, 200)], 16), 5);
        assert_eq!(rows_of(&[of(1, 5000)], 8), 1);
        assert_eq!(rows_of(&vec![of(64, 300); 10_000], 32), 2);
    }
}
