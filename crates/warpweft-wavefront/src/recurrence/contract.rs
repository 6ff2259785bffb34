//! The contract between `#[wavefront]` and the pattern.

use super::{Dependence, Difference, Interval, Lookup, Ranked};
use warpweft_core::element::{DeviceType, TableBytes, Unit};

/// A recurrence's element function with its parameters: what `#[wavefront]` makes of
/// `smith_waterman(2, -1, -1)`.
///
/// The function is pure: executors may call it again for a cell. It sees cells as values, in the
/// order of [`WavefrontElement::DEPENDENCES`] and [`WavefrontElement::OLD`]: how an executor keeps
/// them is its own affair.
///
/// # Safety
/// `Self` must be laid out as the C++ struct that [`WavefrontElement::cuda`] defines, and no value
/// of `Row`, `Column` or `Input` may make the C++ function read or write memory but the items of
/// [`WavefrontElement::tables`], or one item where a slice has none.
pub unsafe trait WavefrontElement: Copy + Send + Sync {
    /// What a cell holds, at most 16 bytes for register strips.
    type Cell: Ranked;
    /// The input of a row; `()` for none.
    type Row: DeviceType + Default + Send + Sync;
    /// The input of a column; `()` for none.
    type Column: DeviceType + Default + Send + Sync;
    /// The input of a cell; `()` for none.
    type Input: DeviceType + Default + Send + Sync;
    /// The cells at [`WavefrontElement::DEPENDENCES`]: an array of as many.
    type Earlier: Cells<Self::Cell>;
    /// The cells at [`WavefrontElement::OLD`]: an array of as many.
    type Old: Cells<Self::Cell>;
    /// The function's name.
    const NAME: &'static str;
    /// Every vector from a cell to one it reads, `[rows, columns]`, each once.
    const DEPENDENCES: &'static [Dependence];
    /// Every vector from a cell to one whose value before this sweep it reads: itself or later ones.
    const OLD: &'static [Dependence] = &[];
    /// Which 4-byte words of a cell the cells of the row below read, a bit each: others need not be
    /// handed from row to row. Bits beyond the cell are ignored.
    const SOUTH: u32 = !0;
    /// Whether every cell is north + west − north-west + a term of the inputs alone. Such sums need
    /// not go cell by cell; with floats, results may then be rounded in another order.
    const SUMS: bool = false;
    /// Whether there is [`WavefrontElement::relative`], for cells that are `i32` or structs of it.
    const RELATIVE: bool = false;
    /// Whether the C++ struct also has the function in two parts, of which the second computes two cells of 16 bits at
    /// once: what inputs give, and how that is joined with earlier cells by sums and greatest numbers. `#[wavefront]` finds
    /// it where one variable alone depends on the inputs.
    ///
    /// ```text
    /// WW_FN auto pair(Row a, Column b) const;
    /// template<class Near, class Earlier, class Pair> WW_FN Near joined(const Earlier& h, Pair pair) const;
    /// ```
    const PAIRED: bool = false;

    /// Whether [`WavefrontElement::pair`] and [`WavefrontElement::joined`] are implemented: the function has
    /// [`WavefrontElement::relative`], and only one of its variables depends on the inputs, by a table look-up. Cores then compute
    /// `pair` once for each row symbol and column, instead of once for each cell.
    const LOOKS_UP: bool = false;

    /// The cell whose row has input `a`, whose column has `b` and which has `x` itself.
    ///
    /// Implementations are `#[inline(always)]`: the function becomes the innermost loop.
    fn cell(
        &self,
        earlier: Self::Earlier,
        old: Self::Old,
        a: Self::Row,
        b: Self::Column,
        x: Self::Input,
    ) -> Self::Cell;

    /// Whether `other` is known to compute the same, so that one function serves problems of both.
    fn alike(&self, other: &Self) -> bool {
        let _ = other;
        false
    }

    /// The least and the greatest value that a cell of a domain of this size, or an intermediate value of its computation, can have;
    /// `None` if the function does not know them. The check for overflow uses them.
    fn bounds(&self, rows: u64, columns: u64) -> Option<[f64; 2]> {
        let _ = (rows, columns);
        None
    }

    /// Computes the same cell as [`WavefrontElement::cell`], from the cells to the north-west, north and west, but with all cells
    /// as 16-bit differences from a common base. Called only if [`WavefrontElement::RELATIVE`] is true;
    /// `#[wavefront(step = ..)]` generates it.
    fn relative(
        &self,
        earlier: [<Self::Cell as Ranked>::Near; 3],
        a: Self::Row,
        b: Self::Column,
        x: Self::Input,
    ) -> <Self::Cell as Ranked>::Near {
        let _ = (a, b, x);
        earlier[0]
    }

