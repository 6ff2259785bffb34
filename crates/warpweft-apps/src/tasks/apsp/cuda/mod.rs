//! Shortest paths on a GPU, many sources at once: a lane searches from a batch of them, all lanes of a device read
//! one graph. Not one source at a time: its launches, and the waits between them, would be
//! most of the time.

mod batched;
mod crauser;
mod edges;
mod planes;
#[cfg(test)]
mod tests;

use std::time::Duration;

use warpweft::cuda::{Buffer, Cubin, Kernel, Stream};
use warpweft::error::{Error, Result};
use warpweft::farm::{ChunkExecutor, ChunkOutputs, GpuLane, Grain, OnGpu};
use warpweft::prelude::*;

use self::batched::Batched;
use self::crauser::Crauser;
use self::edges::Edges;
use self::planes::Planes;
use super::paths::{Form, Shape, ShortestPaths, Wants};
use super::search::Reach;

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

    /// How many vertices are at each distance from source `k` of the last search, whose farthest is given, if they are
    /// counted: `None` where that is too far for this form.
    fn spread(&mut self, k: usize, farthest: u32) -> Result<Option<Vec<u32>>>;
}

/// What the lanes of a device share.
struct Shared {
    edges: std::sync::Arc<Edges>,
    /// Bytes that each of them may take.
    room: u64,
}

impl<'a, O: Packed> OnGpu<Self> for ShortestPaths<'a, O> {
    fn open(&self, lane: GpuLane) -> Result<Box<dyn ChunkExecutor<Self> + '_>> {
        self.form.check(self.graph, self.wants == Wants::Distances)?;
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
        let shape = planes::shape(edges.size, self.shape, room);
        let batches: Box<dyn Batches> = match (self.form, shape) {
            (Form::Auto, Some(shape)) if self.wants != Wants::Distances => {
                Box::new(Planes::on(lane, edges, shape, self.wants)?)
            }
            (Form::Planes, Some(shape)) => Box::new(Planes::on(lane, edges, shape, self.wants)?),
            (Form::Planes, None) => return Err(no_planes(&edges, room, &lane)),
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

fn no_planes(edges: &Edges, room: u64, lane: &GpuLane) -> Error {
    Error::Memory {
        whose: lane.device().label().into(),
        needed: planes::needed(edges.size, 1),
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
            for (k, found) in self.batches.search(sources)?.into_iter().enumerate() {
                let list = match (found, self.paths.wants) {
                    (None, _) => None,
                    (Some(_), Wants::Reach) => Some(Vec::new()),
                    (Some(_), Wants::Distances) => Some(self.batches.distances(k)?),
                    (Some(reach), Wants::Spread) => self.batches.spread(k, reach.farthest)?,
                };
                let output = match found.zip(list) {
                    Some((reach, list)) => self.paths.made(reach, list),
                    // Rare, and a core says what is wrong.
                    None => self.paths.on_core(sources[k]),
                };
                match output {
                    Ok(output) => outputs.done(first + k, &output),
                    Err(why) => outputs.failed(first + k, &why),
                }
            }
        }
        Ok(())
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
        .chain(planes.map(|shape| planes::compiled(shape, arch)))
        .collect()
}
