//! The random graphs of TuCCompi's section 6.3: so many predecessors for every vertex, then inverted.

use warpweft::error::{Error, Result};
use warpweft::memory::room;

use super::graph::{Arc, Graph, ROOM};
use crate::soup::SplitMix;

/// What graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    /// Vertices; the paper has 1,049,088 to 2,539,008.
    pub vertices: u32,
    /// Predecessors of each, drawn evenly from all vertices, itself and doubles included; the paper has 7.
    pub degree: u32,
    /// Weights are drawn evenly from 1 to this; the paper has 10.
    pub weight: u32,
    /// Whose stream is drawn from.
    pub seed: u64,
}

/// The graph, the same on every machine.
///
/// # Errors
/// No vertices or weights; as [`Graph::new`].
pub fn random(Random { vertices, degree, weight, seed }: Random) -> Result<Graph> {
    let edges = u64::from(vertices) * u64::from(degree);
    if vertices == 0 || weight == 0 || weight == u32::MAX || edges >= u64::from(u32::MAX) {
        return Err(Error::spec(
            format!(
                "a random graph of {vertices} vertices with {degree} edges each, weights 1 to {weight}"
            ),
            "give at least 1 vertex, a weight of at least 1, and fewer than 2^32 - 1 edges in all",
        ));
    }
    let mut stream = SplitMix::new(seed);
    // The upper half of a product, even to 2^-32 (Lemire 2019).
    let mut below = |n: u32| ((u128::from(stream.next_u64()) * u128::from(n)) >> 64) as u32;
    let mut arcs = room(edges as usize, ROOM)?;
    for to in 0..vertices {
        for _ in 0..degree {
            let from = below(vertices);
            arcs.push(Arc { from, to, weight: 1 + below(weight) });
        }
    }
    Graph::new(vertices, &arcs, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vertex_has_its_predecessors_and_weights_are_in_range() {
        let of = |seed| random(Random { vertices: 1000, degree: 7, weight: 10, seed }).unwrap();
        let graph = of(1);
        let mut predecessors = vec![0; 1000];
        let mut weights = [0; 12];
        for edge in (0..1000).flat_map(|vertex| graph.edges(vertex)) {
            predecessors[edge.to as usize] += 1;
            weights[edge.weight as usize] += 1;
        }
        assert!(predecessors.iter().all(|&n| n == 7));
        // 700 of each on average; six standard deviations are 150.
        assert!(weights[1..=10].iter().all(|&n| (550..850).contains(&n)), "{weights:?}");
        assert_eq!((weights[0], weights[11]), (0, 0));
        assert!(graph == of(1) && graph != of(2));
        for (vertices, degree, weight) in [(0, 7, 10), (9, 7, 0), (1 << 31, 7, 10)] {
            assert!(random(Random { vertices, degree, weight, seed: 0 }).is_err());
        }
    }
}
