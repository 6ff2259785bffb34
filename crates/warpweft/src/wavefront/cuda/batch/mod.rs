//! Many problems at once: a warp computes one alone, the largest first.
//!
//! For sizes of which one can't fill a GPU. Problems that would keep a warp busy when all others are
//! done, and what the kernel can't do, run one by one.

mod text;

use std::collections::HashMap;
use std::time::Instant;

use super::bytes::{bytes_of, bytes_of_mut, inputs};
use super::executor::CudaExecutor;
use super::shape::misses;
use super::winner::winner;
use crate::cuda::{Args, Buffer, Event, Launch, Module, Stream, compile};
use crate::error::Result;
use crate::report::Report;
use crate::wavefront::executor::{WavefrontExecutor, by_size, in_turn};
use crate::wavefront::frame::allocate;
use crate::wavefront::report::report_of;
use crate::wavefront::spec::{Keep, Kept, Wavefront};
use crate::wavefront::{Border, CudaPolicy, Extreme, Policy, WavefrontElement};

pub use text::compile_check;
use text::{Arguments, Problem, options, source};

/// Warps of a block.
const WARPS: u32 = 4;
/// The most rows a lane owns.
const MOST_ROWS: u32 = 8;
/// The most bytes of lines between passes: fewer warps run where columns are many.
const LINES: usize = 1 << 30;

/// Cells of a problem that is not worth a launch of its own: half a millisecond of one warp.
const SMALL: u64 = 2 << 20;

/// What every cell outside holds, problem by problem, if the kernel can run `wavefronts`: they are to
/// keep the same, and each has one value for a border.
fn borders<E: WavefrontElement>(wavefronts: &[Wavefront<'_, E>]) -> Option<Vec<E::Cell>> {
    let keep = wavefronts.first()?.keep;
    let border = |wavefront: &Wavefront<'_, E>| match wavefront.border {
        Border::Value(value) if wavefront.keep == keep && misses(wavefront).is_none() => {
            Some(value)
        }
        _ => None,
    };
    match keep {
        Keep::Matrix | Keep::Sum => None,
        _ => wavefronts.iter().map(border).collect(),
    }
}

/// Rows a lane owns: the fewest steps over all problems, each of which takes a row's time a row.
fn rows_of<E: WavefrontElement>(wavefronts: &[Wavefront<'_, E>], cell: usize) -> u32 {
    let most = (MOST_ROWS as usize * 4 / cell.max(4)).max(1) as u32;
    // What a step costs beside its rows, in rows.
    let step = 2;
    let cost = |rows: u32| -> u64 {
        let passes = wavefronts.iter().map(|wavefront| {
            let [m, n] = wavefront.extents();
            (m as u64).div_ceil(32 * u64::from(rows)) * (n as u64 + 31)
        });
        passes.sum::<u64>() * u64::from(rows + step)
    };
    (1..=most).min_by_key(|&rows| cost(rows)).unwrap_or(1)
}

/// Inputs of all problems behind one another; those that several share are there once.
struct Pooled<'a, T> {
    known: HashMap<(*const T, usize), u64>,
    parts: Vec<&'a [T]>,
    count: usize,
}

impl<'a, T: Copy + Default> Pooled<'a, T> {
    fn new() -> Self {
        Self { known: HashMap::new(), parts: Vec::new(), count: 0 }
    }

    /// Where `values` begin.
    fn place(&mut self, values: &'a [T]) -> u64 {
        *self.known.entry((values.as_ptr(), values.len())).or_insert_with(|| {
            let at = self.count as u64;
            self.parts.push(values);
            self.count += values.len();
            at
        })
    }

    fn upload(&self, stream: &Stream) -> Result<Buffer> {
        let mut all = allocate(self.count)?;
        let mut rest = &mut all[..];
        for part in &self.parts {
            let (here, further) = rest.split_at_mut(part.len());
            here.copy_from_slice(part);
            rest = further;
        }
        inputs(stream, &all)
    }
}

impl CudaExecutor {
    /// As [`WavefrontExecutor::run_batch`].
    pub(super) fn batch<E: WavefrontElement>(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        wavefronts.iter().try_for_each(Wavefront::check)?;
        let sms = self.gpus[0].device.sms()?;
        // Of as many parts as warps run well at once.
        let (large, rest) = by_size(wavefronts, 4 * WARPS as usize * sms as usize, SMALL);
        let (Some(borders), false) = (borders(wavefronts), rest.len() < 2) else {
            return in_turn(wavefronts, |wavefront| self.run(wavefront));
        };
        let mut results: Vec<_> = wavefronts.iter().map(|_| None).collect();
        let mut total: Option<Report> = None;
        let mut add = |report: Report| {
            total = Some(match total.take() {
                Some(total) => total.followed_by(&report),
                None => report,
            });
        };
        for k in large {
            let (kept, report) = self.run(&wavefronts[k])?;
            results[k] = Some(kept);
            add(report);
        }
        let small: Vec<_> = rest.iter().map(|&k| wavefronts[k].clone()).collect();
        let borders: Vec<_> = rest.iter().map(|&k| borders[k]).collect();
        let (kept, report) = self.small(&small, &borders)?;
        for (k, kept) in rest.into_iter().zip(kept) {
            results[k] = Some(kept);
        }
        let all: Option<Vec<_>> = results.into_iter().collect();
        let undone = || crate::error::Error::spec("a problem left undone", "report this as a bug");
        let report = match total.take() {
            Some(total) => total.followed_by(&report),
            None => report,
        };
        Ok((all.ok_or_else(undone)?, report))
    }

