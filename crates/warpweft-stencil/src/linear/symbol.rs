//! What a step of a linear stencil does to each Fourier mode: it multiplies it by a number, the stencil's *symbol*.
//! Source: von Neumann's stability analysis of finite differences.

use std::f64::consts::PI;

use rustfft::num_complex::Complex64;

use super::weights::Weights;

/// Weights of a periodic stencil.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Symbol {
    /// Extents of the volume, slowest axis first.
    pub extents: Vec<usize>,
    /// Offsets with weights.
    pub taps: Vec<(Vec<isize>, f64)>,
}

/// `base` to this power.
pub(super) fn power(mut base: Complex64, mut exponent: u64) -> Complex64 {
    let mut result = Complex64::new(1.0, 0.0);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

/// `exp(2 pi i k / n)`.
pub(super) fn root(k: usize, n: usize) -> Complex64 {
    let (sin, cos) = (2.0 * PI * (k as f64 / n as f64)).sin_cos();
    Complex64::new(cos, sin)
}

/// `k * offset` modulo `n`: the angle that a mode turns by over an offset, in parts of a turn.
pub(super) fn turned(k: usize, offset: isize, n: usize) -> usize {
    ((k as i128 * offset as i128).rem_euclid(n as i128)) as usize
}

impl Symbol {
    /// The weights of a step of these stages, in order.
    pub fn of(stages: &[Weights], extents: Vec<usize>) -> Self {
        let mut all = Weights::from([(vec![0; extents.len()], 1.0)]);
        for stage in stages {
            let mut next = Weights::new();
            for (at, weight) in &all {
                for (offset, by) in stage {
                    let sum = at.iter().zip(offset).map(|(a, b)| a + b).collect();
                    *next.entry(sum).or_insert(0.0) += weight * by;
                }
            }
            all = next;
        }
        Self { extents, taps: all.into_iter().filter(|(_, weight)| *weight != 0.0).collect() }
    }

    /// Whether opposite offsets have the same weight: no mode is then turned, only scaled.
    pub fn even(&self) -> bool {
        self.taps.iter().all(|(offset, weight)| {
            let opposite: Vec<_> = offset.iter().map(|o| -o).collect();
            self.taps.iter().any(|(other, same)| *other == opposite && same == weight)
        })
    }

    /// Factors of the modes along the last of `axes`, which are all in some order, where those along the others are
    /// `fixed`: weights by offset along that axis.
    pub fn along(&self, axes: &[usize], fixed: &[usize]) -> Vec<(isize, Complex64)> {
        let Some((&last, others)) = axes.split_last() else { return Vec::new() };
        let mut by_offset = std::collections::BTreeMap::new();
        for (offset, weight) in &self.taps {
            let mut turn = Complex64::new(*weight, 0.0);
            for (&axis, &k) in others.iter().zip(fixed) {
                let n = self.extents[axis];
                turn *= root(turned(k, offset[axis], n), n);
            }
            *by_offset.entry(offset[last]).or_insert(Complex64::default()) += turn;
        }
        by_offset.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_multiply_and_opposite_weights_make_real_symbols() {
        let mean = Weights::from([(vec![-1], 0.5), (vec![1], 0.5)]);
        let twice = Symbol::of(&[mean.clone(), mean], vec![8]);
        assert_eq!(twice.taps, [(vec![-2], 0.25), (vec![0], 0.5), (vec![2], 0.25)]);
        assert!(twice.even());
        let shift = Symbol::of(&[Weights::from([(vec![1], 1.0)])], vec![8]);
        assert!(!shift.even());
        // A shift by one cell turns mode k by k / 8.
        let [(offset, factor)] = shift.along(&[0], &[])[..] else { panic!("one offset") };
        assert_eq!((offset, factor), (1, Complex64::new(1.0, 0.0)));
        assert_eq!(turned(3, -1, 8), 5);
        assert!((power(root(1, 8), 8) - 1.0).norm() < 1e-15);
    }
}
