//! Norms of the change of a step, the same in whatever order they are added up.
//!
//! Floating-point sums depend on their order, and results must not depend on threads, tiles, devices or
//! how ranks cut a volume. So a sum is the exact one of what all cells contribute, each an `f64`, and is
//! rounded once ([`Total`]).

use super::total::Total;

/// A norm of the change that one step makes, over all cells and written fields, as `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// Largest absolute change; NaN when any change is.
    Max,
    /// Sum of absolute changes, exact but for one rounding.
    Sum,
    /// Sum of squared changes. Each square is rounded to `f64`; their sum is exact and is rounded once.
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

impl Until {
    /// Whether the residual of the last check ends a run: it is small enough, or NaN, which later steps do not change.
    pub(crate) fn ended(&self, residual: Option<f64>) -> bool {
        residual.is_some_and(|residual| residual <= self.tolerance || residual.is_nan())
    }
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

    /// What all contributions come to.
    pub(crate) fn of_total(self, total: &Total) -> f64 {
        match self {
            Self::Max => total.largest(),
            Self::Sum | Self::SumOfSquares => total.sum(),
        }
    }
}
