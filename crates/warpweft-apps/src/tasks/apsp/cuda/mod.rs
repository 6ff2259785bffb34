//! Shortest paths on a GPU, many sources at once: a lane searches from a batch of them, all lanes of a device read
//! one graph. Not one source at a time: its launches, and the waits between them, would be
//! most of the time.

mod batched;
mod crauser;
mod edges;
mod planes;
mod rows;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::Duration;

use warpweft::cuda::{Buffer, Cubin, Kernel, Stream};
use warpweft::error::{Error, Result};
use warpweft::farm::{ChunkExecutor, ChunkOutputs, GpuLane, Grain, OnGpu};
use warpweft::prelude::*;

use self::batched::Batched;
use self::crauser::Crauser;
use self::edges::Edges;
use self::planes::Planes;
use self::rows::Lent;
use super::paths::{Form, Shape, ShortestPaths, Wants};
use super::tentative::Reach;

/// Distances that lanes count; cores count farther ones.
const COUNTED: u32 = 4096;

/// What is queued between two waits takes less, on any GPU and any graph that it holds.
const WAIT: Duration = Duration::from_secs(300);

/// The part of a device's free memory that its lanes may take.
const ROOM: f64 = 0.9;

/// A form that searches from several sources at once.
trait Batches {
    /// How many.
    fn sources(&self) -> usize;

    /// How far each of `sources`, at most so many, reaches; `None` where some path may be longer than 32 bits hold.
    fn search(&mut self, sources: &[u32]) -> Result<Vec<Option<Reach>>>;

    /// All distances from source `k` of the last search.
    fn distances(&mut self, k: usize) -> Result<Vec<u32>>;

    /// Rows of distances from sources of the last search, those at places of `tasks`, as the task's packed outputs: `take`
    /// gets them in order and returns whether it wants more. `None` for a form that has no rows.
    fn rows(&mut self, tasks: Range<usize>, take: &mut Take<'_>) -> Option<Result<bool>> {
        let _ = (tasks, take);
        None
    }

    /// How many vertices are at each distance from source `k` of the last search, whose farthest is given, if they are
    /// counted: `None` where that is too far for this form.
    fn spread(&mut self, k: usize, farthest: u32) -> Result<Option<Vec<u32>>>;
}

/// Takes rows of sources, and says whether more are wanted.
type Take<'a> = dyn FnMut(Range<usize>, Lent) -> Result<bool> + 'a;

/// What the lanes of a device share.
struct Shared {
    edges: std::sync::Arc<Edges>,
    /// Bytes that each of them may take.
    room: u64,
}

impl<'a, O: Packed> OnGpu<Self> for ShortestPaths<'a, O> {
    fn open(&self, lane: GpuLane) -> Result<Box<dyn ChunkExecutor<Self> + '_>> {
        self.form.check(self.graph)?;
        if self.form == Form::Crauser {
            let batches = Box::new(Crauser::on(lane, self.graph, self.wants)?);
            return Ok(Box::new(OnLane { paths: self, batches }));
        }
        let shared = lane.shared(|| {
            let edges = Edges::upload(self.graph, &lane)?.into();
            let free = lane.device().memory()?.0 as f64;
            // Before the lanes take theirs.
            Ok(Shared { edges, room: (ROOM * free / lane.lanes() as f64) as u64 })
        })?;
        let (edges, room) = (shared.edges.clone(), shared.room);
        self.shape.map_or(Ok(()), Shape::check)?;
        let rows = (self.wants == Wants::Distances).then_some(self.bytes);
        let shape = planes::shape(edges.size, self.shape, rows, room);
        let batches: Box<dyn Batches> = match (self.form, shape) {
            (Form::Auto | Form::Planes, Some(shape)) => {
                Box::new(Planes::on(lane, edges, shape, self.wants, rows)?)
            }
            (Form::Planes, None) => return Err(no_planes(&edges, rows, room, &lane)),
            (Form::Auto | Form::Batched, _) => {
                Box::new(Batched::on(lane, edges, self.wants, room)?)
            }
            (Form::Dial | Form::Crauser, _) => {
                return Err(Error::spec("one source at a time on a GPU", "take another form"));
            }
        };
        Ok(Box::new(OnLane { paths: self, batches }))
    }
}

fn no_planes(edges: &Edges, rows: Option<u32>, room: u64, lane: &GpuLane) -> Error {
    Error::Memory {
        whose: lane.device().label().into(),
        needed: planes::needed(edges.size, planes::SHAPES[1], rows),
        available: room,
        hint: "take the form batched, or fewer lanes".into(),
    }
}

struct OnLane<'s, 'a, O> {
    paths: &'s ShortestPaths<'a, O>,
    batches: Box<dyn Batches>,
}

impl<'a, O: Packed> ChunkExecutor<ShortestPaths<'a, O>> for OnLane<'_, 'a, O> {
    fn grain(&self) -> Grain {
        let of = self.batches.sources() as u64;
        // Distances of a chunk wait in memory together.
        Grain { of, most: if self.paths.wants == Wants::Distances { of } else { u64::MAX } }
    }

