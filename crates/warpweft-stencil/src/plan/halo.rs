//! How deep ghost zones must be, and what is computed in them: dependence, traced backwards.
//!
//! A halo exchange is followed by `depth` steps (R in B2R) without communication. Each step makes the
//! outermost cells of the ghost zone stale, so the zone is R·δ deep after the exchange, and the computed region
//! shrinks by δ per step (B2R §3.2; PARTANS figure 5). For a sequence of stages over several fields
//! δ is not one number: the trace below follows each field through the stages, so that a field
//! that is read close by needs a thinner zone than one read far away.

use super::Region;
use crate::spec::stage::StageList;
use warpweft_core::grid::Axes;

/// Steps without communication at most: each takes memory to trace, and swaps once in so many cost nothing.
pub(crate) const MOST_STEPS: usize = 1 << 16;

/// Cells beyond a box per axis: `[below, above]`.
pub type Margin = Axes<[usize; 2]>;

/// A box of cells `[low, high)` per axis in a part's own frame, where indices may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First index, per axis.
    pub low: Axes<isize>,
    /// One past the last index, per axis.
    pub high: Axes<isize>,
}

impl Span {
    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.low.rank()
    }

    /// Number of cells; 0 when an axis is empty.
    pub fn cells(&self) -> usize {
        self.extents().iter().product()
    }

    /// Cells along each axis; 0 when an axis is empty.
    pub fn extents(&self) -> Axes<usize> {
        let dims = self.rank();
        Axes::from_fn(dims, |d| (self.high[d] - self.low[d]).max(0) as usize)
    }

    /// Whether `at` is inside.
    pub fn contains(&self, at: Axes<isize>) -> bool {
        let dims = at.rank();
        (0..dims).all(|d| self.low[d] <= at[d] && at[d] < self.high[d])
    }

    /// The box moved by `shift`.
    pub fn shifted(&self, shift: Axes<isize>) -> Self {
        let dims = shift.rank();
        Self {
            low: Axes::from_fn(dims, |d| self.low[d] + shift[d]),
            high: Axes::from_fn(dims, |d| self.high[d] + shift[d]),
        }
    }

    /// The cells, slowest axis first.
    pub fn iter(&self) -> impl Iterator<Item = Axes<isize>> + use<> {
        let dims = self.rank();
        let span = *self;
        let mut next = (span.cells() > 0).then_some(span.low);
        std::iter::from_fn(move || {
            let at = next?;
            let mut following = at;
            next = (0..dims)
                .rev()
                .any(|d| {
                    following[d] += 1;
                    if following[d] == span.high[d] {
                        following[d] = span.low[d];
                        return false;
                    }
                    true
                })
                .then_some(following);
            Some(at)
        })
    }
}

impl From<Region> for Span {
    fn from(region: Region) -> Self {
        Self { low: region.low.map(|n| n as isize), high: region.high.map(|n| n as isize) }
    }
}

/// What one stage reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Per field read, how far: the box around its taps.
    pub reads: Vec<(usize, Margin)>,
    /// The fields written.
    pub writes: Vec<usize>,
}

/// The footprints of a spec's stages, in order.
pub fn footprints(stages: &StageList) -> Vec<Footprint> {
    let of_stage = |stage: &std::sync::Arc<dyn crate::spec::stage::Stage>| {
        let mut reads: Vec<(usize, Margin)> = Vec::new();
        for tap in stage.taps() {
            let known = reads.iter().position(|(field, _)| *field == tap.field);
            let index = known.unwrap_or_else(|| {
                reads.push((tap.field, tap.offset.map(|_| [0; 2])));
                reads.len() - 1
            });
            let margin = &mut reads[index].1;
            for d in 0..tap.offset.rank() {
                margin[d][0] = margin[d][0].max(-tap.offset[d].min(0) as usize);
                margin[d][1] = margin[d][1].max(tap.offset[d].max(0) as usize);
            }
        }
        Footprint { reads, writes: stage.writes().to_vec() }
    };
    stages.iter().map(of_stage).collect()
}

