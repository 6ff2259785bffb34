//! Shortest paths from one source on one core.

use warpweft::error::Result;
use warpweft::prelude::*;

use super::dial::Dial;
use super::graph::Graph;
use super::radix::Radix;

/// What a vertex holds that no path leads to.
pub(super) const UNREACHED: u32 = u32::MAX;

/// Weights up to this have a bucket each: levels that are empty cost a look, and buckets 24 bytes.
const DIAL: u32 = 1 << 12;

/// How far a source reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed)]
pub struct Reach {
    /// Vertices that a path leads to, the source itself among them.
    pub reached: u32,
    /// The largest of their distances.
    pub farthest: u32,
    /// The sum of their distances.
    pub total: u64,
}

impl Reach {
    /// With one more vertex at `distance`, which is none of those before.
    #[inline]
    pub(super) fn add(&mut self, distance: u32) {
        self.reached += 1;
        self.farthest = distance;
        self.total += u64::from(distance);
    }
}

/// A search on one core, with its workspace: four bytes a vertex and what is queued.
pub enum Search {
    /// A bucket for every distance ahead.
    Dial(Dial),
    /// A bucket for every bit.
    Radix(Radix),
}

impl Search {
    /// The search that suits the weights of `graph`.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(graph: &Graph) -> Result<Self> {
        match graph.heaviest() <= DIAL {
            true => Dial::new(graph).map(Self::Dial),
            false => Radix::new(graph).map(Self::Radix),
        }
    }

    /// From `source`, a vertex of the graph that the search was made for.
    ///
    /// # Errors
    /// A distance that 32 bits may not hold.
    pub fn run(&mut self, graph: &Graph, source: u32) -> Result<Reach, Failure> {
        match self {
            Self::Dial(dial) => dial.run(graph, source),
            Self::Radix(radix) => radix.run(graph, source),
        }
    }

    /// The distances that the last search found, [`u32::MAX`] where no path leads.
    pub fn distances(&self) -> &[u32] {
        match self {
            Self::Dial(dial) => &dial.distances,
            Self::Radix(radix) => &radix.distances,
        }
    }
}

/// Whether 32 bits hold all distances, asked after a search in which some edge led beyond them: such an edge
/// is on no shortest path if its end was reached otherwise. O(vertices + edges).
pub(super) fn all_fit(graph: &Graph, distances: &[u32]) -> Result<(), Failure> {
    for (vertex, &distance) in (0..).zip(distances).filter(|(_, d)| **d < UNREACHED) {
        let mut edges = graph.edges(vertex).iter();
        if edges.any(|edge| distances[edge.to as usize] == UNREACHED) {
            return Err(format!(
                "a path is {distance} long, and the next edge leads beyond 32 bits; scale the weights down"
            )
            .into());
        }
    }
    Ok(())
}
