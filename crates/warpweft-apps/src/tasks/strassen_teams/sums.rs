//! Sums and differences of matrices.

// Matrices in parts are many arguments.
#![allow(clippy::too_many_arguments)]

use warpweft::channels::Team;
use warpweft::element::Word;
use warpweft::prelude::*;

/// Words that one team adds.
const PART: usize = 32768;

/// What is done with a word and another: it is stored, added, subtracted, or nothing.
pub(super) const STORE: u32 = 0;
pub(super) const ADD: u32 = 1;
pub(super) const SUBTRACT: u32 = 2;
pub(super) const NOTHING: u32 = 3;

/// The quarters of the product: of the first, fourth and fifth of the seven, and of the seventh, third, second and sixth in `c`.
#[spawning]
pub(super) fn joined<T: Real + Word>(
    m1: &[T],
    m4: &[T],
    m5: &[T],
    c11: &mut [T],
    c12: &mut [T],
    c21: &mut [T],
    c22: &mut [T],
) {
    let middle = c11.len() / 2;
    if c11.len() <= PART {
        spawn!(joined_part(m1, m4, m5, c11, c12, c21, c22));
    } else {
        let (low1, high1) = m1.split_at(middle);
        let (low4, high4) = m4.split_at(middle);
        let (low5, high5) = m5.split_at(middle);
        let (low11, high11) = c11.split_at_mut(middle);
        let (low12, high12) = c12.split_at_mut(middle);
        let (low21, high21) = c21.split_at_mut(middle);
        let (low22, high22) = c22.split_at_mut(middle);
        spawn!(joined(low1, low4, low5, low11, low12, low21, low22));
        spawn!(joined(high1, high4, high5, high11, high12, high21, high22));
    }
    sync!();
}

#[spawning(team(256))]
fn joined_part<T: Real + Word>(
    team: &Team,
    m1: &[T],
    m4: &[T],
    m5: &[T],
    c11: &mut [T],
    c12: &mut [T],
    c21: &mut [T],
    c22: &mut [T],
) {
    let lanes = team.lanes();
    let mut i = team.lane();
    while i < c11.len() {
        // Four of each at once on their way.
        let mut m = [[T::lit(0.0); 4]; 7];
        for k in 0..4usize {
            let at = i + k * lanes;
            if at < c11.len() {
                m[0][k] = m1[at];
                m[1][k] = c21[at];
                m[2][k] = c12[at];
                m[3][k] = m4[at];
                m[4][k] = m5[at];
                m[5][k] = c22[at];
                m[6][k] = c11[at];
            }
        }
        for k in 0..4usize {
            let at = i + k * lanes;
            if at < c11.len() {
                c11[at] = m[0][k] + m[3][k] - m[4][k] + m[6][k];
                c12[at] = m[2][k] + m[4][k];
                c21[at] = m[1][k] + m[3][k];
                c22[at] = m[0][k] - m[1][k] + m[2][k] + m[5][k];
            }
        }
        i += 4 * lanes;
    }
}

/// The sum or the difference of two matrices.
#[spawning]
pub(super) fn combined<T: Real + Word>(a: &[T], b: &[T], to: &mut [T], how: u32) {
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
pub(super) fn updated<T: Real + Word>(from: &[T], to: &mut [T], how: u32) {
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
