//! Passes over rows of numbers, several at a time: those of large volumes take as long as reading them.

use super::{difference, worse};

/// Numbers at a time.
const LANES: usize = 8;

/// The largest difference of two rows of the same length; NaN if any is NaN.
pub fn furthest(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let exact =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(&a, &b)| difference(a, b)).fold(0.0, worse);
    let (mut most, mut odd) = ([0.0; LANES], [0.0; LANES]);
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            let off = (a[lane] - b[lane]).abs();
            most[lane] = if off > most[lane] { off } else { most[lane] };
            // NaN from the first difference on that is no finite number.
            odd[lane] += 0.0 * off;
        }
    }
    let most = match odd == [0.0; LANES] {
        true => most.into_iter().fold(0.0, f64::max),
        false => exact(a.as_flattened(), b.as_flattened()),
    };
    worse(most, exact(a_rest, b_rest))
}

/// Whether all are finite numbers.
pub fn all_finite(values: &[f64]) -> bool {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut odd = [0.0; LANES];
    for values in chunks {
        for lane in 0..LANES {
            odd[lane] += 0.0 * values[lane];
        }
    }
    odd == [0.0; LANES] && rest.iter().all(|value| value.is_finite())
}

/// The range of no numbers.
pub const NO_RANGE: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

/// The range of the numbers of both ranges.
pub fn wider([low, high]: [f64; 2], [l, h]: [f64; 2]) -> [f64; 2] {
    [low.min(l), high.max(h)]
}

/// The least and the greatest, infinite where there is none; NaN is passed over.
pub fn range(values: &[f64]) -> [f64; 2] {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let (mut low, mut high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    for values in chunks {
        for lane in 0..LANES {
            let value = values[lane];
            low[lane] = if value < low[lane] { value } else { low[lane] };
            high[lane] = if value > high[lane] { value } else { high[lane] };
        }
    }
    let lanes = low.into_iter().zip(high).map(|(low, high)| [low, high]);
    lanes.chain(rest.iter().map(|&value| [value; 2])).fold(NO_RANGE, wider)
}

#[cfg(test)]
mod tests {
    use warpweft_apps::soup::SplitMix;

    use super::*;

    /// Values of every kind, more often finite, the same for one seed.
    fn values(n: usize, seed: u64) -> Vec<f64> {
        const ODD: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
        let mut noise = SplitMix::after(seed, 0);
        let odd = seed % 3;
        let mut value = || match (noise.next_unit() * 64.0) as usize {
            kind @ 0..4 if odd > 0 => ODD[kind],
            _ => noise.next_unit() - 0.5,
        };
        (0..n).map(|_| value()).collect()
    }

    #[test]
    fn lanes_find_what_one_number_at_a_time_finds() {
        for seed in 0..300 {
            let n = (seed as usize * 7) % 67;
            let (a, mut b) = (values(n, seed), values(n, seed + 1000));
            // Equal infinities differ by nothing.
            b[..n / 2].copy_from_slice(&a[..n / 2]);
            let one = a.iter().zip(&b).map(|(&a, &b)| difference(a, b)).fold(0.0, worse);
            assert_eq!(furthest(&a, &b).to_bits(), one.to_bits(), "seed {seed}");
            assert_eq!(all_finite(&a), a.iter().all(|value| value.is_finite()), "seed {seed}");
            let low = a.iter().copied().fold(f64::INFINITY, f64::min);
            let high = a.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(range(&a), [low, high], "seed {seed}");
        }
    }
}
