//! Under what name the policy that a search found is kept.

use crate::spec::{ElementType, Erased};

/// Under what a policy for `wavefront` on `device` is kept: problems of the same recurrence whose extents lie between
/// the same powers of 2 share it.
pub(crate) fn key(wavefront: &Erased<'_>, device: &str) -> String {
    let [rows, columns] = wavefront.extents.map(|extent| extent.max(1).ilog2());
    let ElementType { name, cell, .. } = wavefront.element;
    let (keep, band) = (wavefront.keep, if wavefront.band.is_some() { ", band" } else { "" });
    format!("wavefront {name} {cell}, 2^{rows} x 2^{columns}, {keep:?}{band} on {device}")
}