    fn run(
        &mut self,
        sources: &[u32],
        outputs: &mut ChunkOutputs<'_, ShortestPaths<'a, O>>,
    ) -> Result<()> {
        for (batch, sources) in sources.chunks(self.batches.sources()).enumerate() {
            let first = batch * self.batches.sources();
            let found = self.batches.search(sources)?;
            let handed = match self.paths.wants == Wants::Distances {
                true => self.hand_over_rows(sources, &found, first, outputs),
                false => None,
            };
            match handed.transpose()? {
                Some(true) => continue,
                Some(false) => return Ok(()),
                None => {}
            }
            for (k, found) in found.into_iter().enumerate() {
                let list = match (found, self.paths.wants) {
                    (None, _) => None,
                    (Some(_), Wants::Reach) => Some(Vec::new()),
                    (Some(_), Wants::Distances) => Some(self.batches.distances(k)?),
                    (Some(reach), Wants::Spread) => self.batches.spread(k, reach.farthest)?,
                };
                match found.zip(list) {
                    Some((reach, list)) => {
                        tell(outputs, first + k, self.paths.made(reach, list));
                    }
                    // Rare, and a core says what is wrong.
                    None => tell(outputs, first + k, self.paths.on_core(sources[k])),
                }
            }
        }
        Ok(())
    }
}

impl<'a, O: Packed> OnLane<'_, 'a, O> {
    /// Hands over the rows of a batch as they are copied, those of sources with distances that a row does not hold left to a
    /// core. Returns whether the farm goes on, `None` for a form that has no rows.
    fn hand_over_rows(
        &mut self,
        sources: &[u32],
        found: &[Option<Reach>],
        first: usize,
        outputs: &mut ChunkOutputs<'_, ShortestPaths<'a, O>>,
    ) -> Option<Result<bool>> {
        let fits = |k: usize| found[k].is_some_and(|reach| reach.farthest <= self.paths.most);
        let mut k = 0;
        while k < sources.len() {
            let end = (k..sources.len()).find(|&k| !fits(k)).unwrap_or(sources.len());
            let mut take = |tasks: Range<usize>, rows: Lent| {
                outputs.hand_over(first + tasks.start..first + tasks.end, rows)
            };
            match self.batches.rows(k..end, &mut take)? {
                Ok(true) => {}
                ended => return Some(ended),
            }
            k = end;
            if k < sources.len() {
                tell(outputs, first + k, self.paths.on_core(sources[k]));
                k += 1;
            }
        }
        Some(Ok(true))
    }
}

/// Task `k` of a chunk has this output, or none.
fn tell<O: Packed>(
    outputs: &mut ChunkOutputs<'_, ShortestPaths<'_, O>>,
    k: usize,
    output: Result<O, Failure>,
) {
    match output {
        Ok(output) => outputs.done(k, &output),
        Err(why) => outputs.failed(k, &why),
    }
}

/// What the first `count` sources reach, as kernels leave it.
fn reaches(stream: &Stream, from: &Buffer, count: usize) -> Result<Vec<Reach>> {
    let mut words = vec![[0u32; 4]; count];
    stream.download(from, 0, &mut words)?;
    let reach = |[reached, farthest, low, high]: [u32; 4]| Reach {
        reached,
        farthest,
        total: u64::from(high) << 32 | u64::from(low),
    };
    Ok(words.into_iter().map(reach).collect())
}

/// The counts of one of `sources` sources, from a table with a row for each distance; `None` where it is too short.
fn column(table: &[u32], sources: usize, k: usize, farthest: u32) -> Option<Vec<u32>> {
    let rows = farthest as usize + 1;
    (rows * sources <= table.len()).then(|| (0..rows).map(|d| table[d * sources + k]).collect())
}

/// Blocks of `threads` threads that a device holds at once.
fn resident(kernel: &Kernel, threads: u32) -> Result<u32> {
    Ok(kernel.blocks_per_sm(threads, 0)?.max(1) * kernel.device().sms()?)
}

/// Compiles all kernels for `arch` without a device.
///
/// # Errors
/// The compiler's.
pub fn compile_check(arch: &str) -> Result<Vec<Cubin>> {
    let batched = [(1, true), (4, true), (1, false), (4, false)];
    let batched = batched.into_iter().map(|(words, bytes)| batched::compiled(words, bytes, arch));
    let wide = Shape { words: 4, blocks: 2, reads: 8 };
    let edges = [true, false].into_iter().map(|bytes| edges::compiled(bytes, arch));
    let planes = planes::SHAPES.into_iter().chain([wide]);
    let kernels = crauser::compiled(arch)?.into_iter().map(Ok);
    kernels
        .chain(edges)
        .chain(batched)
        .chain(
            planes.flat_map(|shape| {
                [0, planes::BITS].map(|bits| planes::compiled(shape, bits, arch))
            }),
        )
        .collect()
}
