//! Reproducible random initial states. Not for cryptography or statistics.

/// A stream of 64-bit numbers: Vigna's SplitMix64, the same on every machine.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

/// Between two states: the golden ratio's.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream of `seed` after its first `n` numbers: any part of it can be had by itself.
    pub fn after(seed: u64, n: u64) -> Self {
        Self(seed.wrapping_add(n.wrapping_mul(STEP)))
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number in [0, 1).
    pub fn next_unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // First outputs for seed 1234567 of the generator's published C source.
        let mut stream = SplitMix::new(1_234_567);
        let first = [stream.next_u64(), stream.next_u64(), stream.next_u64()];
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
        assert_eq!(SplitMix::after(1_234_567, 2).next_u64(), first[2]);
    }
}
