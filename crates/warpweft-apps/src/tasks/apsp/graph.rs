//! Directed graphs with weights: the edges of each vertex side by side.

use std::ops::Range;

use warpweft::error::{Error, Result};
use warpweft::memory::{filled, room};

/// What to do where memory does not hold a graph.
pub(super) const ROOM: &str = "take a smaller graph";

/// An edge from the vertex that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it leads.
    pub to: u32,
    /// How long it is.
    pub weight: u32,
}

/// An edge by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// Where it begins.
    pub from: u32,
    /// Where it leads.
    pub to: u32,
    /// How long it is.
    pub weight: u32,
}

/// A directed graph whose weights are whole numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the edges of each vertex begin, and where the last one's end.
    begins: Vec<u32>,
    edges: Vec<Edge>,
    heaviest: u32,
    first: u32,
}

impl Graph {
    /// The graph of `arcs` over so many vertices; edges of a vertex are in the order of the arcs. `first` is what
    /// its file calls the first vertex. O(vertices + arcs).
    ///
    /// # Errors
    /// No vertex, or 2³² − 1 edges and more; a vertex that is none; too little memory.
    pub fn new(vertices: u32, arcs: &[Arc], first: u32) -> Result<Self> {
        if vertices == 0 || vertices == u32::MAX || arcs.len() >= u32::MAX as usize {
            return Err(Error::spec(
                format!("a graph of {vertices} vertices and {} edges", arcs.len()),
                "give at least 1 vertex, and fewer than 2^32 - 1 vertices and edges",
            ));
        }
        let mut begins = filled(std::iter::repeat_n(0u32, vertices as usize + 1), ROOM)?;
        for arc in arcs {
            if let Some(vertex) = [arc.from, arc.to].into_iter().find(|vertex| *vertex >= vertices)
            {
                return Err(Error::spec(
                    format!("an edge has vertex {vertex}, but the graph has {vertices} vertices"),
                    "number vertices from 0",
                ));
            }
            begins[arc.from as usize + 1] += 1;
        }
        for vertex in 0..vertices as usize {
            begins[vertex + 1] += begins[vertex];
        }
        let mut edges: Vec<Edge> = room(arcs.len(), ROOM)?;
        edges.resize(arcs.len(), Edge { to: 0, weight: 0 });
        let mut next = filled(begins.iter().copied(), ROOM)?;
        for arc in arcs {
            let at = &mut next[arc.from as usize];
            edges[*at as usize] = Edge { to: arc.to, weight: arc.weight };
            *at += 1;
        }
        let heaviest = arcs.iter().map(|arc| arc.weight).max().unwrap_or(0);
        Ok(Self { begins, edges, heaviest, first })
    }

    /// How many vertices there are; they are numbered from 0.
    pub fn vertices(&self) -> u32 {
        (self.begins.len() - 1) as u32
    }

    /// How many edges there are.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The edges that begin at `vertex`.
    #[inline]
    pub fn edges(&self, vertex: u32) -> &[Edge] {
        let [begin, end] =
            [vertex as usize, vertex as usize + 1].map(|at| self.begins[at] as usize);
        &self.edges[begin..end]
    }

    /// Fetches into the cache where the edges of `vertex` begin.
    #[inline]
    pub(super) fn fetch_place(&self, vertex: u32) {
        fetch(&self.begins, vertex as usize);
    }

    /// Fetches the first edges of `vertex` into the cache, two lines of it.
    #[inline]
    pub(super) fn fetch_edges(&self, vertex: u32) {
        let begin = self.begins[vertex as usize] as usize;
        fetch(&self.edges, begin);
        fetch(&self.edges, begin + 7);
    }

    /// Where the edges of each vertex begin, and the last one's end; all edges.
    pub(super) fn lists(&self) -> (&[u32], &[Edge]) {
        (&self.begins, &self.edges)
    }

    /// The longest edge's length, 0 without edges.
    pub fn heaviest(&self) -> u32 {
        self.heaviest
    }

    /// A number that tells the graph from others, the same on every machine. Not a secret's.
    pub fn fingerprint(&self) -> u64 {
        let edges = self.edges.iter().map(|edge| u64::from(edge.to) << 32 | u64::from(edge.weight));
        fingerprint(self.begins.iter().map(|begin| u64::from(*begin)).chain(edges))
    }

    /// What files and their users call the vertices.
    pub fn names(&self) -> Range<u64> {
        let first = u64::from(self.first);
        first..first + u64::from(self.vertices())
    }
}

/// Asks for value `index` of `list` in the cache, where the processor has such a request; nothing waits for it.
#[inline]
pub(super) fn fetch<T>(list: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = list.as_ptr().wrapping_add(index).cast();
        // SAFETY: every processor of 64 bits has the instruction; it takes any address, and reads and writes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, index);
}

/// A number that tells a list from others: FNV-1a over words, mixed as SplitMix64 does.
pub fn fingerprint(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
        let hash = (hash ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash ^ (hash >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_lie_with_the_vertex_they_begin_at() {
        let arc = |from, to, weight| Arc { from, to, weight };
        let graph =
            Graph::new(4, &[arc(2, 0, 5), arc(0, 1, 1), arc(2, 2, 0), arc(0, 1, 7)], 1).unwrap();
        assert_eq!(graph.edges(0), [Edge { to: 1, weight: 1 }, Edge { to: 1, weight: 7 }]);
        assert_eq!(graph.edges(2), [Edge { to: 0, weight: 5 }, Edge { to: 2, weight: 0 }]);
        assert!(graph.edges(1).is_empty() && graph.edges(3).is_empty());
        assert_eq!((graph.vertices(), graph.edge_count(), graph.heaviest()), (4, 4, 7));
        assert_eq!(graph.names(), 1..5);
        let other =
            Graph::new(4, &[arc(2, 0, 5), arc(0, 1, 1), arc(2, 2, 0), arc(0, 1, 6)], 1).unwrap();
        assert_ne!(graph.fingerprint(), other.fingerprint());
        assert!(Graph::new(0, &[], 0).is_err());
        let refusal = Graph::new(2, &[arc(0, 2, 1)], 0).unwrap_err().to_string();
        assert!(refusal.contains("vertex 2, but the graph has 2 vertices"), "{refusal}");
    }
}
