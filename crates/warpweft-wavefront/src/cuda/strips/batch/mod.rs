//! Many problems at once: a warp computes one alone, the largest first.
//!
//! For sizes of which one can't fill a GPU. Problems that would keep a warp busy when all others are
//! done, and what the kernel can't do, run one by one.

mod choices;
mod paths;
mod text;

use std::collections::HashMap;
use std::time::Instant;

use super::executor::CudaExecutor;
use super::shape::{missing, possible};
use crate::cuda::filled::{Found, kept};
use crate::cuda::signature::{ALONE, Values};
use crate::cuda::upload::inputs;
use crate::executor::by_size;
use crate::frame::allocate;
use crate::policy::{CudaPolicy, Policy};
use crate::recurrence::{WavefrontElement, bytes_of, bytes_of_mut};
use crate::report::report;
use crate::spec::{Erased, Keep, Kept, Wavefront};
use warpweft_core::cuda::{Args, Buffer, Event, Kernel, Launch, Module, Stream, compile};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

use choices::{Recorded, most_rows, place_words, word_bytes};
use text::{Arguments, Problem, options, source};
pub use text::{compile_check, compile_paths_check};

/// Warps of a block.
const WARPS: u32 = 4;
/// The most rows a lane owns.
const MOST_ROWS: u32 = 8;
/// The most bytes of lines between passes: fewer warps run where columns are many.
const LINES: usize = 1 << 30;

/// Cells of a problem that is not worth a launch of its own: half a millisecond of one warp.
const SMALL: u64 = 2 << 20;

/// Where the inputs and the kept cells of each problem lie, the inputs along rows and columns, and how many cells are
/// kept.
fn placed<'w>(wavefronts: &[&Erased<'w>]) -> (Vec<Problem>, [Pooled<'w>; 2], usize) {
    let (mut rows, mut columns) = (Pooled::new(), Pooled::new());
    let mut kept_count = 0;
    let place = |wavefront: &&Erased<'w>| {
        let [m, n] = wavefront.extents;
        let kept = kept_count;
        kept_count += wavefront.kept_cells();
        Problem {
            rows: rows.place(wavefront.rows, m),
            columns: columns.place(wavefront.columns, n),
            kept: kept as u64,
            directions: 0,
            row_count: m as i32,
            column_count: n as i32,
        }
    };
    let problems = wavefronts.iter().map(place).collect();
    (problems, [rows, columns], kept_count)
}

/// What cell `[-1, -1]` and every other cell outside hold, problem by problem, if the kernel can run `wavefronts`:
/// they are to keep the same, and each has one value for a border, but for the corner.
fn borders<'w>(wavefronts: &'w [Erased<'_>]) -> Option<Vec<[&'w [u8]; 2]>> {
    let keep = wavefronts.first()?.keep;
    let border = |wavefront: &'w Erased<'_>| {
        let same =
            wavefront.keep == keep && missing(wavefront).is_none() && wavefront.element.input == 0;
        wavefront.border.corner().filter(|_| same)
    };
    match keep {
        Keep::Matrix | Keep::Sum => None,
        _ => wavefronts.iter().map(border).collect(),
    }
}

/// Rows a lane owns, at most `most`: the fewest steps over all problems, each of which takes a row's time a
/// row.
fn rows_of(wavefronts: &[&Erased<'_>], most: u32) -> u32 {
    // What a step costs in addition to its rows, in rows.
    let step = 2;
    let cost = |rows: u32| -> u64 {
        let passes = wavefronts.iter().map(|wavefront| {
            let [m, n] = wavefront.extents;
            (m as u64).div_ceil(32 * u64::from(rows)) * (n as u64 + 31)
        });
        passes.sum::<u64>() * u64::from(rows + step)
    };
    (1..=most).min_by_key(|&rows| cost(rows)).unwrap_or(1)
}

/// Inputs of all problems behind one another; those that several share are there once.
struct Pooled<'w> {
    known: HashMap<(*const u8, usize), u64>,
    count: usize,
    pieces: Vec<&'w [u8]>,
}

impl<'w> Pooled<'w> {
    fn new() -> Self {
        Self { known: HashMap::new(), count: 0, pieces: Vec::new() }
    }

    /// Where `count` inputs begin, in inputs.
    fn place(&mut self, bytes: &'w [u8], count: usize) -> u64 {
        *self.known.entry((bytes.as_ptr(), count)).or_insert_with(|| {
            let at = self.count as u64;
            self.pieces.push(bytes);
            self.count += count;
            at
        })
    }

