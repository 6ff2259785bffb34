//! One stage of a step, with the types of its element function and of its cells erased.

pub mod with;

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use self::with::{Taken, With};
use super::place::{Knows, Place};
use super::reduction::scalar::SessionScalar;
use super::stencil_element::StencilElement;
use crate::Tap;
use crate::cpu::rows;
use crate::cpu::slab::Slab;
use warpweft_core::element::{Bits, CellType, Fields, TableBytes, Unit};
use warpweft_core::grid::{Axes, RawVolume};

/// A [`crate::Tap`] whose number of axes is known at run time only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RawTap {
    /// The field's number.
    pub field: usize,
    /// Offset in cells.
    pub offset: Axes<isize>,
}

/// As a [`crate::Tap`]: what computations are told apart by holds this text.
impl fmt::Debug for RawTap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").field("field", &self.field).field("offset", &self.offset).finish()
    }
}

/// An element function behind a pointer: everything after the spec works on these, so plans and
/// executors are compiled once and only the innermost loops once per element.
///
/// Every [`StencilElement`] is made one by [`Stages::list`]; there is no need to write another.
///
/// # Safety
/// Executors access memory by what a stage says of itself: [`Stage::cell_type`] must name the fields
/// that it computes, [`Stage::taps`] list every read and [`Stage::writes`] every field assigned, the same
/// at every call; [`Stage::slab`] may access nothing beyond those; [`Stage::parameters`] must point to
/// [`Stage::parameters_size`] readable bytes for as long as the stage lives; and the text of
/// [`Stage::cuda`] must keep to the same taps and fields.
pub unsafe trait Stage: Send + Sync {
    /// The function's name.
    fn name(&self) -> &'static str;
    /// Tells functions apart, whatever their parameters.
    fn function(&self) -> TypeId;
    /// The number of axes.
    fn rank(&self) -> usize;
    /// What a cell holds.
    fn cell_type(&self) -> CellType;
    /// Every read.
    fn taps(&self) -> &[RawTap];
    /// The fields assigned, ascending.
    fn writes(&self) -> &'static [usize];
    /// What it is told about its cell.
    fn knows(&self) -> Knows;
    /// The new cell `at` of `now`, by the function as the user wrote it, where the whole volume has it at `place` in
    /// the step after so many.
    ///
    /// # Panics
    /// When the volume's cells are of another type or the cell lies outside; as the function does.
    fn cell(&self, now: &RawVolume, at: Axes<usize>, place: (Axes<usize>, u64)) -> Bits;
    /// Computes every cell of a slab with loops compiled for this very function.
    ///
    /// # Safety
    /// The slab must describe live arrays of `S`'s fields in which the box and every tap around it
    /// lie. Nothing else may access the box in the target nor write what the taps read. Fields that
    /// the stage writes and also reads away from the cell have another target than source, all
    /// others the same, and this machine has the instruction set.
    unsafe fn slab(&self, slab: &Slab);
    /// Defines the C++ functor and returns its name.
    fn cuda(&self, unit: &mut Unit) -> String;
    /// The parameters as C++ expressions, exact to the bit.
    fn parameters_text(&self, unit: &mut Unit) -> String;
    /// The parameters, laid out as the functor's data members; their address is a kernel argument.
    fn parameters(&self) -> *const std::ffi::c_void;
    /// Size in bytes behind [`Stage::parameters`] (0 for none).
    fn parameters_size(&self) -> usize;
    /// The tables among the parameters.
    fn tables(&self) -> Vec<TableBytes<'_>>;
    /// The parameters that are numbers of a session, by their names in C++; their values among
    /// [`Stage::parameters`] mean nothing.
    #[doc(hidden)]
    fn taken(&self) -> Vec<(&'static str, SessionScalar)>;
    /// The same with values for those of [`Stage::taken`] that have one here.
    #[doc(hidden)]
    fn given(&self, values: &[Option<f64>]) -> Arc<dyn Stage>;
}

/// What follows from what a stage says; not methods of the trait, which would be compiled once an element.
impl dyn Stage {
    /// How far the stage reads, per axis: `[below, above]`, both ≥ 0.
    pub fn radius(&self) -> Axes<[usize; 2]> {
        let dims = self.rank();
        let mut radius = Axes::filled(dims, [0; 2]);
        for tap in self.taps() {
            for d in 0..dims {
                radius[d][0] = radius[d][0].max(-tap.offset[d].min(0) as usize);
                radius[d][1] = radius[d][1].max(tap.offset[d].max(0) as usize);
            }
        }
        radius
    }

