//! The loops over the lanes of a front, which the compiler makes vectors of.
//!
//! The arrays that they write are arguments of functions that are never inlined (`simd`): only there
//! does the compiler know for sure that they do not overlap. Facts of inlined functions get lost where
//! much is compiled at once, and then the checks that would replace them are more than it is ready to
//! make. Each part of a cell has an array of its own (`lanes`): an array of cells of three numbers is
//! read with gaps, a seventh of the speed. Not here: which lanes are computed when, see `strip`.

use super::form::Form;
use super::given::{Given, Symbols};
use super::parts::{Arrays, cut, load, store};
use crate::recurrence::{Extreme, WavefrontElement};
use warpweft_core::element::Scalar;

/// Which scores a strip compares, as a constant of the loop.
pub(super) trait Track {
    /// Which win, if any.
    const EXTREME: Option<Extreme>;
}

/// Cells only.
pub(super) struct Nothing;
/// The greatest score.
pub(super) struct Greatest;
/// The least score.
pub(super) struct Least;

impl Track for Nothing {
    const EXTREME: Option<Extreme> = None;
}
impl Track for Greatest {
    const EXTREME: Option<Extreme> = Some(Extreme::Greatest);
}
impl Track for Least {
    const EXTREME: Option<Extreme> = Some(Extreme::Least);
}

/// What a loop over lanes overwrites: cells of the last front and of the one before, and winning
/// scores, one a lane.
pub(super) struct Cells<'l, E: WavefrontElement, F: Form<E>> {
    pub form: F,
    pub last: Arrays<'l, F::Held>,
    pub before: Arrays<'l, F::Held>,
    pub winning: &'l mut [F::Score],
}

/// What it reads next to these, one a lane.
pub(super) struct Inputs<'l, E: WavefrontElement, F: Form<E>, G: Given<E, F>> {
    pub rows: &'l [G::Row],
    pub columns: &'l [G::Column],
    pub cells: &'l [G::Input],
}

/// The cells of one front over those of the one before; `nw` and `n` are the first lane's.
#[inline(always)]
pub(super) fn single<E: WavefrontElement, F: Form<E>, T: Track>(
    Cells { form, last, before, winning }: Cells<'_, E, F>,
    Inputs { rows: a, columns: b, cells: x }: Inputs<'_, E, F, Symbols>,
    [mut nw, mut n]: [F::Held; 2],
) {
    let count = last[0].len();
    let (mut last, mut before) = (cut::<F::Held>(last, count), cut::<F::Held>(before, count));
    let winning = &mut winning[..count];
    let (a, b, x) = (&a[..count], &b[..count], &x[..count]);
    for l in 0..count {
        let w = load::<F::Held>(&last, l);
        let cell = form.next([nw, n, w], a[l], b[l], x[l]);
        (nw, n) = (load::<F::Held>(&before, l), w);
        store(&mut before, l, w);
        store(&mut last, l, cell);
        note::<E, F, T>(&mut winning[l], cell);
    }
}

/// The cells of two fronts. What a lane needs of the lane before, its cells of four fronts, it finds
/// in `oldest` to `old` and in the present cell: they pass on in registers.
#[inline(always)]
pub(super) fn double<E: WavefrontElement, F: Form<E>, G: Given<E, F>, T: Track>(
    Cells { form, last, before, winning }: Cells<'_, E, F>,
    [Inputs { rows: a, columns: b, cells: x }, later]: [Inputs<'_, E, F, G>; 2],
    [mut oldest, mut older, mut old]: [F::Held; 3],
) {
    let count = last[0].len();
    let (mut last, mut before) = (cut::<F::Held>(last, count), cut::<F::Held>(before, count));
    let winning = &mut winning[..count];
    let (a, b, x) = (&a[..count], &b[..count], &x[..count]);
    let (later_b, later_x) = (&later.columns[..count], &later.cells[..count]);
    for l in 0..count {
        let (w, ww) = (load::<F::Held>(&last, l), load::<F::Held>(&before, l));
        let cell = G::next(form, [oldest, older, w], a[l], b[l], x[l]);
        let next = G::next(form, [older, old, cell], a[l], later_b[l], later_x[l]);
        (oldest, older, old) = (ww, w, cell);
        store(&mut before, l, cell);
        store(&mut last, l, next);
        note::<E, F, T>(&mut winning[l], cell);
        note::<E, F, T>(&mut winning[l], next);
    }
}

/// The score among `scores` that wins, all of which win over `worst`.
#[inline(always)]
pub(super) fn most<S: Scalar>(scores: &[S], worst: S, extreme: Extreme) -> S {
    scores.iter().fold(worst, |a, &b| if extreme.better(b, a) { b } else { a })
}

/// Keeps the better of a lane's score so far and that of `cell`.
#[inline(always)]
fn note<E: WavefrontElement, F: Form<E>, T: Track>(winning: &mut F::Score, cell: F::Held) {
    if let Some(extreme) = T::EXTREME {
        let score = F::score(cell);
        *winning = if extreme.better(score, *winning) { score } else { *winning };
    }
}
