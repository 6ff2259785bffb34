//! Conway's Game of Life, B3/S23: a dead cell with three live neighbours of eight is born, a live
//! one with two or three survives.

use warpweft::element::{Bounds, DeviceType, Fields, Near, ScalarNear, Unchecked, Unit};
use warpweft::prelude::*;
use warpweft::stencil::{StencilElement, Tap};

use crate::plain::Place;

#[derive(Clone, Copy)]
#[repr(C)]
struct Life;

const TAPS: [Tap<2>; 9] = {
    let mut taps = [Tap { field: 0, offset: [0; 2] }; 9];
    let mut i = 0;
    while i < 9 {
        taps[i].offset = [i as isize / 3 - 1, i as isize % 3 - 1];
        i += 1;
    }
    taps
};

impl Life {
    #[inline(always)]
    fn update<B: Bounds<2>>(u: ScalarNear<'_, u8, B, 2>) -> u8 {
        let around = u[[-1, -1]]
            + u[[-1, 0]]
            + u[[-1, 1]]
            + u[[0, -1]]
            + u[[0, 1]]
            + u[[1, -1]]
            + u[[1, 0]]
            + u[[1, 1]];
        u8::from(around == 3 || (around == 2 && u[[0, 0]] == 1))
    }
}

// SAFETY: TAPS lists the nine cells that `update` reads; there are no parameters.
unsafe impl StencilElement<2> for Life {
    type State = u8;
    const NAME: &'static str = "life";
    const TAPS: &'static [Tap<2>] = &TAPS;
    const WRITES: &'static [usize] = &[0];

    fn cell(&self, u: Near<'_, u8, 2>, next: &mut u8) {
        *next = Self::update(u);
    }
    #[inline(always)]
    unsafe fn cell_unchecked(&self, u: <u8 as Fields>::Near<'_, Unchecked<2>, 2>, next: &mut u8) {
        *next = Self::update(u);
    }
    fn cuda(unit: &mut Unit) -> String {
        let u8 = u8::cuda(unit);
        unit.define("warpweft_apps::life", "life", |_, name| {
            let taps: Vec<_> = TAPS
                .iter()
                .filter(|tap| tap.offset != [0, 0])
                .map(|tap| format!("u.template at<0, {}, {}>()", tap.offset[0], tap.offset[1]))
                .collect();
            format!(
                "struct {name} {{\n  template<class Now, class Next> WW_FN void operator()(const Now& u, Next& next) const {{\n    {u8} around = ({u8})({});\n    next.template ref<0>() = ({u8})(around == 3 || (around == 2 && u.template at<0, 0, 0>() == 1));\n  }}\n}};\n",
                taps.join(" + ")
            )
        })
    }
}

/// The game, cells 0 (dead) or 1 (alive), boundaries still to be said.
pub fn stencil() -> Stencil<u8, 2> {
    Stencil::of(Life)
}

/// One step of the straightforward loop.
pub fn plain_step(u: Place<'_>) -> f64 {
    let mut around = 0.0;
    for y in -1..=1 {
        for x in -1..=1 {
            if (y, x) != (0, 0) {
                around += u.at([0, y, x]);
            }
        }
    }
    let alive = around == 3.0 || (around == 2.0 && u.at([0, 0, 0]) == 1.0);
    f64::from(u8::from(alive))
}