    fn upload(&self, stream: &Stream) -> Result<Buffer> {
        let mut all = allocate(self.pieces.iter().map(|piece| piece.len()).sum())?;
        let mut rest = &mut all[..];
        for piece in &self.pieces {
            let (here, further) = rest.split_at_mut(piece.len());
            here.copy_from_slice(piece);
            rest = further;
        }
        inputs(stream, &all, self.count)
    }
}

impl CudaExecutor {
    /// As [`WavefrontExecutor::run_batch`](crate::WavefrontExecutor::run_batch).
    pub(super) fn batch<E: WavefrontElement>(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        let erased: Vec<_> = wavefronts.iter().map(Wavefront::erased).collect();
        erased.iter().try_for_each(Erased::check)?;
        // All are of one element: what strips can't do is mostly said by the first.
        erased.first().map_or(Ok(()), possible)?;
        let cells = erased.iter().map(|wavefront| allocate(wavefront.kept_cells()));
        let mut cells = cells.collect::<Result<Vec<_>>>()?;
        let mut bytes: Vec<_> = cells.iter_mut().map(|cells| bytes_of_mut(cells)).collect();
        let (found, report) = self.all(&erased, &mut bytes)?;
        let each = wavefronts.iter().zip(found).zip(cells);
        let each = each.map(|((wavefront, found), cells)| kept(wavefront.keep, &found, cells));
        Ok((each.collect(), report))
    }

