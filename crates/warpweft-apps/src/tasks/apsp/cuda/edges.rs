//! A graph on a device: the edges into each vertex side by side, since every form there pulls.

use warpweft::cuda::{Args, Buffer, Cubin, Kernel, Launch, Module, Options, compile};
use warpweft::error::Result;
use warpweft::farm::GpuLane;
use warpweft::memory::filled;

use super::super::graph::{Graph, ROOM};
use super::super::paths::WEIGHTS;
use super::{WAIT, resident};

/// The edges into each vertex.
pub(super) struct Edges {
    /// Where those of each vertex begin, and where the last one's end: a word each.
    pub begins: Buffer,
    /// Where each comes from: a word.
    pub from: Buffer,
    /// How long each is: a byte where all weights fit one, else a word.
    pub weights: Buffer,
    pub size: Size,
}

/// What kernels and their workspaces go by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub vertices: u32,
    pub edges: u64,
    pub lightest: u32,
    pub heaviest: u32,
}

impl Size {
    /// Whether weights are bytes on a device.
    pub fn bytes(&self) -> bool {
        self.heaviest <= WEIGHTS
    }
}

/// `arguments` of `edges.cuh`: five addresses and two halves of a word.
type Arguments = [u64; 6];

/// Threads of a block.
const THREADS: u32 = 256;

/// The kernels for weights of bytes or words.
pub(super) fn compiled(bytes: bool, arch: &str) -> Result<Cubin> {
    compile(&text(bytes), "edges turned around", arch, &Options::default())
}

/// Their text.
pub(super) fn text(bytes: bool) -> String {
    let weight = if bytes { "unsigned char" } else { "unsigned" };
    let size = size_of::<Arguments>();
    format!(
        "#define WW_WEIGHT {weight}\n#define WW_ARGUMENTS_BYTES {size}\n{}",
        include_str!("edges.cuh")
    )
}

/// Turns counts into where each begins, one behind the other; the last one's end goes to the end.
fn add_up(counts: &mut [u32]) {
    let mut sum = 0u32;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

impl Edges {
    /// Those of `graph`, turned around on the device of `lane`: the host, whose cores may be at work, only copies.
    pub fn upload(graph: &Graph, lane: &GpuLane) -> Result<Self> {
        let (stream, device) = (lane.stream(), lane.device());
        let (begins, edges) = graph.lists();
        let pairs = filled(edges.iter().map(|edge| [edge.to, edge.weight]), ROOM)?;
        let size = Size {
            vertices: graph.vertices(),
            edges: edges.len() as u64,
            lightest: edges.iter().map(|edge| edge.weight).min().unwrap_or(1),
            heaviest: graph.heaviest(),
        };
        let module = Module::load(device, &compiled(size.bytes(), &device.arch()?)?)?;
        let (count, turn) = (module.kernel("count")?, module.kernel("turn")?);
        let n = graph.vertices() as usize;
        let (out, pairs) =
            (Buffer::from_slice(stream, begins)?, Buffer::from_slice(stream, &pairs)?);
        // One word more, so that the end of the last one's is the sum.
        let begins = Buffer::zeroed(stream, 4 * (n + 1))?;
        let next = Buffer::new(device, 4 * (n + 1))?;
        let from = Buffer::new(device, 4 * edges.len())?;
        let weights = Buffer::new(device, edges.len() * if size.bytes() { 1 } else { 4 })?;
        let launch = |kernel: &Kernel, next: &Buffer| -> Result<()> {
            let halves = size.edges << 32 | u64::from(size.vertices);
            let buffers = [&out, &pairs, next, &from, &weights];
            let mut arguments: Arguments = [halves; 6];
            arguments.iter_mut().zip(buffers).for_each(|(to, buffer)| *to = buffer.address());
            let mut args = Args::new();
            args.value(arguments);
            let blocks = resident(kernel, THREADS)?;
            // SAFETY: both kernels of `edges.cuh` take `arguments`; buffers have the sizes that are said there and
            // live past the wait.
            unsafe { stream.launch(kernel, Launch::line(blocks, THREADS), &args)? };
            lane.wait(WAIT)
        };
        launch(&count, &begins)?;
        let mut sums = filled(std::iter::repeat_n(0u32, n + 1), ROOM)?;
        stream.download(&begins, 0, &mut sums)?;
        add_up(&mut sums);
        stream.upload(&begins, 0, &sums)?;
        stream.copy(&next, 0, &begins, 0, 4 * (n + 1))?;
        launch(&turn, &next)?;
        Ok(Self { begins, from, weights, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_become_beginnings() {
        let mut counts = [2, 0, 3, 0];
        add_up(&mut counts);
        assert_eq!(counts, [0, 2, 2, 5]);
    }
}
