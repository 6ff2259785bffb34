//! Dial's algorithm: a ring of buckets, one for each distance that may be queued (Dial, "Algorithm 360:
//! Shortest-path forest with topological ordering", CACM 12, 1969).

use warpweft::prelude::Failure;

use super::graph::Graph;
use super::search::{Reach, Tentative};

/// Buckets, kept from source to source: as many as a power of two above the heaviest weight, so that whatever is
/// queued has one of its own.
pub struct Dial(Vec<Vec<u32>>);

impl Dial {
    /// For `graph`.
    pub fn new(graph: &Graph) -> Self {
        Self(vec![Vec::new(); (graph.heaviest() as usize + 1).next_power_of_two()])
    }

    /// From `source`: O(edges + farthest distance).
    ///
    /// # Errors
    /// A distance that 32 bits may not hold.
    pub fn run(
        &mut self,
        graph: &Graph,
        source: u32,
        distances: &mut [u32],
    ) -> Result<Reach, Failure> {
        let Self(buckets) = self;
        let ring = buckets.len() - 1;
        let mut known = Tentative::begin(distances, source);
        buckets[0].push(source);
        let mut queued = 1usize;
        let mut distance = 0u32;
        while queued > 0 {
            // A weight of zero adds to the bucket that is being emptied.
            while let Some(vertex) = buckets[distance as usize & ring].pop() {
                queued -= 1;
                known.settle(vertex, distance, graph, |there, to| {
                    buckets[there as usize & ring].push(to);
                    queued += 1;
                });
            }
            // What is queued is nearer than `UNREACHED`.
            distance += 1;
        }
        known.end(graph)
    }
}
