//! Reproducible noise for simulations: the same seed gives the same run.

/// A source of noise factors around 1.
#[derive(Clone, Debug)]
pub struct Jitter {
    state: u64,
    spread: f64,
}

impl Jitter {
    /// Factors whose logarithm has standard deviation `spread`; 0 is no noise.
    pub fn new(seed: u64, spread: f64) -> Self {
        Self { state: seed, spread }
    }

    /// A number uniform over `[0, 1)`: splitmix64 (Steele, Lea, Flood 2014).
    pub fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next factor: log-normal by the sum of twelve uniforms, so never further than six
    /// deviations out.
    pub fn factor(&mut self) -> f64 {
        if self.spread == 0.0 {
            return 1.0;
        }
        let normal: f64 = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
        (self.spread * normal).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_repeat_and_have_the_spread_asked_for() {
        let draw = |seed| {
            let mut jitter = Jitter::new(seed, 0.1);
            (0..4000).map(|_| jitter.factor().ln()).collect::<Vec<f64>>()
        };
        let logs = draw(7);
        assert_eq!(logs, draw(7));
        assert_ne!(logs, draw(8));
        let mean = logs.iter().sum::<f64>() / 4000.0;
        let deviation = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / 4000.0).sqrt();
        assert!(mean.abs() < 0.01 && (deviation - 0.1).abs() < 0.005, "{mean} {deviation}");
        assert_eq!(Jitter::new(1, 0.0).factor(), 1.0);
    }
}