/// What `depth` steps without communication need and compute beyond a part's own cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Steps between two halo exchanges.
    pub depth: usize,
    /// `[step][stage]`: how far beyond its own cells a part computes that stage. Shrinks from step
    /// to step and is zero in the last stage of the last step.
    pub compute: Vec<Vec<Margin>>,
    /// Per field, how deep its ghost zone must be right after a swap.
    pub ghosts: Vec<Margin>,
}

impl Reach {
    /// Traces `depth` steps of `stages` over `fields` fields in `dims` dimensions backwards.
    pub fn new(dims: usize, stages: &[Footprint], fields: usize, depth: usize) -> Self {
        let mut needed = vec![Axes::filled(dims, [0; 2]); fields];
        let mut compute = Vec::with_capacity(depth);
        for _ in 0..depth {
            let mut step = Vec::with_capacity(stages.len());
            for stage in stages.iter().rev() {
                let mut margin = Axes::filled(dims, [0; 2]);
                for &field in &stage.writes {
                    widen(&mut margin, &needed[field]);
                }
                // A stage may keep a cell's present value, so what it writes must be valid before.
                for &field in &stage.writes {
                    widen(&mut needed[field], &margin);
                }
                for (field, read) in &stage.reads {
                    let far = Axes::from_fn(dims, |d| {
                        [margin[d][0] + read[d][0], margin[d][1] + read[d][1]]
                    });
                    widen(&mut needed[*field], &far);
                }
                step.push(margin);
            }
            step.reverse();
            compute.push(step);
        }
        compute.reverse();
        Self { depth, compute, ghosts: needed }
    }

    /// The deepest ghost zone of any field: what a layout has to leave room for.
    pub fn deepest(&self) -> Margin {
        let mut deepest = self.ghosts[0].map(|_| [0; 2]);
        for ghost in &self.ghosts {
            widen(&mut deepest, ghost);
        }
        deepest
    }
}

/// `to` grown to include `other`.
pub(crate) fn widen(to: &mut Margin, other: &Margin) {
    let dims = to.rank();
    for d in 0..dims {
        to[d] = [to[d][0].max(other[d][0]), to[d][1].max(other[d][1])];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn star(radius: usize) -> Footprint {
        Footprint { reads: vec![(0, [[radius; 2]; 2].into())], writes: vec![0] }
    }

    #[test]
    fn one_stage_of_radius_delta_needs_r_delta_and_shrinks_by_delta_a_step() {
        let reach = Reach::new(2, &[star(2)], 1, 3);
        assert_eq!(reach.ghosts, [[[6; 2]; 2]]);
        let computed: Vec<_> = reach.compute.iter().map(|step| step[0][0][0]).collect();
        assert_eq!(computed, [4, 2, 0]);
    }

    #[test]
    fn stages_add_up_and_coefficients_that_are_read_in_place_stay_thin() {
        // Staggered: v from s one cell above and rho in place; s from v one cell below.
        let velocity =
            Footprint { reads: vec![(1, [[0, 1]].into()), (2, [[0, 0]].into())], writes: vec![0] };
        let stress = Footprint { reads: vec![(0, [[1, 0]].into())], writes: vec![1] };
        let reach = Reach::new(1, &[velocity, stress], 3, 2);
        assert_eq!(reach.compute, [[[[2, 1]], [[1, 1]]], [[[1, 0]], [[0, 0]]]]);
        assert_eq!(reach.ghosts, [[[2, 1]], [[2, 2]], [[2, 1]]]);
        assert_eq!(reach.deepest(), [[2, 2]]);
    }

    #[test]
    fn a_span_lists_its_cells_in_row_major_order() {
        let span = Span { low: [-1, 2].into(), high: [1, 4].into() };
        assert_eq!(span.iter().collect::<Vec<_>>(), [[-1, 2], [-1, 3], [0, 2], [0, 3]]);
        assert_eq!(Span { low: [0, 2].into(), high: [3, 2].into() }.iter().count(), 0);
    }
}
