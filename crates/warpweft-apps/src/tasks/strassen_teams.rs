//! Strassen's product of two matrices by teams of lanes, for GPUs and cores.
//!
//! Matrices are kept in quarters, as in [`strassen`](super::strassen), with tiles of 64 rows. A team computes a block of two by two tiles. The seven products of halves
//! follow one another, each spread over the whole device, so the helping memory is as large as one matrix.

// Matrices in parts are many arguments.
#![allow(clippy::too_many_arguments)]

use warpweft::channels::{Policy, Run, StacksPolicy, Team};
use warpweft::element::Word;
use warpweft::prelude::*;

use super::strassen::{Matrix, Number};

/// Rows of a block, which one team computes.
const BLOCK: usize = 128;
/// Its words.
const CELLS: usize = BLOCK * BLOCK;
/// Words that one team adds.
const PART: usize = 32768;
/// Rows of a matrix up to which eight products are taken, where nothing else is said.
pub const LEAF: usize = 8192;
/// The most rows of a leaf: a block's coordinates have 8 bits each.
const MOST: usize = 256 * BLOCK;

/// What is done with a word and another: it is stored, added, subtracted, or nothing.
const STORE: u32 = 0;
const ADD: u32 = 1;
const SUBTRACT: u32 = 2;
const NOTHING: u32 = 3;

/// The product `c` of two matrices of `n` rows; `room` is as long, if `n` is more than `leaf`.
#[spawning]
pub fn team_product<T: Real + Word>(
    n: usize,
    leaf: usize,
    a: &[T],
    b: &[T],
    c: &mut [T],
    room: &mut [T],
) {
    let half = n / 2;
    if n <= leaf {
        spawn!(blocks(a, b, c, 0, n / BLOCK));
    }
    sync!();
    let quarter = if n <= leaf { 0 } else { half * half };
    let (a11, others) = a.split_at(quarter);
    let (a12, others) = others.split_at(quarter);
    let (a21, others) = others.split_at(quarter);
    let a22 = &others[..quarter];
    let (b11, others) = b.split_at(quarter);
    let (b12, others) = others.split_at(quarter);
    let (b21, others) = others.split_at(quarter);
    let b22 = &others[..quarter];
    let (c11, others) = c.split_at_mut(quarter);
    let (c12, others) = others.split_at_mut(quarter);
    let (c21, others) = others.split_at_mut(quarter);
    let c22 = &mut others[..quarter];
    if n > leaf {
        spawn!(term(half, leaf, a11, a22, ADD, b11, b22, ADD, c11, STORE, c22, STORE, room));
    }
    sync!();
    if n > leaf {
        spawn!(term(half, leaf, a21, a22, ADD, b11, b11, NOTHING, c21, STORE, c22, SUBTRACT, room));
    }
    sync!();
    if n > leaf {
        spawn!(term(half, leaf, a11, a11, NOTHING, b12, b22, SUBTRACT, c12, STORE, c22, ADD, room));
    }
    sync!();
    if n > leaf {
        spawn!(term(half, leaf, a22, a22, NOTHING, b21, b11, SUBTRACT, c11, ADD, c21, ADD, room));
    }
    sync!();
    if n > leaf {
        spawn!(term(half, leaf, a11, a12, ADD, b22, b22, NOTHING, c11, SUBTRACT, c12, ADD, room));
    }
    sync!();
    if n > leaf {
        spawn!(term(half, leaf, a21, a11, SUBTRACT, b11, b12, ADD, c22, ADD, c21, NOTHING, room));
    }
    sync!();
    if n > leaf {
        spawn!(term(half, leaf, a12, a22, SUBTRACT, b21, b22, ADD, c11, ADD, c21, NOTHING, room));
    }
    sync!();
}

