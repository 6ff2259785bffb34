//! What lanes are given next to earlier cells: inputs, or what these give by a profile.

use super::form::Form;
use crate::recurrence::WavefrontElement;

/// What lanes are given on a front.
pub(super) trait Given<E: WavefrontElement, F: Form<E>> {
    /// What a lane has on all fronts.
    type Row: Copy;
    /// What it has on one front.
    type Column: Copy;
    /// What its cell there has.
    type Input: Copy + Default;
    /// Whether a front has the columns of the one before, one lane further. If not, each has its own, one front after another.
    const SLIDES: bool;

    /// The cell after these: north-west, north and west.
    fn next(
        form: F,
        before: [F::Held; 3],
        a: Self::Row,
        b: Self::Column,
        x: Self::Input,
    ) -> F::Held;
}

/// The inputs of rows, columns and cells.
pub(super) struct Symbols;

/// What those of rows and columns give, from a profile.
pub(super) struct LookedUp;

impl<E: WavefrontElement, F: Form<E>> Given<E, F> for Symbols {
    type Row = E::Row;
    type Column = E::Column;
    type Input = E::Input;
    const SLIDES: bool = true;

    #[inline(always)]
    fn next(form: F, before: [F::Held; 3], a: E::Row, b: E::Column, x: E::Input) -> F::Held {
        form.next(before, a, b, x)
    }
}

impl<E: WavefrontElement, F: Form<E>> Given<E, F> for LookedUp {
    type Row = ();
    type Column = i8;
    type Input = ();
    const SLIDES: bool = false;

    #[inline(always)]
    fn next(form: F, before: [F::Held; 3], (): (), pair: i8, (): ()) -> F::Held {
        form.join(before, pair)
    }
}
