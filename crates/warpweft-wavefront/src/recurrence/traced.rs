//! A recurrence whose cells tell what they were made from.
//!
//! Not here: the search for a path, see `traceback`.

use super::{Cells, Choice, Dependence, Ranked, Stored, WavefrontElement};

/// The vectors that a path takes.
pub(crate) const NEAR: [Dependence; 3] = [[-1, -1], [-1, 0], [0, -1]];

/// A recurrence whose choices can be read off its cells. `#[wavefront(path = max)]` implements it for functions that are the
/// `max` of sums with one earlier cell each, `path = min` likewise; for others it is written by hand:
///
/// ```
/// use warpweft::prelude::*;
/// use warpweft::wavefront::Dependence;
/// use warpweft::wavefront::traceback::Traced;
///
/// #[wavefront]
/// fn edits(d: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
///     (d.nw + (a != b) as i32).min(d.n + 1).min(d.w + 1)
/// }
///
/// /// 0: two letters are paired; 1: a letter of the columns is inserted; 2: a letter of the rows is deleted.
/// #[wavefront(choice)]
/// fn chosen(d: Earlier<i32>, #[row] a: u8, #[column] b: u8, #[cell] cell: i32) -> u8 {
///     if cell == d.nw + (a != b) as i32 {
///         0
///     } else if cell == d.w + 1 {
///         1
///     } else {
///         2
///     }
/// }
///
/// impl Traced for edits {
///     type State = ();
///     type Choice = chosen;
///     type Plain = Self;
///     const BITS: u32 = 2;
///     fn plain(&self) -> Self {
///         *self
///     }
///     fn choice(&self) -> chosen {
///         chosen()
///     }
///     fn back(choice: u8, (): ()) -> Option<(Dependence, ())> {
///         let moves: [Dependence; 3] = [[-1, -1], [0, -1], [-1, 0]];
///         moves.get(choice as usize).map(|&back| (back, ()))
///     }
/// }
/// # let _ = edits().choice();
/// ```
pub trait Traced: WavefrontElement<Input = (), Cell: Stored + Ranked<Score: Stored>> {
    /// What must be known in addition to the cell to go on from it, such as which of three numbers the path
    /// goes through; the default at the path's end.
    type State: Copy + Default + PartialEq;
    /// What tells a cell's choice. Of equal ones it takes the same whatever the rest of the domain.
    type Choice: Choice<Cell = Self::Cell, Row = Self::Row, Column = Self::Column>;
    /// The recurrence that runs where choices are recorded: this one, or one that has the same cells
    /// and takes inputs as they are, as `Choice` does.
    type Plain: WavefrontElement<Cell = Self::Cell, Row = Self::Row, Column = Self::Column, Input = ()>;
    /// Bits of a choice, 1 to 8; a choice that takes more is an error in linear space, and directions
    /// keep its lowest bits.
    const BITS: u32;

    /// The recurrence to run where choices are recorded.
    fn plain(&self) -> Self::Plain;

    /// What tells choices.
    fn choice(&self) -> Self::Choice;

    /// From a cell of this choice, of which the path reached what `state` says, to the cell that it
    /// was made from: one of `[-1, -1]`, `[-1, 0]` and `[0, -1]`. None where the path begins.
    ///
    /// It must not panic for any number of [`Traced::BITS`] bits and any state that it returns or that is the default:
    /// a GPU follows the paths of many problems itself, and for this `back` is called for all of these. For a number
    /// that is not a choice return `None`.
    fn back(choice: u8, state: Self::State) -> Option<(Dependence, Self::State)>;
}

/// The choice of `cell`, `near` which are the cells at [`NEAR`].
#[inline(always)]
pub(crate) fn choice_of<E: Traced>(
    choice: &E::Choice,
    near: [E::Cell; 3],
    cell: E::Cell,
    a: <E as WavefrontElement>::Row,
    b: <E as WavefrontElement>::Column,
) -> u8 {
    let earlier = Cells::gather(|k| match E::Choice::DEPENDENCES[k] {
        [-1, -1] => near[0],
        [-1, 0] => near[1],
        _ => near[2],
    });
    choice.choice(earlier, cell, a, b)
}
