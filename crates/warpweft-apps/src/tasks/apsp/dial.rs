//! Dial's algorithm: a ring of buckets, one for each distance that may be queued (Dial, "Algorithm 360:
//! Shortest-path forest with topological ordering", CACM 12, 1969).

use warpweft::prelude::Failure;

use super::graph::Graph;
use super::tentative::{Reach, Tentative};

/// How many vertices of a bucket ahead its place among the edges is fetched into the cache, and its first edges. A random
/// graph is in memory, not in the cache: without this a search takes three times as long.
const PLACE_AHEAD: usize = 16;
const EDGES_AHEAD: usize = 8;

/// Buckets, kept from source to source: as many as a power of two above the heaviest weight, so that whatever is
/// queued has one of its own.
pub struct Dial {
    buckets: Vec<Vec<u32>>,
    /// The bucket that is being emptied.
    bucket: Vec<u32>,
}

impl Dial {
    /// For `graph`.
    pub fn new(graph: &Graph) -> Self {
        let buckets = vec![Vec::new(); (graph.heaviest() as usize + 1).next_power_of_two()];
        Self { buckets, bucket: Vec::new() }
    }

    /// From `source`: O(edges + farthest distance).
    ///
    /// # Errors
    /// A distance that 32 bits may not hold; nobody waits for the search any more.
    pub fn run(
        &mut self,
        graph: &Graph,
        source: u32,
        distances: &mut [u32],
    ) -> Result<Reach, Failure> {
        let Self { buckets, bucket } = self;
        let ring = buckets.len() - 1;
        let mut known = Tentative::begin(distances, source);
        buckets[0].push(source);
        let mut queued = 1usize;
        let mut distance = 0u32;
        while queued > 0 {
            known.go_on().inspect_err(|_| buckets.iter_mut().for_each(Vec::clear))?;
            std::mem::swap(bucket, &mut buckets[distance as usize & ring]);
            queued -= bucket.len();
            for (k, &vertex) in bucket.iter().enumerate() {
                if let Some(&ahead) = bucket.get(k + PLACE_AHEAD) {
                    known.fetch(ahead);
                    graph.fetch_place(ahead);
                }
                if let Some(&ahead) = bucket.get(k + EDGES_AHEAD) {
                    graph.fetch_edges(ahead);
                }
                known.settle(vertex, distance, graph, |there, to| {
                    buckets[there as usize & ring].push(to);
                    queued += 1;
                });
            }
            bucket.clear();
            // A weight of zero adds to the bucket that was emptied. What is queued is nearer than `UNREACHED`.
            if buckets[distance as usize & ring].is_empty() {
                distance += 1;
            }
        }
        known.end(graph)
    }
}