    /// One launch for all of `wavefronts`, the largest first.
    fn small<E: WavefrontElement>(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
        borders: &[E::Cell],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        let begin = Instant::now();
        let keep = wavefronts[0].keep;
        let cell = size_of::<E::Cell>();
        let rows = rows_of(wavefronts, cell);
        let text = source::<E>(keep, rows, WARPS);
        let cubin = compile(&text, E::NAME, &self.gpus[0].device.arch()?, &options())?;
        let kernel = Module::load(&self.gpus[0].device, &cubin)?.kernel("wavefront_batch")?;

        let (mut row_inputs, mut column_inputs) = (Pooled::new(), Pooled::new());
        let mut kept_count = 0;
        let mut places = Vec::with_capacity(wavefronts.len());
        let problems: Vec<_> = wavefronts
            .iter()
            .map(|wavefront| {
                let [m, n] = wavefront.extents();
                let length = match keep {
                    Keep::LastRow => n,
                    Keep::LastColumn => m,
                    _ => 0,
                };
                places.push(kept_count..kept_count + length);
                kept_count += length;
                Problem {
                    rows: row_inputs.place(wavefront.rows),
                    columns: column_inputs.place(wavefront.columns),
                    kept: places[places.len() - 1].start as u64,
                    row_count: m as i32,
                    column_count: n as i32,
                }
            })
            .collect();
        // A line is read by the next pass, if there is one.
        let passes = |wavefront: &&Wavefront<'_, E>| wavefront.rows.len() > 32 * rows as usize;
        let line = wavefronts.iter().filter(passes).map(|w| w.columns.len()).max().unwrap_or(0);
        let resident =
            (kernel.blocks_per_sm(32 * WARPS, 0)?.max(1) * self.gpus[0].device.sms()?) as usize;
        let affordable = LINES / (line * cell).max(1) / WARPS as usize;
        let wanted = wavefronts.len().div_ceil(WARPS as usize);
        let blocks = resident.min(affordable).min(wanted).max(1);

        let stream = &self.gpus[0].stream;
        let row_inputs = row_inputs.upload(stream)?;
        let column_inputs = column_inputs.upload(stream)?;
        let problem_buffer = Buffer::from_slice(stream, bytes_of(&problems))?;
        let elements: Vec<_> = wavefronts.iter().map(|wavefront| wavefront.element).collect();
        let elements = inputs(stream, &elements)?;
        let borders = inputs(stream, borders)?;
        let next = Buffer::zeroed(stream, 4)?;
        let lines = Buffer::new(&self.gpus[0].device, blocks * WARPS as usize * line * cell)?;
        let kept = Buffer::new(&self.gpus[0].device, kept_count * cell)?;
        let candidates = Buffer::zeroed(stream, wavefronts.len() * 24)?;
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
            line: line as u64,
            count: wavefronts.len() as u32,
            reserved: 0,
        };
        let mut cells: Vec<E::Cell> = allocate(kept_count)?;
        let mut args = Args::new();
        args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>());
        let launch = Launch::line(blocks as u32, 32 * WARPS);
        let (start, end) = (Event::new(&self.gpus[0].device)?, Event::new(&self.gpus[0].device)?);
        stream.synchronize()?;
        let mut setup_seconds = begin.elapsed().as_secs_f64();

        stream.record(&start)?;
        // SAFETY: the arguments are those of `wavefront_batch` in order and layout; every buffer
        // holds what the kernel's comment says and lives past the wait.
        unsafe { stream.launch(&kernel, launch, &args)? };
        stream.record(&end)?;
        stream.synchronize()?;
        let seconds = start.seconds_until(&end)?;

        let begin = Instant::now();
        stream.download(&kept, 0, bytes_of_mut(&mut cells))?;
        let mut found = vec![[0u64; 3]; wavefronts.len()];
        stream.download(&candidates, 0, &mut found)?;
        let all = found.iter().zip(places).map(|(found, place)| match keep {
            Keep::Least => Kept::Best(winner(&[*found], Extreme::Least)),
            Keep::Score => Kept::Score(winner(&[*found], Extreme::Greatest).map(|best| best.score)),
            Keep::LastRow => Kept::LastRow(cells[place].to_vec()),
            Keep::LastColumn => Kept::LastColumn(cells[place].to_vec()),
            _ => Kept::Best(winner(&[*found], Extreme::Greatest)),
        });
        let all = all.collect();
        setup_seconds += begin.elapsed().as_secs_f64();
        let devices = vec![self.gpus[0].device.label().to_string()];
        let policy = CudaPolicy {
            rows,
            columns: 1,
            chunk: 32,
            warps: WARPS,
            blocks: blocks as u32,
            pairs: false,
        };
        let policy = Policy::Cuda(policy);
        Ok((all, report_of(wavefronts, devices, seconds, setup_seconds, policy)))
    }
}
