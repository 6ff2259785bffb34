//! The winner of a run among those of its warps, or the sum of theirs.

use crate::recurrence::{Best, Extreme};
use warpweft_core::element::{Scalar, ScalarKind};

/// The best of the warps' candidates: rank (0 for none), bits of the score, row and column. Without
/// candidates no score was computed, and there is none.
///
/// For the least score the kernel ranks reversed scores, see `ww_reversed` in `rank.cuh`.
pub(super) fn winner<S: Scalar>(candidates: &[[u64; 3]], extreme: Extreme) -> Option<Best<S>> {
    let reversal = match (extreme, S::KIND) {
        (Extreme::Greatest, _) => 0,
        (Extreme::Least, ScalarKind::Bool) => 1,
        (Extreme::Least, ScalarKind::F16 | ScalarKind::Bf16) => 1 << 15,
        (Extreme::Least, ScalarKind::F32) => 1 << 31,
        (Extreme::Least, ScalarKind::F64) => 1 << 63,
        (Extreme::Least, kind) => u64::MAX >> (64 - 8 * kind.size()),
    };
    let found = candidates.iter().filter(|[rank, ..]| *rank != 0).map(|[_, bits, place]| Best {
        // SAFETY: the kernel put a score of this type into the low bytes of a little-endian word,
        // and reversing it gives another.
        score: unsafe { std::ptr::from_ref(&(bits ^ reversal)).cast::<S>().read() },
        row: (place >> 32) as usize,
        column: (place & 0xffff_ffff) as usize,
    });
    // The worst integer has no rank: where nothing else was found, every cell holds it.
    use ScalarKind::{Bf16, F16, F32, F64};
    let integer = !matches!(S::KIND, F16 | Bf16 | F32 | F64);
    let nothing = (integer && !candidates.is_empty()).then(|| Best {
        score: extreme.worst(),
        row: 0,
        column: 0,
    });
    found.fold(None, |best, one| Best::of(best, Some(one), extreme)).or(nothing)
}

/// The sum of the warps' sums: low and high word of each, see `sum.cuh`.
pub(super) fn total(sums: &[[u64; 3]]) -> i128 {
    let of = |[low, high, _]: &[u64; 3]| i128::from(*high as i64) << 64 | i128::from(*low);
    sums.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn words_are_those_of_twos_complement() {
        let minus_two = [u64::MAX - 1, u64::MAX, 0];
        assert_eq!(total(&[minus_two, [5, 0, 7]]), 3);
        assert_eq!(total(&[[1 << 63, 0, 0], [1 << 63, 1, 0]]), 1 << 65);
        assert_eq!(total(&[]), 0);
    }
}
