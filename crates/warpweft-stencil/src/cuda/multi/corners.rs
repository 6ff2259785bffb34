//! The geometry of corners.cuh, gone through cell by cell: whatever a tile at a cut copies or reads beyond
//! it comes from tiles that it waits for, and all corners that it reads are among those that it copies.
//! The formulas of the kernels are written out once more here; where ghosts come from is the contract's.

use super::policy::{around, columns, corners, reads_corners, tile};
use crate::boundary::Source;
use crate::cuda::layout::axes;
use crate::cuda::text::reach::across_of;
use crate::prelude::*;
use crate::{CudaKernel, CudaPolicy, Spec};

#[stencil]
fn wide(u: Near<f32, 3>) -> f32 {
    u[[0, 0, 0]] + u[[-1, -2, -2]] + u[[1, 2, 2]] + u[[1, -2, 1]] + u[[0, -3, 0]] + u[[0, 0, 3]]
}

#[stencil]
fn slanted(u: Near<f32, 3>) -> f32 {
    u[[0, 0, 0]] + u[[-1, 0, -1]] + u[[1, 0, 1]] + u[[0, -2, 0]] + u[[0, 2, 0]]
}

#[stencil]
fn lopsided(u: Near<f32, 3>) -> f32 {
    u[[0, 0, 0]] + u[[-1, 0, 2]] + u[[1, -1, 0]] + u[[0, 2, -1]]
}

#[stencil]
fn flat(u: Near<f32, 2>) -> f32 {
    u[[0, 0]] + u[[-1, 2]] + u[[2, -1]] + u[[0, 3]]
}

/// Cells along an axis, the tiles that have them, and how far a tile reads beyond a cut and waits.
struct Line {
    axis: Option<usize>,
    cells: isize,
    tile: isize,
    reach: isize,
    closed: bool,
}

impl Line {
    fn tiles(&self) -> isize {
        (self.cells as usize).div_ceil(self.tile as usize) as isize
    }

    /// The first cell of a tile and the one after its last.
    fn span(&self, tile: isize) -> [isize; 2] {
        [tile * self.tile, ((tile + 1) * self.tile).min(self.cells)]
    }

    /// Whether a tile waits for the one that has the cell at `at`.
    fn waits(&self, tile: isize, at: isize) -> bool {
        (tile - self.reach..=tile + self.reach).any(|other| {
            let other = if self.closed { other.rem_euclid(self.tiles()) } else { other };
            other == at / self.tile
        })
    }
}

/// Where the ghost at `at` comes from, if it copies a cell.
fn source<const D: usize>(stencil: &Spec<D>, line: &Line, at: isize) -> Option<isize> {
    let Some(axis) = line.axis else { return Some(at) };
    match stencil.boundaries.source(axis, at, line.cells as usize) {
        Source::Cell(cell) => Some(cell as isize),
        _ => None,
    }
}

/// Checks all tiles of a slab; how many corners they copy.
fn check<const D: usize>(stencil: &Spec<D>, policy: &CudaPolicy, extents: [usize; D]) -> usize {
    assert!(reads_corners(stencil));
    let [_, _, y, x] = axes::<D>();
    let lines = [(x, 0), (y, 1)].map(|(axis, n)| Line {
        axis,
        cells: axis.map_or(1, |axis| extents[axis] as isize),
        tile: tile::<D>(policy)[n] as isize,
        reach: columns(stencil, policy)[n] as isize,
        closed: around(stencil)[n],
    });
    let [line_x, line_y] = &lines;
    let mut copied = 0;
    for stage in &stencil.stages {
        assert!(corners(stencil, &**stage).is_some());
        let across = across_of(&**stage, 0);
        for at_y in 0..line_y.tiles() {
            for at_x in 0..line_x.tiles() {
                let ([x0, x1], [y0, y1]) = (line_x.span(at_x), line_y.span(at_y));
                let read_x = x0 - across.x[0] as isize..x1 + across.x[1] as isize;
                let read_y = y0 - across.y[0] as isize..y1 + across.y[1] as isize;
                for y in read_y.clone() {
                    for x in read_x.clone() {
                        let sources = (source(stencil, line_x, x), source(stencil, line_y, y));
                        let (Some(from_x), Some(from_y)) = sources else { continue };
                        let waits = line_x.waits(at_x, from_x) && line_y.waits(at_y, from_y);
                        assert!(
                            waits,
                            "{extents:?} {policy:?}: tile ({at_y}, {at_x}) takes ({y}, {x}) from ({from_y}, {from_x})"
                        );
                        copied += usize::from((from_x, from_y) != (x, y));
                    }
                }
                // The tile's outermost cells reach no further.
                for tap in stage.taps().iter().filter(|tap| tap.offset[0] != 0) {
                    let [_, _, oy, ox] = axes::<D>().map(|axis| axis.map_or(0, |d| tap.offset[d]));
                    assert!(read_x.contains(&(x0 + ox)) && read_x.contains(&(x1 - 1 + ox)));
                    assert!(read_y.contains(&(y0 + oy)) && read_y.contains(&(y1 - 1 + oy)));
                }
            }
        }
    }
    copied
}

fn policy(kernel: CudaKernel, cells: [u32; 3], warps: u32) -> CudaPolicy {
    let (min_blocks, chunk, prefetch, temporal_depth, phases) = (1, 3, 1, 1, 0);
    CudaPolicy {
        kernel,
        cells,
        warps,
        min_blocks,
        chunk,
        prefetch,
        temporal_depth,
        phases,
        contraction: false,
    }
}

fn faces<const D: usize>(stencil: &Stencil<f32, D>) -> Vec<Stencil<f32, D>> {
    let all = |boundary| stencil.clone().boundary(boundary);
    let x = D - 1;
    let held = Boundary::Dirichlet(1.0);
    vec![
        all(Boundary::Periodic),
        all(Boundary::Mirror),
        all(Boundary::Neumann).face(x, Face::High, held),
        all(Boundary::Periodic).face(x, Face::Low, held).face(x, Face::High, Boundary::Mirror),
    ]
}

#[test]
fn corners_come_from_tiles_that_were_waited_for() {
    let shapes = [([2, 1, 1], 1), ([4, 2, 2], 8), ([1, 2, 3], 3), ([4, 1, 2], 8)];
    let mut copied = 0;
    for stencil in [Stencil::of(wide()), Stencil::of(slanted()), Stencil::of(lopsided())] {
        for stencil in faces(&stencil) {
            for (cells, warps) in shapes {
                for kernel in [CudaKernel::Direct, CudaKernel::March, CudaKernel::Planes] {
                    let policy = policy(kernel, cells, warps);
                    for extents in [[8, 4, 5], [8, 17, 65], [8, 33, 64], [8, 41, 130]] {
                        copied += check(&stencil, &policy, extents);
                    }
                }
            }
        }
    }
    for stencil in faces(&Stencil::of(flat())) {
        for (cells, warps) in shapes {
            for kernel in [CudaKernel::Direct, CudaKernel::March] {
                for columns in [5, 64, 65, 257] {
                    copied += check(&stencil, &policy(kernel, cells, warps), [40, columns]);
                }
            }
        }
    }
    assert!(copied > 10_000, "{copied}");
}

#[test]
fn the_last_tiles_of_a_group_may_have_no_cells() {
    // 130 rows of tiles for 128 with cells: around the volume, tile 0 waits for tile 127.
    let stencil = Stencil::of(wide()).boundary(Boundary::Periodic);
    let policy = policy(CudaKernel::Direct, [4, 1, 2], 8);
    assert!(check(&stencil, &policy, [8, 1024, 1024]) > 0);
}
