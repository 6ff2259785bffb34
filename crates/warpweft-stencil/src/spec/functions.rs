//! Boundaries that are functions of position and time: who computes their values, and of which step.
//!
//! A ghost cell belongs to the state that it stands next to, so what a stage reads of a field is the
//! function after as many steps as that field has taken: all that are done when the step begins, and
//! one more once the last stage of the step that writes the field is through. A field that no stage
//! writes does not change, and keeps the function's value of step 0.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

use super::Spec;
use super::boundary::{Boundary, Face};
use super::stage::Stage;
use warpweft_core::element::{Bits, Fields, MAX_FIELDS, Unit};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, axis_name};

/// A function of position and time with its parameters: what `#[boundary]` makes of `tide(0.1)`.
///
/// # Safety
/// [`BoundaryFunction::parameters`] must point to [`BoundaryFunction::parameters_size`] readable bytes
/// for as long as the function lives, laid out as the C++ struct that [`BoundaryFunction::cuda`] defines.
pub unsafe trait BoundaryFunction<S: Fields, const D: usize>: Send + Sync {
    /// The function's name.
    fn name(&self) -> &'static str;
    /// What the cell at `at`, at least one index of which is outside the volume, holds after `step`
    /// steps.
    fn value(&self, at: [i64; D], step: u64) -> S;
    /// Defines a C++ struct in `unit` and returns its name. Its data members are the parameters, and it
    /// is called with an `array<i64, D>` and a `u64`.
    fn cuda(&self, unit: &mut Unit) -> String;
    /// The parameters as C++ expressions, exact to the bit.
    fn parameters_text(&self, unit: &mut Unit) -> String;
    /// The parameters, laid out as the struct's data members.
    fn parameters(&self) -> *const c_void;
    /// Size in bytes behind [`BoundaryFunction::parameters`] (0 for none).
    fn parameters_size(&self) -> usize;
}

/// A function behind a pointer, its type of cell erased.
pub(crate) type FaceFunction = Arc<dyn HeldFace>;

/// What is asked of a [`BoundaryFunction`] by code that does not know its type of cell.
pub(crate) trait HeldFace: Send + Sync {
    /// As [`BoundaryFunction::value`].
    fn bits(&self, at: Axes<i64>, step: u64) -> Bits;
    /// Writes the value to element `index` of the field arrays: the fields whose bit is set.
    ///
    /// # Safety
    /// As for [`Fields::store`], the arrays being of the function's type of cell.
    unsafe fn store(
        &self,
        value: (Axes<i64>, u64),
        to: (&[*mut u8; MAX_FIELDS], isize),
        fields: u32,
    );
    /// As [`BoundaryFunction::cuda`].
    fn cuda(&self, unit: &mut Unit) -> String;
    /// As [`BoundaryFunction::parameters_text`].
    fn parameters_text(&self, unit: &mut Unit) -> String;
    /// As [`BoundaryFunction::parameters`].
    fn parameters(&self) -> *const c_void;
    /// As [`BoundaryFunction::parameters_size`].
    fn parameters_size(&self) -> usize;
}

/// A function with its type of cell.
struct Held<F, S, const D: usize>(F, PhantomData<fn() -> S>);

impl<F: BoundaryFunction<S, D>, S: Fields, const D: usize> HeldFace for Held<F, S, D> {
    fn bits(&self, at: Axes<i64>, step: u64) -> Bits {
        Bits::of(self.0.value(at.array(), step))
    }
    unsafe fn store(
        &self,
        (at, step): (Axes<i64>, u64),
        (base, index): (&[*mut u8; MAX_FIELDS], isize),
        fields: u32,
    ) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.value(at.array(), step).store(base, index, fields) }
    }
    fn cuda(&self, unit: &mut Unit) -> String {
        self.0.cuda(unit)
    }
    fn parameters_text(&self, unit: &mut Unit) -> String {
        self.0.parameters_text(unit)
    }
    fn parameters(&self) -> *const c_void {
        self.0.parameters()
    }
    fn parameters_size(&self) -> usize {
        self.0.parameters_size()
    }
}

/// `function` without its type of cell.
pub(crate) fn held<S: Fields, const D: usize>(
    function: impl BoundaryFunction<S, D> + 'static,
) -> FaceFunction {
    Arc::new(Held::<_, S, D>(function, PhantomData))
}

/// Where the cells that are swept lie in the whole volume, whose indices functions are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The index of the first cell, per axis.
    pub begin: Axes<i64>,
    /// Along axes on which indices wrap, the volume's extent; 0 along the others.
    pub period: Axes<i64>,
}

impl Frame {
    /// The index in the whole volume.
    pub fn place(&self, at: Axes<isize>) -> Axes<i64> {
        let dims = at.rank();
        Axes::from_fn(dims, |d| {
            let index = at[d] as i64 + self.begin[d];
            if self.period[d] > 0 { index.rem_euclid(self.period[d]) } else { index }
        })
    }
}

/// The functions of a stencil's faces.
#[derive(Clone)]
pub(crate) struct Functions {
    faces: Vec<[Option<FaceFunction>; 2]>,
    pub frame: Frame,
}

