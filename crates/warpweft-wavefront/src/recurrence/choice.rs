//! What a cell was made from, as a number: derived from the finished cell and those before it.

use super::{Cells, Dependence, Interval, Lookup, Ranked};
use warpweft_core::element::{DeviceType, TableBytes, Unit};

/// A function that tells what a cell was made from: what `#[wavefront(choice)]` makes of one.
///
/// ```
/// use warpweft::prelude::*;
///
/// /// A pair of letters, a letter of the columns alone or one of the rows; 3 where a path begins.
/// #[wavefront(choice)]
/// fn chosen(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, #[cell] cell: i32, gap: i32) -> u8 {
///     let pair = if a == b { 2 } else { -1 };
///     if cell == 0 {
///         3
///     } else if cell == h.nw + pair {
///         0
///     } else if cell == h.w + gap {
///         1
///     } else {
///         2
///     }
/// }
/// # assert_eq!(chosen(-1).gap, -1);
/// ```
///
/// # Safety
/// `Self` must be laid out as the C++ struct that [`Choice::cuda`] defines, and no value of `Row`,
/// `Column` or `Cell` may make the C++ function read or write memory but the items of [`Choice::tables`], or one item
/// where a slice has none.
pub unsafe trait Choice: Copy + Send + Sync {
    /// What a cell holds.
    type Cell: Ranked;
    /// The input of a row; `()` for none.
    type Row: DeviceType;
    /// The input of a column; `()` for none.
    type Column: DeviceType;
    /// The cells at [`Choice::DEPENDENCES`]: an array of as many.
    type Earlier: Cells<Self::Cell>;
    /// The function's name.
    const NAME: &'static str;
    /// Every vector from a cell to one that the function reads next to it, each once.
    const DEPENDENCES: &'static [Dependence];

    /// What `cell`, whose row has input `a` and whose column has `b`, was made from.
    fn choice(&self, earlier: Self::Earlier, cell: Self::Cell, a: Self::Row, b: Self::Column)
    -> u8;

    /// As [`WavefrontElement::tables`](super::WavefrontElement::tables).
    fn tables(&self) -> Vec<TableBytes<'_>> {
        Vec::new()
    }

    /// As [`WavefrontElement::symbols`](super::WavefrontElement::symbols), for [`Choice::lookups`].
    #[doc(hidden)]
    fn symbols(rows: &[Self::Row], columns: &[Self::Column]) -> [Interval; 2] {
        let _ = (rows, columns);
        [Interval::ANY; 2]
    }

    /// The indexes into slices that the C++ function does not check, for these symbols of rows and of columns.
    #[doc(hidden)]
    fn lookups(&self, symbols: [Interval; 2]) -> Vec<Lookup> {
        let _ = symbols;
        Vec::new()
    }

    /// Defines a C++ struct in `unit` and returns its name. Its data members are the parameters, in
    /// order, and it has the members
    ///
    /// ```text
    /// using Row = ..; using Column = ..;    // the inputs
    /// template<class Earlier> WW_FN ww::u8 operator()(const Earlier& h, Row a, Column b) const;
    /// ```
    ///
    /// the last of which reads `h.template at<di, dj>()`, and the finished cell as `h.input()`.
    fn cuda(unit: &mut Unit) -> String;
}
