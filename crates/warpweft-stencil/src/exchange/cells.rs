//! Boxes of cells and the bytes they come in.

use std::ops::Range;

use crate::plan::Region;
use crate::plan::halo::Span;
use warpweft_core::element::{CellType, ScalarKind};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::Axes;

/// A box of one field.
pub type Cells = (usize, Region);

/// The cell at `at` as a box.
pub(crate) fn single(at: &Axes<usize>) -> Region {
    Region { low: *at, high: at.map(|index| index + 1) }
}

/// The bytes of each row of `region` in a field of a whole volume of `extents`, in row-major order.
pub(crate) fn dense_rows(
    extents: Axes<usize>,
    region: &Region,
    size: usize,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let last = region.rank() - 1;
    let cells = region.high[last] - region.low[last];
    let mut starts = Span::from(*region);
    starts.high[last] = starts.low[last] + isize::from(cells > 0);
    let starts: Vec<_> = starts.iter().collect();
    starts.into_iter().map(move |at| {
        let first = (0..=last).fold(0, |index, d| index * extents[d] + at[d] as usize);
        first * size..(first + cells) * size
    })
}

/// Whether `bytes` are values of the cells of `boxes`: as many, and of a `bool` only 0 or 1.
///
/// # Errors
/// They are not.
pub(crate) fn check_bytes(cell: CellType, boxes: &[Cells], bytes: &[u8]) -> Result<()> {
    let wrong = || {
        let what = format!("{} bytes for {boxes:?}, or no values of its fields", bytes.len());
        Error::spec(what, "this is a fault of Warpweft: report it")
    };
    let mut rest = bytes;
    for (field, region) in boxes {
        let size = Span::from(*region).cells() * cell.size(*field);
        let (values, after) = rest.split_at_checked(size).ok_or_else(wrong)?;
        if cell.kind(*field) == ScalarKind::Bool && values.iter().any(|&value| value > 1) {
            return Err(wrong());
        }
        rest = after;
    }
    if rest.is_empty() { Ok(()) } else { Err(wrong()) }
}