/// One of the seven products, of the sum or difference of `left` and `left2` and that of `right` and `right2`, into two quarters.
#[spawning]
fn term<T: Real + Word>(
    n: usize,
    leaf: usize,
    left: &[T],
    left2: &[T],
    how_left: u32,
    right: &[T],
    right2: &[T],
    how_right: u32,
    x: &mut [T],
    how_x: u32,
    y: &mut [T],
    how_y: u32,
    room: &mut [T],
) {
    let quarter = left.len();
    let (first, others) = room.split_at_mut(quarter);
    let (second, others) = others.split_at_mut(quarter);
    let (made, others) = others.split_at_mut(quarter);
    if how_left != NOTHING {
        spawn!(combined(left, left2, first, how_left));
    }
    if how_right != NOTHING {
        spawn!(combined(right, right2, second, how_right));
    }
    sync!();
    if how_left == NOTHING {
        spawn!(team_product(n, leaf, left, second, made, others));
    } else if how_right == NOTHING {
        spawn!(team_product(n, leaf, first, right, made, others));
    } else {
        spawn!(team_product(n, leaf, first, second, made, others));
    }
    sync!();
    spawn!(updated(made, x, how_x));
    if how_y != NOTHING {
        spawn!(updated(made, y, how_y));
    }
    sync!();
}

/// The sum or the difference of two matrices.
#[spawning]
fn combined<T: Real + Word>(a: &[T], b: &[T], to: &mut [T], how: u32) {
    let middle = to.len() / 2;
    if to.len() <= PART {
        spawn!(combined_part(a, b, to, how));
    } else {
        let (a_low, a_high) = a.split_at(middle);
        let (b_low, b_high) = b.split_at(middle);
        let (low, high) = to.split_at_mut(middle);
        spawn!(combined(a_low, b_low, low, how));
        spawn!(combined(a_high, b_high, high, how));
    }
    sync!();
}

#[spawning(team(256))]
fn combined_part<T: Real + Word>(team: &Team, a: &[T], b: &[T], to: &mut [T], how: u32) {
    let sign = if how == SUBTRACT { T::lit(-1.0) } else { T::lit(1.0) };
    let lanes = team.lanes();
    let mut i = team.lane();
    while i < to.len() {
        // Eight of each at once on their way.
        let (mut of_a, mut of_b) = ([T::lit(0.0); 8], [T::lit(0.0); 8]);
        for k in 0..8usize {
            if i + k * lanes < to.len() {
                of_a[k] = a[i + k * lanes];
                of_b[k] = b[i + k * lanes];
            }
        }
        for k in 0..8usize {
            if i + k * lanes < to.len() {
                to[i + k * lanes] = of_b[k].mul_add(sign, of_a[k]);
            }
        }
        i += 8 * lanes;
    }
}

/// Stores a matrix, adds it or subtracts it.
#[spawning]
fn updated<T: Real + Word>(from: &[T], to: &mut [T], how: u32) {
    let middle = to.len() / 2;
    if to.len() <= PART {
        spawn!(updated_part(from, to, how));
    } else {
        let (from_low, from_high) = from.split_at(middle);
        let (low, high) = to.split_at_mut(middle);
        spawn!(updated(from_low, low, how));
        spawn!(updated(from_high, high, how));
    }
    sync!();
}

#[spawning(team(256))]
fn updated_part<T: Real + Word>(team: &Team, from: &[T], to: &mut [T], how: u32) {
    let sign = if how == SUBTRACT { T::lit(-1.0) } else { T::lit(1.0) };
    let lanes = team.lanes();
    let mut i = team.lane();
    while i < to.len() {
        let (mut of_from, mut of_to) = ([T::lit(0.0); 8], [T::lit(0.0); 8]);
        for k in 0..8usize {
            if i + k * lanes < to.len() {
                of_from[k] = from[i + k * lanes];
                if how != STORE {
                    of_to[k] = to[i + k * lanes];
                }
            }
        }
        for k in 0..8usize {
            if i + k * lanes < to.len() {
                to[i + k * lanes] =
                    if how == STORE { of_from[k] } else { of_from[k].mul_add(sign, of_to[k]) };
            }
        }
        i += 8 * lanes;
    }
}

