//! Norms of the change of a step, summed in an order that no executor may change.
//!
//! Floating-point sums depend on their order, and results must not depend on threads, tiles or
//! devices. So the order is part of the definition: a volume is reduced axis by axis, innermost
//! first; along a line of `n` values, lane `l` of 32 adds the values `l, l + 32, ..` in that order,
//! and the lanes are then combined by halving (`l` with `l + 16`, then `l + 8`, .. `l + 1`), which is
//! what a warp does. Several fields are combined in field order.

/// Lanes of a line's sum.
pub(crate) const LANES: usize = 32;

/// A norm of the change that one step makes, over all cells and written fields, as `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// Largest absolute change; NaN when any change is.
    Max,
    /// Sum of absolute changes.
    Sum,
    /// Sum of squared changes.
    SumOfSquares,
}

/// Stop early once a residual is at or below a tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// What is compared.
    pub residual: Residual,
    /// The tolerance.
    pub tolerance: f64,
    /// Steps between two checks, at least 1.
    pub every: u64,
}

impl Residual {
    /// What one cell contributes.
    #[inline(always)]
    pub fn of_change(self, before: f64, after: f64) -> f64 {
        let change = after - before;
        match self {
            Self::Max | Self::Sum => change.abs(),
            Self::SumOfSquares => change * change,
        }
    }

    /// Combines two partial results.
    #[inline(always)]
    pub fn combine(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Max if a.is_nan() || b.is_nan() => f64::NAN,
            Self::Max => a.max(b),
            Self::Sum | Self::SumOfSquares => a + b,
        }
    }

    /// The total of one line of values.
    #[inline(always)]
    pub fn total(self, line: impl Iterator<Item = f64>) -> f64 {
        let mut lanes = [0.0; LANES];
        for (i, value) in line.enumerate() {
            lanes[i % LANES] = self.combine(lanes[i % LANES], value);
        }
        self.fold(lanes)
    }

    /// The lanes of a line combined by halving.
    #[inline(always)]
    pub(crate) fn fold(self, mut lanes: [f64; LANES]) -> f64 {
        let mut half = LANES / 2;
        while half > 0 {
            for l in 0..half {
                lanes[l] = self.combine(lanes[l], lanes[l + half]);
            }
            half /= 2;
        }
        lanes[0]
    }
}
