//! The contract between a recurrence's element function and the pattern.

use super::dependence::Dependence;
use super::rank::Ranked;
use crate::element::{DeviceType, Unit};

/// The cells a cell depends on: north is the row before, west the column before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earlier<C> {
    /// Cell `[i - 1, j - 1]`.
    pub nw: C,
    /// Cell `[i - 1, j]`.
    pub n: C,
    /// Cell `[i, j - 1]`.
    pub w: C,
}

/// `h[[-1, 0]]` is `h.n`, and so on.
impl<C> std::ops::Index<Dependence> for Earlier<C> {
    type Output = C;

    /// # Panics
    /// On a vector other than `[-1, -1]`, `[-1, 0]` and `[0, -1]`.
    #[inline(always)]
    fn index(&self, vector: Dependence) -> &C {
        match vector {
            [-1, -1] => &self.nw,
            [-1, 0] => &self.n,
            [0, -1] => &self.w,
            _ => panic!("dependence {vector:?} is none of [-1, -1], [-1, 0] and [0, -1]"),
        }
    }
}

/// A recurrence's element function with its parameters.
///
/// The function is pure: executors may call it again for a cell, and for cells beyond the last row
/// and column, whose results they discard.
///
/// # Safety
/// `Self` must be laid out as the C++ struct that [`WavefrontElement::cuda`] defines, and no value
/// of `Row` or `Column` may make the C++ function read or write memory.
pub unsafe trait WavefrontElement: Copy + Send + Sync + 'static {
    /// What a cell holds, at most 16 bytes for the device.
    type Cell: Ranked;
    /// The input of a row.
    type Row: DeviceType + Default + Send + Sync;
    /// The input of a column.
    type Column: DeviceType + Default + Send + Sync;
    /// The function's name.
    const NAME: &'static str;
    /// Every vector from a cell to one it reads, `[rows, columns]`, each once.
    const DEPENDENCES: &'static [Dependence];

    /// The cell at a row with input `a` and a column with input `b`.
    ///
    /// Implementations are `#[inline(always)]`: the function becomes the innermost loop.
    fn cell(&self, earlier: Earlier<Self::Cell>, a: Self::Row, b: Self::Column) -> Self::Cell;

    /// Least and greatest number that any cell of a domain of this size can hold, or that can
    /// arise on the way to it, if the function knows: what overflow is checked with.
    fn bounds(&self, rows: u64, columns: u64) -> Option<[f64; 2]> {
        let _ = (rows, columns);
        None
    }

    /// Defines a C++ struct in `unit` and returns its name. Its data members are the parameters, in
    /// order, and it has the members
    ///
    /// ```text
    /// using Row = ..;                              // what the kernel keeps of a row's input
    /// using Column = ..;                           // .. and of a column's: 1, 2, 4, 8 or 16 bytes
    /// WW_FN Row row(A a) const;                    // once a row
    /// WW_FN Column column(B b) const;              // once a column and block
    /// template<class Earlier> WW_FN C operator()(const Earlier& h, Row a, Column b) const;
    /// ```
    ///
    /// the last of which reads `h.template at<di, dj>()`. Where nothing can be computed from a
    /// row or a column alone, `row` and `column` return their argument.
    fn cuda(unit: &mut Unit) -> String;
}
