//! Sweeps over all vertices for 32 or 128 sources at once: any weights, and every distance at hand.

use std::sync::Arc;

use warpweft::cuda::{Args, Buffer, Cubin, Kernel, Launch, Module, Options, compile};
use warpweft::error::{Error, Result};
use warpweft::farm::GpuLane;
use warpweft::memory::filled;

use super::super::graph::ROOM;
use super::super::paths::Wants;
use super::super::tentative::Reach;
use super::edges::{Edges, Size};
use super::{Batches, COUNTED, WAIT, column, reaches, resident};

/// Threads of a block.
const THREADS: u32 = 256;
/// Sweeps between two looks at whether there is more to do.
const SWEEPS: u32 = 8;

/// `arguments` of `batched.cuh`: eleven addresses and four halves of words.
type Arguments = [u64; 13];

/// The kernels for rows of 32 · `words` sources, of a graph whose weights are bytes or words.
pub(super) fn compiled(words: u32, bytes: bool, arch: &str) -> Result<Cubin> {
    let options = Options::including(&[("words.cuh", include_str!("words.cuh"))]);
    compile(&text(words, bytes), "shortest paths in batches", arch, &options)
}

/// Their text.
pub(super) fn text(words: u32, bytes: bool) -> String {
    let weight = if bytes { "unsigned char" } else { "unsigned" };
    let size = size_of::<Arguments>();
    format!(
        "#define WW_K {words}\n#define WW_WEIGHT {weight}\n#define WW_ARGUMENTS_BYTES {size}\n{}",
        include_str!("batched.cuh")
    )
}

/// Bytes that a lane with rows of 32 · `words` sources takes of its device.
fn needed(size: Size, words: u32) -> u64 {
    u64::from(size.vertices) * (u64::from(128 * words) + 8) + (1 << 20)
}

/// A lane's workspace.
pub(super) struct Batched {
    lane: GpuLane,
    edges: Arc<Edges>,
    words: u32,
    kernels: Kernels,
    /// Of kernels in which a warp takes one vertex after another.
    blocks: u32,
    distances: Buffer,
    stamps: Buffer,
    last: Buffer,
    sources: Buffer,
    reaches: Buffer,
    beyond: Buffer,
    row: Buffer,
    /// How many vertices are at each distance, and how many distances that are.
    spread: Buffer,
    counted: u32,
    /// The same on the host.
    counts_here: Vec<u32>,
    /// Whether some path may be longer than 32 bits hold.
    long: bool,
}

struct Kernels {
    place_sources: Kernel,
    sweep: Kernel,
    sum: Kernel,
    look_beyond: Kernel,
    extract: Kernel,
    spread: Kernel,
}

impl Batched {
    /// On `lane`, which may take `room` bytes. Of distances, if they are asked for, few wait in memory together.
    ///
    /// # Errors
    /// Too little memory; the compiler's or the driver's.
    pub fn on(lane: GpuLane, edges: Arc<Edges>, wants: Wants, room: u64) -> Result<Self> {
        let rows = wants == Wants::Distances;
        let counted = if wants == Wants::Spread { COUNTED } else { 0 };
        let most = if rows { 1 } else { 4 };
        let words = [4, 1].into_iter().find(|&k| k <= most && needed(edges.size, k) <= room);
        let words = words.ok_or_else(|| Error::Memory {
            whose: lane.device().label().into(),
            needed: needed(edges.size, 1),
            available: room,
            hint: "take fewer lanes or a smaller graph, or run on the cores".into(),
        })?;
        let device = *lane.device();
        let module = Module::load(&device, &compiled(words, edges.size.bytes(), &device.arch()?)?)?;
        let kernels = Kernels {
            place_sources: module.kernel("place_sources")?,
            sweep: module.kernel("sweep")?,
            sum: module.kernel("sum")?,
            look_beyond: module.kernel("look_beyond")?,
            extract: module.kernel("extract")?,
            spread: module.kernel("spread")?,
        };
        let (n, sources) = (edges.size.vertices as usize, 32 * words as usize);
        let longest =
            u64::from(edges.size.vertices - 1).saturating_mul(u64::from(edges.size.heaviest));
        Ok(Self {
            blocks: resident(&kernels.sweep, THREADS)?,
            distances: Buffer::new(&device, 4 * n * sources)?,
            stamps: Buffer::new(&device, 4 * n)?,
            last: Buffer::new(&device, 4)?,
            sources: Buffer::new(&device, 4 * sources)?,
            reaches: Buffer::new(&device, size_of::<Reach>() * sources)?,
            beyond: Buffer::new(&device, 4 * sources)?,
            row: Buffer::new(&device, if rows { 4 * n } else { 0 })?,
            spread: Buffer::new(&device, 4 * sources * counted as usize)?,
            counted,
            counts_here: Vec::new(),
            long: longest >= u64::from(u32::MAX),
            lane,
            edges,
            words,
            kernels,
        })
    }

