//! A radix heap: buckets by the highest bit in which a distance differs from the least one, for weights of
//! any size (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem", JACM 37,
//! 1990).

use warpweft::prelude::Failure;

use super::graph::Graph;
use super::tentative::{Reach, Tentative};

/// Distances and vertices in 33 buckets, kept from source to source: the first has those at the least distance, the
/// last those that differ from it in bit 31.
pub struct Radix(Vec<Vec<(u32, u32)>>);

impl Radix {
    /// For any graph.
    pub fn new() -> Self {
        Self(vec![Vec::new(); 33])
    }

    /// From `source`: O(edges + vertices · 32), as each goes down through the buckets.
    ///
    /// # Errors
    /// A distance that 32 bits may not hold; nobody waits for the search any more.
    pub fn run(
        &mut self,
        graph: &Graph,
        source: u32,
        distances: &mut [u32],
    ) -> Result<Reach, Failure> {
        let Self(buckets) = self;
        let mut known = Tentative::begin(distances, source);
        buckets[0].push((0, source));
        let mut least = 0u32;
        loop {
            known.go_on().inspect_err(|_| buckets.iter_mut().for_each(Vec::clear))?;
            while let Some((distance, vertex)) = buckets[0].pop() {
                known.settle(vertex, distance, graph, |there, to| {
                    buckets[bucket(there, least)].push((there, to));
                });
            }
            let Some(next) = buckets.iter().position(|bucket| !bucket.is_empty()) else { break };
            least = buckets[next].iter().map(|(distance, _)| *distance).min().unwrap_or(least);
            for (distance, vertex) in std::mem::take(&mut buckets[next]) {
                buckets[bucket(distance, least)].push((distance, vertex));
            }
        }
        known.end(graph)
    }
}

/// Where `distance` belongs, which is at least `least`.
fn bucket(distance: u32, least: u32) -> usize {
    (u32::BITS - (distance ^ least).leading_zeros()) as usize
}
