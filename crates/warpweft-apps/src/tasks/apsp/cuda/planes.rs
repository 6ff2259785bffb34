//! Dial's buckets as planes of bits, 1024 or 2048 sources at once: whole weights from 1 to 255.

use std::ops::Range;
use std::sync::Arc;

use warpweft::cuda::{Args, Buffer, Cubin, Kernel, Launch, Module, Options, compile};
use warpweft::error::{Error, Result};
use warpweft::farm::GpuLane;

use super::super::paths::{Shape, Wants};
use super::super::tentative::Reach;
use super::edges::{Edges, Size};
use super::rows::{Home, InFlight, at_once, row_bytes};
use super::{Batches, COUNTED, Take, WAIT, column, reaches, resident};

/// Warps of a block, which [`Shape::blocks`] is about, and which `level` has where the policy leaves that open.
const WARPS: u32 = 8;
/// Threads of a block where a thread is a source.
const THREADS: u32 = 256;
/// Levels that are queued before anything is known of a graph, and after as many as the sources before had.
const LEVELS: u32 = 16;
/// Levels that are queued at once at most.
const MOST: u32 = 512;

/// Bits of the distances that are kept for rows.
pub(super) const BITS: u32 = 16;

/// `arguments` of `planes.cuh`: fourteen addresses and six halves of words.
type Arguments = [u64; 17];

/// What is taken, the first that fits: more blocks an SM would leave too few registers.
pub(super) const SHAPES: [Shape; 2] =
    [Shape { words: 2, blocks: 4, reads: 8 }, Shape { words: 1, blocks: 5, reads: 8 }];

/// The kernels, which keep so many bits of distances.
pub(super) fn compiled(shape: Shape, bits: u32, arch: &str) -> Result<Cubin> {
    of_warps(shape, bits, WARPS, arch)
}

/// The kernels, `level` with blocks of so many warps: as many threads on an SM.
fn of_warps(shape: Shape, bits: u32, warps: u32, arch: &str) -> Result<Cubin> {
    let options = Options::including(&[("words.cuh", include_str!("words.cuh"))]);
    let shape = Shape { blocks: (shape.blocks * WARPS / warps).max(1), ..shape };
    compile(&text(shape, bits, warps), "shortest paths by planes", arch, &options)
}

/// Their text, for blocks of so many warps.
pub(super) fn text(Shape { words, blocks, reads }: Shape, bits: u32, warps: u32) -> String {
    let size = size_of::<Arguments>();
    format!(
        "#define WW_K {words}\n#define WW_WARPS {warps}\n#define WW_BLOCKS {blocks}\n#define WW_READS {reads}\n\
         #define WW_BITS {bits}\n#define WW_ARGUMENTS_BYTES {size}\n{}",
        include_str!("planes.cuh")
    )
}

/// Bytes that a lane of planes of a shape takes of its device, with rows of distances of `rows` bytes if they are asked
/// for.
pub(super) fn needed(size: Size, shape: Shape, rows: Option<u32>) -> u64 {
    let kept = rows.map_or(0, |_| u64::from(BITS));
    let staged = |bytes| {
        let [stage, _] = at_once(size.vertices, bytes, shape);
        (stage * row_bytes(size.vertices, bytes)) as u64
    };
    let planes = u64::from(size.vertices) * (u64::from(size.heaviest) + 2 + kept);
    planes * (u64::from(128 * shape.words) + 1) + rows.map_or(0, staged) + (1 << 20)
}

/// The shape of planes, `wanted` or the first that `room` bytes allow; `None` where the weights or the memory don't
/// allow any. Rows of all planes are numbered in 32 bits, and so are levels and edges.
pub(super) fn shape(
    size: Size,
    wanted: Option<Shape>,
    rows_of: Option<u32>,
    room: u64,
) -> Option<Shape> {
    let rows = (u64::from(size.heaviest) + 2) * u64::from(size.vertices);
    let most = u64::from(u32::MAX) - 1024;
    let fits = size.bytes() && size.lightest > 0 && rows.max(size.edges) < most;
    let wanted = wanted.into_iter();
    let mut shapes = wanted.clone().chain(SHAPES.into_iter().filter(|_| wanted.len() == 0));
    shapes.find(|shape| fits && needed(size, *shape, rows_of) <= room)
}

