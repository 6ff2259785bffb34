//! The contract that `#[stencil]` generates code for, written out by hand for one function.

use warpweft::element::{DeviceType, Fields, Near, Unchecked, Unit};
use warpweft::prelude::*;
use warpweft::stencil::{StencilElement, Tap, reference};

/// What `#[stencil] fn diffuse(u: Near<f32, 1>, rate: f32) -> f32` expands to.
#[derive(Clone, Copy)]
#[repr(C)]
struct Diffuse {
    rate: f32,
}

// SAFETY: TAPS lists the three offsets read, and the C++ struct has the one member `rate`.
unsafe impl StencilElement<1> for Diffuse {
    type State = f32;
    const NAME: &'static str = "diffuse";
    const TAPS: &'static [Tap<1>] = &[
        Tap { field: 0, offset: [-1] },
        Tap { field: 0, offset: [1] },
        Tap { field: 0, offset: [0] },
    ];
    const WRITES: &'static [usize] = &[0];

    fn cell(&self, u: Near<'_, f32, 1>, next: &mut f32, _: warpweft::stencil::Place<1>) {
        *next = u[[0]] + self.rate * (u[[-1]] + u[[1]] - 2.0 * u[[0]]);
    }
    #[inline(always)]
    unsafe fn cell_unchecked(
        &self,
        u: <f32 as Fields>::Near<'_, Unchecked<1>, 1>,
        next: &mut f32,
        _: warpweft::stencil::Place<1>,
    ) {
        *next = u[[0]] + self.rate * (u[[-1]] + u[[1]] - 2.0 * u[[0]]);
    }
    fn cuda(unit: &mut Unit) -> String {
        unit.define("by_hand::diffuse", "diffuse", |unit, name| {
            let f32 = f32::cuda(unit);
            let two = 2.0f32.cuda_value(unit);
            format!(
                "struct {name} {{\n  {f32} rate;\n  template<class Now, class Next> WW_FN void operator()(const Now& u, Next& next) const {{\n    next.template ref<0>() = u.template at<0, 0>() + rate * (u.template at<0, -1>() + u.template at<0, 1>() - {two} * u.template at<0, 0>());\n  }}\n}};\n"
            )
        })
    }
}

#[test]
fn a_periodic_line_keeps_its_total_and_tends_to_its_mean() {
    let mut line = Volume::from_fn([8], |[x]| if x == 3 { 8.0f32 } else { 0.0 });
    let stencil = Stencil::of(Diffuse { rate: 0.25 }).boundary(Boundary::Periodic);
    assert_eq!(reference(&stencil, &mut line, 200).unwrap(), 200);
    let total: f32 = line.as_slice().iter().sum();
    assert!((total - 8.0).abs() < 1e-4, "{total}");
    assert!(line.as_slice().iter().all(|u| (u - 1.0).abs() < 1e-3), "{line:?}");
}

#[test]
fn it_stops_when_the_residual_is_small() {
    let mut line = Volume::from_fn([8], |[x]| x as f32);
    let stencil =
        Stencil::of(Diffuse { rate: 0.25 }).boundary(Boundary::Neumann).until(Residual::Max, 1e-3);
    let done = reference(&stencil, &mut line, 10_000).unwrap();
    assert!(done > 1 && done < 10_000, "{done}");
}

#[test]
fn a_footprint_wider_than_the_volume_is_refused() {
    let stencil = Stencil::of(Diffuse { rate: 0.25 }).boundary(Boundary::Mirror);
    let error = stencil.check([1]).unwrap_err().to_string();
    assert!(error.contains("reads 1 cells beyond axis x, which has 1"), "{error}");
}
