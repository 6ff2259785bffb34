//! Whether a computation is well posed: what is refused before anything runs.

use std::sync::Arc;

use super::Spec;
use super::boundary::Boundary;
use super::stage::Stage;
use warpweft_core::element::FieldInfo;
use warpweft_core::element::ScalarKind::{Bf16, F16, F32, F64};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, across, axis_name};

impl Spec {
    /// Whether `volume` holds the cells that are computed, and as [`Spec::check`].
    ///
    /// # Errors
    /// Cells of another type; as [`Spec::check`].
    pub(crate) fn check_volume(&self, volume: &RawVolume) -> Result<()> {
        if volume.cell_type() != self.cell {
            return Err(Error::spec(
                format!("a volume of {:?} for a stencil of {:?}", volume.cell_type(), self.cell),
                "give a volume of the stencil's type of cell",
            ));
        }
        let of_session = |stage: &&Arc<dyn Stage>| !stage.taken().is_empty();
        if let Some(stage) = self.stages.iter().find(of_session) {
            return Err(Error::spec(
                format!("a parameter of {} is a `SessionScalar`", stage.name()),
                "call it by `Session::apply` in the scalar's session, or pass an `f64`",
            ));
        }
        self.check(volume.extents())
    }

    /// Whether the computation is well posed on `extents`. Errors call axes by their
    /// [names](warpweft_core::grid::axis_name), the fastest `x`.
    ///
    /// # Errors
    /// One periodic face next to another kind; a face without its function; a footprint wider than the
    /// volume; an axis that is not there; a tolerance that no residual meets; a source or probe
    /// outside.
    pub fn check(&self, extents: Axes<usize>) -> Result<()> {
        self.check_axes(extents)?;
        self.points.check(self.cell, extents)?;
        self.check_functions()?;
        self.check_faces()?;
        self.check_footprint(extents)?;
        if let Some(until) = self.until
            && !(until.tolerance >= 0.0 && until.every > 0)
        {
            return Err(Error::spec(
                format!("tolerance {} checked every {} steps", until.tolerance, until.every),
                "give a number that is not negative and check every 1 or more steps",
            ));
        }
        Ok(())
    }

    /// Every part of the spec has the volume's number of axes, every stage its type of cell.
    fn check_axes(&self, extents: Axes<usize>) -> Result<()> {
        let dims = self.dims;
        if extents.rank() != dims {
            return Err(Error::spec(
                format!("{} axes of {} for a stencil of {dims}", extents.rank(), across(&extents)),
                "give a volume of the stencil's number of axes",
            ));
        }
        if self.boundaries.rank() != dims {
            return Err(Error::spec(
                format!("boundaries of {} axes for a stencil of {dims}", self.boundaries.rank()),
                "give both faces of every axis",
            ));
        }
        if let Some(axis) = self.no_axis {
            return Err(Error::spec(
                format!("a boundary for axis {axis} of {dims} dimensions"),
                format!("axes are counted from 0, the slowest, to {}", dims - 1),
            ));
        }
        if let Some(stage) = self.stages.iter().find(|stage| stage.cell_type() != self.cell) {
            return Err(Error::spec(
                format!("{} computes {:?}, not {:?}", stage.name(), stage.cell_type(), self.cell),
                "give stages of the stencil's type of cell",
            ));
        }
        Ok(())
    }

    /// Faces of an axis are both periodic or neither, and cells can hold the values beyond fixed ones.
    fn check_faces(&self) -> Result<()> {
        let dims = self.dims;
        for (axis, faces) in self.boundaries.0.iter().enumerate() {
            if (faces[0] == Boundary::Periodic) != (faces[1] == Boundary::Periodic) {
                return Err(Error::spec(
                    format!(
                        "axis {} is periodic on one face and not on the other",
                        axis_name(axis, dims)
                    ),
                    "make both faces of the axis periodic, or neither",
                ));
            }
        }
        for boundary in self.boundaries.0.as_flattened() {
            let Boundary::Dirichlet(value) = *boundary else { continue };
            if value.is_nan() {
                let what = "a dirichlet boundary of NaN, which is no number";
                return Err(Error::spec(what, "give the value that cells beyond the face hold"));
            }
            let cell = self.cell.splat(value);
            let held = |(number, field): &(usize, &FieldInfo)| {
                let integer = !matches!(field.kind, F16 | Bf16 | F32 | F64);
                integer && cell.to_f64(field.kind, *number) != value
            };
            if let Some((number, field)) = self.cell.fields().iter().enumerate().find(held) {
                let (kind, held) = (field.kind.name(), cell.to_f64(field.kind, number));
                let whose = match field.name {
                    "" => String::new(),
                    name => format!("the field `{name}` of "),
                };
                return Err(Error::spec(
                    format!(
                        "a dirichlet boundary of {value:e}, which {whose}{kind} can't hold: it would be {held}"
                    ),
                    "give a value in the range of all fields, or a function that gives each field its own (`face_by`)",
                ));
            }
            let beyond = |(number, field): &(usize, &FieldInfo)| {
                value.is_finite() && cell.to_f64(field.kind, *number).is_infinite()
            };
            if let Some((_, field)) = self.cell.fields().iter().enumerate().find(beyond) {
                let kind = field.kind.name();
                return Err(Error::spec(
                    format!("a dirichlet boundary of {value:e}, which is infinite as {kind}"),
                    "give a smaller value, or use f64",
                ));
            }
        }
        Ok(())
    }

    /// No cell beyond a face is so far out that its boundary does not define it.
    fn check_footprint(&self, extents: Axes<usize>) -> Result<()> {
        let dims = self.dims;
        for (axis, (radius, &n)) in self.radius().iter().zip(&extents).enumerate() {
            for (side, &r) in radius.iter().enumerate() {
                let deepest = match self.boundaries.0[axis][side] {
                    Boundary::Mirror => n - 1,
                    Boundary::Periodic | Boundary::Neumann | Boundary::Function => n,
                    Boundary::Dirichlet(_) => usize::MAX,
                };
                if r > deepest {
                    return Err(Error::spec(
                        format!(
                            "the footprint reads {r} cells beyond axis {}, which has {n}",
                            axis_name(axis, dims)
                        ),
                        format!("make that extent at least {}", r + n - deepest),
                    ));
                }
            }
        }
        Ok(())
    }
}
