//! The costs of a recurrence on a GPU, measured on a corner of its domain: the paper's training.

use super::{Contents, Repeated, TileExecutor};
use crate::model::{Costs, Measured};
use crate::policy::TilePolicy;
use crate::recurrence::WavefrontElement;
use crate::spec::{Erased, Wavefront};
use warpweft_core::error::Result;

/// Runs of each width; the fastest counts, since whatever disturbs a run makes it slower.
const REPEATS: usize = 3;
/// The two widths that are measured.
pub const PROBE_WIDTHS: [u32; 2] = [32, 128];

/// Measures `wavefront`, as it stands, with `policy` at each of `widths`.
///
/// # Errors
/// As [`TileExecutor::prepare`]; a fault of the element function or of the device.
pub fn measure<E: WavefrontElement>(
    executor: &mut TileExecutor,
    wavefront: &Wavefront<'_, E>,
    contents: Contents<'_, E>,
    policy: TilePolicy,
    widths: &[u32],
) -> Result<Vec<Measured>> {
    measured(executor, &wavefront.erased(), contents.repeated(), policy, widths)
}

fn measured(
    executor: &mut TileExecutor,
    wavefront: &Erased<'_>,
    repeated: Repeated<'_>,
    policy: TilePolicy,
    widths: &[u32],
) -> Result<Vec<Measured>> {
    let mut runs = Vec::new();
    for &width in widths {
        executor.set_policy(Some(TilePolicy { width, ..policy }));
        let prepared = executor.ready(wavefront, repeated)?;
        let mut seconds = prepared.launch()?;
        for _ in 1..REPEATS {
            seconds = seconds.min(prepared.launch()?);
        }
        let (plan, blocks) = (prepared.plan().clone(), prepared.blocks() as usize);
        runs.push(Measured { plan, blocks, seconds });
    }
    Ok(runs)
}

/// The costs of `corner`, which is a part of the domain in question, with tiles as high as
/// `policy`'s: two widths, three runs each.
///
/// # Errors
/// As [`measure`].
pub fn probe<E: WavefrontElement>(
    executor: &mut TileExecutor,
    corner: &Wavefront<'_, E>,
    contents: Contents<'_, E>,
    policy: TilePolicy,
) -> Result<Costs> {
    Costs::fit(&measure(executor, corner, contents, policy, &PROBE_WIDTHS)?)
}
