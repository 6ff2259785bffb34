//! Fused steps of boxes in three dimensions, whose functions are taken apart by planes.

use super::kernels::check_fused;
use warpweft::prelude::*;
use warpweft::stencil::{CudaKernel, CudaPolicy};

/// A weighted sum in the order of planes, rows and cells.
#[stencil]
fn ordered(u: Near<f64, 3>, rate: f64) -> f64 {
    let mut sum = 0.0;
    for z in -1..=1 {
        for y in -1..=1 {
            for x in -1..=1 {
                let weight = 0.1 + 0.3 * z as f64 - 0.2 * y as f64 + 0.15 * x as f64;
                sum += weight * u[[z, y, x]];
            }
        }
    }
    rate * sum
}

/// Sums of the same distance, of which each is kept.
#[stencil]
fn by_distance(u: Near<f32, 3>, near: f32, far: f32) -> f32 {
    let faces = u[[-1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]] + u[[0, 0, -1]] + u[[0, 0, 1]];
    let edges = u[[-1, -1, 0]] + u[[-1, 1, 0]] + u[[0, 1, 1]] + u[[0, -1, -1]] + u[[1, 0, 1]];
    u[[0, 0, 0]] - near * (faces + u[[1, 0, 0]]) + far * edges
}

/// Further to some sides than to others.
#[stencil]
fn skew(u: Near<i32, 3>, by: i32) -> i32 {
    u[[-2, 0, 1]] * by + u[[-2, -1, 0]] + 3 * u[[0, 1, -3]] - u[[1, 0, 0]] + u[[1, 1, 1]]
}

fn fused(cells: [u32; 3], warps: u32, temporal_depth: u32, prefetch: u32) -> CudaPolicy {
    CudaPolicy {
        kernel: CudaKernel::Temporal,
        cells,
        warps,
        min_blocks: 1,
        chunk: 7,
        prefetch,
        temporal_depth,
        phases: 0,
        contraction: false,
    }
}

#[test]
fn fused_steps_of_boxes() {
    let volumes = [[23, 50, 233], [7, 40, 70], [16, 56, 112]];
    let pairs = [fused([2, 3, 1], 8, 2, 2), fused([2, 2, 1], 5, 1, 1)];
    check_fused(ordered(0.5), &pairs, &volumes);
    check_fused(by_distance(0.5, 0.25), &[fused([4, 3, 1], 6, 3, 2)], &volumes);
    check_fused(skew(3), &[fused([4, 3, 1], 6, 2, 1)], &volumes);
}

/// Few kernels and few cells, so that compute-sanitizer's racecheck and initcheck end in seconds.
#[test]
fn fused_steps_of_a_small_box() {
    check_fused(ordered(0.5), &[fused([2, 2, 1], 5, 2, 1)], &[[7, 40, 70]]);
}
