//! One stage of a step, with the types of its element function and of its cells erased.

use std::sync::Arc;

use super::cpu::rows;
use super::cpu::slab::Slab;
use super::stencil_element::{StencilElement, Tap};
use warpweft_core::element::{Bits, CellType, Fields, Unit};
use warpweft_core::grid::RawVolume;

/// An element function behind a pointer: everything after the spec works on these, so plans and
/// executors are compiled once and only the innermost loops once per element.
///
/// Every [`StencilElement`] is one; there is no need to write another.
///
/// # Safety
/// Executors access memory by what a stage says of itself: [`Stage::cell_type`] must name the fields
/// that it computes, [`Stage::taps`] list every read and [`Stage::writes`] every field assigned, the same
/// at every call; [`Stage::slab`] may access nothing beyond those; [`Stage::parameters`] must point to
/// [`Stage::parameters_size`] readable bytes for as long as the stage lives; and the text of
/// [`Stage::cuda`] must keep to the same taps and fields.
pub unsafe trait Stage<const D: usize>: Send + Sync {
    /// The function's name.
    fn name(&self) -> &'static str;
    /// What a cell holds.
    fn cell_type(&self) -> CellType;
    /// Every read.
    fn taps(&self) -> &[Tap<D>];
    /// The fields assigned, ascending.
    fn writes(&self) -> &'static [usize];
    /// Computes, by the function as the user wrote it, the new cell `at` of `now` into the cell `to` of
    /// `next`.
    ///
    /// # Panics
    /// When a volume's cells are of another type or a cell lies outside; as the function does.
    fn cell(&self, now: &RawVolume<D>, at: [usize; D], next: &mut RawVolume<D>, to: [usize; D]);
    /// Computes every cell of a slab with loops compiled for this very function.
    ///
    /// # Safety
    /// The slab must describe live arrays of `S`'s fields in which the box and every tap around it
    /// lie. Nothing else may access the box in the target nor write what the taps read. Fields that
    /// the stage writes and also reads away from the cell have another target than source, all
    /// others the same, and this machine has the instruction set.
    unsafe fn slab(&self, slab: &Slab<D>);
    /// Defines the C++ functor and returns its name.
    fn cuda(&self, unit: &mut Unit) -> String;
    /// The parameters as C++ expressions, exact to the bit.
    fn parameters_text(&self, unit: &mut Unit) -> String;
    /// The parameters, laid out as the functor's data members; their address is a kernel argument.
    fn parameters(&self) -> *const std::ffi::c_void;
    /// Size in bytes behind [`Stage::parameters`] (0 for none).
    fn parameters_size(&self) -> usize;

    /// How far the stage reads, per axis: `[below, above]`, both ≥ 0.
    fn radius(&self) -> [[usize; 2]; D] {
        let mut radius = [[0; 2]; D];
        for tap in self.taps() {
            for d in 0..D {
                radius[d][0] = radius[d][0].max(-tap.offset[d].min(0) as usize);
                radius[d][1] = radius[d][1].max(tap.offset[d].max(0) as usize);
            }
        }
        radius
    }
}

// SAFETY: implementing `StencilElement` is unsafe for the same promises, and the parameters are the
// bytes of the element itself.
unsafe impl<E: StencilElement<D>, const D: usize> Stage<D> for E {
    fn name(&self) -> &'static str {
        E::NAME
    }
    fn cell_type(&self) -> CellType {
        CellType::of::<E::State>()
    }
    fn taps(&self) -> &[Tap<D>] {
        E::TAPS
    }
    fn writes(&self) -> &'static [usize] {
        E::WRITES
    }
    fn cell(&self, now: &RawVolume<D>, at: [usize; D], next: &mut RawVolume<D>, to: [usize; D]) {
        let near = now.near::<E::State>(at);
        let mut cell: E::State = now.cell(at);
        StencilElement::cell(self, near, &mut cell);
        assert!(next.set_bits(to, &Bits::of(cell), u32::MAX), "{to:?} is outside");
    }
    unsafe fn slab(&self, slab: &Slab<D>) {
        // SAFETY: passed on to the caller.
        unsafe { rows::slab(self, slab) }
    }
    fn cuda(&self, unit: &mut Unit) -> String {
        E::cuda(unit)
    }
    fn parameters_text(&self, unit: &mut Unit) -> String {
        StencilElement::parameters_text(self, unit)
    }
    fn parameters(&self) -> *const std::ffi::c_void {
        (&raw const *self).cast()
    }
    fn parameters_size(&self) -> usize {
        size_of::<E>()
    }
}

/// The stages of one step, in order.
pub type StageList<const D: usize> = Vec<Arc<dyn Stage<D>>>;

/// One element function or a tuple of them: what [`super::Stencil::sequence`] takes.
pub trait Stages<const D: usize> {
    /// What a cell holds, the same for all.
    type State: Fields;
    /// The stages in order.
    fn list(self) -> StageList<D>;
}

impl<E: StencilElement<D>, const D: usize> Stages<D> for E {
    type State = E::State;
    fn list(self) -> StageList<D> {
        vec![Arc::new(self)]
    }
}

macro_rules! sequences {
    ($(($first:ident . $i:tt $(, $more:ident . $j:tt)*)),*) => {$(
        impl<S, $first, $($more,)* const D: usize> Stages<D> for ($first, $($more,)*)
        where
            S: Fields,
            $first: StencilElement<D, State = S>,
            $($more: StencilElement<D, State = S>,)*
        {
            type State = S;
            fn list(self) -> StageList<D> {
                vec![Arc::new(self.$i) $(, Arc::new(self.$j))*]
            }
        }
    )*};
}
sequences!(
    (A.0),
    (A.0, B.1),
    (A.0, B.1, C.2),
    (A.0, B.1, C.2, E.3),
    (A.0, B.1, C.2, E.3, F.4),
    (A.0, B.1, C.2, E.3, F.4, G.5)
);
