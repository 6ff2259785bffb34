//! Shortest paths from one source by the algorithm of Crauser, Mehlhorn, Meyer and Sanders (MFCS 1998), as kernels:
//! TuCCompi's Algorithm 1, each characterised as in its Table 2.
//!
//! A phase relaxes the edges out of the frontier, then finds the largest distance that is settled for certain: a vertex is
//! when no unsettled one, at its least outgoing edge, could still lead to less (OUT). All such vertices are the next frontier.
//! About 29 phases on the paper's graphs. Many sources at once are faster on a GPU (`batched`, `planes`); this form is what
//! the paper measured.

use warpweft::farm::{BlockArray, Shared, Thread, kernel};

use super::graph::Graph;

/// No path is known.
pub const ENDLESS: u32 = u32::MAX;

/// All distances but that of the source are endless, and the source is the frontier.
#[kernel(memory = coalesced, arithmetic = none, eviction = low, reuse = low)]
pub fn initialize(
    at: &Thread,
    unsettled: &Shared<u32>,
    frontier: &Shared<u32>,
    distances: &Shared<u32>,
    source: u32,
) {
    let v = at.index();
    if v < distances.len() {
        let is_source = v == source as usize;
        distances.store(v, if is_source { 0 } else { ENDLESS });
        unsettled.store(v, if is_source { 0 } else { 1 });
        frontier.store(v, if is_source { 1 } else { 0 });
    }
}

/// Every vertex of the frontier lowers the distances of its successors. `beyond` is set where a sum leaves 32 bits.
#[kernel(memory = scatter, arithmetic = low, eviction = high, reuse = low)]
pub fn relax(
    at: &Thread,
    begins: &Shared<u32>,
    to: &Shared<u32>,
    weights: &Shared<u32>,
    frontier: &Shared<u32>,
    distances: &Shared<u32>,
    beyond: &Shared<u32>,
) {
    let v = at.index();
    if v < frontier.len() && frontier.load(v) == 1 {
        let own = distances.load(v);
        let end = begins.load(v + 1) as usize;
        let mut edge = begins.load(v) as usize;
        while edge < end {
            let weight = weights.load(edge);
            if weight >= ENDLESS - own {
                beyond.store(0, 1);
            } else {
                let head = to.load(edge) as usize;
                if distances.load(head) > own + weight {
                    distances.min(head, own + weight);
                }
            }
            edge += 1;
        }
    }
}

/// The least of the distances of unsettled vertices, each with its least outgoing edge.
#[kernel(memory = coalesced, arithmetic = low, eviction = low, reuse = medium)]
pub fn minimum(
    at: &Thread,
    unsettled: &Shared<u32>,
    distances: &Shared<u32>,
    least_out: &Shared<u32>,
    settled_to: &Shared<u32>,
    of_block: &BlockArray<u32, 1>,
) {
    let v = at.index();
    if at.in_block() == 0 {
        of_block.store(0, ENDLESS);
    }
    at.barrier();
    if v < unsettled.len() && unsettled.load(v) == 1 {
        let distance = distances.load(v);
        if distance != ENDLESS {
            // One that has no edges, or far ones, is settled too in the end.
            of_block.min(0, distance.saturating_add(least_out.load(v)).min(ENDLESS - 1));
        }
    }
    at.barrier();
    if at.in_block() == 0 && of_block.load(0) != ENDLESS {
        settled_to.min(0, of_block.load(0));
    }
}

/// Vertices up to that distance are settled, and the next frontier.
#[kernel(memory = coalesced, arithmetic = low, eviction = low, reuse = low)]
pub fn update(
    at: &Thread,
    unsettled: &Shared<u32>,
    frontier: &Shared<u32>,
    distances: &Shared<u32>,
    settled_to: &Shared<u32>,
) {
    let v = at.index();
    if v < unsettled.len() {
        let settles = unsettled.load(v) == 1 && distances.load(v) <= settled_to.load(0);
        if settles {
            unsettled.store(v, 0);
        }
        frontier.store(v, if settles { 1 } else { 0 });
    }
}

/// How many vertices are reached, the largest distance, and in another buffer the sum of all.
#[kernel(memory = coalesced, arithmetic = low, eviction = low, reuse = medium)]
pub fn summarise(
    at: &Thread,
    distances: &Shared<u32>,
    reached: &Shared<u32>,
    total: &Shared<u64>,
    of_block: &BlockArray<u32, 2>,
    sum: &BlockArray<u64, 1>,
) {
    let v = at.index();
    if at.in_block() == 0 {
        of_block.store(0, 0);
        of_block.store(1, 0);
        sum.store(0, 0);
    }
    at.barrier();
    if v < distances.len() {
        let distance = distances.load(v);
        if distance != ENDLESS {
            of_block.add(0, 1);
            of_block.max(1, distance);
            sum.add(0, distance as u64);
        }
    }
    at.barrier();
    if at.in_block() == 0 && of_block.load(0) != 0 {
        reached.add(0, of_block.load(0));
        reached.max(1, of_block.load(1));
        total.add(0, sum.load(0));
    }
}

