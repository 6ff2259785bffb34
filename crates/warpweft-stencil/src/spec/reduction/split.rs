//! The exact sum of a few numbers as two or three, by vectors of `f64`: numbers are added to one so large that all sums round at
//! the same place, and what is rounded off is added up further below (S. M. Rump, T. Ogita, S. Oishi, "Accurate
//! floating-point summation", 2008; the remainder of an addition to a larger number is exact: T. J. Dekker, "A
//! floating-point technique for extending the available precision", 1971). Not here: numbers that are far apart, which
//! are left to [`super::Total`].

use super::CHUNK;

/// Numbers that are summed up next to one another.
const LANES: usize = 8;
/// Bits that sums of a chunk need above its numbers.
const ROOM: i32 = CHUNK.ilog2() as i32;
/// Bits from one place to the next: a mantissa's, less the room.
const BITS: i32 = f64::MANTISSA_DIGITS as i32 - ROOM;
/// Exponents for which nothing overflows, and nothing that is rounded off is subnormal.
const EXPONENTS: std::ops::RangeInclusive<i32> = -850..=1000;

const _: () = assert!(CHUNK.is_power_of_two() && CHUNK.is_multiple_of(LANES));

type Lanes = [f64; LANES];

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
    two(chunks, exponent).or_else(|| three(chunks, exponent))
}

/// Where the sums of place number `place` begin: half again a power of two, so they stay between two powers of two and
/// all round at the same bit.
#[inline(always)]
fn begin(exponent: i32, place: i32) -> f64 {
    1.5 * power(exponent + ROOM - place * BITS)
}

/// Adds `values`, of which what is rounded off is left.
#[inline(always)]
fn add(sums: &mut Lanes, values: &mut Lanes) {
    for (sum, value) in sums.iter_mut().zip(values) {
        let new = *sum + *value;
        *value -= new - *sum;
        *sum = new;
    }
}

/// What was added to all lanes.
#[inline(always)]
fn added(sums: &Lanes, begin: f64) -> f64 {
    sums.iter().map(|sum| sum - begin).sum()
}

/// The sum as two numbers; none where there are others below.
#[inline(always)]
fn two(chunks: &[Lanes], exponent: i32) -> Option<[f64; 3]> {
    let [a, b] = [0, 1].map(|place| begin(exponent, place));
    let (mut high, mut low, mut rest) = ([a; LANES], [b; LANES], [0; LANES]);
    for chunk in chunks {
        let mut left = *chunk;
        add(&mut high, &mut left);
        add(&mut low, &mut left);
        rest.iter_mut().zip(left).for_each(|(rest, left)| *rest |= left.to_bits());
    }
    is_nothing(rest).then(|| [added(&high, a), added(&low, b), 0.0])
}

/// The same as three numbers.
#[inline(always)]
fn three(chunks: &[Lanes], exponent: i32) -> Option<[f64; 3]> {
    let [a, b, c] = [0, 1, 2].map(|place| begin(exponent, place));
    let (mut high, mut low, mut lowest) = ([a; LANES], [b; LANES], [c; LANES]);
    let mut rest = [0; LANES];
    for chunk in chunks {
        let mut left = *chunk;
        add(&mut high, &mut left);
        add(&mut low, &mut left);
        add(&mut lowest, &mut left);
        rest.iter_mut().zip(left).for_each(|(rest, left)| *rest |= left.to_bits());
    }
    is_nothing(rest).then(|| [added(&high, a), added(&low, b), added(&lowest, c)])
}

/// Whether the numbers of these bits are all 0 or -0.
#[inline(always)]
fn is_nothing(rest: [u64; LANES]) -> bool {
    rest.iter().fold(0, |all, bits| all | bits) << 1 == 0
}

/// A power of two that is normal.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