    /// Queues `kernel`, whose arguments are `arguments` and, if it has one more, `number`.
    fn launch(
        &self,
        kernel: &Kernel,
        blocks: u32,
        count: usize,
        number: Option<u32>,
    ) -> Result<()> {
        let halves = (count as u64) << 32 | u64::from(self.edges.size.vertices);
        let edges = &self.edges;
        let buffers = [
            &edges.begins,
            &edges.from,
            &edges.weights,
            &self.distances,
            &self.stamps,
            &self.last,
            &self.sources,
            &self.reaches,
            &self.beyond,
            &self.row,
            &self.spread,
        ];
        let mut arguments: Arguments = [halves; 13];
        arguments[12] = u64::from(self.counted);
        arguments.iter_mut().zip(buffers).for_each(|(to, buffer)| *to = buffer.address());
        let mut args = Args::new();
        args.value(arguments);
        number.map(|number| args.value(number));
        // SAFETY: every kernel of `batched.cuh` takes `arguments`, and one more number where one is given; buffers
        // have the sizes that are said there and live as long as the lane, which is waited for.
        unsafe { self.lane.stream().launch(kernel, Launch::line(blocks, THREADS), &args) }
    }
}

impl Batches for Batched {
    fn sources(&self) -> usize {
        32 * self.words as usize
    }

    fn search(&mut self, sources: &[u32]) -> Result<Vec<Option<Reach>>> {
        let stream = self.lane.stream();
        let count = sources.len();
        stream.upload(&self.sources, 0, sources)?;
        stream.fill(&self.distances, 0xff)?;
        for zero in [&self.stamps, &self.reaches, &self.beyond] {
            stream.fill(zero, 0)?;
        }
        self.launch(&self.kernels.place_sources, 1, count, None)?;
        // Sweep 1 sets the sources; some sweep of the next `vertices` changes nothing.
        let (mut swept, mut last) = (1u32, [1u32]);
        while last[0] == swept {
            for _ in 0..SWEEPS {
                swept += 1;
                self.launch(&self.kernels.sweep, self.blocks, count, Some(swept))?;
            }
            self.lane.wait(WAIT)?;
            stream.download(&self.last, 0, &mut last)?;
            if last[0] > self.edges.size.vertices {
                return Err(Error::spec(
                    "sweeps that change distances and come to no end",
                    "please report this",
                ));
            }
        }
        self.launch(&self.kernels.sum, self.blocks, count, None)?;
        if self.long {
            self.launch(&self.kernels.look_beyond, self.blocks, count, None)?;
        }
        if self.counted > 0 {
            stream.fill(&self.spread, 0)?;
            self.launch(&self.kernels.spread, self.blocks, count, None)?;
        }
        self.lane.wait(WAIT)?;
        if self.counted > 0 {
            self.counts_here.resize(self.counted as usize * self.sources(), 0);
            stream.download(&self.spread, 0, &mut self.counts_here)?;
        }
        let mut beyond = vec![0u32; self.sources()];
        stream.download(&self.beyond, 0, &mut beyond)?;
        let found = reaches(stream, &self.reaches, count)?.into_iter().zip(beyond);
        Ok(found.map(|(reach, beyond)| (beyond == 0).then_some(reach)).collect())
    }

    fn distances(&mut self, k: usize) -> Result<Vec<u32>> {
        let mut row = filled(std::iter::repeat_n(0, self.edges.size.vertices as usize), ROOM)?;
        let blocks = self.edges.size.vertices.div_ceil(THREADS);
        self.launch(&self.kernels.extract, blocks, k + 1, Some(k as u32))?;
        self.lane.wait(WAIT)?;
        self.lane.stream().download(&self.row, 0, &mut row)?;
        Ok(row)
    }

    fn spread(&mut self, k: usize, farthest: u32) -> Result<Option<Vec<u32>>> {
        Ok(column(&self.counts_here, self.sources(), k, farthest))
    }
}
