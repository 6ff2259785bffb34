//! What a run starts from, as a number: checkpoints and ranks tell one start from another by it.
//!
//! Not a cryptographic hash: it tells mistakes apart, not malice.

use std::ops::Range;

use warpweft_core::grid::{Axes, RawVolume, over_parts};

/// Odd constants without pattern: the golden ratio's bits, and those of the mixer below.
const PLACE: u64 = 0x9e37_79b9_7f4a_7c15;
const VALUE: u64 = 0xd6e8_feb8_6659_fd93;
/// Cells that a thread takes at a time: some hundred microseconds.
const SHARE: usize = 1 << 18;
const MIX: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// The sum over cells and fields of a hash of place and value, `cells` being the box at `low` of a
/// volume of `extents`: the sums of the parts add up to that of the whole (mod 2^64), whatever the
/// partition.
///
/// The mixer is that of SplitMix64 (Steele, Lea, Flood 2014). O(cells), one pass.
pub(crate) fn fingerprint(cells: &RawVolume, low: Axes<usize>, extents: Axes<usize>) -> u64 {
    let dims = cells.rank();
    let held = cells.extents();
    let row = held[dims - 1];
    // The number in the whole volume of the first cell of row `n`.
    let first = |n: usize| {
        let (mut rest, mut index, mut stride) = (n, low[dims - 1], extents[dims - 1]);
        for d in (0..dims - 1).rev() {
            index += (low[d] + rest % held[d]) * stride;
            (rest, stride) = (rest / held[d], stride * extents[d]);
        }
        index as u64
    };
    let mut sum = 0u64;
    for (field, info) in cells.cell_type().fields().iter().enumerate() {
        let size = info.kind.size();
        let bytes = cells.field_bytes(field);
        let of_row = |n: usize| {
            let line = &bytes[n * row * size..(n + 1) * row * size];
            let seed = first(n).wrapping_mul(PLACE) ^ (field as u64) << 56;
            match size {
                1 => line_sum(seed, line.iter().map(|&byte| byte.into())),
                2 => line_sum(seed, words(line).map(|word| u16::from_ne_bytes(word).into())),
                4 => line_sum(seed, words(line).map(|word| u32::from_ne_bytes(word).into())),
                _ => line_sum(seed, words(line).map(u64::from_ne_bytes)),
            }
        };
        let of_rows = |rows: Range<usize>| rows.map(of_row).fold(0, u64::wrapping_add);
        let parts = over_parts(cells.len() / row, SHARE.div_ceil(row), of_rows);
        sum = parts.into_iter().fold(sum, u64::wrapping_add);
    }
    sum
}

/// A hash of all bytes of `cells` in their order, which even one core computes at memory speed.
/// Ranks compare their initial states by it if no checkpoint is kept. The constants are those
/// above.
pub(crate) fn digest(cells: &RawVolume) -> u64 {
    let fields = 0..cells.cell_type().len();
    let parts = fields.flat_map(|field| {
        let bytes = cells.field_bytes(field);
        over_parts(bytes.len(), SHARE * 8, |part| part_digest(&bytes[part]))
    });
    parts.fold(PLACE, |sum, part| (sum.rotate_left(29) ^ part).wrapping_mul(VALUE))
}

/// Of one part, by lanes that do not wait for one another.
fn part_digest(bytes: &[u8]) -> u64 {
    let (lines, rest) = bytes.as_chunks::<64>();
    let mut lanes = [PLACE; 8];
    for line in lines {
        for (lane, word) in lanes.iter_mut().zip(words::<8>(line)) {
            *lane = (lane.rotate_left(31) ^ u64::from_ne_bytes(word)).wrapping_mul(VALUE);
        }
    }
    let rest = rest
        .iter()
        .fold(bytes.len() as u64, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(PLACE));
    lanes.into_iter().fold(rest, |sum, lane| (sum ^ lane ^ lane >> 32).wrapping_mul(VALUE))
}

fn words<const N: usize>(line: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    line.as_chunks::<N>().0.iter().copied()
}

/// The sum over one row's values, the first of which has the place `seed`.
fn line_sum(seed: u64, values: impl Iterator<Item = u64>) -> u64 {
    let mut place = seed;
    let mut sum = 0u64;
    for value in values {
        let mut x = place.wrapping_add(value.wrapping_mul(VALUE));
        x = (x ^ x >> 30).wrapping_mul(MIX[0]);
        x = (x ^ x >> 27).wrapping_mul(MIX[1]);
        sum = sum.wrapping_add(x ^ x >> 31);
        place = place.wrapping_add(PLACE);
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use warpweft_core::grid::Volume;

    #[test]
    fn parts_add_up_to_the_whole_however_it_is_cut() {
        let extents = [7, 5, 6];
        let whole = Volume::from_fn(extents, |[z, y, x]| ((z * 40 + y * 9 + x) as f32).sin());
        let expect = fingerprint(&whole, [0; 3].into(), extents.into());
        for cut in [[3, 5, 6], [7, 2, 6], [7, 5, 1], [2, 3, 4]] {
            let mut sum = 0u64;
            for corner in 0..8 {
                let side = |d: usize| corner >> d & 1;
                let low: [usize; 3] = std::array::from_fn(|d| cut[d] * side(d));
                let size: [usize; 3] = std::array::from_fn(|d| match side(d) {
                    0 => cut[d],
                    _ => extents[d] - cut[d],
                });
                if size.contains(&0) {
                    continue;
                }
                let part = whole.cut_out(low.map(|n| n as isize).into(), size.into()).unwrap();
                sum = sum.wrapping_add(fingerprint(&part, low.into(), extents.into()));
            }
            assert_eq!(sum, expect, "{cut:?}");
        }
    }

    #[test]
    fn a_digest_tells_any_changed_cell_and_any_two_exchanged() {
        let start = Volume::from_fn([3, 71], |[y, x]| (y * 71 + x) as u32);
        let of = |change: &dyn Fn(&mut [u32])| {
            let mut volume = start.clone();
            change(volume.as_mut_slice());
            digest(&volume)
        };
        let same = of(&|_| ());
        assert_eq!(same, digest(&start));
        let mut seen = HashSet::from([same]);
        for cell in 0..3 * 71 {
            for bit in [0, 7, 31] {
                assert!(seen.insert(of(&|cells| cells[cell] ^= 1 << bit)), "bit {bit} of {cell}");
            }
            assert!(cell == 0 || seen.insert(of(&|cells| cells.swap(cell - 1, cell))), "{cell}");
        }
    }

    #[test]
    fn places_and_single_bits_count() {
        let mut seen = HashSet::new();
        let mut start = Volume::<u8, 2>::zeroed([9, 8]).unwrap();
        assert!(seen.insert(fingerprint(&start, [0; 2].into(), [9, 8].into())));
        // The same values, elsewhere; and each pair of neighbours.
        for n in 0..72 {
            start.as_mut_slice()[n] = 1;
            assert!(seen.insert(fingerprint(&start, [0; 2].into(), [9, 8].into())), "{n}");
            start.as_mut_slice()[(n + 1) % 72] = 1;
            assert!(
                seen.insert(fingerprint(&start, [0; 2].into(), [9, 8].into())),
                "{n} and the next"
            );
            start.as_mut_slice().fill(0);
        }
        let wide =
            |value: f64| fingerprint(&Volume::from_fn([4], |_| value), [0].into(), [4].into());
        assert_ne!(wide(1.0), wide(f64::from_bits(1.0f64.to_bits() + 1)));
        assert_ne!(wide(0.0), wide(-0.0));
    }
}
