//! The exact sum of a few numbers as two or three, by vectors of `f64`: bits are split off at places that all numbers share, so that
//! sums of them are exact (S. M. Rump, T. Ogita, S. Oishi, "Accurate floating-point summation", 2008). Not here: numbers
//! that are far apart, which are left to [`super::Total`].

use super::CHUNK;

/// Numbers that are summed up next to one another.
const LANES: usize = 8;
/// Bits that sums of a chunk need above its numbers.
const ROOM: i32 = CHUNK.ilog2() as i32;
/// Bits that are split off at once: a mantissa's, less the room.
const BITS: i32 = f64::MANTISSA_DIGITS as i32 - ROOM;
/// Exponents for which nothing overflows, and nothing that is split off is subnormal.
const EXPONENTS: std::ops::RangeInclusive<i32> = -850..=1000;

const _: () = assert!(CHUNK.is_power_of_two() && CHUNK.is_multiple_of(LANES));

/// Three numbers whose sum is that of `values`; none where one is infinite or NaN, or more than [`BITS`] times three bits lie
/// between the highest and the lowest that counts.
#[inline(always)]
pub(super) fn sums(values: &[f64; CHUNK]) -> Option<[f64; 3]> {
    let (chunks, _) = values.as_chunks::<LANES>();
    let mut most = [0.0f64; LANES];
    for chunk in chunks {
        for (most, value) in most.iter_mut().zip(chunk) {
            let value = value.abs();
            // NaN is left for the rest.
            *most = if value > *most { value } else { *most };
        }
    }
    let most = most.iter().copied().fold(0.0, f64::max);
    // All are below 2^exponent.
    let exponent = (most.to_bits() >> 52) as i32 - 1022;
    if most > 0.0 && !EXPONENTS.contains(&exponent) {
        return None;
    }
    let exponent = exponent.max(*EXPONENTS.start());
    // Most numbers that are summed up have no bits below the second place.
    let two = by::<2>(chunks, exponent).map(|[high, low]| [high, low, 0.0]);
    two.or_else(|| by::<3>(chunks, exponent))
}

/// The sum as `N` numbers, bits being split off at `N` places; none where there are others below.
#[inline(always)]
fn by<const N: usize>(chunks: &[[f64; LANES]], exponent: i32) -> Option<[f64; N]> {
    // Half again a power of two: its last bit is where the bits end that are split off.
    let splits: [f64; N] = std::array::from_fn(|n| 1.5 * power(exponent + ROOM - n as i32 * BITS));
    let mut sums = [[0.0f64; LANES]; N];
    let mut rest = [0.0f64; LANES];
    for chunk in chunks {
        let mut left = *chunk;
        for (split, sums) in splits.iter().zip(&mut sums) {
            for (left, sum) in left.iter_mut().zip(sums) {
                let high = (split + *left) - split;
                *sum += high;
                *left -= high;
            }
        }
        rest.iter_mut().zip(left).for_each(|(rest, left)| *rest += left.abs());
    }
    // NaN is not 0 either.
    (rest == [0.0; LANES]).then(|| sums.map(|lanes| lanes.iter().sum()))
}

/// A power of two that is normal.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
