//! Any search, for ranks that fuse several steps: it counts time blocks where it counted steps,
//! so that no depth is tried which would leave part of a time block to single steps.

use crate::drive::depth::search::{DepthSearch, Trial};
use crate::model::ghost::Geometry;

/// A search whose depths are numbers of time blocks of so many steps.
pub(crate) struct WholeBlocks {
    pub search: Box<dyn DepthSearch>,
    /// Steps of a time block.
    pub fused_steps: usize,
}

impl DepthSearch for WholeBlocks {
    fn next(&mut self) -> Option<Trial> {
        self.search.next().map(|trial| Trial { depth: trial.depth * self.fused_steps, ..trial })
    }

    fn record(&mut self, seconds: f64) {
        self.search.record(seconds * self.fused_steps as f64);
    }

    fn best(&self) -> usize {
        self.search.best() * self.fused_steps
    }
}

/// A part as such a search knows it: cells and bytes of numbers of time blocks.
#[derive(Clone, Debug)]
pub(crate) struct InBlocks<G> {
    pub part: G,
    /// Steps of a time block.
    pub fused_steps: usize,
}

impl<G: Geometry> Geometry for InBlocks<G> {
    fn cells(&self) -> f64 {
        self.part.cells() * self.fused_steps as f64
    }
    fn shrinking_cells(&self, depth: usize) -> f64 {
        self.part.shrinking_cells(depth * self.fused_steps)
    }
    fn whole_cells(&self, depth: usize) -> f64 {
        self.part.whole_cells(depth * self.fused_steps)
    }
    fn core_cells(&self, depth: usize) -> f64 {
        self.part.core_cells(depth * self.fused_steps)
    }
    fn halo_bytes(&self, depth: usize) -> f64 {
        self.part.halo_bytes(depth * self.fused_steps)
    }
    fn staged_bytes(&self, depth: usize) -> f64 {
        self.part.staged_bytes(depth * self.fused_steps)
    }
}

#[cfg(test)]
mod tests {
    use crate::drive::depth::search::Search;
    use crate::model::ghost::{GhostModel, Kernel, Linear, Overlap, Staging};
    use crate::plan::halo::Footprint;
    use crate::plan::partition::Partition;
    use crate::spec::boundary::{Boundaries, Boundary};
    use warpweft_core::element::{FieldInfo, ScalarKind};

    /// Microseconds a step where a time block of three takes 100, a step by itself 70, and a swap 30 and 2 a step.
    fn curve(depth: usize) -> f64 {
        (100.0 * (depth / 3) as f64 + 70.0 * (depth % 3) as f64 + 30.0) / depth as f64
            + 2.0
            + 0.4 * depth as f64
    }

    #[test]
    fn every_search_tries_whole_time_blocks_and_finds_the_best_number_of_them() {
        let faces = Boundaries::all(3, Boundary::Periodic);
        let partition = Partition::grid([256; 3], [2, 1, 1], &faces).unwrap();
        let stages = [Footprint { reads: vec![(0, [[1; 2]; 3].into())], writes: vec![0] }];
        let fields = [FieldInfo { name: "", kind: ScalarKind::F32 }];
        let prior = GhostModel {
            compute: Linear { per_unit: 1e-11, fixed: 0.0 },
            network: Linear { per_unit: 2e-10, fixed: 2e-5 },
            host_link: Linear::default(),
            kernel: Kernel::Whole,
            staging: Staging::None,
            overlap: Overlap::None,
        };
        let best = (1..=16).map(curve).fold(f64::INFINITY, f64::min);
        for search in
            [Search::Exhaustive, Search::HillClimbing, Search::Dichotomic, Search::Guided(prior)]
        {
            let mut found = search.start(&partition, &stages, &fields, (16, 3));
            while let Some(trial) = found.next() {
                assert!([3, 6, 9, 12, 15].contains(&trial.depth), "{search:?}: {trial:?}");
                found.record(1e-6 * curve(trial.depth));
            }
            assert!(found.best() % 3 == 0 && curve(found.best()) < 1.02 * best, "{search:?}");
            // Where not even one time block fits between swaps, any depth will do.
            let mut few = search.start(&partition, &stages, &fields, (2, 3));
            while let Some(trial) = few.next() {
                assert!((1..=2).contains(&trial.depth));
                few.record(1e-6 * curve(trial.depth));
            }
        }
    }
}