impl Functions {
    /// None.
    pub fn new(dims: usize) -> Self {
        let faces = vec![[const { None }; 2]; dims];
        Self { faces, frame: Frame { begin: Axes::filled(dims, 0), period: Axes::filled(dims, 0) } }
    }

    /// Gives a face its function.
    pub fn set(&mut self, axis: usize, face: Face, function: FaceFunction) {
        if let Some(faces) = self.faces.get_mut(axis) {
            faces[face as usize] = Some(function);
        }
    }

    /// Gives every face the same function.
    pub fn set_all(&mut self, function: &FaceFunction) {
        for faces in &mut self.faces {
            *faces = [Some(function.clone()), Some(function.clone())];
        }
    }

    /// The function of a face, if it has one.
    pub fn of(&self, axis: usize, face: Face) -> Option<&FaceFunction> {
        self.faces.get(axis)?[face as usize].as_ref()
    }
}

/// Which fields of a ghost cell hold the function of which step, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    /// Fields that no stage writes: of step 0.
    pub never: u32,
    /// Of the number of steps done when the step began.
    pub now: u32,
    /// Of one more.
    pub next: u32,
}

impl Spec {
    /// The faces that are functions: axis, end, function.
    pub(crate) fn function_faces(&self) -> impl Iterator<Item = (usize, Face, &FaceFunction)> + '_ {
        let dims = self.rank();
        let all = (0..dims).flat_map(|axis| [(axis, Face::Low), (axis, Face::High)]);
        all.filter(|&(axis, face)| self.boundaries.0[axis][face as usize] == Boundary::Function)
            .filter_map(|(axis, face)| Some((axis, face, self.functions.of(axis, face)?)))
    }

    /// Whether any face is a function.
    pub(crate) fn has_functions(&self) -> bool {
        self.function_faces().next().is_some()
    }

    /// Refuses functions for a session of this spec that read beyond a face which is a function, of a field that only the
    /// session's own functions write: such cells hold the function's value of step 0.
    pub(crate) fn check_applied(&self, applied: &Spec) -> Result<()> {
        let own = self.written_fields();
        let follows = applied.written_fields();
        let stale = |field: &usize| own.contains(field) && !follows.contains(field);
        for (axis, face, _) in self.function_faces() {
            let beyond = |offset: isize| match face {
                Face::Low => offset < 0,
                Face::High => offset > 0,
            };
            let reads = |stage: &Arc<dyn Stage>| {
                let tap =
                    stage.taps().iter().find(|tap| stale(&tap.field) && beyond(tap.offset[axis]));
                tap.map(|tap| (stage.name(), tap.field))
            };
            if let Some((function, field)) = applied.stages.iter().find_map(reads) {
                let field = match self.cell.fields()[field].name {
                    "" => "cells".into(),
                    name => format!("`{name}`"),
                };
                let end = if face == Face::Low { "low" } else { "high" };
                let axis = axis_name(axis, self.dims);
                return Err(Error::spec(
                    format!(
                        "`{function}` reads {field} beyond the {end} face of axis {axis}, which is a function, and does not \
                         write them: there they would be those of step 0"
                    ),
                    "make it a further stage of the session's functions, or apply it together with one that writes them",
                ));
            }
        }
        Ok(())
    }

    /// What the ghosts of function faces hold once the first `stages` stages of a step are through.
    pub(crate) fn times(&self, stages: usize) -> Times {
        let bits = |from: usize, to: usize| {
            let writes = self.stages[from..to].iter().flat_map(|stage| stage.writes());
            writes.fold(0u32, |bits, field| bits | 1 << field)
        };
        let all = u32::MAX >> (MAX_FIELDS - self.cell.len().clamp(1, MAX_FIELDS));
        let (written, to_come) = (bits(0, self.stages.len()), bits(stages, self.stages.len()));
        Times { never: all & !written, now: to_come, next: written & !to_come }
    }

    /// Writes what the function of a face says of the cell at `at` (in what is swept) into the cell
    /// `to` of `volume`, where `step` steps were done when the step began.
    pub(crate) fn hold(
        &self,
        (axis, face, at): (usize, Face, Axes<isize>),
        (step, times): (u64, Times),
        volume: &mut RawVolume,
        to: Axes<usize>,
    ) {
        let Some(function) = self.functions.of(axis, face) else { return };
        let at = self.functions.frame.place(at);
        for (step, fields) in [(0, times.never), (step, times.now), (step + 1, times.next)] {
            if fields != 0 {
                volume.set_bits(to, &function.bits(at, step), fields);
            }
        }
    }

    /// Whether every function face has its function.
    ///
    /// # Errors
    /// The face that has none.
    pub(crate) fn check_functions(&self) -> Result<()> {
        let dims = self.rank();
        for axis in 0..dims {
            for face in [Face::Low, Face::High] {
                let function = self.boundaries.0[axis][face as usize] == Boundary::Function;
                let end = if face == Face::Low { "low" } else { "high" };
                if function && self.functions.of(axis, face).is_none() {
                    return Err(Error::spec(
                        format!("no function for the {end} face of axis {}", axis_name(axis, dims)),
                        "name it with `Stencil::face_by` or `Stencil::boundary_by`",
                    ));
                }
            }
        }
        Ok(())
    }
}