/// A lane's workspace.
pub(super) struct Planes {
    lane: GpuLane,
    edges: Arc<Edges>,
    words: u32,
    kernels: Kernels,
    /// Of `level`, and the warps of each.
    blocks: u32,
    warps: u32,
    seen: Buffer,
    planes: Buffer,
    any: Buffer,
    done: Buffer,
    dead: Buffer,
    counts: Buffer,
    reaches: Buffer,
    last: Buffer,
    sources: Buffer,
    /// Counts of the first levels, and how many those are.
    spread: Buffer,
    counted: u32,
    /// What of them is on the host.
    counts_here: Vec<u32>,
    /// Bits of distances, if rows are asked for, and where they go.
    distance: Buffer,
    rows: Option<Rows>,
    /// Levels of the sources before, and how many those were.
    levels: u32,
    count: usize,
}

/// Rows of distances.
struct Rows {
    kernel: Kernel,
    home: Home,
    /// Bytes of a distance.
    bytes: u32,
}

struct Kernels {
    clear: Kernel,
    place_sources: Kernel,
    settle: Kernel,
    level: Kernel,
}

impl Planes {
    /// On `lane`, with rows of distances of `rows_of` bytes if they are asked for.
    ///
    /// # Errors
    /// Too little memory; the compiler's or the driver's.
    pub fn on(
        lane: GpuLane,
        edges: Arc<Edges>,
        shape: Shape,
        wants: Wants,
        rows_of: Option<u32>,
    ) -> Result<Self> {
        let counted = if wants == Wants::Spread { COUNTED } else { 0 };
        let words = shape.words;
        let device = *lane.device();
        let warps = lane.block(32 * WARPS) / 32;
        let bits = if rows_of.is_some() { BITS } else { 0 };
        let module = Module::load(&device, &of_warps(shape, bits, warps, &device.arch()?)?)?;
        let rows = |bytes: u32| -> Result<Rows> {
            let vertices = edges.size.vertices;
            let at_once = at_once(vertices, bytes, shape);
            let home = Home::on(&lane, at_once, row_bytes(vertices, bytes))?;
            Ok(Rows { kernel: module.kernel("rows")?, home, bytes })
        };
        let rows = rows_of.map(rows).transpose()?;
        let kernels = Kernels {
            clear: module.kernel("clear")?,
            place_sources: module.kernel("place_sources")?,
            settle: module.kernel("settle")?,
            level: module.kernel("level")?,
        };
        let (n, row) = (edges.size.vertices as usize, 32 * words as usize);
        let (chunks, planes) = (n.div_ceil(32), edges.size.heaviest as usize + 1);
        Ok(Self {
            blocks: resident(&kernels.level, 32 * warps)?,
            warps,
            seen: Buffer::new(&device, 4 * n * row)?,
            planes: Buffer::new(&device, 4 * n * row * planes)?,
            any: Buffer::new(&device, 4 * chunks * planes)?,
            done: Buffer::new(&device, 4 * chunks)?,
            dead: Buffer::new(&device, 4 * row)?,
            counts: Buffer::zeroed(lane.stream(), 4 * 32 * row)?,
            reaches: Buffer::new(&device, size_of::<Reach>() * 32 * row)?,
            last: Buffer::new(&device, 4)?,
            sources: Buffer::new(&device, 4 * 32 * row)?,
            spread: Buffer::new(&device, 4 * 32 * row * counted as usize)?,
            counted,
            counts_here: Vec::new(),
            distance: Buffer::new(&device, 4 * n * row * bits as usize)?,
            rows,
            levels: 0,
            count: 0,
            lane,
            edges,
            words,
            kernels,
        })
    }

