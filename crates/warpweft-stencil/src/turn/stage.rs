//! A stage whose element function reads with its offsets turned.

use std::sync::Arc;

use super::Turn;
use crate::Tap;
use crate::cpu::slab::Slab;
use crate::stage::Stage;
use warpweft_core::element::{Bits, CellType, Unit};
use warpweft_core::error::Result;
use warpweft_core::grid::RawVolume;

/// On a device the user's function reads through an accessor that turns its offsets, which are constants:
/// no instruction more. On the cores, where nothing but tests runs it, cells are gathered one by one.
pub(super) struct TurnedStage<const D: usize> {
    own: Arc<dyn Stage<D>>,
    turn: Turn<D>,
    taps: Vec<Tap<D>>,
    /// The footprint's box in the user's axes, and the place of the cell in it.
    near: RawVolume<D>,
    centre: [usize; D],
    /// One cell.
    next: RawVolume<D>,
}

impl<const D: usize> TurnedStage<D> {
    /// `own`, turned.
    ///
    /// # Errors
    /// Not enough host memory.
    pub fn new(own: Arc<dyn Stage<D>>, turn: Turn<D>) -> Result<Self> {
        let turned = |tap: &Tap<D>| Tap { offset: turn.turned(tap.offset), ..*tap };
        let taps = own.taps().iter().map(turned).collect();
        let (radius, cell) = (own.radius(), own.cell_type());
        let near = RawVolume::zeroed(cell, radius.map(|[below, above]| below + above + 1))?;
        let next = RawVolume::zeroed(cell, [1; D])?;
        Ok(Self { taps, near, centre: radius.map(|[below, _]| below), next, own, turn })
    }

    /// The new cell, of whose neighbourhood `read` gives a field at a turned offset.
    fn compute(&self, read: impl Fn(usize, [isize; D]) -> Bits) -> Bits {
        let (mut near, mut next) = (self.near.clone(), self.next.clone());
        let here = self.own.writes().iter().map(|&field| Tap { field, offset: [0; D] });
        for Tap { field, offset } in self.own.taps().iter().copied().chain(here) {
            let at = std::array::from_fn(|d| self.centre[d].wrapping_add_signed(offset[d]));
            near.set_bits(at, &read(field, self.turn.turned(offset)), 1 << field);
        }
        self.own.cell(&near, self.centre, &mut next, [0; D]);
        next.bits([0; D]).unwrap_or_default()
    }
}

// SAFETY: what the stage itself promises, of a volume turned as its taps are; and the parameters are its
// own, laid out as the one member of the functor.
unsafe impl<const D: usize> Stage<D> for TurnedStage<D> {
    fn name(&self) -> &'static str {
        self.own.name()
    }
    fn cell_type(&self) -> CellType {
        self.own.cell_type()
    }
    fn taps(&self) -> &[Tap<D>] {
        &self.taps
    }
    fn writes(&self) -> &'static [usize] {
        self.own.writes()
    }
    fn cell(&self, now: &RawVolume<D>, at: [usize; D], next: &mut RawVolume<D>, to: [usize; D]) {
        let cell = self.compute(|_, offset| {
            let at = std::array::from_fn(|d| at[d].wrapping_add_signed(offset[d]));
            let Some(bits) = now.bits(at) else { panic!("offset {offset:?} leaves the volume") };
            bits
        });
        let fields = self.writes().iter().fold(0, |fields, &field| fields | 1 << field);
        let known = now.bits(at).is_some_and(|whole| next.set_bits(to, &whole, u32::MAX));
        assert!(known && next.set_bits(to, &cell, fields), "{at:?} or {to:?} is outside");
    }
    unsafe fn slab(&self, slab: &Slab<D>) {
        let size = |field: usize| self.cell_type().size(field) as isize;
        let [planes, rows, inner, cells] = slab.counts.map(|count| count as isize);
        let all = (0..planes).flat_map(|z| (0..rows).map(move |y| (z, y)));
        let all = all.flat_map(|(z, y)| (0..inner).map(move |m| [z, y, m]));
        let starts = all.map(|at| (0..3).map(|d| at[d] * slab.steps[d]).sum::<isize>());
        for at in starts.flat_map(|start| (0..cells).map(move |x| start + x)) {
            let next = self.compute(|field, offset| {
                let along = |d: usize| if d + 1 < D { slab.strides[d] } else { 1 };
                let from = at + (0..D).map(|d| offset[d] * along(d)).sum::<isize>();
                let mut bits = Bits::default();
                // SAFETY: the box and every tap around it lie in live arrays, says the caller.
                let bytes = unsafe {
                    let from = slab.source[field].offset(from * size(field));
                    std::slice::from_raw_parts(from, size(field) as usize)
                };
                bits.set(field, bytes);
                bits
            });
            for &field in self.writes() {
                let bytes = next.bytes(field);
                // SAFETY: the cell is one of the box, which the caller lets nobody else access.
                unsafe {
                    let to = slab.target[field].offset(at * size(field));
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, size(field) as usize);
                }
            }
        }
    }
    fn cuda(&self, unit: &mut Unit) -> String {
        let own = self.own.cuda(unit);
        let key = format!("{own} turned by {:?}", self.turn.order);
        unit.define(&key, &format!("{}_turned", self.name()), |_, name| {
            let offsets = (0..D).map(|d| format!("int O{d}")).collect::<Vec<_>>().join(", ");
            let turned = self.turn.order.map(|d| format!("O{d}")).join(", ");
            format!(
                "struct {name} {{
  {own} own;
  template <class Now>
  struct Turned {{
    const Now& now;
    template <int F, {offsets}>
    WW_FN auto at() const {{ return now.template at<F, {turned}>(); }}
  }};
  template <class Now, class Next>
  WW_FN void operator()(const Now& now, Next& next) const {{
    own(Turned<Now>{{now}}, next);
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
    fn parameters(&self) -> *const std::ffi::c_void {
        self.own.parameters()
    }
    fn parameters_size(&self) -> usize {
        self.own.parameters_size()
    }
}
