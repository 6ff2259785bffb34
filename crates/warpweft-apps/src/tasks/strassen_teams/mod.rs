//! Strassen's product of two matrices by teams of lanes, for GPUs and cores.
//!
//! Matrices are kept in quarters, as in [`strassen`](super::strassen), with tiles of 64 rows. A team computes a block of two by two tiles. The seven products of the
//! smallest halves are computed at once, so that the device is busy until the last of them ends; they need helping memory for 13
//! halves. Those of larger halves follow one another, each spread over the whole device, and need three halves.

// Matrices in parts are many arguments.
#![allow(clippy::too_many_arguments)]

mod leaf;
mod sums;

use warpweft::channels::{Policy, Run, StacksPolicy};
use warpweft::element::Word;
use warpweft::prelude::*;

use self::leaf::{BLOCK, blocks};
use self::sums::{ADD, NOTHING, STORE, SUBTRACT, combined, joined, updated};
use super::strassen::{Matrix, Number};

/// Rows of a matrix up to which eight products are taken, where nothing else is said.
pub const LEAF: usize = 8192;
/// The most rows of a leaf: a block's coordinates have 8 bits each.
const MOST: usize = 256 * BLOCK;

/// Words of helping memory for a product of matrices of so many rows.
pub fn room_words(n: usize, leaf: usize) -> usize {
    let quarter = (n / 2) * (n / 2);
    match n {
        n if n <= leaf => 0,
        n if n / 2 <= leaf => 13 * quarter,
        n => 3 * quarter + room_words(n / 2, leaf),
    }
}

/// The product `c` of two matrices of `n` rows, with [`room_words`].
#[spawning]
pub fn team_product<T: Real + Word>(
    n: usize,
    leaf: usize,
    a: &[T],
    b: &[T],
    c: &mut [T],
    room: &mut [T],
) {
    if n <= leaf {
        spawn!(blocks(a, b, c, 0, n / BLOCK));
    } else if n / 2 <= leaf {
        spawn!(seven_at_once(n / 2, a, b, c, room));
    } else {
        spawn!(seven_in_turn(n / 2, leaf, a, b, c, room));
    }
    sync!();
}

/// The same by seven products of halves, which are computed at once.
#[spawning]
fn seven_at_once<T: Real + Word>(half: usize, a: &[T], b: &[T], c: &mut [T], room: &mut [T]) {
    let quarter = half * half;
    let (a11, others) = a.split_at(quarter);
    let (a12, others) = others.split_at(quarter);
    let (a21, a22) = others.split_at(quarter);
    let (b11, others) = b.split_at(quarter);
    let (b12, others) = others.split_at(quarter);
    let (b21, b22) = others.split_at(quarter);
    // Four of the products are computed where the quarters of the result come to lie.
    let (c11, others) = c.split_at_mut(quarter);
    let (c12, others) = others.split_at_mut(quarter);
    let (c21, c22) = others.split_at_mut(quarter);
    let (m1, others) = room.split_at_mut(quarter);
    let (m4, others) = others.split_at_mut(quarter);
    let (m5, others) = others.split_at_mut(quarter);
    let (of_1, others) = others.split_at_mut(2 * quarter);
    let (of_6, others) = others.split_at_mut(2 * quarter);
    let (of_7, others) = others.split_at_mut(2 * quarter);
    let (of_2, others) = others.split_at_mut(quarter);
    let (of_3, others) = others.split_at_mut(quarter);
    let (of_4, of_5) = others.split_at_mut(quarter);
    spawn!(factors(half, a11, a22, ADD, b11, b22, ADD, m1, of_1));
    spawn!(factors(half, a21, a11, SUBTRACT, b11, b12, ADD, c22, of_6));
    spawn!(factors(half, a12, a22, SUBTRACT, b21, b22, ADD, c11, of_7));
    spawn!(factors(half, a21, a22, ADD, b11, b11, NOTHING, c21, of_2));
    spawn!(factors(half, a11, a11, NOTHING, b12, b22, SUBTRACT, c12, of_3));
    spawn!(factors(half, a22, a22, NOTHING, b21, b11, SUBTRACT, m4, of_4));
    spawn!(factors(half, a11, a12, ADD, b22, b22, NOTHING, m5, of_5));
    sync!();
    spawn!(joined(m1, m4, m5, c11, c12, c21, c22));
    sync!();
}

/// The product of the sum or difference of `left` and `left2` and that of `right` and `right2`.
#[spawning]
fn factors<T: Real + Word>(
    n: usize,
    left: &[T],
    left2: &[T],
    how_left: u32,
    right: &[T],
    right2: &[T],
    how_right: u32,
    to: &mut [T],
    room: &mut [T],
) {
    let (first, second) = room.split_at_mut(if how_left == NOTHING { 0 } else { left.len() });
    if how_left != NOTHING {
        spawn!(combined(left, left2, first, how_left));
    }
    if how_right != NOTHING {
        spawn!(combined(right, right2, second, how_right));
    }
    sync!();
    if how_left == NOTHING {
        spawn!(blocks(left, second, to, 0, n / BLOCK));
    } else if how_right == NOTHING {
        spawn!(blocks(first, right, to, 0, n / BLOCK));
    } else {
        spawn!(blocks(first, second, to, 0, n / BLOCK));
    }
    sync!();
}

/// The same by seven products of halves, one after the other.
#[spawning]
fn seven_in_turn<T: Real + Word>(
    half: usize,
    leaf: usize,
    a: &[T],
    b: &[T],
    c: &mut [T],
    room: &mut [T],
) {
    let quarter = half * half;
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
    spawn!(term(half, leaf, a11, a22, ADD, b11, b22, ADD, c11, STORE, c22, STORE, room));
    sync!();
    spawn!(term(half, leaf, a21, a22, ADD, b11, b11, NOTHING, c21, STORE, c22, SUBTRACT, room));
    sync!();
    spawn!(term(half, leaf, a11, a11, NOTHING, b12, b22, SUBTRACT, c12, STORE, c22, ADD, room));
    sync!();
    spawn!(term(half, leaf, a22, a22, NOTHING, b21, b11, SUBTRACT, c11, ADD, c21, ADD, room));
    sync!();
    spawn!(term(half, leaf, a11, a12, ADD, b22, b22, NOTHING, c11, SUBTRACT, c12, ADD, room));
    sync!();
    spawn!(term(half, leaf, a21, a11, SUBTRACT, b11, b12, ADD, c22, ADD, c21, NOTHING, room));
    sync!();
    spawn!(term(half, leaf, a12, a22, SUBTRACT, b21, b22, ADD, c11, ADD, c21, NOTHING, room));
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
        let what = format!("the leaf size is {leaf} rows");
        return Err(Error::spec(what, format!("use at least {BLOCK} rows")));
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
    let mut room = zeros(room_words(a.rows(), leaf))?;
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
        for (n, leaf, threads) in [(1, 128, 1), (200, 256, 1), (256, 128, 2), (400, 128, 2)] {
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
