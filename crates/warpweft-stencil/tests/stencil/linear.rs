//! Weighted sums over any footprint, written out by hand as `#[stencil]` would: elements whose
//! footprint is data, for tests that go through many footprints.

use warpweft::element::{DeviceType, Unit};
use warpweft::stencil::Tap;

/// The taps of a star: the cell, then along every axis `1..=r` cells either way.
pub const fn star<const D: usize, const N: usize>(r: isize) -> [Tap<D>; N] {
    let mut taps = [Tap { field: 0, offset: [0; D] }; N];
    let (mut n, mut d) = (1, 0);
    while d < D {
        let mut k = 1;
        while k <= r {
            taps[n].offset[d] = -k;
            taps[n + 1].offset[d] = k;
            n += 2;
            k += 1;
        }
        d += 1;
    }
    assert!(n == N);
    taps
}

/// Taps at these offsets.
#[allow(dead_code, reason = "not every test that shares this file has such")]
pub const fn taps<const D: usize, const N: usize>(offsets: [[isize; D]; N]) -> [Tap<D>; N] {
    let mut taps = [Tap { field: 0, offset: [0; D] }; N];
    let mut n = 0;
    while n < N {
        taps[n].offset = offsets[n];
        n += 1;
    }
    taps
}

#[allow(dead_code, reason = "not every test that shares this file has a cube")]
/// The taps of a cube of side `2r + 1`, in row-major order.
pub const fn cube<const D: usize, const N: usize>(r: isize) -> [Tap<D>; N] {
    let mut taps = [Tap { field: 0, offset: [0; D] }; N];
    let mut n = 0;
    while n < N {
        let (mut rest, mut d) = (n as isize, D);
        while d > 0 {
            d -= 1;
            taps[n].offset[d] = rest % (2 * r + 1) - r;
            rest /= 2 * r + 1;
        }
        n += 1;
    }
    taps
}

/// The C++ functor of a weighted sum: weights in the order of the taps, then times `rate`.
pub fn functor<T: DeviceType, const D: usize>(
    unit: &mut Unit,
    name: &str,
    taps: &[Tap<D>],
    weight: impl Fn(usize) -> T,
) -> String {
    unit.define(&format!("linear::{name}"), name, |unit, name| {
        let scalar = T::cuda(unit);
        let mut sum = String::new();
        for (k, tap) in taps.iter().enumerate() {
            let offset = tap.offset.map(|o| o.to_string()).join(", ");
            let term =
                format!("{} * u.template at<0, {offset}>()", weight(k).cuda_value(unit));
            sum += &match k {
                0 => format!("    {scalar} sum = {term};\n"),
                _ => format!("    sum = sum + {term};\n"),
            };
        }
        format!(
            "struct {name} {{\n  {scalar} rate;\n  template <class Now, class Next>\n  WW_FN void operator()(const Now& u, Next& next) const {{\n{sum}    next.template ref<0>() = rate * sum;\n  }}\n}};\n"
        )
    })
}

/// Defines the element `$name { rate }` over `$d` dimensions of `$t` with these taps.
#[macro_export]
macro_rules! linear {
    ($name:ident, $t:ty, $d:literal, $taps:expr, $weight:expr) => {
        #[derive(Clone, Copy)]
        #[repr(C)]
        struct $name {
            rate: $t,
        }
        impl $name {
            const ALL: &'static [warpweft::stencil::Tap<$d>] = &$taps;
        }
        // SAFETY: both copies read the offsets of TAPS, and the C++ struct has the one member.
        unsafe impl warpweft::stencil::StencilElement<$d> for $name {
            type State = $t;
            const NAME: &'static str = stringify!($name);
            const TAPS: &'static [warpweft::stencil::Tap<$d>] = Self::ALL;
            const WRITES: &'static [usize] = &[0];
            fn cell(
                &self,
                u: warpweft::element::Near<'_, $t, $d>,
                next: &mut $t,
                _: warpweft::stencil::Place<$d>,
            ) {
                let weight: fn(usize) -> $t = $weight;
                let mut sum = weight(0) * u[Self::ALL[0].offset];
                for (k, tap) in Self::ALL.iter().enumerate().skip(1) {
                    sum += weight(k) * u[tap.offset];
                }
                *next = self.rate * sum;
            }
            unsafe fn cell_unchecked(
                &self,
                u: <$t as warpweft::element::Fields>::Near<
                    '_,
                    warpweft::element::Unchecked<$d>,
                    $d,
                >,
                next: &mut $t,
                _: warpweft::stencil::Place<$d>,
            ) {
                let weight: fn(usize) -> $t = $weight;
                let mut sum = weight(0) * u[Self::ALL[0].offset];
                for (k, tap) in Self::ALL.iter().enumerate().skip(1) {
                    sum += weight(k) * u[tap.offset];
                }
                *next = self.rate * sum;
            }
            fn cuda(unit: &mut warpweft::element::Unit) -> String {
                let weight: fn(usize) -> $t = $weight;
                $crate::linear::functor(unit, stringify!($name), Self::ALL, weight)
            }
        }
    };
}
