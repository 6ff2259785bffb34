//! The obviously right sequential loop: the reference solution of every executor.

pub mod agreement;

use super::spec::{Spec, Stencil};
use crate::spec::boundary::Ghost;
use crate::spec::residual::Residual;
use crate::spec::total::Total;
use warpweft_core::element::Fields;
use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume, Volume};
use warpweft_core::report::Series;

/// Applies `steps` steps of `stencil` to `volume` cell by cell; returns the steps done, fewer than
/// `steps` when [`Stencil::until`] was met.
///
/// Complexity: O(steps × cells × taps), one thread, two copies of a padded volume.
///
/// # Errors
/// As [`Spec::check`].
pub fn reference<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &mut Volume<S, D>,
    steps: u64,
) -> Result<u64> {
    reference_with_probes(stencil, volume, steps).map(|(done, _)| done)
}

/// As [`reference()`], with what the stencil's probes recorded.
///
/// # Errors
/// As [`reference()`].
pub fn reference_with_probes<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &mut Volume<S, D>,
    steps: u64,
) -> Result<(u64, Vec<Series>)> {
    run_reference(stencil, volume.raw_mut(), steps)
}

/// As [`reference_with_probes`], for cells of any type.
///
/// # Errors
/// As [`reference()`].
#[doc(hidden)]
pub fn run_reference(
    stencil: &Spec,
    volume: &mut RawVolume,
    steps: u64,
) -> Result<(u64, Vec<Series>)> {
    let dims = stencil.rank();
    let extents = volume.extents();
    stencil.check_volume(volume)?;
    let radius = stencil.radius();
    let mut series = stencil.points.series(0);
    for step in 1..=steps {
        let before = stencil.until.map(|_| volume.clone());
        for (number, stage) in stencil.stages.iter().enumerate() {
            let padded = pad(stencil, volume, radius, (step - 1, number))?;
            for index in 0..volume.len() {
                let at = unravel(index, extents);
                let inside = Axes::from_fn(dims, |d| at[d] + radius[d][0]);
                let cell = stage.cell(&padded, inside, (at, step - 1));
                volume.set_bits(at, &cell, u32::MAX);
            }
        }
        let ends = match (stencil.until, before) {
            (Some(until), Some(before)) if step % until.every == 0 => {
                residual(stencil, until.residual, &before, volume) <= until.tolerance
            }
            _ => false,
        };
        stencil.points.after(step, volume, &mut series)?;
        if ends {
            return Ok((step, series));
        }
    }
    Ok((steps, series))
}

/// The volume with ghost cells around it, every one looked up through the boundaries: as stage
/// number `stage` finds it after `step` steps.
fn pad(
    stencil: &Spec,
    volume: &RawVolume,
    radius: Axes<[usize; 2]>,
    (step, stage): (u64, usize),
) -> Result<RawVolume> {
    let dims = stencil.rank();
    let extents = volume.extents();
    let padded = Axes::from_fn(dims, |d| extents[d] + radius[d][0] + radius[d][1]);
    let ghost = |at: Axes<usize>| {
        let at = Axes::from_fn(dims, |d| at[d] as isize - radius[d][0] as isize);
        stencil.boundaries.ghost(at, extents, |_| false)
    };
    let mut padded = RawVolume::zeroed(stencil.cell, padded)?;
    let times = (step, stencil.times(stage));
    for index in 0..padded.len() {
        let to = unravel(index, padded.extents());
        let cell = match ghost(to) {
            Ghost::Cell(cell) => volume
                .bits(cell.map(|index| index as usize))
                .unwrap_or_else(|| unreachable!("sources are inside")),
            Ghost::Value(value) => stencil.cell.splat(value),
            Ghost::Function { axis, face, at } => {
                stencil.hold((axis, face, at), times, &mut padded, to);
                continue;
            }
        };
        padded.set_bits(to, &cell, u32::MAX);
    }
    Ok(padded)
}

fn unravel(mut index: usize, extents: Axes<usize>) -> Axes<usize> {
    let dims = extents.rank();
    let mut at = Axes::filled(dims, 0);
    for d in (0..dims).rev() {
        at[d] = index % extents[d];
        index /= extents[d];
    }
    at
}

/// A residual between two volumes.
fn residual(stencil: &Spec, kind: Residual, before: &RawVolume, after: &RawVolume) -> f64 {
    let mut total = Total::default();
    for field in stencil.written_fields() {
        for index in 0..before.len() {
            let at = unravel(index, before.extents());
            let change = kind.of_change(before.value(field, at), after.value(field, at));
            total.add([change].into_iter());
        }
    }
    kind.of_total(&total)
}
