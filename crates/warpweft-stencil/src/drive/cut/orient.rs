//! Which axes to cut: the orientation that severs the fewest dependences.

use crate::drive::cut::feasible::deepest_feasible;
use crate::plan::halo::{Footprint, Reach};
use crate::plan::partition::Partition;
use crate::spec::boundary::Boundaries;
use warpweft_core::element::FieldInfo;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, across};

/// Every way to write `parts` as a grid over `dims` axes.
fn grids(dims: usize, parts: usize) -> Vec<Axes<usize>> {
    let mut found = vec![(Axes::filled(dims, 1), parts)];
    for axis in 0..dims {
        let extend = |(grid, rest): (Axes<usize>, usize)| {
            let here = (1..=rest)
                .filter(move |n| rest.is_multiple_of(*n) && (axis + 1 < dims || *n == rest));
            here.map(move |n| {
                let mut grid = grid;
                grid[axis] = n;
                (grid, rest / n)
            })
        };
        found = found.into_iter().flat_map(extend).collect();
    }
    found.into_iter().map(|(grid, _)| grid).collect()
}

/// Ghost bytes a part in the middle of the grid receives for one step: the written fields' zones,
/// the phases' corners included.
fn ghost_bytes(partition: &Partition, stages: &[Footprint], fields: &[FieldInfo]) -> u64 {
    let dims = partition.rank();
    let reach = Reach::new(dims, stages, fields.len(), 1);
    let extents = partition.extents();
    let grid = partition.parts_per_axis();
    let written = |field: &usize| stages.iter().any(|stage| stage.writes.contains(field));
    let of_field = |field: usize| {
        let part: Axes<usize> = Axes::from_fn(dims, |d| extents[d].div_ceil(grid[d]));
        let grown = (0..dims).map(|d| {
            let zone = reach.ghosts[field][d];
            part[d] + if partition.is_cut(d) { zone[0] + zone[1] } else { 0 }
        });
        let cells = grown.product::<usize>() - part.iter().product::<usize>();
        (cells * fields[field].kind.size()) as u64
    };
    (0..fields.len()).filter(written).map(of_field).sum()
}

/// The grid of `parts` parts that receives the fewest ghost bytes a step; among equals, the one
/// with the fewest cut axes, then the one cut along slower axes, whose planes are contiguous.
///
/// PARTANS (§6.5) cuts along the largest axis, or across the fewest dependences for asymmetric
/// footprints; B2R (§3.1) in up to three. Both fall out of counting bytes.
///
/// # Errors
/// No grid leaves every part at least as large as its neighbours' ghost zones.
pub fn fewest_dependences(
    extents: Axes<usize>,
    parts: usize,
    boundaries: &Boundaries,
    stages: &[Footprint],
    fields: &[FieldInfo],
) -> Result<Axes<usize>> {
    best_grid(grids(extents.rank(), parts), extents, parts, boundaries, stages, fields)
}

/// The axis to cut for slabs, chosen as in [`fewest_dependences`].
///
/// # Errors
/// As [`fewest_dependences`].
pub fn slab_axis(
    extents: Axes<usize>,
    parts: usize,
    boundaries: &Boundaries,
    stages: &[Footprint],
    fields: &[FieldInfo],
) -> Result<usize> {
    let dims = extents.rank();
    let slabs = (0..dims).map(|axis| Axes::from_fn(dims, |d| if d == axis { parts } else { 1 }));
    let grid = best_grid(slabs.collect(), extents, parts, boundaries, stages, fields)?;
    Ok(grid.iter().position(|&n| n > 1).unwrap_or(0))
}

fn best_grid(
    grids: Vec<Axes<usize>>,
    extents: Axes<usize>,
    parts: usize,
    boundaries: &Boundaries,
    stages: &[Footprint],
    fields: &[FieldInfo],
) -> Result<Axes<usize>> {
    let cost = |grid: Axes<usize>| {
        let partition = Partition::grid(extents, grid, boundaries).ok()?;
        if deepest_feasible(&partition, boundaries, stages, fields.len(), 1) == 0 {
            return None;
        }
        let cut = grid.iter().filter(|&&n| n > 1).count();
        let mut fast_axes_first = grid;
        fast_axes_first.reverse();
        Some(((ghost_bytes(&partition, stages, fields), cut, fast_axes_first), grid))
    };
    grids.into_iter().filter_map(cost).min().map(|(_, grid)| grid).ok_or_else(|| {
        Error::spec(
            format!(
                "{} cells can't be cut into {parts} subdomains that hold a ghost zone",
                across(&extents)
            ),
            "use fewer subdomains or a larger volume",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::boundary::Boundary;
    use warpweft_core::element::ScalarKind;

    const F32: [FieldInfo; 1] = [FieldInfo { name: "", kind: ScalarKind::F32 }];

    fn reading(margin: Axes<[usize; 2]>) -> [Footprint; 1] {
        [Footprint { reads: vec![(0, margin)], writes: vec![0] }]
    }

    #[test]
    fn a_cube_is_cut_into_cubes_and_a_long_box_across_its_length() {
        let faces = Boundaries::all(3, Boundary::Periodic);
        let star = reading([[1; 2]; 3].into());
        let grid =
            |extents, parts| fewest_dependences(extents, parts, &faces, &star, &F32).unwrap();
        assert_eq!(grid([240; 3].into(), 27), [3, 3, 3]);
        assert_eq!(grid([240; 3].into(), 2), [2, 1, 1]);
        assert_eq!(grid([24, 24, 4000].into(), 4), [1, 1, 4]);
        // 7 does not divide 240: still covered, 34 or 35 planes a part.
        assert_eq!(grid([240; 3].into(), 7), [7, 1, 1]);
    }

    #[test]
    fn an_asymmetric_footprint_is_cut_where_it_reads_least() {
        let faces = Boundaries::all(2, Boundary::Periodic);
        let lopsided = reading([[3, 3], [0, 1]].into());
        assert_eq!(slab_axis([64, 64].into(), 4, &faces, &lopsided, &F32).unwrap(), 1);
        assert_eq!(
            slab_axis([64, 64].into(), 4, &faces, &reading([[1; 2]; 2].into()), &F32).unwrap(),
            0
        );
    }

    #[test]
    fn parts_too_small_for_a_ghost_zone_are_refused() {
        let faces = Boundaries::all(2, Boundary::Periodic);
        let wide = reading([[4; 2]; 2].into());
        let error =
            fewest_dependences([8, 8].into(), 9, &faces, &wide, &F32).unwrap_err().to_string();
        assert!(error.contains("8 x 8 cells can't be cut into 9 subdomains"), "{error}");
    }
}