    /// What the input of a row and that of a column give; see [`WavefrontElement::LOOKS_UP`].
    fn pair(&self, a: Self::Row, b: Self::Column) -> i32 {
        let _ = (a, b);
        0
    }

    /// The cell as [`WavefrontElement::relative`] computes it, after what its inputs give.
    fn joined(
        &self,
        earlier: [<Self::Cell as Ranked>::Near; 3],
        pair: Difference,
    ) -> <Self::Cell as Ranked>::Near {
        let _ = pair;
        earlier[0]
    }

    /// The largest difference between a cell (or any intermediate value of its computation) and the cells it
    /// depends on, for any inputs, if all cells outside hold `border`; `None` if the function does not know it. It decides whether
    /// 16-bit cells can be used: see [`WavefrontElement::relative`]. Of cells with several members it is that between any two of
    /// their members, except those of `border` that are so low that no cell is computed from them.
    fn step(&self, border: Self::Cell) -> Option<u32> {
        let _ = border;
        None
    }

    /// The slices among the parameters: where their addresses lie, and their items. A GPU gets copies of them.
    fn tables(&self) -> Vec<TableBytes<'_>> {
        Vec::new()
    }

    /// What the symbols of `rows` and of `columns` lie between, as far as [`WavefrontElement::lookups`] needs it.
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
    /// using Row = ..;                              // what the kernel keeps of a row's input
    /// using Column = ..;                           // .. and of a column's: 1, 2, 4, 8 or 16 bytes
    /// WW_FN Row row(A a) const;                    // once a row
    /// WW_FN Column column(B b) const;              // once a column and block
    /// template<class Earlier> WW_FN C operator()(const Earlier& h, Row a, Column b) const;
    /// ```
    ///
    /// the last of which reads `h.template at<di, dj>()`, `h.template old<di, dj>()` and
    /// `h.input()`, as far as there are such. Where nothing can be computed from a row or a column
    /// alone, `row` and `column` return their argument, as those of generated elements do.
    fn cuda(unit: &mut Unit) -> String;
}

/// The words of a member of `C`, for [`WavefrontElement::SOUTH`]: from its offset and a function to it.
#[doc(hidden)]
pub const fn words_of<C, M>(offset: usize, _: fn(&C) -> &M) -> u32 {
    let end = offset + size_of::<M>();
    let mut words = 0;
    let mut word = offset / 4;
    while word < 32 && word * 4 < end {
        words |= 1 << word;
        word += 1;
    }
    words
}

/// Two values of a parameter, for [`WavefrontElement::alike`]: the same where their type can tell.
#[doc(hidden)]
pub struct Both<'a, T>(pub &'a T, pub &'a T);

/// Of types that can.
#[doc(hidden)]
pub trait Same {
    fn same(&self) -> bool;
}

impl<T: PartialEq> Same for Both<'_, T> {
    fn same(&self) -> bool {
        self.0 == self.1
    }
}

/// Of others, which a reference further on are found.
#[doc(hidden)]
pub trait Incomparable {
    fn same(&self) -> bool;
}

impl<T> Incomparable for &Both<'_, T> {
    fn same(&self) -> bool {
        false
    }
}

/// An array of cells that executors fill.
pub trait Cells<C>: Copy {
    /// Cell `k` is `cell(k)`.
    fn gather(cell: impl FnMut(usize) -> C) -> Self;
}

/// Written out, not a loop: each `k` is a constant, and so is the vector behind it.
macro_rules! arrays {
    ($($n:literal: $($k:literal)*;)*) => {$(
        impl<C: Copy> Cells<C> for [C; $n] {
            #[inline(always)]
            #[allow(unused_mut, unused_variables)]
            fn gather(mut cell: impl FnMut(usize) -> C) -> Self {
                [$(cell($k)),*]
            }
        }
    )*};
}
arrays! {
    0: ;
    1: 0;
    2: 0 1;
    3: 0 1 2;
    4: 0 1 2 3;
    5: 0 1 2 3 4;
    6: 0 1 2 3 4 5;
    7: 0 1 2 3 4 5 6;
    8: 0 1 2 3 4 5 6 7;
    9: 0 1 2 3 4 5 6 7 8;
    10: 0 1 2 3 4 5 6 7 8 9;
    11: 0 1 2 3 4 5 6 7 8 9 10;
    12: 0 1 2 3 4 5 6 7 8 9 10 11;
    13: 0 1 2 3 4 5 6 7 8 9 10 11 12;
    14: 0 1 2 3 4 5 6 7 8 9 10 11 12 13;
    15: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14;
    16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;
}
