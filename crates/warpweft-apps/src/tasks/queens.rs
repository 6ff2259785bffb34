//! Queens on a board, none of which attacks another: a tree that nobody can foresee.

use warpweft::error::{Error, Result};
use warpweft::prelude::*;

/// Solutions below a row: `columns` are taken, `left` and `right` are attacked along diagonals (Richards, "Backtracking
/// algorithms in MCPL using bit patterns and recursion", 1997).
#[spawning]
pub fn queens(all: u32, columns: u32, left: u32, right: u32) -> u64 {
    if columns == all {
        return 1;
    }
    let mut free = all & !(columns | left | right);
    let mut found = 0;
    while free != 0 {
        let square = free & free.wrapping_neg();
        free ^= square;
        found += spawn!(queens(all, columns | square, (left | square) << 1, (right | square) >> 1));
    }
    sync!();
    found
}

/// The largest board, whose columns are the bits of a number.
pub const MOST: u32 = 32;

/// Solutions on boards of 1, 2, .. (OEIS A000170).
pub const SOLUTIONS: [u64; 18] = [
    1,
    0,
    0,
    2,
    10,
    4,
    40,
    92,
    352,
    724,
    2_680,
    14_200,
    73_712,
    365_596,
    2_279_184,
    14_772_512,
    95_815_104,
    666_090_624,
];

/// What is to be computed on a board of `n` times `n`.
///
/// # Errors
/// No board, or one of more columns than numbers have bits.
pub fn channels(n: u32) -> Result<Channels<queens>> {
    if !(1..=MOST).contains(&n) {
        let hint = format!("take 1 to {MOST} columns");
        return Err(Error::spec(format!("a board of {n} columns"), hint));
    }
    let all = u32::MAX >> (u32::BITS - n);
    Ok(Channels::of(queens::call(all, 0, 0, 0)).levels(n + 1).children(n))
}

/// The same on boards of up to nine by trying all permutations of the columns.
pub fn plain(n: usize) -> u64 {
    fn placed(columns: &mut Vec<usize>, from: usize) -> u64 {
        if from == columns.len() {
            let apart = |i: usize, j: usize| columns[i].abs_diff(columns[j]) != j - i;
            return u64::from((0..from).all(|j| (0..j).all(|i| apart(i, j))));
        }
        let mut found = 0;
        for k in from..columns.len() {
            columns.swap(from, k);
            found += placed(columns, from + 1);
            columns.swap(from, k);
        }
        found
    }
    placed(&mut (0..n).collect(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_agree_with_the_list() {
        for n in 1..9 {
            assert_eq!(plain(n), SOLUTIONS[n - 1]);
        }
        assert!(channels(1).is_ok() && channels(32).is_ok());
        assert!(channels(0).is_err() && channels(33).is_err());
    }
}
