//! Which shape suits a stencil on the cores: the first choice, and what a tuner should try.
//!
//! The choices rest on measurements of heat conduction on 256³ cells of four bytes with two Zen 5
//! cores: depths of 20, 14 and 10 steps were best at radii 1, 2 and 4, when the planes in flight
//! filled half of the third-level cache; less deep, each step cost more traffic, and deeper, more
//! ghost and lag work. Two planes at once beat one by 1.1 to 1.4 times.

use super::layout::{M, X, Y, Z, canonical, tile_axis};
use crate::{Boundary, CpuPolicy, Spec};
use warpweft_core::grid::Axes;
use warpweft_core::tune::{Axis, Space};

/// Cells below which another worker costs more than it does: about ten microseconds of work, as long as it takes to
/// wake one, which steps that are checked do each time.
const CELLS_A_WORKER: usize = 32_768;
/// The deepest block at radius 1.
const DEEPEST: f64 = 20.0;
/// Cells of a periodic axis per cell of lag: the ghost cells that levels compute twice stay below
/// a tenth of the volume.
const PERIODIC_SHARE: usize = 12;

/// What a choice depends on, by canonical axis.
struct Problem {
    extents: [usize; 4],
    periodic: [bool; 4],
    radius: [usize; 4],
    stages: usize,
    /// Bytes of a cell's fields that any stage touches.
    bytes: usize,
    tile_axis: usize,
    dims: usize,
}

impl Problem {
    fn of(stencil: &Spec, extents: Axes<usize>) -> Self {
        let dims = stencil.rank();
        let axes = canonical(dims);
        let mut problem = Self {
            extents: [1; 4],
            periodic: [false; 4],
            radius: [0; 4],
            stages: stencil.stages.len(),
            bytes: stencil.touched_bytes(),
            tile_axis: tile_axis(dims),
            dims,
        };
        let radius = stencil.radius();
        for d in 0..dims {
            problem.extents[axes[d]] = extents[d];
            problem.periodic[axes[d]] = stencil.boundaries.0[d][0] == Boundary::Periodic;
            problem.radius[axes[d]] = radius[d][0].max(radius[d][1]);
        }
        problem
    }

    /// The most steps of a block, caches aside.
    fn deepest(&self) -> usize {
        let mut deepest = usize::MAX;
        for axis in [Z, self.tile_axis] {
            let lag = self.radius[axis].max(1) * self.stages;
            let room = self.extents[axis] / if self.periodic[axis] { PERIODIC_SHARE } else { 2 };
            deepest = deepest.min(room / lag).min((DEEPEST / (lag as f64).sqrt()) as usize);
        }
        deepest.max(1)
    }

    /// Bytes that one tile of a block keeps in flight.
    fn in_flight(&self, depth: usize, tile: usize, planes: usize) -> usize {
        let across = if self.tile_axis == Y { self.extents[M] * self.extents[X] } else { 1 };
        depth * self.stages * (2 * self.radius[Z] + planes) * tile * across * self.bytes
    }
}

impl Default for CpuPolicy {
    /// One step at a time, no tiles to speak of: right for any problem, fast for none.
    fn default() -> Self {
        Self {
            temporal_depth: 1,
            tile_rows: 32,
            slab_planes: 4,
            tile_cells: 4096,
            unroll_and_jam: 1,
        }
    }
}

impl CpuPolicy {
    /// How many of at most `threads` workers pay for volumes of these extents.
    pub fn workers(extents: Axes<usize>, threads: usize) -> usize {
        let cells: usize = extents.iter().product();
        (cells / CELLS_A_WORKER).clamp(1, threads.max(1))
    }

    /// The shape to start from, for at most `threads` workers with `cache` bytes of the last
    /// cache level each.
    pub fn default_for(stencil: &Spec, extents: Axes<usize>, threads: usize, cache: usize) -> Self {
        let dims = stencil.rank();
        let problem = Problem::of(stencil, extents);
        let workers = Self::workers(extents, threads);
        let share = problem.extents[problem.tile_axis].div_ceil(workers);
        if dims == 1 {
            let tile_cells = share.next_multiple_of(64);
            return Self {
                temporal_depth: 1,
                tile_rows: 1,
                slab_planes: 1,
                tile_cells,
                unroll_and_jam: 1,
            };
        }
        // Steps between two checks of a residual can't be deeper than the checks are apart.
        let checked = stencil.until.map_or(u64::MAX, |until| until.every.max(2) - 1);
        let deepest = problem.deepest().min(usize::try_from(checked).unwrap_or(usize::MAX));
        let planes = match (dims, problem.radius[Z]) {
            (2, _) => 8,
            (_, 0..=2) => 4,
            _ => 2,
        };
        let widest = if dims == 2 { 1024 } else { 64 };
        let (mut depth, mut tile) = (1, widest);
        // The deepest that fits; narrower tiles only when that makes it much deeper.
        for narrow in [widest, widest / 2, widest / 4] {
            let fits = |depth: usize| problem.in_flight(depth, narrow, planes) <= cache / 2;
            let found = (1..=deepest).rev().find(|&depth| fits(depth)).unwrap_or(1);
            if found >= 2 * depth {
                (depth, tile) = (found, narrow);
            }
        }
        let (planes, unroll_and_jam) = if depth == 1 { (4, 4) } else { (planes, 2) };
        let tile = tile.min(share);
        let [tile_rows, tile_cells] = if dims == 2 {
            [1, tile.next_multiple_of(16)]
        } else {
            [tile, problem.extents[X].min(4096)]
        };
        Self { temporal_depth: depth, tile_rows, slab_planes: planes, tile_cells, unroll_and_jam }
    }

