//! Shared memory of a block: how many tiles' inputs may be under way at once.

use crate::policy::ScanPolicy;
use crate::spec::ElementType;

/// Bytes of cells that a lane holds of each row, as in `scan.cuh`.
const LANE_BYTES: usize = 16;
/// Bytes that a row of inputs is padded by, as in `arriving.cuh`.
const PADDING: usize = 16;
/// Bytes of shared memory that a block may have on the devices with the least: an A10.
const LEAST_BYTES: usize = 99 << 10;
/// Tiles under way at most: with three an H200 was no faster.
const MOST: usize = 2;

/// Tiles whose inputs are under way, and the bytes of shared memory that a block then needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stages {
    pub count: usize,
    pub bytes: usize,
}

impl Stages {
    /// As many as `limit` bytes hold, if any.
    pub fn within(limit: usize, element: &ElementType, policy: &ScanPolicy) -> Option<Self> {
        let (rows, warps) = (policy.rows as usize, policy.warps as usize);
        let columns = 32 * LANE_BYTES / element.cell;
        // In C++ what has no size is a byte.
        let stage = warps * rows * (columns * element.input.max(1) + PADDING);
        let sums = warps * 32 * LANE_BYTES;
        let count = (limit.checked_sub(sums)? / stage).min(MOST);
        (count > 0).then_some(Self { count, bytes: count * stage + sums })
    }
}

/// The default policy for `rows` rows of `element`: lower bands where `limit` bytes hold too little of them.
pub(super) fn fitting(rows: usize, sms: u32, limit: usize, element: &ElementType) -> ScanPolicy {
    let mut policy = ScanPolicy::for_domain(rows, sms);
    let few = |policy: &ScanPolicy| {
        Stages::within(limit, element, policy).is_none_or(|stages| stages.count < 2)
    };
    while policy.warps > 1 && few(&policy) {
        policy.warps /= 2;
    }
    while policy.rows > 1 && Stages::within(limit, element, &policy).is_none() {
        policy.rows /= 2;
    }
    policy
}

/// Whether every device holds the inputs of some policy.
pub(super) fn fits(element: &ElementType) -> bool {
    Stages::within(LEAST_BYTES, element, &ScanPolicy { rows: 1, warps: 1 }).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recurrence::Earlier;
    use crate::recurrences::area;
    use crate::spec::Wavefront;
    use crate::wavefront;

    #[wavefront(sums)]
    fn real(h: Earlier<f64>, #[cell] x: f64) -> f64 {
        h.n + h.w - h.nw + x
    }

    /// Shared memory of a block: an A10, an A100, an H100.
    const LIMITS: [usize; 3] = [99 << 10, 163 << 10, 227 << 10];

    #[test]
    fn the_default_policy_has_two_tiles_under_way_on_every_device() {
        let image = [0.0; 6];
        let of_reals = Wavefront::of(real()).over([2, 3]).inputs(&image);
        let of_bytes = Wavefront::of(area()).over([2, 3]).inputs(&[0; 6]);
        for element in [&of_reals.erased().element, &of_bytes.erased().element] {
            for limit in LIMITS {
                let policy = fitting(16_384, 132, limit, element);
                let stages = Stages::within(limit, element, &policy).unwrap();
                assert!(stages.count >= 2 && stages.bytes <= limit, "{policy:?} {stages:?}");
            }
        }
    }

    #[wavefront(sums)]
    fn of_words(h: Earlier<i32>, #[cell] x: [[i32; 32]; 4]) -> i32 {
        h.n + h.w - h.nw + x[0][0]
    }

    #[wavefront(sums)]
    fn of_many_words(h: Earlier<i32>, #[cell] x: [[i32; 32]; 8]) -> i32 {
        h.n + h.w - h.nw + x[0][0]
    }

    #[test]
    fn bands_of_large_inputs_are_low_on_every_device() {
        let image = [[[1; 32]; 4]; 6];
        let wavefront = Wavefront::of(of_words()).over([2, 3]).inputs(&image);
        let element = &wavefront.erased().element;
        assert!(fits(element));
        for limit in LIMITS {
            let policy = fitting(16_384, 132, limit, element);
            assert!(policy.warps == 1 && policy.rows < 8, "{policy:?}");
            assert!(Stages::within(limit, element, &policy).is_some(), "{policy:?}");
        }
        let image = [[[1; 32]; 8]; 6];
        let wavefront = Wavefront::of(of_many_words()).over([2, 3]).inputs(&image);
        assert!(!fits(&wavefront.erased().element));
    }

    #[test]
    fn a_block_that_holds_no_tile_is_told() {
        let image = [0.0; 6];
        let wavefront = Wavefront::of(real()).over([2, 3]).inputs(&image);
        let policy = ScanPolicy { rows: 16, warps: 31 };
        assert_eq!(Stages::within(99 << 10, &wavefront.erased().element, &policy), None);
    }
}
