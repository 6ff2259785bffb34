//! Packed cells: several of a byte in a word.

use super::{check, fused};
use crate::prelude::{Boundary, Face, Fields, Near, Stencil, stencil};
use crate::{CudaKernel, CudaPolicy};

/// By how many bits a random word is shifted for a cell, and the largest cell that a face holds.
pub(super) fn range(policy: &CudaPolicy) -> (u32, f64) {
    match (policy.kernel, policy.cells[0]) {
        (CudaKernel::Packed, 32..) => (63, 1.0),
        (CudaKernel::Packed, _) => (62, 3.0),
        _ => (44, 3.0),
    }
}

/// Faces along x that copy nothing.
pub(super) fn faces<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    boundary: Boundary,
) -> Stencil<S, D> {
    let held = |value| Boundary::Dirichlet(value);
    match boundary {
        Boundary::Mirror => {
            stencil.clone().face(1, Face::Low, held(1.0)).face(1, Face::High, held(0.0))
        }
        _ => stencil.clone(),
    }
}

/// Reads a box, deeper on one side, of cells up to 3.
#[stencil]
fn small(u: Near<u8, 2>, least: u8) -> u8 {
    let around = u[[-1, 2]] + 2 * u[[1, -1]] + u[[0, -4]] + u[[1, 1]] + u[[-1, -3]];
    let born = (around > least) & (u[[0, 0]] != 2) | (around == 5);
    born as u8 + (u[[0, 5]] & 2)
}

#[test]
fn fused_rows_of_packed_cells() {
    let packed = |cells, warps, depth, prefetch| CudaPolicy {
        kernel: CudaKernel::Packed,
        ..fused([cells, 1, 1], warps, depth, prefetch)
    };
    check(small(4), [23, 300], &[packed(8, 2, 4, 3), packed(16, 1, 4, 3)]);
    check(alive(2), [34, 1120], &[packed(32, 2, 32, 3)]);
}

/// Reads a box, deeper on one side, of cells that are 0 or 1.
#[stencil]
fn alive(u: Near<u8, 2>, least: u8) -> u8 {
    let around = u[[-1, 1]] + 3 * u[[1, -1]] + u[[0, -1]] + u[[1, 1]] + (u[[-1, 0]] ^ u[[0, 1]]);
    let born = (around > least) & (u[[0, 0]] != 1) | (around == 4 - u[[-1, 1]]) | (around <= 1);
    (born && around < 6) as u8
}