/// How many vertices are at each distance for which there is a counter.
#[kernel(memory = coalesced, arithmetic = none, eviction = low, reuse = low)]
pub fn count_spread(at: &Thread, distances: &Shared<u32>, counts: &Shared<u32>) {
    let v = at.index();
    if v < distances.len() {
        let distance = distances.load(v) as usize;
        if distance < counts.len() {
            counts.add(distance, 1);
        }
    }
}

/// The graph as the kernels read it: where each vertex's edges begin, their heads and weights, and the least of them.
pub struct Lists {
    /// One more than there are vertices.
    pub begins: Vec<u32>,
    /// Of each edge.
    pub to: Vec<u32>,
    /// Of each edge.
    pub weights: Vec<u32>,
    /// Of each vertex; [`ENDLESS`] without edges.
    pub least_out: Vec<u32>,
}

impl Lists {
    /// Of `graph`.
    pub fn of(graph: &Graph) -> Self {
        let (mut begins, mut least_out) = (vec![0], Vec::new());
        let (mut to, mut weights) = (Vec::new(), Vec::new());
        for vertex in 0..graph.vertices() {
            let edges = graph.edges(vertex);
            to.extend(edges.iter().map(|edge| edge.to));
            weights.extend(edges.iter().map(|edge| edge.weight));
            begins.push(to.len() as u32);
            least_out.push(edges.iter().map(|edge| edge.weight).min().unwrap_or(ENDLESS));
        }
        Self { begins, to, weights, least_out }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{Random, random};
    use super::super::search::Search;
    use super::super::spread::spread;
    use super::super::tentative::Reach;
    use super::*;
    use warpweft::farm::HostMemory;

    /// Algorithm 1, with kernels on the host.
    fn searched(graph: &Graph, source: u32, size: usize) -> (Option<Reach>, Vec<u32>, u32) {
        let n = graph.vertices() as usize;
        let lists = Lists::of(graph);
        let mut memory = HostMemory::new();
        let begins = memory.words(lists.begins);
        let (to, weights) = (memory.words(lists.to), memory.words(lists.weights));
        let least_out = memory.words(lists.least_out);
        let zeros = || std::iter::repeat_n(0u32, n);
        let [unsettled, frontier, distances] = [(); 3].map(|()| memory.words(zeros()));
        let [settled_to, beyond] = [(); 2].map(|()| memory.words([0u32]));
        let (reached, total) = (memory.words([0u32; 2]), memory.words([0u64]));
        memory.run(initialize(unsettled, frontier, distances, source), n, size).unwrap();
        let mut phases = 0;
        loop {
            let relaxes = relax(begins, to, weights, frontier, distances, beyond);
            memory.run(relaxes, n, size).unwrap();
            memory.shared(settled_to).unwrap().store(0, ENDLESS);
            memory.run(minimum(unsettled, distances, least_out, settled_to), n, size).unwrap();
            phases += 1;
            if memory.read(settled_to).unwrap()[0] == ENDLESS {
                break;
            }
            memory.run(update(unsettled, frontier, distances, settled_to), n, size).unwrap();
        }
        memory.run(summarise(distances, reached, total), n, size).unwrap();
        let [reached, farthest] = memory.read(reached).unwrap()[..] else { unreachable!() };
        let reach = Reach { reached, farthest, total: memory.read(total).unwrap()[0] };
        let fits = memory.read(beyond).unwrap()[0] == 0;
        let row = memory.read(distances).unwrap();
        // Counters for a few billion distances would not fit.
        if farthest < 4096 {
            let counts = memory.words(std::iter::repeat_n(0u32, farthest as usize + 1));
            memory.run(count_spread(distances, counts), n, size).unwrap();
            assert_eq!(memory.read(counts).unwrap(), spread(reach, &row).unwrap());
        }
        (fits.then_some(reach), row, phases)
    }

    #[test]
    fn kernels_on_the_host_find_what_a_search_does() {
        for (vertices, degree, weight, size) in
            [(1, 0, 1, 4), (130, 7, 10, 32), (70, 2, 255, 7), (90, 1, 1, 16)]
        {
            let graph = random(Random { vertices, degree, weight, seed: 3 }).unwrap();
            for source in [0, vertices / 2] {
                let mut search = Search::new(&graph).unwrap();
                let expect = search.run(&graph, source).unwrap();
                let (found, distances, phases) = searched(&graph, source, size);
                assert_eq!(found, Some(expect), "{vertices} vertices");
                assert_eq!(distances, search.distances());
                assert!(phases <= vertices, "{phases}");
            }
        }
    }

    #[test]
    fn a_sum_beyond_32_bits_is_noticed() {
        let arc = |from, to, weight| super::super::graph::Arc { from, to, weight };
        let far =
            Graph::new(3, &[arc(0, 1, 3_000_000_000), (arc(1, 2, 3_000_000_000))], 0).unwrap();
        assert_eq!(searched(&far, 0, 4).0, None);
        assert!(searched(&far, 1, 4).0.is_some());
    }
}
