//! What one cell does in a step of heat conduction: a function for each dimension and order.

use warpweft::prelude::*;

use super::{EIGHTH, FOURTH, SECOND, SIXTH};

/// `$name` conducts in `$dims` dimensions with weights `$weights` up to `$reach` cells away, where
/// `[..]` pairs are the two neighbours at distance `$k` along each axis. Cells of two bytes are computed in
/// `f32` and rounded once a step.
macro_rules! conduct {
    ($($name:ident($dims:tt, $weights:ident, $reach:tt, $here:tt, |$k:ident| $first:tt + $last:tt $(, $below:tt + $above:tt)*);)*) => {$(
        #[stencil]
        fn $name<T: Stored<Number = N>, N: Real>(u: Near<T, $dims>, rate: N) -> T {
            let mut sum = N::lit($dims as f64 * $weights[0]) * u[$here].widen();
            for $k in 1..=$reach {
                // Beginning with 0 would cost an addition, which no compiler may leave out.
                let around = u[$first].widen() + u[$last].widen()
                    $(+ (u[$below].widen() + u[$above].widen()))*;
                sum += N::lit($weights[$k as usize]) * around;
            }
            T::narrow(u[$here].widen() + rate * sum)
        }
    )*};
}

conduct! {
    line2(1, SECOND, 1, [0], |k| [-k] + [k]);
    line4(1, FOURTH, 2, [0], |k| [-k] + [k]);
    line6(1, SIXTH, 3, [0], |k| [-k] + [k]);
    line8(1, EIGHTH, 4, [0], |k| [-k] + [k]);
    plane2(2, SECOND, 1, [0, 0], |k| [-k, 0] + [k, 0], [0, -k] + [0, k]);
    plane4(2, FOURTH, 2, [0, 0], |k| [-k, 0] + [k, 0], [0, -k] + [0, k]);
    plane6(2, SIXTH, 3, [0, 0], |k| [-k, 0] + [k, 0], [0, -k] + [0, k]);
    plane8(2, EIGHTH, 4, [0, 0], |k| [-k, 0] + [k, 0], [0, -k] + [0, k]);
    space2(3, SECOND, 1, [0, 0, 0], |k| [-k, 0, 0] + [k, 0, 0], [0, -k, 0] + [0, k, 0], [0, 0, -k] + [0, 0, k]);
    space4(3, FOURTH, 2, [0, 0, 0], |k| [-k, 0, 0] + [k, 0, 0], [0, -k, 0] + [0, k, 0], [0, 0, -k] + [0, 0, k]);
    space6(3, SIXTH, 3, [0, 0, 0], |k| [-k, 0, 0] + [k, 0, 0], [0, -k, 0] + [0, k, 0], [0, 0, -k] + [0, 0, k]);
    space8(3, EIGHTH, 4, [0, 0, 0], |k| [-k, 0, 0] + [k, 0, 0], [0, -k, 0] + [0, k, 0], [0, 0, -k] + [0, 0, k]);
}

/// A scalar in which heat conduction in `D` dimensions can be computed.
pub trait Conducts<const D: usize>: Stored {
    /// The computation of an order, or `None` where there is none.
    fn of_order(order: usize, rate: Self::Number) -> Option<Stencil<Self, D>>;
}

// For each scalar by itself: the loops of an element are then compiled here, once, and not again in
// every program and test that uses them.
macro_rules! orders {
    ($($scalar:ident $dims:literal: $second:ident $fourth:ident $sixth:ident $eighth:ident;)*) => {$(
        impl Conducts<$dims> for $scalar {
            fn of_order(
                order: usize,
                rate: <$scalar as Stored>::Number,
            ) -> Option<Stencil<$scalar, $dims>> {
                Some(match order {
                    2 => Stencil::of($second(rate)),
                    4 => Stencil::of($fourth(rate)),
                    6 => Stencil::of($sixth(rate)),
                    8 => Stencil::of($eighth(rate)),
                    _ => return None,
                })
            }
        }
    )*};
}

orders! {
    f16 1: line2 line4 line6 line8;
    f16 2: plane2 plane4 plane6 plane8;
    f16 3: space2 space4 space6 space8;
    bf16 1: line2 line4 line6 line8;
    bf16 2: plane2 plane4 plane6 plane8;
    bf16 3: space2 space4 space6 space8;
    f32 1: line2 line4 line6 line8;
    f64 1: line2 line4 line6 line8;
    f32 2: plane2 plane4 plane6 plane8;
    f64 2: plane2 plane4 plane6 plane8;
    f32 3: space2 space4 space6 space8;
    f64 3: space2 space4 space6 space8;
}
