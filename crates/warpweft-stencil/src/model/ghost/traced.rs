//! Counts for sequences of stages over several fields, where δ is not one number.
//!
//! The paper's equations are for one stage and one field. Traced through a spec they are tables:
//! each stage is computed as far out as later ones need it, and each field's zone is as deep as it
//! is read.

use super::Geometry;
use crate::plan::halo::{Footprint, Margin, Reach, Span};
use crate::plan::partition::Partition;
use crate::spec::boundary::Face;
use warpweft_core::element::FieldInfo;

/// A part of a partition under given stages, up to some depth.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    cells: f64,
    /// Depth 1 first.
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Row {
    shrinking: f64,
    whole: f64,
    core: f64,
    halo: f64,
    staged: f64,
}

impl Traced {
    /// The part with the most to receive and to compute: the one that the others wait for. Depths
    /// beyond `deepest` count as `deepest`. Complexity: O(deepest² × stages × fields).
    pub fn new(
        partition: &Partition,
        stages: &[Footprint],
        fields: &[FieldInfo],
        deepest: usize,
    ) -> Self {
        let one = Reach::new(partition.rank(), stages, fields.len(), 1).deepest();
        let burden = |&part: &usize| partition.grown(part, &one).cells();
        let part = (0..partition.parts()).max_by_key(burden).unwrap_or(0);
        let own = Span::from(partition.region(part)).cells() as f64;
        let written = |field: &usize| stages.iter().any(|stage| stage.writes.contains(field));
        let row = |depth: usize| {
            let reach = Reach::new(partition.rank(), stages, fields.len(), depth);
            let deepest = reach.deepest();
            // Work is counted in cells of a whole step, of which a stage is one of several.
            let mut row = Row::default();
            for margin in reach.compute.iter().flatten() {
                row.shrinking += partition.grown(part, margin).cells() as f64;
                row.core += core(partition, part, &deepest, margin).cells() as f64;
            }
            row.shrinking /= stages.len() as f64;
            row.core /= stages.len() as f64;
            let zone = partition.grown(part, &deepest);
            row.whole = depth as f64 * zone.cells() as f64;
            let mut back = deepest;
            back[0] = [0; 2];
            let back = partition.grown(part, &back).cells() as f64;
            for field in (0..fields.len()).filter(written) {
                let size = fields[field].kind.size() as f64;
                let ghosts = partition.grown(part, &reach.ghosts[field]).cells() as f64;
                row.halo += size * (ghosts - own);
                row.staged += size * (zone.cells() as f64 + back);
            }
            row
        };
        Self { cells: own, rows: (1..=deepest.max(1)).map(row).collect() }
    }

    fn row(&self, depth: usize) -> Row {
        self.rows[depth.clamp(1, self.rows.len()) - 1]
    }
}

impl Geometry for Traced {
    fn cells(&self) -> f64 {
        self.cells
    }
    fn shrinking_cells(&self, depth: usize) -> f64 {
        self.row(depth).shrinking
    }
    fn whole_cells(&self, depth: usize) -> f64 {
        self.row(depth).whole
    }
    fn core_cells(&self, depth: usize) -> f64 {
        self.row(depth).core
    }
    fn halo_bytes(&self, depth: usize) -> f64 {
        self.row(depth).halo
    }
    fn staged_bytes(&self, depth: usize) -> f64 {
        self.row(depth).staged
    }
}

/// The part's own cells, computed `margin` before a swap, that are not in what `sent` deep ghosts of
/// neighbours are made of.
pub(crate) fn core(partition: &Partition, part: usize, sent: &Margin, margin: &Margin) -> Span {
    let dims = partition.rank();
    let mut core = Span::from(partition.region(part));
    for d in 0..dims {
        // What lies above a neighbour below is this part's low end, and the other way about.
        if partition.neighbour(part, d, Face::Low).is_some() {
            core.low[d] += (sent[d][1] + margin[d][1]) as isize;
        }
        if partition.neighbour(part, d, Face::High).is_some() {
            core.high[d] -= (sent[d][0] + margin[d][0]) as isize;
        }
    }
    core
}

#[cfg(test)]
mod tests {
    use super::super::Subdomain;
    use super::*;
    use crate::spec::boundary::{Boundaries, Boundary};
    use warpweft_core::element::ScalarKind;

    #[test]
    fn for_one_stage_and_field_it_is_the_papers_geometry() {
        let boundaries = Boundaries::all(3, Boundary::Periodic);
        let partition = Partition::grid([60, 80, 90], [3, 2, 1], &boundaries).unwrap();
        let stages = [Footprint { reads: vec![(0, [[1, 2]; 3].into())], writes: vec![0] }];
        let fields = [FieldInfo { name: "", kind: ScalarKind::F64 }];
        let traced = Traced::new(&partition, &stages, &fields, 5);
        let paper = Subdomain::largest(&partition, &Reach::new(3, &stages, 1, 1), 8.0);
        for depth in 1..=5 {
            let counts = |part: &dyn Geometry| {
                [
                    part.cells(),
                    part.shrinking_cells(depth),
                    part.whole_cells(depth),
                    part.core_cells(depth),
                    part.halo_bytes(depth),
                    part.staged_bytes(depth),
                ]
            };
            assert_eq!(counts(&traced), counts(&paper), "R = {depth}");
        }
    }

    #[test]
    fn a_field_that_is_only_written_ahead_travels_from_the_second_step_on() {
        // b is read in place and a around; b matters beyond the part once a is computed there.
        let boundaries = Boundaries::all(1, Boundary::Periodic);
        let partition = Partition::grid([40], [4], &boundaries).unwrap();
        let stages = [
            Footprint { reads: vec![(0, [[1; 2]].into()), (1, [[0; 2]].into())], writes: vec![0] },
            Footprint { reads: vec![(0, [[0; 2]].into())], writes: vec![1] },
        ];
        let fields = [FieldInfo { name: "", kind: ScalarKind::F32 }; 2];
        let traced = Traced::new(&partition, &stages, &fields, 2);
        assert_eq!(traced.halo_bytes(1), 4.0 * 2.0);
        assert_eq!(traced.halo_bytes(2), 4.0 * (4.0 + 2.0));
    }
}
