//! Where a part's first cells come from.

use super::super::halo::Span;
use warpweft_core::error::Result;
use warpweft_core::grid::{RawVolume, Volume};

/// Gives the cells of a box in a part's frame: on axes that repeat, indices below 0 and beyond the
/// extent mean cells of the other end.
pub type Start<'a, S, const D: usize> = dyn Fn(Span<D>) -> Result<Volume<S, D>> + Sync + 'a;

/// As [`Start`], whatever a cell holds.
pub type RawStart<'a, const D: usize> = dyn Fn(Span<D>) -> Result<RawVolume<D>> + Sync + 'a;

/// Out of a volume that is there as a whole.
pub(super) fn from_whole<const D: usize>(
    volume: &RawVolume<D>,
) -> impl Fn(Span<D>) -> Result<RawVolume<D>> + Sync + '_ {
    |span| volume.cut_out(span.low, span.extents())
}
