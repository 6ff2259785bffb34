//! Life in three dimensions: of 26 neighbours, exactly five give birth; a live cell dies with one
//! or fewer, or with eight or more.

use warpweft::element::{Bounds, DeviceType, Fields, Near, ScalarNear, Unchecked, Unit};
use warpweft::prelude::*;
use warpweft::stencil::{StencilElement, Tap};

use crate::plain::Place;

#[derive(Clone, Copy)]
#[repr(C)]
struct Life3d;

const TAPS: [Tap<3>; 27] = {
    let mut taps = [Tap { field: 0, offset: [0; 3] }; 27];
    let mut i = 0;
    while i < 27 {
        let at = i as isize;
        taps[i].offset = [at / 9 - 1, at / 3 % 3 - 1, at % 3 - 1];
        i += 1;
    }
    taps
};

impl Life3d {
    #[inline(always)]
    fn update<B: Bounds<3>>(u: ScalarNear<'_, u8, B, 3>) -> u8 {
        let mut around = 0;
        for z in -1..2 {
            for y in -1..2 {
                around += u[[z, y, -1]] + u[[z, y, 0]] + u[[z, y, 1]];
            }
        }
        let here = u[[0, 0, 0]];
        around -= here;
        u8::from(if here == 1 { around > 1 && around < 8 } else { around == 5 })
    }
}

// SAFETY: TAPS lists the 27 cells that `update` reads; there are no parameters.
unsafe impl StencilElement<3> for Life3d {
    type State = u8;
    const NAME: &'static str = "life3d";
    const TAPS: &'static [Tap<3>] = &TAPS;
    const WRITES: &'static [usize] = &[0];

    fn cell(&self, u: Near<'_, u8, 3>, next: &mut u8) {
        *next = Self::update(u);
    }
    #[inline(always)]
    unsafe fn cell_unchecked(&self, u: <u8 as Fields>::Near<'_, Unchecked<3>, 3>, next: &mut u8) {
        *next = Self::update(u);
    }
    fn cuda(unit: &mut Unit) -> String {
        let u8 = u8::cuda(unit);
        unit.define("warpweft_apps::life3d", "life3d", |_, name| {
            let taps: Vec<_> = TAPS
                .iter()
                .filter(|tap| tap.offset != [0; 3])
                .map(|tap| {
                    let [z, y, x] = tap.offset;
                    format!("u.template at<0, {z}, {y}, {x}>()")
                })
                .collect();
            format!(
                "struct {name} {{\n  template<class Now, class Next> WW_FN void operator()(const Now& u, Next& next) const {{\n    {u8} around = ({u8})({});\n    next.template ref<0>() = ({u8})(u.template at<0, 0, 0, 0>() == 1 ? around > 1 && around < 8 : around == 5);\n  }}\n}};\n",
                taps.join(" + ")
            )
        })
    }
}

/// The game, cells 0 (dead) or 1 (alive), boundaries still to be said.
pub fn stencil() -> Stencil<u8, 3> {
    Stencil::of(Life3d)
}

/// One step of the straightforward loop.
pub fn plain_step(u: Place<'_>) -> f64 {
    let mut around = -u.at([0, 0, 0]);
    for z in -1..=1 {
        for y in -1..=1 {
            for x in -1..=1 {
                around += u.at([z, y, x]);
            }
        }
    }
    let alive = if u.at([0, 0, 0]) == 1.0 { (2.0..=7.0).contains(&around) } else { around == 5.0 };
    f64::from(u8::from(alive))
}
