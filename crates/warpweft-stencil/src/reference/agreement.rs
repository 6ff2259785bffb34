//! Whether an executor computes what the reference computes, bit for bit: asked by the tuner before a policy may
//! win, and by the conformance suite. Not: what is compared (the suite's elements and settings).

use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::report::Series;

use crate::reference::run_reference;
use crate::{Spec, SweepExecutor, sweeps};

/// Steps of a sweep; no multiple of a usual temporal depth, and less than most settings' steps.
const SWEEP: u64 = 5;

/// What a run came to.
pub struct Ended {
    /// The cells at the end.
    pub volume: RawVolume,
    /// Steps done.
    pub done: u64,
    /// What probes recorded.
    pub series: Vec<Series>,
}

/// Drives an executor as a run does.
///
/// # Errors
/// The executor's.
pub fn run(
    executor: &mut dyn SweepExecutor,
    stencil: &Spec,
    start: &RawVolume,
    steps: u64,
) -> Result<Ended> {
    let mut done = 0;
    let mut series = stencil.points.series(0);
    let sweeps = sweeps(start.extents(), steps, SWEEP, stencil.until);
    for sweep in sweeps.flat_map(|sweep| stencil.points.cut(sweep)) {
        executor.sweep(&sweep)?;
        done += sweep.steps;
        let ends = match stencil.until {
            Some(until) if sweep.keep_change => {
                executor.residual(until.residual)? <= until.tolerance
            }
            _ => false,
        };
        if stencil.points.due(done) {
            stencil.points.after(done, executor, &mut series)?;
        }
        if ends {
            break;
        }
    }
    executor.finish()?;
    let mut volume = RawVolume::zeroed(stencil.cell, start.extents())?;
    executor.store(volume.writable())?;
    Ok(Ended { volume, done, series })
}

/// The first cell whose bits differ, and how many do.
pub fn difference(found: &RawVolume, expect: &RawVolume) -> Option<String> {
    let dims = found.rank();
    for (f, field) in found.cell_type().fields().iter().enumerate() {
        let size = field.kind.size();
        let cells = |volume: &RawVolume| {
            volume.field_bytes(f).chunks_exact(size).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let (found_bytes, expect_bytes) = (cells(found), cells(expect));
        let differs: Vec<_> =
            (0..found.len()).filter(|&cell| found_bytes[cell] != expect_bytes[cell]).collect();
        if let Some(&first) = differs.first() {
            let mut at = Axes::filled(dims, 0);
            let mut rest = first;
            for d in (0..dims).rev() {
                at[d] = rest % found.extents()[d];
                rest /= found.extents()[d];
            }
            let value = |volume: &RawVolume| volume.value(f, at);
            return Some(format!(
                "{} cells of field {f} differ, first {at:?}: {:e} for {:e}",
                differs.len(),
                value(found),
                value(expect)
            ));
        }
    }
    None
}

/// Whether `executor`, made for `start`, computes what the reference does in `steps` steps.
///
/// # Errors
/// The executor's, and the reference's.
pub fn agrees(
    executor: &mut dyn SweepExecutor,
    stencil: &Spec,
    start: &RawVolume,
    steps: u64,
) -> Result<bool> {
    let mut end = start.clone();
    let (expect, _) = run_reference(stencil, &mut end, steps)?;
    let found = run(executor, stencil, start, steps)?;
    Ok(found.done == expect && difference(&found.volume, &end).is_none())
}
