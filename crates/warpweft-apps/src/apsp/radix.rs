//! A radix heap: buckets by the highest bit in which a distance differs from the least one, for weights of
//! any size (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem", JACM 37,
//! 1990).

use warpweft::error::Result;
use warpweft::machine::filled;
use warpweft::prelude::Failure;

use super::graph::{Graph, ROOM};
use super::search::{Reach, UNREACHED, all_fit};

/// Distances and buckets, kept from source to source.
pub struct Radix {
    pub(super) distances: Vec<u32>,
    /// Distances and vertices in 33 buckets: the first has those at the least distance, the last those that
    /// differ from it in bit 31.
    buckets: Vec<Vec<(u32, u32)>>,
}

impl Radix {
    /// For `graph`.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(graph: &Graph) -> Result<Self> {
        let vertices = graph.vertices() as usize;
        let distances = filled(std::iter::repeat_n(UNREACHED, vertices), ROOM)?;
        Ok(Self { distances, buckets: vec![Vec::new(); 33] })
    }

    /// From `source`: O(edges + vertices · 32), as each goes down through the buckets.
    ///
    /// # Errors
    /// A distance that 32 bits may not hold.
    pub fn run(&mut self, graph: &Graph, source: u32) -> Result<Reach, Failure> {
        let Self { distances, buckets } = self;
        distances.fill(UNREACHED);
        distances[source as usize] = 0;
        buckets[0].push((0, source));
        let mut reach = Reach::default();
        let mut least = 0u32;
        let mut beyond = false;
        loop {
            while let Some((distance, vertex)) = buckets[0].pop() {
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
                        buckets[bucket(there, least)].push((there, edge.to));
                    }
                }
            }
            let Some(next) = buckets.iter().position(|bucket| !bucket.is_empty()) else { break };
            least = buckets[next].iter().map(|(distance, _)| *distance).min().unwrap_or(least);
            for (distance, vertex) in std::mem::take(&mut buckets[next]) {
                buckets[bucket(distance, least)].push((distance, vertex));
            }
        }
        if beyond {
            all_fit(graph, distances)?;
        }
        Ok(reach)
    }
}

/// Where `distance` belongs, which is at least `least`.
fn bucket(distance: u32, least: u32) -> usize {
    (u32::BITS - (distance ^ least).leading_zeros()) as usize
}
