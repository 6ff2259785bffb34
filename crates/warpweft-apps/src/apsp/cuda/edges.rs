//! A graph on a device: the edges into each vertex side by side, since every form there pulls.

use warpweft::cuda::{Buffer, Stream};
use warpweft::error::Result;
use warpweft::machine::filled;

use super::super::graph::{Graph, ROOM};
use super::super::paths::WEIGHTS;

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

/// The same on the host.
pub(super) struct Inward {
    pub begins: Vec<u32>,
    pub from: Vec<u32>,
    pub weights: Vec<u32>,
}

impl Inward {
    /// Those of `graph`. O(vertices + edges).
    pub fn of(graph: &Graph) -> Result<Self> {
        let vertices = graph.vertices();
        let all =
            || (0..vertices).flat_map(|from| graph.edges(from).iter().map(move |e| (from, e)));
        let mut begins = filled(std::iter::repeat_n(0u32, vertices as usize + 1), ROOM)?;
        for (_, edge) in all() {
            begins[edge.to as usize + 1] += 1;
        }
        for vertex in 0..vertices as usize {
            begins[vertex + 1] += begins[vertex];
        }
        let mut next = filled(begins.iter().copied(), ROOM)?;
        // Side by side while they are put into order: where each goes is a cache line nobody has.
        let mut pairs = filled(std::iter::repeat_n([0u32; 2], graph.edge_count()), ROOM)?;
        for (from, edge) in all() {
            let at = &mut next[edge.to as usize];
            pairs[*at as usize] = [from, edge.weight];
            *at += 1;
        }
        let from = filled(pairs.iter().map(|pair| pair[0]), ROOM)?;
        let weights = filled(pairs.iter().map(|pair| pair[1]), ROOM)?;
        Ok(Self { begins, from, weights })
    }
}

impl Edges {
    /// Those of `graph`, on the device of `stream`.
    pub fn upload(graph: &Graph, stream: &Stream) -> Result<Self> {
        let Inward { begins, from, weights } = Inward::of(graph)?;
        let size = Size {
            vertices: graph.vertices(),
            edges: graph.edge_count() as u64,
            lightest: weights.iter().copied().min().unwrap_or(1),
            heaviest: graph.heaviest(),
        };
        let narrow = || filled(weights.iter().map(|weight| *weight as u8), ROOM);
        Ok(Self {
            begins: Buffer::from_slice(stream, &begins)?,
            from: Buffer::from_slice(stream, &from)?,
            weights: match size.bytes() {
                true => Buffer::from_slice(stream, &narrow()?)?,
                false => Buffer::from_slice(stream, &weights)?,
            },
            size,
        })
    }
}