    /// The first argument of every kernel.
    fn arguments(&self, count: usize) -> Arguments {
        let (edges, size) = (&self.edges, self.edges.size);
        let buffers = [
            &edges.begins,
            &edges.from,
            &edges.weights,
            &self.seen,
            &self.planes,
            &self.any,
            &self.done,
            &self.dead,
            &self.counts,
            &self.reaches,
            &self.last,
            &self.sources,
            &self.spread,
            &self.distance,
        ];
        let mut arguments: Arguments = [0; 17];
        arguments.iter_mut().zip(buffers).for_each(|(to, buffer)| *to = buffer.address());
        arguments[14] = u64::from(size.vertices.div_ceil(32)) << 32 | u64::from(size.vertices);
        arguments[15] = (count as u64) << 32 | u64::from(size.heaviest);
        arguments[16] = u64::from(self.counted);
        arguments
    }

    /// Queues `kernel`, whose arguments are `arguments` and, if it has one more, `level`.
    fn launch(
        &self,
        kernel: &Kernel,
        shape: Launch,
        count: usize,
        level: Option<u32>,
    ) -> Result<()> {
        let mut args = Args::new();
        args.value(self.arguments(count));
        level.map(|level| args.value(level));
        // SAFETY: these kernels of `planes.cuh` take `arguments`, and a level where one is given; buffers have the
        // sizes that are said there and live as long as the lane, which is waited for.
        unsafe { self.lane.stream().launch(kernel, shape, &args) }
    }

    /// Queues level `level`; a plane of bits of distances is emptied before the first of them that sets one.
    fn queue_level(&self, level: u32, count: usize, slots: Launch) -> Result<()> {
        let plane = self.distance.bytes() / BITS as usize;
        if level.is_power_of_two() && level.ilog2() < BITS && plane > 0 {
            let first = level.ilog2() as usize * plane;
            self.lane.stream().fill_part(&self.distance, first..first + plane, 0)?;
        }
        let line = Launch::line(self.blocks, 32 * self.warps);
        self.launch(&self.kernels.level, line, count, Some(level))?;
        self.launch(&self.kernels.settle, slots, count, Some(level))
    }

    /// Queues the computation of the rows of `tasks`.
    fn queue_rows(&self, rows: &Rows, tasks: &Range<usize>) -> Result<()> {
        let [first, count] = [tasks.start as u32, tasks.len() as u32];
        let mut args = Args::new();
        args.value(self.arguments(self.count));
        args.value(rows.home.stage.address());
        args.value(first);
        args.value(count);
        args.value((u32::BITS - self.levels.leading_zeros()).min(BITS));
        args.value(rows.bytes);
        let words = (first + count).div_ceil(32) - first / 32;
        let blocks = self.edges.size.vertices.div_ceil(2 * THREADS) * words;
        let shape = Launch::line(blocks, THREADS);
        // SAFETY: `rows` of `planes.cuh` takes these; the stage has room for the rows.
        unsafe { self.lane.stream().launch(&rows.kernel, shape, &args) }
    }
}

impl Batches for Planes {
    fn sources(&self) -> usize {
        1024 * self.words as usize
    }