    /// The fields that the stage both writes and reads away from the cell, as bits: they need a second
    /// array. The other written fields are updated in place.
    pub(crate) fn flips(&self) -> u32 {
        let away = self.taps().iter().filter(|tap| tap.offset.iter().any(|&offset| offset != 0));
        let reads = away.fold(0, |fields, tap| fields | 1 << tap.field);
        reads & self.writes().iter().fold(0, |fields, field| fields | 1 << field)
    }
}

/// An element with its number of axes, which the compiler does not find by the element alone.
struct Typed<E, const D: usize> {
    element: E,
    taps: Vec<RawTap>,
    taken: Vec<Taken<E>>,
}

impl<E: StencilElement<D>, const D: usize> Typed<E, D> {
    fn held(element: E, taken: Vec<Taken<E>>) -> Arc<dyn Stage> {
        Arc::new(Self { element, taps: raw_taps(E::TAPS), taken })
    }
}

/// Not generic over the element: compiled once for each number of axes.
fn raw_taps<const D: usize>(taps: &[Tap<D>]) -> Vec<RawTap> {
    taps.iter().map(|tap| RawTap { field: tap.field, offset: tap.offset.into() }).collect()
}

// SAFETY: implementing `StencilElement` is unsafe for the same promises, and the parameters are the
// bytes of the element itself.
unsafe impl<E: StencilElement<D>, const D: usize> Stage for Typed<E, D> {
    fn function(&self) -> TypeId {
        TypeId::of::<E>()
    }
    fn rank(&self) -> usize {
        D
    }
    fn name(&self) -> &'static str {
        E::NAME
    }
    fn cell_type(&self) -> CellType {
        CellType::of::<E::State>()
    }
    fn taps(&self) -> &[RawTap] {
        &self.taps
    }
    fn writes(&self) -> &'static [usize] {
        E::WRITES
    }
    fn knows(&self) -> Knows {
        E::KNOWS
    }
    fn cell(&self, now: &RawVolume, at: Axes<usize>, (place, step): (Axes<usize>, u64)) -> Bits {
        let near = now.near::<E::State, D>(at.array());
        let mut cell: E::State = now.cell(at);
        let place = Place { at: place.array(), step };
        StencilElement::cell(&self.element, near, &mut cell, place);
        Bits::of(cell)
    }
    unsafe fn slab(&self, slab: &Slab) {
        // SAFETY: passed on to the caller.
        unsafe { rows::slab::<E, D>(&self.element, slab) }
    }
    fn cuda(&self, unit: &mut Unit) -> String {
        E::cuda(unit)
    }
    fn parameters_text(&self, unit: &mut Unit) -> String {
        self.element.parameters_text(unit)
    }
    fn parameters(&self) -> *const std::ffi::c_void {
        (&raw const self.element).cast()
    }
    fn parameters_size(&self) -> usize {
        size_of::<E>()
    }
    fn tables(&self) -> Vec<TableBytes<'_>> {
        self.element.tables()
    }
    fn taken(&self) -> Vec<(&'static str, SessionScalar)> {
        self.taken.iter().map(|taken| (taken.member, taken.number.clone())).collect()
    }
    fn given(&self, values: &[Option<f64>]) -> Arc<dyn Stage> {
        let (mut element, mut left) = (self.element.clone(), Vec::new());
        for (taken, value) in self.taken.iter().zip(values) {
            match value {
                Some(value) => taken.set(&mut element, *value),
                None => left.push(taken.clone()),
            }
        }
        Self::held(element, left)
    }
}

/// The stages of one step, in order.
pub type StageList = Vec<Arc<dyn Stage>>;

/// One element function or a tuple of them: what [`crate::Stencil::sequence`] takes.
pub trait Stages<const D: usize> {
    /// What a cell holds, the same for all.
    type State: Fields;
    /// The stages in order.
    fn list(self) -> StageList;
}

impl<E: StencilElement<D>, const D: usize> Stages<D> for E {
    type State = E::State;
    fn list(self) -> StageList {
        vec![Typed::held(self, Vec::new())]
    }
}

impl<E: StencilElement<D>, const D: usize> Stages<D> for With<E> {
    type State = E::State;
    fn list(self) -> StageList {
        vec![Typed::held(self.element, self.taken)]
    }
}

macro_rules! sequences {
    ($(($first:ident . $i:tt $(, $more:ident . $j:tt)*)),*) => {$(
        impl<S, $first, $($more,)* const D: usize> Stages<D> for ($first, $($more,)*)
        where
            S: Fields,
            $first: Stages<D, State = S>,
            $($more: Stages<D, State = S>,)*
        {
            type State = S;
            fn list(self) -> StageList {
                [self.$i.list() $(, self.$j.list())*].concat()
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
