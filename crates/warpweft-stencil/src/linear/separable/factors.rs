//! Weights as a product of weights along each axis, for one step and for several together.

use crate::linear::symbol::Symbol;

/// Relative error that a product may have next to the largest weight: rounding of the user's own numbers. Products of factors of
/// any size, each rounded once, are off by up to 1.9 epsilons.
const ROUNDING: f64 = 3.0 * f64::EPSILON;

/// How far a step may reach along an axis, for kernels.
const FARTHEST: usize = 4;

/// The weights of a step along each axis, slowest axis first: `2 * radius + 1` each, the middle one for the cell itself.
/// The weight of an offset is the product over the axes.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::linear) struct Factors {
    pub radius: usize,
    pub along: Vec<Vec<f64>>,
}

impl Factors {
    /// Of a step; `None` if its weights are no such product or reach further than [`FARTHEST`]. O(9^axes · taps).
    pub fn of(symbol: &Symbol) -> Option<Self> {
        let dims = symbol.extents.len();
        let offsets = || symbol.taps.iter().flat_map(|(offset, _)| offset);
        let radius = offsets().map(|o| o.unsigned_abs()).max()?.max(1);
        if radius > FARTHEST {
            return None;
        }
        let (pivot, largest) =
            symbol.taps.iter().max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))?;
        let weight = |offset: &[isize]| {
            symbol.taps.iter().find(|(other, _)| other == offset).map_or(0.0, |(_, weight)| *weight)
        };
        let mut along = Vec::new();
        for axis in 0..dims {
            let values = (-(radius as isize)..=radius as isize).map(|o| {
                let mut offset = pivot.clone();
                offset[axis] = o;
                // The last axis has the size of the weights, the others are relative to the pivot.
                if axis + 1 == dims { weight(&offset) } else { weight(&offset) / largest }
            });
            along.push(values.collect::<Vec<_>>());
        }
        let factors = Self { radius, along };
        let side = 2 * radius + 1;
        let product = (0..side.pow(dims as u32)).all(|n| {
            let place = |axis: usize| n / side.pow(axis as u32) % side;
            let offset: Vec<_> =
                (0..dims).map(|axis| place(axis) as isize - radius as isize).collect();
            let product: f64 = (0..dims).map(|axis| factors.along[axis][place(axis)]).product();
            (product - weight(&offset)).abs() <= ROUNDING * largest.abs()
        });
        product.then_some(factors)
    }

    /// The weights of `steps` steps together along `axis`, as many as reach `reach` cells to each side. O(reach · steps).
    pub fn composed(&self, axis: usize, steps: usize, reach: usize) -> Vec<f64> {
        let mut all = vec![0.0; 2 * reach + 1];
        all[reach] = 1.0;
        for _ in 0..steps {
            let mut next = vec![0.0; all.len()];
            for (at, value) in all.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                for (k, weight) in self.along[axis].iter().enumerate() {
                    if let Some(sum) =
                        (at + k).checked_sub(self.radius).and_then(|to| next.get_mut(to))
                    {
                        *sum += value * weight;
                    }
                }
            }
            all = next;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(weights: [[f64; 3]; 3]) -> Symbol {
        let offsets = (0..9).map(|n| [n / 3, n % 3]);
        let taps = offsets
            .map(|[y, x]| (vec![y as isize - 1, x as isize - 1], weights[y as usize][x as usize]));
        Symbol { extents: vec![8, 8], taps: taps.filter(|(_, weight)| *weight != 0.0).collect() }
    }

    #[test]
    fn products_are_found_and_stars_are_none() {
        let (y, x) = ([0.24, 0.49, 0.27], [0.26, 0.45, 0.29]);
        let factors = Factors::of(&symbol(y.map(|y| x.map(|x| y * x)))).unwrap();
        assert_eq!((factors.radius, factors.along.len()), (1, 2));
        for (n, y) in y.iter().enumerate() {
            for (k, x) in x.iter().enumerate() {
                let product = factors.along[0][n] * factors.along[1][k];
                assert!((product - y * x).abs() < 1e-16, "{product}");
            }
        }
        let star = [[0.0, 0.25, 0.0], [0.25, 0.0, 0.25], [0.0, 0.25, 0.0]];
        assert_eq!(Factors::of(&symbol(star)), None);
    }

    #[test]
    fn steps_compose_to_their_binomial_weights() {
        let line = Symbol { extents: vec![9], taps: vec![(vec![-1], 0.5), (vec![1], 0.5)] };
        let factors = Factors::of(&line).unwrap();
        assert_eq!(factors.composed(0, 2, 4), [0.0, 0.0, 0.25, 0.0, 0.5, 0.0, 0.25, 0.0, 0.0]);
        assert_eq!(factors.composed(0, 0, 1), [0.0, 1.0, 0.0]);
    }
}
