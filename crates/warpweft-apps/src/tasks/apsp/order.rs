//! Sources in an order in which those side by side are alike: batches on a GPU then meet the same vertices at the same
//! levels.

use warpweft::error::Result;
use warpweft::memory::{filled, room};
use warpweft::prelude::Failure;

use super::graph::{Arc, Graph, ROOM};
use super::search::Search;

/// What is taken for a landmark that no path leads to: farther than most are.
const FAR: u32 = 100;

/// All vertices, by the sum of their distances to `landmarks` vertices spread over all. O(landmarks · a search).
///
/// # Errors
/// Too little memory; a distance beyond 32 bits.
pub fn by_landmarks(graph: &Graph, landmarks: u32) -> Result<Vec<u32>, Failure> {
    let vertices = graph.vertices();
    let mut arcs: Vec<Arc> = room(graph.edge_count(), ROOM)?;
    for from in 0..vertices {
        let back = |edge: &super::Edge| Arc { from: edge.to, to: from, weight: edge.weight };
        arcs.extend(graph.edges(from).iter().map(back));
    }
    let back = Graph::new(vertices, &arcs, 0)?;
    drop(arcs);
    let mut search = Search::new(&back)?;
    let mut sums = filled(std::iter::repeat_n(0u64, vertices as usize), ROOM)?;
    for landmark in 0..u64::from(landmarks) {
        let at = (2 * landmark + 1) * u64::from(vertices) / (2 * u64::from(landmarks));
        search.run(&back, at as u32)?;
        let far = |d: u32| u64::from(if d == u32::MAX { FAR } else { d });
        sums.iter_mut().zip(search.distances()).for_each(|(sum, d)| *sum += far(*d));
    }
    let mut order = filled(0..vertices, ROOM)?;
    order.sort_by_key(|vertex| sums[*vertex as usize]);
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apsp::{Random, random};

    #[test]
    fn vertices_are_ordered_by_their_way_to_the_landmarks() {
        // A path to its middle, which is the landmark: from either end alike.
        let arc = |from, to| Arc { from, to, weight: 1 };
        let arcs: Vec<_> =
            (0..4).map(|v| arc(v, v + 1)).chain((5..9).map(|v| arc(v, v - 1))).collect();
        let path = Graph::new(9, &arcs, 0).unwrap();
        assert_eq!(by_landmarks(&path, 1).unwrap(), [4, 3, 5, 2, 6, 1, 7, 0, 8]);
        let graph = random(Random { vertices: 500, degree: 3, weight: 9, seed: 1 }).unwrap();
        let mut order = by_landmarks(&graph, 5).unwrap();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..500));
    }
}
