//! What one cell does in a step of heat conduction.

use warpweft::element::{Bounds, Fields, Near, Real, ScalarNear, Unchecked, Unit};
use warpweft::prelude::*;
use warpweft::stencil::{StencilElement, Tap};

use super::WEIGHTS;

/// Conduction in `D` dimensions with a footprint of `R` cells to each side.
#[derive(Clone, Copy)]
#[repr(C)]
struct Conduct<T, const D: usize, const R: usize> {
    rate: T,
}

impl<T: Real, const D: usize, const R: usize> Conduct<T, D, R> {
    const TABLE: [Tap<D>; 25] = {
        let mut taps = [Tap { field: 0, offset: [0; D] }; 25];
        let (mut d, mut at) = (0, 1);
        while d < D {
            let mut k = 1;
            while k <= R {
                taps[at].offset[d] = -(k as isize);
                taps[at + 1].offset[d] = k as isize;
                (at, k) = (at + 2, k + 1);
            }
            d += 1;
        }
        taps
    };

    #[inline(always)]
    fn update<B: Bounds<D>>(&self, u: ScalarNear<'_, T, B, D>) -> T {
        let weights = WEIGHTS[R - 1];
        let here = u[[0; D]];
        let mut sum = T::lit(D as f64 * weights[0]) * here;
        for k in 1..R + 1 {
            let mut around = T::default();
            for d in 0..D {
                let (mut below, mut above) = ([0; D], [0; D]);
                (below[d], above[d]) = (-(k as isize), k as isize);
                let pair = u[below] + u[above];
                around = if d == 0 { pair } else { around + pair };
            }
            sum += T::lit(weights[k]) * around;
        }
        here + self.rate * sum
    }
}

// SAFETY: TABLE lists the centre and both sides of every axis up to R, which is what `update`
// reads, and the C++ struct has the one member `rate`.
unsafe impl<T: Real, const D: usize, const R: usize> StencilElement<D> for Conduct<T, D, R> {
    type State = T;
    const NAME: &'static str = "conduct";
    const TAPS: &'static [Tap<D>] = Self::TABLE.split_at(1 + 2 * D * R).0;
    const WRITES: &'static [usize] = &[0];

    fn cell(&self, u: Near<'_, T, D>, next: &mut T) {
        *next = self.update(u);
    }
    #[inline(always)]
    unsafe fn cell_unchecked(&self, u: <T as Fields>::Near<'_, Unchecked<D>, D>, next: &mut T) {
        *next = self.update(u);
    }
    fn cuda(unit: &mut Unit) -> String {
        let real = T::cuda(unit);
        let at = |offset: &[isize; D]| {
            let offset: Vec<_> = offset.iter().map(ToString::to_string).collect();
            format!("u.template at<0, {}>()", offset.join(", "))
        };
        let weights = WEIGHTS[R - 1];
        let here = at(&[0; D]);
        let mut body =
            format!("{real} sum = {} * {here};\n", T::lit(D as f64 * weights[0]).cuda_value(unit));
        for k in 1..=R {
            let mut around = String::new();
            for d in 0..D {
                let tap = |side: usize| at(&Self::TABLE[1 + 2 * (d * R + k - 1) + side].offset);
                let pair = format!("({} + {})", tap(0), tap(1));
                around = if d == 0 { pair } else { format!("({around} + {pair})") };
            }
            let weight = T::lit(weights[k]).cuda_value(unit);
            body.push_str(&format!("    sum = sum + {weight} * {around};\n"));
        }
        let key = format!("warpweft_apps::heat::Conduct<{real}, {D}, {R}>");
        unit.define(&key, "conduct", |_, name| {
            format!(
                "struct {name} {{\n  {real} rate;\n  template<class Now, class Next> WW_FN void operator()(const Now& u, Next& next) const {{\n    {body}    next.template ref<0>() = {here} + rate * sum;\n  }}\n}};\n"
            )
        })
    }
}

/// A scalar in which heat conduction in `D` dimensions can be computed.
pub trait Conducts<const D: usize>: Real {
    /// The element function of an order.
    ///
    /// # Errors
    /// An order that is not one of [`super::ORDERS`].
    fn element(order: usize, rate: Self) -> Result<Stencil<Self, D>>;
}

impl<T: Real, const D: usize> Conducts<D> for T {
    fn element(order: usize, rate: T) -> Result<Stencil<T, D>> {
        Ok(match order {
            2 => Stencil::of(Conduct::<T, D, 1> { rate }),
            4 => Stencil::of(Conduct::<T, D, 2> { rate }),
            6 => Stencil::of(Conduct::<T, D, 3> { rate }),
            8 => Stencil::of(Conduct::<T, D, 4> { rate }),
            _ => return Err(super::weights(order).err().unwrap_or_else(|| unreachable!("2 to 8"))),
        })
    }
}
