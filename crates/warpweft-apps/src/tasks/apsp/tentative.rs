//! What a search from one source knows while it runs, and how far the source reaches.

use warpweft::farm::is_cancelled;
use warpweft::prelude::*;

use super::graph::{Graph, fetch};

/// What a vertex holds that no path leads to.
pub(super) const UNREACHED: u32 = u32::MAX;

/// How far a source reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed)]
pub struct Reach {
    /// Vertices that a path leads to, the source itself among them.
    pub reached: u32,
    /// The largest of their distances.
    pub farthest: u32,
    /// The sum of their distances.
    pub total: u64,
}

impl Reach {
    /// With one more vertex at `distance`, which is none of those before.
    #[inline]
    fn add(&mut self, distance: u32) {
        self.reached += 1;
        self.farthest = distance;
        self.total += u64::from(distance);
    }
}

/// What a search knows so far (Dijkstra, "A note on two problems in connexion with graphs", 1959).
pub(super) struct Tentative<'a> {
    /// The shortest that was found to each vertex.
    distances: &'a mut [u32],
    /// Of those whose distance is final.
    reach: Reach,
    /// Whether an edge of theirs led beyond 32 bits.
    beyond: bool,
}

impl<'a> Tentative<'a> {
    /// Nothing but `source`, at distance 0.
    pub fn begin(distances: &'a mut [u32], source: u32) -> Self {
        distances.fill(UNREACHED);
        distances[source as usize] = 0;
        Self { distances, reach: Reach::default(), beyond: false }
    }

    /// Fetches what is known of `vertex` into the cache.
    #[inline]
    pub fn fetch(&self, vertex: u32) {
        fetch(self.distances, vertex as usize);
    }

    /// Whether nobody waits for this search any more.
    ///
    /// # Errors
    /// So it is: what is queued is to be dropped.
    pub fn go_on(&self) -> Result<(), Failure> {
        match is_cancelled() {
            true => Err("cancelled".into()),
            false => Ok(()),
        }
    }

    /// `vertex` was queued at `distance`, the least of all: that is final, unless it came nearer since. `queue` is told
    /// of those that come nearer by its edges: at which distance, and which.
    #[inline]
    pub fn settle(
        &mut self,
        vertex: u32,
        distance: u32,
        graph: &Graph,
        mut queue: impl FnMut(u32, u32),
    ) {
        if self.distances[vertex as usize] != distance {
            return;
        }
        self.reach.add(distance);
        for edge in graph.edges(vertex) {
            let there = distance.saturating_add(edge.weight);
            let known = &mut self.distances[edge.to as usize];
            self.beyond |= there == UNREACHED;
            if there < *known {
                *known = there;
                queue(there, edge.to);
            }
        }
    }

    /// How far the source reaches, once nothing is queued.
    ///
    /// # Errors
    /// A distance that 32 bits may not hold.
    pub fn end(self, graph: &Graph) -> Result<Reach, Failure> {
        if self.beyond {
            all_fit(graph, self.distances)?;
        }
        Ok(self.reach)
    }
}

/// Whether 32 bits hold all distances, asked after a search in which some edge led beyond them: such an edge
/// is on no shortest path if its end was reached otherwise. O(vertices + edges).
fn all_fit(graph: &Graph, distances: &[u32]) -> Result<(), Failure> {
    for (vertex, &distance) in (0..).zip(distances).filter(|(_, d)| **d < UNREACHED) {
        let mut edges = graph.edges(vertex).iter();
        if edges.any(|edge| distances[edge.to as usize] == UNREACHED) {
            return Err(format!(
                "a path has length {distance}, and with its next edge the length exceeds 4294967294, the largest that is stored; scale the weights down"
            )
            .into());
        }
    }
    Ok(())
}
