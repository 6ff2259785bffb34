//! A stencil with the axes of its volume in another order: what is written for cuts across the slowest
//! axis cuts across any then.
//!
//! Positions, offsets and faces of a turned [`Spec`] are those of the turned volume; what the user wrote
//! is asked in the user's own: `stage` turns the offsets that an element function reads, `face` the
//! positions that a boundary function is given, `executor` volumes and points. Results have the same bits:
//! what a cell reads is the same, sums of residuals are exact, and an order of axes that would let another
//! face decide a corner is refused.

mod executor;
mod face;
mod stage;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::executor::Turned;
use self::face::TurnedFace;
use self::stage::TurnedStage;
use super::boundary::{Boundaries, Boundary, Face};
use super::functions::{FaceFunction, Functions};
use super::points::{PointSource, Points, Probe};
use super::spec::Spec;
use super::stage::{Stage, StageList};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::axis_name;

/// An order of axes: axis `d` of what is turned is the user's axis `order[d]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn<const D: usize> {
    /// The user's axis that each axis is.
    pub order: [usize; D],
}

impl<const D: usize> Turn<D> {
    /// The order in which `axis` is the slowest, and the others are as they were.
    ///
    /// # Errors
    /// An axis that is not there.
    pub fn across(axis: usize) -> Result<Self> {
        if axis >= D {
            return Err(Error::spec(
                format!("cut axis {axis} of a volume of {D} dimensions"),
                format!("choose an axis from 0 to {}", D - 1),
            ));
        }
        let order = std::array::from_fn(|d| match d {
            0 => axis,
            d if d <= axis => d - 1,
            d => d,
        });
        Ok(Self { order })
    }

    /// Whether every axis stays where it is.
    pub fn is_none(&self) -> bool {
        (0..D).all(|d| self.order[d] == d)
    }

    /// What is the user's by axis, turned.
    pub fn turned<T: Copy>(&self, own: [T; D]) -> [T; D] {
        self.order.map(|d| own[d])
    }

    /// What is turned by axis, as the user has it.
    pub fn back<T: Copy>(&self, turned: [T; D]) -> [T; D] {
        std::array::from_fn(|d| turned[self.place(d)])
    }

    /// The order that undoes this one.
    pub fn undone(&self) -> [usize; D] {
        std::array::from_fn(|d| self.place(d))
    }

    /// Which axis of what is turned the user's `axis` is.
    fn place(&self, axis: usize) -> usize {
        self.order.iter().position(|&own| own == axis).unwrap_or(axis)
    }

    /// `stencil` for turned volumes; itself if every axis stays.
    ///
    /// # Errors
    /// As [`Turn::check`]; not enough host memory.
    pub fn spec(&self, stencil: &Spec<D>) -> Result<Spec<D>> {
        if self.is_none() {
            return Ok(stencil.clone());
        }
        self.check(stencil)?;
        let turned = |stage: &Arc<dyn Stage<D>>| -> Result<Arc<dyn Stage<D>>> {
            Ok(Arc::new(TurnedStage::new(stage.clone(), *self)?))
        };
        let mut functions = Functions::new();
        for (axis, face, function) in stencil.function_faces() {
            let function: FaceFunction<D> = Arc::new(TurnedFace::new(function.clone(), *self));
            functions.set(self.place(axis), face, function);
        }
        functions.frame.begin = self.turned(stencil.functions.frame.begin);
        functions.frame.period = self.turned(stencil.functions.frame.period);
        let at = |at: &Vec<[usize; D]>| at.iter().map(|&at| self.turned(at)).collect();
        let Points { sources, probes } = &stencil.points;
        let source = |source: &PointSource<D>| PointSource {
            field: source.field,
            at: at(&source.at),
            amplitudes: source.amplitudes.clone(),
        };
        let probe = |probe: &Probe<D>| Probe { at: at(&probe.at), ..*probe };
        Ok(Spec {
            stages: stencil.stages.iter().map(turned).collect::<Result<StageList<D>>>()?,
            boundaries: Boundaries(self.turned(stencil.boundaries.0)),
            functions,
            points: Points {
                sources: sources.iter().map(source).collect(),
                probes: probes.iter().map(probe).collect(),
            },
            no_axis: stencil.no_axis.map(|axis| self.place(axis)),
            ..stencil.clone()
        })
    }

    /// Whether a turned volume's cells read what the user's do: beyond two faces that hold values the
    /// slower axis decides ([`Boundaries::source`]), so where a corner like that is read and the axes
    /// change places, the two faces must hold the same.
    ///
    /// # Errors
    /// The axes of such a corner.
    pub fn check(&self, stencil: &Spec<D>) -> Result<()> {
        let taps = || stencil.stages.iter().flat_map(|stage| stage.taps());
        for slow in 0..D {
            for fast in slow + 1..D {
                let stays = self.place(slow) < self.place(fast);
                let differ = taps().any(|tap| {
                    let [a, b] = [slow, fast].map(|axis| (axis, tap.offset[axis]));
                    a.1 != 0 && b.1 != 0 && !holds_the_same(stencil, a, b)
                });
                if !stays && differ {
                    let [slow, fast] = [slow, fast].map(|axis| axis_name(axis, D));
                    return Err(Error::spec(
                        format!(
                            "a cut across axis {fast} of corners beyond faces of {slow} and {fast} that hold different values"
                        ),
                        format!("cut across {slow}, which decides such corners"),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Whether the faces that lie to these sides hold the same beyond both, or not both hold values.
fn holds_the_same<const D: usize>(stencil: &Spec<D>, a: (usize, isize), b: (usize, isize)) -> bool {
    let [a, b] =
        [a, b].map(|(axis, offset)| (axis, if offset < 0 { Face::Low } else { Face::High }));
    let [one, other] = [a, b].map(|(axis, face)| stencil.boundaries.0[axis][face as usize]);
    match (one, other) {
        (Boundary::Dirichlet(one), Boundary::Dirichlet(other)) => one.to_bits() == other.to_bits(),
        (Boundary::Function, Boundary::Function) => {
            let function = |(axis, face)| stencil.functions.of(axis, face);
            matches!((function(a), function(b)), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
        }
        _ => !(one.is_held() && other.is_held()),
    }
}
