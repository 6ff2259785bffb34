//! A boundary function that is told positions in the user's axes.

use std::ffi::c_void;

use super::Turn;
use crate::functions::{FaceFunction, HeldFace};
use warpweft_core::element::{Bits, MAX_FIELDS, Unit};

/// A function whose positions are turned back first.
pub(super) struct TurnedFace<const D: usize> {
    own: FaceFunction<D>,
    turn: Turn<D>,
}

impl<const D: usize> TurnedFace<D> {
    /// `own`, told of cells of a turned volume.
    pub fn new(own: FaceFunction<D>, turn: Turn<D>) -> Self {
        Self { own, turn }
    }
}

impl<const D: usize> HeldFace<D> for TurnedFace<D> {
    fn bits(&self, at: [i64; D], step: u64) -> Bits {
        self.own.bits(self.turn.back(at), step)
    }
    unsafe fn store(
        &self,
        (at, step): ([i64; D], u64),
        to: (&[*mut u8; MAX_FIELDS], isize),
        fields: u32,
    ) {
        // SAFETY: passed on to the caller.
        unsafe { self.own.store((self.turn.back(at), step), to, fields) }
    }
    fn cuda(&self, unit: &mut Unit) -> String {
        let own = self.own.cuda(unit);
        let key = format!("{own} turned by {:?}", self.turn.order);
        unit.define(&key, &format!("{}_turned", own.trim_end_matches("_ww")), |_, name| {
            let back = self.turn.undone().map(|d| format!("at.items[{d}]")).join(", ");
            format!(
                "struct {name} {{
  {own} own;
  WW_FN auto operator()(ww::array<ww::i64, {D}> at, ww::u64 step) const {{
    return own(ww::array<ww::i64, {D}>{{{{{back}}}}}, step);
  }}
}};
static_assert(sizeof({name}) == sizeof({own}), \"size of {name}\");
"
            )
        })
    }
    fn parameters_text(&self, unit: &mut Unit) -> String {
        self.own.parameters_text(unit)
    }
    fn parameters(&self) -> *const c_void {
        self.own.parameters()
    }
    fn parameters_size(&self) -> usize {
        self.own.parameters_size()
    }
}
