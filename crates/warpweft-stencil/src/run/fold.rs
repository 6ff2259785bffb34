//! Reductions of a session by a function of the user's.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::session::Session;
use crate::spec::reduction::fold::{CellReduction, Folding};
use crate::spec::reduction::scalar::SessionScalar;
use warpweft_core::cpu::panic_text;
use warpweft_core::element::{FieldName, Fields};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, Volume};

impl<S: Fields, const D: usize> Session<'_, S, D> {
    /// All cells combined by a function with `#[reduction]`, which makes one cell of two.
    ///
    /// The order is a fixed tree: cells are numbered in row-major order, cells 2 `i` and 2 `i` + 1 are combined (the lower
    /// number is the first argument), then the results in the same way; a last one without a partner is passed on
    /// unchanged. So cores and GPUs give the same bits, on any number of threads, even if rounding makes the function
    /// non-associative. For a function that is associative in exact arithmetic, such as a sum, a maximum or a matrix
    /// product, the result equals that of any other grouping up to rounding.
    ///
    /// A GPU runs the function there; the host waits for the result. [`Session::queue_fold`] does not wait.
    ///
    /// ```
    /// use warpweft::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq, Fields)]
    /// struct Cell {
    ///     heat: f64,
    ///     at: u32,
    /// }
    ///
    /// #[stencil]
    /// fn cool(now: Near<Cell, 1>, next: &mut Cell) {
    ///     next.heat = 0.5 * now.heat[[0]];
    /// }
    ///
    /// /// The hotter cell; the first of equal ones.
    /// #[reduction]
    /// fn hotter(a: Cell, b: Cell) -> Cell {
    ///     if b.heat > a.heat { b } else { a }
    /// }
    ///
    /// let mut rod = Volume::from_fn([50], |[x]| Cell { heat: ((7 * x) % 50) as f64, at: x as u32 });
    /// let machine = Machine::detect()?;
    /// let mut on = Stencil::of(cool()).on(&mut rod, &machine)?;
    /// on.run(Steps(1))?;
    /// assert_eq!(on.fold(hotter())?, Cell { heat: 24.5, at: 7 });
    /// # Ok::<(), warpweft::Error>(())
    /// ```
    ///
    /// # Errors
    /// A panic or a fault of the function; too little memory; the device's.
    pub fn fold<R: CellReduction<S>>(&mut self, by: R) -> Result<S> {
        let folding = Folding::new(by);
        let none = || Error::spec("a reduction of no cells", "give the volume at least one cell");
        match self.raw.fold(&folding)? {
            Some(fields) if fields.is_empty() => {
                caught(R::NAME, || folding.result())?.ok_or_else(none)
            }
            Some(fields) => {
                let mut one = Volume::<S, 1>::zeroed([1])?;
                for (field, bytes) in fields.iter().enumerate() {
                    let (low, high) = (Axes::filled(1, 0), Axes::filled(1, 1));
                    one.raw_mut().set_box(field, low, high, bytes)?;
                }
                one.get([0]).ok_or_else(none)
            }
            None => {
                let cells = self.volume()?;
                let extents = cells.extents();
                let count = extents.iter().product();
                let at = |mut index: usize| {
                    let mut at = [0; D];
                    for (at, n) in at.iter_mut().zip(extents).rev() {
                        (*at, index) = (index % n, index / n);
                    }
                    at
                };
                let all = (0..count).filter_map(|index| cells.get(at(index)));
                caught(R::NAME, || folding.of(all))?.ok_or_else(none)
            }
        }
    }

    /// One field of what [`Session::fold`] gives, converted as `as f64` does, as a number that stays on the device: a GPU computes
    /// it after the steps before, and the host does not wait. Over ranks all cells go to every rank, as for `fold`.
    ///
    /// ```
    /// use warpweft::prelude::*;
    ///
    /// #[stencil]
    /// fn scale(u: Near<f64, 1>, by: f64) -> f64 {
    ///     by * u[[0]]
    /// }
    ///
    /// /// The value of the larger size.
    /// #[reduction]
    /// fn larger(a: f64, b: f64) -> f64 {
    ///     if b.abs() > a.abs() { b } else { a }
    /// }
    ///
    /// let mut line = Volume::from_fn([100], |[x]| (x % 7) as f64 - 4.0);
    /// let machine = Machine::detect()?;
    /// let mut on = Stencil::of(scale(1.0)).on(&mut line, &machine)?;
    /// let largest = on.queue_fold(larger(), 0)?;
    /// on.apply(scale::with(1.0 / &largest))?;
    /// assert_eq!((on.value(&largest)?, on.max(0)?), (-4.0, 1.0));
    /// # Ok::<(), warpweft::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Session::fold`] and [`Session::queue_sum`]; a fault of the function on a GPU is reported by a later call: the next
    /// that needs cells or numbers.
    pub fn queue_fold<R: CellReduction<S>>(
        &mut self,
        by: R,
        field: impl FieldName,
    ) -> Result<SessionScalar> {
        let field = self.number(field)?;
        if let Some(number) = self.raw.queue_fold(&Folding::new(by.clone()), field)? {
            return Ok(number);
        }
        let mut one = Volume::<S, 1>::zeroed([1])?;
        one.set([0], self.fold(by)?);
        Ok(SessionScalar::of(S::FIELDS[field].kind.to_f64(one.field_bytes(field))))
    }
}

/// What `work` gives; a panic of the function is an error.
fn caught<T>(name: &str, work: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Error::Element {
        place: format!("`{name}`"),
        what: panic_text(&*panic).to_string(),
    })
}