    fn search(&mut self, sources: &[u32]) -> Result<Vec<Option<Reach>>> {
        let (stream, count) = (self.lane.stream(), sources.len());
        stream.upload(&self.sources, 0, sources)?;
        for zero in [&self.seen, &self.any, &self.done, &self.dead, &self.reaches, &self.last] {
            stream.fill(zero, 0)?;
        }
        let slots = Launch::line(self.sources().div_ceil(THREADS as usize) as u32, THREADS);
        let rows = Launch::line(count as u32, 32 * self.words);
        self.launch(&self.kernels.clear, rows, count, None)?;
        self.launch(&self.kernels.place_sources, slots, count, None)?;
        self.launch(&self.kernels.settle, slots, count, Some(0))?;
        // What is beyond the last level by the heaviest weight is empty. Levels are as few as paths are long, or the
        // plane of a level that is not empty would be new for ever.
        let (mut level, mut last) = (0u32, [0u32]);
        let mut ahead = (self.levels + self.edges.size.heaviest).max(LEVELS);
        while level < last[0] + self.edges.size.heaviest {
            for _ in 0..ahead.min(MOST) {
                level += 1;
                self.queue_level(level, count, slots)?;
            }
            self.rows.as_ref().map_or(Ok(()), |rows| rows.home.prepare(&self.lane))?;
            self.lane.wait(WAIT)?;
            stream.download(&self.last, 0, &mut last)?;
            ahead = LEVELS;
        }
        (self.levels, self.count) = (last[0], count);
        if self.counted > 0 {
            let rows = (last[0] + 1).min(self.counted) as usize;
            self.counts_here.resize(rows * self.sources(), 0);
            stream.download(&self.spread, 0, &mut self.counts_here)?;
        }
        let found = reaches(stream, &self.reaches, count)?.into_iter();
        let kept = |reach: &Reach| self.rows.is_none() || reach.farthest < 1 << BITS;
        Ok(found.map(|reach| Some(reach).filter(kept)).collect())
    }

    fn rows(&mut self, tasks: Range<usize>, take: &mut Take<'_>) -> Option<Result<bool>> {
        let rows = self.rows.as_ref()?;
        let hand_over = || {
            let mut before = None;
            let [stage, group] = rows.home.at_once;
            for staged in parts(tasks, stage) {
                // On the device, after the copies of the rows before.
                self.queue_rows(rows, &staged)?;
                for group in parts(staged.clone(), group) {
                    let queued = rows.home.copy(&self.lane, staged.start, group)?;
                    let landed = before.replace(queued).map(InFlight::landed).transpose()?;
                    if let Some((tasks, rows)) = landed
                        && !take(tasks, rows)?
                    {
                        return Ok(false);
                    }
                }
            }
            match before.map(InFlight::landed).transpose()? {
                Some((tasks, rows)) => take(tasks, rows),
                None => Ok(true),
            }
        };
        Some(hand_over())
    }

    fn distances(&mut self, _: usize) -> Result<Vec<u32>> {
        Err(Error::spec("single rows from planes of bits", "report this as a bug"))
    }

    fn spread(&mut self, k: usize, farthest: u32) -> Result<Option<Vec<u32>>> {
        Ok(column(&self.counts_here, self.sources(), k, farthest))
    }
}

/// A range in parts of `size`.
fn parts(of: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    of.clone().step_by(size).map(move |first| first..of.end.min(first + size))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The papers' graph with two lanes on an H200, on a GPU of 8 GB, and on one that holds no planes.
    #[test]
    fn planes_are_as_wide_as_memory_allows() {
        let papers = Size { vertices: 1_049_088, edges: 7_343_616, lightest: 1, heaviest: 10 };
        let words = |size, room| shape(size, None, None, room).map(|shape| shape.words);
        assert_eq!(
            [60 << 30, 3 << 30, 1 << 30].map(|room| words(papers, room)),
            [Some(2), Some(1), None]
        );
        let wide = Shape { words: 4, blocks: 2, reads: 8 };
        assert_eq!(shape(papers, Some(wide), None, 60 << 30), Some(wide));
        assert_eq!(shape(papers, Some(wide), None, 3 << 30), None);
        // Twelve planes of 256 bytes a vertex; sixteen more and the rows where distances are kept.
        let planes = |rows| needed(papers, SHAPES[0], rows) as f64 / (256.0 * 1_049_088.0);
        assert!((12.0..12.2).contains(&planes(None)));
        assert!((32.0..32.3).contains(&planes(Some(4))), "{}", planes(Some(4)));
        for none in [
            Size { lightest: 0, ..papers },
            Size { heaviest: 256, ..papers },
            // Rows beyond 32 bits.
            Size { vertices: 20_000_000, heaviest: 255, ..papers },
            Size { edges: u64::from(u32::MAX) - 2, ..papers },
        ] {
            assert_eq!(words(none, u64::MAX), None, "{none:?}");
        }
    }
}