/// The blocks of a product from number `at` on, of matrices with so many blocks a side.
#[spawning]
fn blocks<T: Real + Word>(a: &[T], b: &[T], c: &mut [T], at: usize, side: usize) {
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

/// Rows of a matrix with room for `n`, in blocks of 128 rows, doubled.
pub fn rows(n: usize) -> usize {
    n.div_ceil(BLOCK).next_power_of_two() * BLOCK
}

/// The product of two matrices of [`rows`] each, on the device that `run` names; up to `leaf` rows by eight products.
///
/// # Errors
/// A leaf of less than 128 rows, or one that is used of more than 32,768; matrices kept in other rows; as [`Channels::run_borrowing`].
pub fn multiplied<T: Number + Real + Word>(
    [a, b]: [&Matrix<T>; 2],
    leaf: usize,
    machine: &Machine,
    run: &Run<'_>,
) -> Result<(Matrix<T>, Report)> {
    if leaf < BLOCK {
        let what = format!("eight products of matrices up to {leaf} rows");
        return Err(Error::spec(what, format!("take at least {BLOCK} rows")));
    }
    if leaf.min(a.rows()) > MOST {
        let what = format!("one leaf of {} rows", leaf.min(a.rows()));
        return Err(Error::spec(what, format!("take leaves of at most {MOST} rows")));
    }
    if a.rows() != rows(a.n) || b.rows() != a.rows() {
        let what = format!("a matrix kept in {} rows with one in {}", a.rows(), b.rows());
        return Err(Error::spec(what, format!("make both with {} rows", rows(a.n))));
    }
    let zeros = |count: usize| {
        warpweft::memory::filled((0..count).map(|_| <T as Default>::default()), "take fewer rows")
    };
    let mut c = zeros(a.cells().len())?;
    let mut room = zeros(if a.rows() > leaf { c.len() } else { 0 })?;
    let call = team_product::call(a.rows(), leaf, a.cells(), b.cells(), &mut c, &mut room);
    // The sums of a lane need many registers, so few warps fit.
    let few = Policy::Stacks(StacksPolicy { warps: 16, ..StacksPolicy::default() });
    let on_gpu = !matches!(run.target, Target::Cpu) && !machine.gpus.is_empty();
    let run = Run { policy: run.policy.or(on_gpu.then_some(few)), ..run.clone() };
    let (_, report) = Channels::of(call).levels(200).run_borrowing(machine, &run)?;
    Ok((a.from_product(c), report))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strassen::{difference, signs_of_rows};
    use warpweft::channels::Borrowing;
    use warpweft::channels::cuda::compile_check;

    #[test]
    fn products_by_teams_are_exact() {
        let machine = Machine::detect().unwrap();
        for (n, leaf, threads) in [(1, 128, 1), (200, 256, 1), (256, 128, 2)] {
            let of = |seed| signs_of_rows::<f32>(n, rows(n), seed).unwrap();
            let (a, b) = (of(1), of(2));
            let run = Run { target: Target::Cpu, threads: Some(threads), ..Run::default() };
            let (c, _) = multiplied([&a, &b], leaf, &machine, &run).unwrap();
            assert_eq!(difference([&a, &b, &c], 8), 0.0, "{n} rows");
        }
        let a = signs_of_rows::<f64>(9, 128, 1).unwrap();
        assert!(multiplied([&a, &a], 1, &machine, &Run::default()).is_err());
    }

    #[test]
    fn kernels_compile_for_ampere_and_hopper() {
        if let Err(error) = warpweft::cuda::compiler() {
            return println!("skipped: {error}");
        }
        compile_check::<<team_product<'_, f32> as Borrowing>::Device>("sm_90").unwrap();
        compile_check::<<team_product<'_, f64> as Borrowing>::Device>("sm_80").unwrap();
    }
}
