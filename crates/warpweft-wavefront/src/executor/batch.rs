//! Several problems: one after another, and which of them deserve a device alone.

use crate::recurrence::WavefrontElement;
use crate::report::TotalReport;
use crate::spec::{Erased, Kept, Wavefront};
use warpweft_core::error::Result;
use warpweft_core::report::Report;

/// Problem after problem by `run`.
pub(crate) fn in_turn<'w, E: WavefrontElement>(
    wavefronts: &[Wavefront<'w, E>],
    mut run: impl FnMut(&Wavefront<'w, E>) -> Result<(Kept<E::Cell>, Report)>,
) -> Result<(Vec<Kept<E::Cell>>, Report)> {
    let mut all = Vec::with_capacity(wavefronts.len());
    let mut total = TotalReport::default();
    for wavefront in wavefronts {
        let (kept, report) = run(wavefront)?;
        all.push(kept);
        total.add(report);
    }
    Ok((all, total.report()?))
}

/// The numbers of `wavefronts`: first those that deserve a device of `parts` parts for themselves, as
/// one part would be busy with them when all others are done and they have more than `least` cells,
/// then the rest; the largest first.
pub(crate) fn by_size(
    wavefronts: &[Erased<'_>],
    parts: usize,
    least: u64,
) -> (Vec<usize>, Vec<usize>) {
    let updates: Vec<_> = wavefronts.iter().map(Erased::updates).collect();
    let fair = updates.iter().map(|&n| u128::from(n)).sum::<u128>() / parts.max(1) as u128;
    let mut order: Vec<_> = (0..wavefronts.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(updates[k]));
    let alone = |&k: &usize| updates[k] > least && u128::from(updates[k]) > fair;
    let large = if parts > 1 { order.partition_point(alone) } else { 0 };
    let rest = order.split_off(large);
    (order, rest)
}
