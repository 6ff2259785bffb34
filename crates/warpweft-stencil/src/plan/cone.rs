//! The cells that a sweep computes: its region, and around it what later stages and steps read.
//!
//! The region computed shrinks from stage to stage as dependence, traced backwards, allows
//! ([`Reach`]): the cone of B2R's equation (2). Nothing outside of it is computed, so that a sweep
//! comes by no state that the run itself does not.

use super::halo::{Footprint, MOST_STEPS, Reach, footprints};
use crate::plan::{Region, Sweep};
use crate::spec::Spec;
use crate::spec::boundary::Boundary;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::Axes;

/// What an executor must know of a stencil to work out what its sweeps compute.
#[derive(Clone, Debug)]
pub(crate) struct Cones {
    stages: Vec<Footprint>,
    fields: usize,
    extents: Axes<usize>,
    periodic: Axes<bool>,
}

impl Cones {
    /// For sweeps of `stencil` over a volume of `extents`.
    pub fn new(stencil: &Spec, extents: Axes<usize>) -> Self {
        let periodic = stencil.boundaries.0.map(|faces| faces[0] == Boundary::Periodic);
        let (stages, fields) = (footprints(&stencil.stages), stencil.cell.len());
        Self { stages, fields, extents, periodic }
    }

    /// What `sweep` computes.
    ///
    /// # Errors
    /// A region that is empty, or not inside the volume, or a part of an axis that repeats; more
    /// than 65,536 steps of a part.
    pub fn of(&self, sweep: &Sweep) -> Result<Cone> {
        let (region, extents) = (sweep.region, self.extents);
        if region == Region::whole(extents) {
            return Ok(Cone::whole(extents));
        }
        let fits = |d: usize| {
            let all = region.low[d] == 0 && region.high[d] == extents[d];
            let part = region.low[d] < region.high[d] && region.high[d] <= extents[d];
            all || (part && !self.periodic[d])
        };
        let steps = sweep.steps.saturating_add(sweep.following);
        if !region.has_rank(extents.rank())
            || !(0..extents.rank()).all(fits)
            || steps > MOST_STEPS as u64
        {
            return Err(Error::spec(
                format!("a sweep of {steps} steps over {region:?} of {extents:?}"),
                "sweep a box inside the volume, whole along axes that repeat, for at most 65,536 \
                 steps",
            ));
        }
        let reach = Reach::new(extents.rank(), &self.stages, self.fields, steps as usize);
        Ok(Cone { region, extents, reach: Some(reach) })
    }
}

/// What each stage of each step of a sweep computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cone {
    region: Region,
    extents: Axes<usize>,
    /// Of the sweep's steps and those that follow it; none where the region is the whole volume.
    reach: Option<Reach>,
}

impl Cone {
    /// All of a volume of `extents`.
    pub fn whole(extents: Axes<usize>) -> Self {
        Self { region: Region::whole(extents), extents, reach: None }
    }

    /// Whether every stage computes the whole volume.
    pub fn is_whole(&self) -> bool {
        self.reach.is_none()
    }

    /// What stage number `stage` of step number `step` of the sweep computes.
    pub fn at(&self, step: usize, stage: usize) -> Region {
        let dims = self.extents.rank();
        let margin =
            self.reach.as_ref().map_or(Axes::filled(dims, [0; 2]), |it| it.compute[step][stage]);
        let Region { low, high } = self.region;
        Region {
            low: Axes::from_fn(dims, |d| low[d].saturating_sub(margin[d][0])),
            high: Axes::from_fn(dims, |d| (high[d] + margin[d][1]).min(self.extents[d])),
        }
    }
    /// What any of the `stages` stages of step number `step` computes.
    pub fn of_step(&self, step: usize, stages: usize) -> Region {
        (1..stages).fold(self.at(step, 0), |all, stage| {
            let other = self.at(step, stage);
            let dims = self.extents.rank();
            Region {
                low: Axes::from_fn(dims, |d| all.low[d].min(other.low[d])),
                high: Axes::from_fn(dims, |d| all.high[d].max(other.high[d])),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[stencil]
    fn lean(u: Near<f32, 2>) -> f32 {
        u[[-2, 0]] + u[[0, 1]]
    }

    #[test]
    fn a_region_grows_by_what_is_read_of_it_up_to_the_ends_of_the_volume() {
        let stencil = Stencil::of(lean());
        let region = Region { low: [7, 3].into(), high: [12, 7].into() };
        let sweep = Sweep { first_step: 5, steps: 3, following: 1, region, keep_change: false };
        let found = Cones::new(&stencil, [20, 9].into()).of(&sweep).unwrap();
        let lows = [0, 1, 2].map(|step| found.at(step, 0).low);
        let highs = [0, 1, 2].map(|step| found.at(step, 0).high);
        assert_eq!(lows, [[1, 3], [3, 3], [5, 3]].map(Axes::of));
        assert_eq!(highs, [[12, 9], [12, 9], [12, 8]].map(Axes::of));
    }

    #[test]
    fn the_whole_takes_any_number_of_steps_and_a_part_is_a_box_inside_it() {
        let of = |boundary, steps, low, high| {
            let region = Region { low, high };
            let sweep = Sweep { first_step: 0, steps, following: 0, region, keep_change: false };
            Cones::new(&Stencil::of(lean()).boundary(boundary), [20, 9].into()).of(&sweep)
        };
        let whole = of(Boundary::Periodic, u64::MAX, [0; 2].into(), [20, 9].into()).unwrap();
        assert_eq!(whole.at(7, 0), Region { low: [0; 2].into(), high: [20, 9].into() });
        let open = Boundary::Neumann;
        assert!(of(open, 1, [0; 2].into(), [19, 9].into()).is_ok());
        assert!(of(open, 1, [0; 2].into(), [21, 9].into()).is_err());
        assert!(of(open, 1, [5, 0].into(), [5, 9].into()).is_err());
        assert!(of(open, 70_000, [0; 2].into(), [19, 9].into()).is_err());
        assert!(of(Boundary::Periodic, 1, [0; 2].into(), [19, 9].into()).is_err());
    }
}