    /// What a tuner should try around this shape: its axes are [`CpuPolicy::values`].
    pub fn space(self, stencil: &Spec, extents: Axes<usize>) -> Space {
        let problem = Problem::of(stencil, extents);
        let around = |name, some: &[usize], own: usize, most: usize| {
            let mut values: Vec<_> = some.iter().copied().filter(|&v| v <= most).collect();
            values.push(own);
            values.sort_unstable();
            values.dedup();
            Axis { name, values }
        };
        let one = |name| Axis { name, values: vec![1] };
        let x = problem.extents[X];
        let cells = around("tile_cells", &[128, 256, 512, 1024, 2048, 4096], self.tile_cells, x);
        let axes = if problem.dims == 1 {
            vec![
                one("temporal_depth"),
                one("tile_rows"),
                one("slab_planes"),
                cells,
                one("unroll_and_jam"),
            ]
        } else {
            let deepest = if self.temporal_depth == 1 && stencil.until.is_some() {
                1
            } else {
                4 * problem.deepest()
            };
            let depths = [1, 2, 3, 4, 6, 8, 10, 13, 16, 20, 25];
            let rows = problem.extents[Y];
            vec![
                around("temporal_depth", &depths, self.temporal_depth, deepest),
                around("tile_rows", &[8, 16, 24, 32, 48, 64, 96, 128], self.tile_rows, rows),
                around("slab_planes", &[1, 2, 4, 6, 8, 16], self.slab_planes, problem.extents[Z]),
                cells,
                Axis { name: "unroll_and_jam", values: vec![1, 2, 4] },
            ]
        };
        Space::new(axes, |values| values[4] <= values[2].max(1))
    }

    /// The values of this shape along the axes of [`CpuPolicy::space`].
    pub fn values(&self) -> [usize; 5] {
        [
            self.temporal_depth,
            self.tile_rows,
            self.slab_planes,
            self.tile_cells,
            self.unroll_and_jam,
        ]
    }

    /// The shape with the values of a candidate of [`CpuPolicy::space`].
    pub fn with_values(values: &[usize]) -> Self {
        let value = |i: usize| values.get(i).copied().unwrap_or(1);
        Self {
            temporal_depth: value(0),
            tile_rows: value(1),
            slab_planes: value(2),
            tile_cells: value(3),
            unroll_and_jam: value(4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stencil;
    use crate::prelude::{Near, Residual, stencil};

    #[stencil]
    fn wide(u: Near<f32, 3>) -> f32 {
        0.5 * u[[-4, 0, 0]] + 0.25 * u[[0, 4, 0]] + 0.25 * u[[0, 0, 4]]
    }

    #[test]
    fn blocks_fit_the_cache_and_their_ghosts_the_volume() {
        for (boundary, share) in [(Boundary::Neumann, 2), (Boundary::Periodic, PERIODIC_SHARE)] {
            let stencil = Stencil::of(wide()).boundary(boundary);
            for n in [5, 24, 100, 256, 700] {
                for cache in [1 << 18, 1 << 20, 16 << 20] {
                    let shape = CpuPolicy::default_for(&stencil, [n; 3].into(), 2, cache);
                    shape.check().unwrap();
                    let problem = Problem::of(&stencil, [n; 3].into());
                    let depth = shape.temporal_depth;
                    let bytes = problem.in_flight(depth, shape.tile_rows, shape.slab_planes);
                    assert!(depth == 1 || bytes <= cache / 2, "{shape:?} for {n} in {cache}");
                    assert!(depth == 1 || depth * 4 * share <= n, "{shape:?} for {n}");
                }
            }
        }
    }

    #[test]
    fn a_residual_after_every_step_leaves_nothing_to_block() {
        let stencil = Stencil::of(wide()).until(Residual::Max, 1e-6);
        assert_eq!(
            CpuPolicy::default_for(&stencil, [256; 3].into(), 2, 16 << 20).temporal_depth,
            1
        );
    }

    #[test]
    fn the_space_holds_its_start_and_only_valid_shapes() {
        let stencil = Stencil::of(wide());
        let start = CpuPolicy::default_for(&stencil, [100; 3].into(), 2, 16 << 20);
        let space = start.space(&stencil, [100; 3].into());
        assert_eq!(space.at(&space.nearest(&start.values())), Some(start.values().to_vec()));
        assert!(space.all().all(|values| CpuPolicy::with_values(&values).check().is_ok()));
    }
}
