//! Under what name the policy that a search found is kept.

use crate::recurrence::WavefrontElement;
use crate::spec::Wavefront;

/// Under what a policy for `wavefront` on `device` is kept: problems of the same recurrence whose extents lie between
/// the same powers of 2 share it.
pub(crate) fn key<E: WavefrontElement>(wavefront: &Wavefront<'_, E>, device: &str) -> String {
    let [rows, columns] = wavefront.extents().map(|extent| extent.max(1).ilog2());
    let (name, keep, banded) = (E::NAME, wavefront.keep, wavefront.band.is_some());
    let bytes = size_of::<E::Cell>();
    let band = if banded { ", band" } else { "" };
    format!("wavefront {name} {bytes}, 2^{rows} x 2^{columns}, {keep:?}{band} on {device}")
}