    /// Runs all of `wavefronts` and fills what is kept of the cells of each.
    fn all(
        &mut self,
        wavefronts: &[Erased<'_>],
        cells: &mut [&mut [u8]],
    ) -> Result<(Vec<Found>, Report)> {
        let sms = self.gpus[0].device.sms()?;
        // As many problems as warps run well at once are shared out evenly.
        let (large, rest) = by_size(wavefronts, 4 * WARPS as usize * sms as usize, SMALL);
        let borders = borders(wavefronts).filter(|_| rest.len() > 1);
        let in_turn = if borders.is_some() { large } else { (0..wavefronts.len()).collect() };
        let mut results = vec![Found::new(); wavefronts.len()];
        let mut total: Option<Report> = None;
        let mut add = |report: Report| {
            total = Some(match total.take() {
                Some(total) => total.followed_by(&report),
                None => report,
            });
        };
        for k in in_turn {
            let (found, report) = self.fill(&wavefronts[k], cells[k])?;
            results[k] = found;
            add(report);
        }
        if let Some(borders) = borders {
            let small: Vec<_> = rest.iter().map(|&k| &wavefronts[k]).collect();
            let borders: Vec<_> = rest.iter().flat_map(|&k| borders[k]).collect();
            let (all, found, report) = self.small(&small, &borders.concat(), None)?;
            let mut all = &all[..];
            for (k, found) in rest.into_iter().zip(found) {
                let (own, further) = all.split_at(cells[k].len());
                cells[k].copy_from_slice(own);
                results[k].push(found);
                all = further;
            }
            add(report);
        }
        let nothing = || Error::spec("a batch of no problems", "give at least one");
        Ok((results, total.ok_or_else(nothing)?))
    }

    /// Blocks for `count` problems that have lines of so many bytes between passes.
    fn blocks_of(&self, kernel: &Kernel, count: usize, line: usize) -> Result<usize> {
        let sms = self.gpus[0].device.sms()?;
        let resident = (kernel.blocks_per_sm(32 * WARPS, 0)?.max(1) * sms) as usize;
        let affordable = LINES / line.max(1) / WARPS as usize;
        Ok(resident.min(affordable).min(count.div_ceil(WARPS as usize)).max(1))
    }

    /// Launches the kernel and waits for its end; the seconds that it took.
    ///
    /// # Safety
    /// The arguments are those of the kernel in order and layout, and what they point to lives until this returns.
    unsafe fn timed(&self, kernel: &Kernel, launch: Launch, args: &Args) -> Result<f64> {
        let super::subdomain::Gpu { device, stream, .. } = &self.gpus[0];
        let (start, end) = (Event::new(device)?, Event::new(device)?);
        stream.record(&start)?;
        // SAFETY: as the caller promises.
        unsafe { stream.launch(kernel, launch, args)? };
        stream.record(&end)?;
        stream.synchronize()?;
        start.seconds_until(&end)
    }

    /// One launch for all of `wavefronts`, the largest first: what is kept of their cells, one behind
    /// the other, and what was found of each; their choices go to `recorded`.
    fn small(
        &mut self,
        wavefronts: &[&Erased<'_>],
        borders: &[u8],
        recorded: Option<&mut Recorded<'_>>,
    ) -> Result<(Vec<u8>, Found, Report)> {
        let begin = Instant::now();
        let keep = wavefronts[0].keep;
        let element = &wavefronts[0].element;
        let cell = element.cell;
        let recording = recorded.as_ref().map(|recorded| recorded.recording);
        let rows = rows_of(wavefronts, most_rows(cell, recording));
        let text = source(element, keep, rows, WARPS, recording);
        let cubin = compile(&text, element.name, &self.gpus[0].device.arch()?, &options())?;
        let kernel = Module::load(&self.gpus[0].device, &cubin)?.kernel("wavefront_batch")?;

        let (mut problems, [row_inputs, column_inputs], kept_count) = placed(wavefronts);
        let words = place_words(&mut problems, wavefronts, rows);
        // A line is read by the next pass, if there is one.
        let passes = |wavefront: &&&Erased<'_>| wavefront.extents[0] > 32 * rows as usize;
        let line = wavefronts.iter().filter(passes).map(|w| w.extents[1]).max().unwrap_or(0);
        let blocks = self.blocks_of(&kernel, wavefronts.len(), line * cell)?;

        let stream = &self.gpus[0].stream;
        let row_inputs = row_inputs.upload(stream)?;
        let column_inputs = column_inputs.upload(stream)?;
        let problem_buffer = Buffer::from_slice(stream, bytes_of(&problems))?;
        let elements: Vec<_> = wavefronts.iter().map(|wavefront| wavefront.parameters).collect();
        let elements = inputs(stream, &elements.concat(), wavefronts.len())?;
        let borders = inputs(stream, borders, 2 * wavefronts.len())?;
        let next = Buffer::zeroed(stream, 4)?;
        let lines = Buffer::new(&self.gpus[0].device, blocks * WARPS as usize * line * cell)?;
        let kept = Buffer::new(&self.gpus[0].device, kept_count * cell)?;
        let candidates = Buffer::zeroed(stream, wavefronts.len() * 24)?;
        let word = recording.map_or(0, |recording| word_bytes(rows, recording));
        let directions = Buffer::new(&self.gpus[0].device, words * word)?;
        let functions = recording.map_or(&[][..], |recording| &recording.choice);
        let choices = inputs(stream, &functions.repeat(wavefronts.len()), wavefronts.len())?;
        let arguments = Arguments {
            rows: row_inputs.address(),
            columns: column_inputs.address(),
            problems: problem_buffer.address(),
            elements: elements.address(),
            borders: borders.address(),
            next: next.address(),
            lines: lines.address(),
            kept: kept.address(),
            candidates: candidates.address(),
            directions: directions.address(),
            choices: choices.address(),
            line: line as u64,
            count: wavefronts.len() as u32,
            reserved: 0,
        };
        let mut cells = allocate(kept_count * cell)?;
        let values = Values {
            arguments: (bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>()),
            watchdog: None,
            edges: &[],
            element: &[],
            choice: None,
        };
        let args = values.launch(ALONE, element)?;
        let launch = Launch::line(blocks as u32, 32 * WARPS);
        stream.synchronize()?;
        let mut setup_seconds = begin.elapsed().as_secs_f64();
        // SAFETY: the arguments are those of `wavefront_batch` in order and layout; every buffer
        // holds what the kernel's comment says and lives past the wait.
        let seconds = unsafe { self.timed(&kernel, launch, &args)? };

        let begin = Instant::now();
        stream.download(&kept, 0, &mut cells)?;
        let mut found = vec![[0u64; 3]; wavefronts.len()];
        stream.download(&candidates, 0, &mut found)?;
        if let Some(recorded) = recorded {
            recorded.fetch(rows, &problems, stream, &directions)?;
        }
        setup_seconds += begin.elapsed().as_secs_f64();
        let devices = vec![self.gpus[0].device.label().to_string()];
        let policy = CudaPolicy {
            rows,
            columns: 1,
            chunk: 32,
            warps: WARPS,
            blocks: blocks as u32,
            packed_16x2: false,
        };
        let policy = Policy::Cuda(policy).to_json();
        let wavefronts: Vec<_> = wavefronts.iter().map(|&wavefront| wavefront.clone()).collect();
        Ok((cells, found, report(&wavefronts, devices, seconds, setup_seconds, policy)))
    }
}
