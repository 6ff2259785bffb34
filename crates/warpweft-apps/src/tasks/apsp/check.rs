//! Reference solutions: Dijkstra's algorithm with a binary heap, and a certificate that needs no search by distance.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::Graph;

/// The distance of every vertex from `source`, `None` where no path leads: O(edges · log edges).
pub fn dijkstra(graph: &Graph, source: u32) -> Vec<Option<u64>> {
    let mut distances: Vec<Option<u64>> = vec![None; graph.vertices() as usize];
    distances[source as usize] = Some(0);
    let mut heap = BinaryHeap::from([Reverse((0u64, source))]);
    while let Some(Reverse((distance, vertex))) = heap.pop() {
        // A shorter way was found since.
        if distances[vertex as usize] != Some(distance) {
            continue;
        }
        for edge in graph.edges(vertex) {
            let (there, known) =
                (distance + u64::from(edge.weight), &mut distances[edge.to as usize]);
            if known.is_none_or(|known| there < known) {
                *known = Some(there);
                heap.push(Reverse((there, edge.to)));
            }
        }
    }
    distances
}

/// Whether `distances` ([`u32::MAX`] where no path leads) are those of shortest paths from `source`. They are if
/// no edge is a short cut, so none is too long, and if every vertex with a distance hangs on the source by edges that
/// are exactly as long as the distances say, so none is too short. O(vertices + edges).
///
/// # Errors
/// The first vertex found wrong, in words.
pub fn certificate(graph: &Graph, source: u32, distances: &[u32]) -> Result<(), String> {
    let at = |vertex: u32| {
        distances.get(vertex as usize).filter(|d| **d < u32::MAX).map(|d| u64::from(*d))
    };
    if distances.len() != graph.vertices() as usize || at(source) != Some(0) {
        return Err(format!("the source {source} is not at distance 0"));
    }
    for vertex in 0..graph.vertices() {
        let Some(distance) = at(vertex) else { continue };
        for edge in graph.edges(vertex) {
            let there = distance + u64::from(edge.weight);
            if at(edge.to).is_none_or(|known| known > there) {
                return Err(format!(
                    "vertex {} is at most {there} from {source}, by way of {vertex}",
                    edge.to
                ));
            }
        }
    }
    let mut hangs = vec![false; distances.len()];
    hangs[source as usize] = true;
    let mut next = vec![source];
    while let Some(vertex) = next.pop() {
        let distance = at(vertex).unwrap_or(0);
        for edge in graph.edges(vertex) {
            let exact = at(edge.to) == Some(distance + u64::from(edge.weight));
            if exact && !std::mem::replace(&mut hangs[edge.to as usize], true) {
                next.push(edge.to);
            }
        }
    }
    match (0..graph.vertices()).find(|&vertex| at(vertex).is_some() && !hangs[vertex as usize]) {
        Some(vertex) => Err(format!("no path to vertex {vertex} is as short as its distance")),
        None => Ok(()),
    }
}
