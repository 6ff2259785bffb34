//! The product of two matrices by blocks of 128 rows, each of which a team computes.

use warpweft::channels::Team;
use warpweft::element::Word;
use warpweft::prelude::*;

/// Rows of a block, which one team computes.
pub(super) const BLOCK: usize = 128;
/// Its words.
const CELLS: usize = BLOCK * BLOCK;

/// The blocks of a product from number `at` on, of matrices with so many blocks a side.
#[spawning]
pub(super) fn blocks<T: Real + Word>(a: &[T], b: &[T], c: &mut [T], at: usize, side: usize) {
    let middle = c.len() / 2;
    if c.len() <= CELLS {
        spawn!(block(a, b, c, at, side));
    } else {
        let (low, high) = c.split_at_mut(middle);
        spawn!(blocks(a, b, low, at, side));
        spawn!(blocks(a, b, high, at + middle / CELLS, side));
    }
    sync!();
}

/// Where block `i`, `j` of a matrix in quarters lies.
#[device]
fn block_place(i: usize, j: usize) -> usize {
    let mut at = 0;
    for bit in 0..8usize {
        at += (2 * (i >> bit & 1) + (j >> bit & 1)) << (2 * bit);
    }
    at * 16384
}

/// Where a cell of a block lies in it: a block is four tiles of 64 rows.
#[device]
fn cell_place(row: usize, column: usize) -> usize {
    4096 * (2 * (row / 64) + column / 64) + 64 * (row & 63) + (column & 63)
}

/// Adds the product of sixteen columns of 128 rows with sixteen rows: of eight rows from `row` on, and every sixteenth column.
#[device]
fn add_product<T: Real>(
    left: &mut [T; 2112],
    right: &mut [T; 2048],
    row: usize,
    column: usize,
    sums: &mut [[T; 8]; 8],
) {
    for y in 0..16usize {
        let (mut of_left, mut of_right) = ([T::lit(0.0); 8], [T::lit(0.0); 8]);
        for r in 0..8usize {
            of_left[r] = left[132 * y + (row & 120) + r];
            of_right[r] = right[128 * y + 16 * r + (column & 15)];
        }
        for r in 0..8usize {
            for s in 0..8usize {
                sums[r][s] = of_left[r].mul_add(of_right[s], sums[r][s]);
            }
        }
    }
}

/// Reads a lane's cells of 256 of two panels.
#[device]
fn read_panels<T: Real>(
    a: &[T],
    b: &[T],
    panel: usize,
    lane: usize,
    left: &mut [T; 8],
    right: &mut [T; 8],
) {
    let (x, y, column) = ((lane / 16) & 15, lane & 15, lane & 127);
    for m in 0..8usize {
        left[m] = a[cell_place(x + 16 * m, 16 * panel + y)];
        right[m] = b[cell_place(16 * panel + 2 * m + ((lane / 128) & 1), column)];
    }
}

/// Writes them where all lanes read them: the left panel by columns. Four words between columns keep lanes out of one another's banks.
#[device]
fn write_panels<T: Real>(
    left: &mut [T; 2112],
    right: &mut [T; 2048],
    lane: usize,
    from_left: &[T; 8],
    from_right: &[T; 8],
) {
    let (x, y) = ((lane / 16) & 15, lane & 15);
    for m in 0..8usize {
        left[132 * y + 16 * m + x] = from_left[m];
        right[256 * m + (lane & 255)] = from_right[m];
    }
}

/// The same for any number of lanes.
#[device]
fn copy_panels<T: Real>(
    a: &[T],
    b: &[T],
    panel: usize,
    lane: usize,
    lanes: usize,
    left: &mut [T; 2112],
    right: &mut [T; 2048],
) {
    let mut cell = lane;
    while cell < 2048 {
        let (x, y) = (cell / 16, cell & 15);
        left[132 * y + x] = a[cell_place(x, 16 * panel + y)];
        right[cell] = b[cell_place(16 * panel + cell / 128, cell & 127)];
        cell += lanes;
    }
}

/// A block of 128 rows and columns, of which each lane of 256 has eight rows and every sixteenth column.
#[spawning(team(256))]
fn block<T: Real + Word>(
    team: &Team,
    a: &[T],
    b: &[T],
    c: &mut [T],
    at: usize,
    side: usize,
    left: &mut [T; 2112],
    right: &mut [T; 2048],
) {
    let lanes = team.lanes();
    let (mut i, mut j) = (0, 0);
    for bit in 0..8usize {
        i += (at >> (2 * bit + 1) & 1) << bit;
        j += (at >> (2 * bit) & 1) << bit;
    }
    // A lane of fewer has several parts of eight by eight cells, one after the other.
    let mut part = team.lane();
    let mut parts = 256 / lanes;
    while parts > 0 {
        let (rows, column) = (part / 16, part & 15);
        let mut sums = [[T::lit(0.0); 8]; 8];
        for k in 0..side {
            let (from_a, from_b) = (block_place(i, k), block_place(k, j));
            let (of_a, of_b) = (&a[from_a..from_a + 16384], &b[from_b..from_b + 16384]);
            for panel in 0..8usize {
                if lanes == 256 {
                    // All cells of a lane at once on their way.
                    let (mut from_left, mut from_right) = ([T::lit(0.0); 8], [T::lit(0.0); 8]);
                    read_panels(of_a, of_b, panel, team.lane(), &mut from_left, &mut from_right);
                    team.barrier();
                    write_panels(left, right, team.lane(), &from_left, &from_right);
                } else {
                    team.barrier();
                    copy_panels(of_a, of_b, panel, team.lane(), lanes, left, right);
                }
                team.barrier();
                add_product(left, right, 8 * rows, column, &mut sums);
            }
        }
        for r in 0..8usize {
            for s in 0..8usize {
                c[cell_place(8 * rows + r, 16 * s + column)] = sums[r][s];
            }
        }
        part += lanes;
        parts -= 1;
    }
}
