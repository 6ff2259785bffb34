//! Dial's algorithm: a ring of buckets, one for each distance that may be queued (Dial, "Algorithm 360:
//! Shortest-path forest with topological ordering", CACM 12, 1969).

use warpweft::error::Result;
use warpweft::machine::filled;
use warpweft::prelude::Failure;

use super::graph::{Graph, ROOM};
use super::search::{Reach, UNREACHED, all_fit};

/// Distances and buckets, kept from source to source.
pub struct Dial {
    pub(super) distances: Vec<u32>,
    /// As many as a power of two above the heaviest weight: whatever is queued has one of its own.
    buckets: Vec<Vec<u32>>,
}

impl Dial {
    /// For `graph`.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(graph: &Graph) -> Result<Self> {
        let vertices = graph.vertices() as usize;
        let distances = filled(std::iter::repeat_n(UNREACHED, vertices), ROOM)?;
        let buckets = (graph.heaviest() as usize + 1).next_power_of_two();
        Ok(Self { distances, buckets: vec![Vec::new(); buckets] })
    }

    /// From `source`: O(edges + farthest distance).
    ///
    /// # Errors
    /// A distance that 32 bits may not hold.
    pub fn run(&mut self, graph: &Graph, source: u32) -> Result<Reach, Failure> {
        let Self { distances, buckets } = self;
        let ring = buckets.len() - 1;
        distances.fill(UNREACHED);
        distances[source as usize] = 0;
        buckets[0].push(source);
        let mut reach = Reach::default();
        let mut queued = 1usize;
        let mut distance = 0u32;
        let mut beyond = false;
        while queued > 0 {
            // A weight of zero adds to the bucket that is being emptied.
            while let Some(vertex) = buckets[distance as usize & ring].pop() {
                queued -= 1;
                // Who came nearer since is in an earlier bucket too.
                if distances[vertex as usize] != distance {
                    continue;
                }
                reach.add(distance);
                for edge in graph.edges(vertex) {
                    let there = distance.saturating_add(edge.weight);
                    let known = &mut distances[edge.to as usize];
                    beyond |= there == UNREACHED;
                    if there < *known {
                        *known = there;
                        buckets[there as usize & ring].push(edge.to);
                        queued += 1;
                    }
                }
            }
            // What is queued is nearer than `UNREACHED`.
            distance += 1;
        }
        if beyond {
            all_fit(graph, distances)?;
        }
        Ok(reach)
    }
}
