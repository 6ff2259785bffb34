//! How many steps a partition can take between two swaps.

use crate::plan::halo::{Footprint, MOST_STEPS, Reach};
use crate::plan::partition::Partition;
use crate::spec::Spec;
use crate::spec::boundary::{Boundaries, Boundary};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::axis_name;
use warpweft_core::report::counted;

/// The largest depth R whose ghost zones fit into the neighbours along every cut axis, at most
/// `limit`; 0 when not even one step fits, and `limit` when nothing is cut.
pub fn deepest_feasible(
    partition: &Partition,
    boundaries: &Boundaries,
    stages: &[Footprint],
    fields: usize,
    limit: usize,
) -> usize {
    // Zones deepen with R, so the feasible depths are 1..=r: bisect.
    let (mut fits, mut too_deep) = (0, limit + 1);
    while too_deep - fits > 1 {
        let depth = fits + (too_deep - fits) / 2;
        match misfit(
            partition,
            boundaries,
            stages,
            &Reach::new(partition.rank(), stages, fields, depth),
        ) {
            None => fits = depth,
            Some(_) => too_deep = depth,
        }
    }
    fits
}

/// Whether `depth` steps between swaps are possible.
///
/// # Errors
/// Depth 0, or more than 65,536; parts smaller than their neighbours' ghost zones. With the largest
/// feasible R.
pub fn check_depth(
    partition: &Partition,
    boundaries: &Boundaries,
    stages: &[Footprint],
    fields: usize,
    depth: usize,
) -> Result<()> {
    let dims = partition.rank();
    if depth == 0 {
        return Err(Error::spec("0 steps between halo exchanges", "use 1 or more"));
    }
    let largest = |limit| match deepest_feasible(partition, boundaries, stages, fields, limit) {
        0 => "use fewer subdomains along that axis".to_string(),
        best => {
            format!("the largest feasible R is {best}; or use fewer subdomains along that axis")
        }
    };
    // Deeper zones are a slip.
    if depth > MOST_STEPS {
        return Err(Error::spec(
            format!("R = {depth} steps between halo exchanges"),
            match deepest_feasible(partition, boundaries, stages, fields, MOST_STEPS) {
                0 => "use fewer subdomains".to_string(),
                best => format!("the largest feasible R is {best}"),
            },
        ));
    }
    let Some((axis, needed)) =
        misfit(partition, boundaries, stages, &Reach::new(partition.rank(), stages, fields, depth))
    else {
        return Ok(());
    };
    Err(Error::spec(
        format!(
            "{} subdomains along axis {} of extent {} leave one with {}, but R = {depth} \
             steps between halo exchanges need {needed}",
            partition.parts_per_axis()[axis],
            axis_name(axis, dims),
            partition.extents()[axis],
            counted(partition.smallest(axis) as u64, "cell"),
        ),
        largest(depth),
    ))
}

impl Spec {
    /// The steps that lie between two swaps at most, where ghost zones serve `depth` and a state is saved after
    /// every `saves`: a check of the residual and a checkpoint end a swap's steps.
    pub(crate) fn longest_swap(&self, depth: usize, saves: Option<u64>) -> usize {
        let ends = [saves, self.until.map(|until| until.every)];
        ends.into_iter().flatten().fold(depth as u64, u64::min).max(1) as usize
    }
}

/// A cut axis along which parts are too small, and how large they must be.
fn misfit(
    partition: &Partition,
    boundaries: &Boundaries,
    stages: &[Footprint],
    reach: &Reach,
) -> Option<(usize, usize)> {
    let dims = partition.rank();
    let deepest = reach.deepest();
    (0..dims).filter(|&axis| partition.is_cut(axis)).find_map(|axis| {
        let mut needed = deepest[axis][0].max(deepest[axis][1]);
        for side in [0, 1] {
            // A part at the volume's face looks its boundary ghosts up among its own cells; a
            // mirror skips the first of them.
            if boundaries.0[axis][side] == Boundary::Mirror {
                let reads = stages.iter().flat_map(|stage| &stage.reads);
                needed = needed.max(1 + reads.map(|(_, r)| r[axis][side]).max().unwrap_or(0));
            }
        }
        (partition.smallest(axis) < needed).then_some((axis, needed))
    })
}
