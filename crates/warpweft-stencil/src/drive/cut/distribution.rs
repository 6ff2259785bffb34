//! How a stencil is spread over subdomains.

use crate::drive::depth::search::Search;
use crate::plan::partition::Partition;

/// How a stencil is spread. Changes time, never results.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// Who owns which cells; part p belongs to rank p.
    pub partition: Partition,
    /// R, the steps between two halo exchanges; with a search, the largest R, for which memory is reserved.
    pub depth: usize,
    /// How R is found while the run goes on; `None` keeps it.
    pub search: Option<Search>,
    /// Steps that ranks take in one pass over memory: a search tries whole time blocks, and the last one before a swap
    /// both in two parts and in one. 1 tries all depths.
    pub fused_steps: usize,
    /// Whether cells that neighbours wait for are computed first, and the rest of the last step or time block while
    /// they are on their way.
    pub boundary_first: bool,
}

impl Distribution {
    /// Halo exchanges after every `depth` steps, which nothing changes while the run goes on.
    pub(crate) fn fixed(partition: Partition, depth: usize) -> Self {
        Self { partition, depth, search: None, fused_steps: 1, boundary_first: false }
    }

    /// Lets a guided search begin with what the memory of a rank allows, in bytes a second, if that was
    /// measured, for so many bytes a cell and step.
    pub(crate) fn begin_at(&mut self, bandwidth: Option<f64>, step_bytes: usize) {
        if let (Some(Search::Guided(rates)), Some(bandwidth)) = (&mut self.search, bandwidth) {
            rates.compute.per_unit = step_bytes as f64 / bandwidth;
        }
    }
}
