//! Where a part's first cells come from.

use super::super::halo::Span;
use crate::element::Fields;
use crate::error::Result;
use crate::grid::Volume;

/// Gives the cells of a box in a part's frame: on axes that repeat, indices below 0 and beyond the
/// extent mean cells of the other end.
pub type Start<'a, S, const D: usize> = dyn Fn(Span<D>) -> Result<Volume<S, D>> + Sync + 'a;

/// Out of a volume that is there as a whole.
pub(super) fn from_whole<S: Fields, const D: usize>(
    volume: &Volume<S, D>,
) -> impl Fn(Span<D>) -> Result<Volume<S, D>> + Sync + '_ {
    |span| volume.cut_out(span.low, span.extents())
}
