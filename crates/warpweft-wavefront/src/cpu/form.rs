//! What a lane of a front holds: a cell as it is, or its distance from a base in 16 bits.
//!
//! All cells that a tile-row holds while it advances by a tile lie within the element's step times
//! the cells between them, of the cell in the middle of its front: where that fits 16 bits, it is
//! taken off, and twice as many cells fit a vector. The base moves from tile to tile.

use std::any::{Any, TypeId};
use std::marker::PhantomData;

use crate::policy::CpuPolicy;
use crate::recurrence::{Cells, MOST_PARTS, Parts, Ranked, Relative, WavefrontElement};
use crate::spec::{Border, Wavefront};
use warpweft_core::element::Scalar;

/// Whether cells of `E` are in the reach of anti-diagonals, and computed once.
pub(super) const fn by_fronts<E: WavefrontElement>() -> bool {
    let mut k = 0;
    while k < E::DEPENDENCES.len() {
        if !matches!(E::DEPENDENCES[k], [-1, -1] | [-1, 0] | [0, -1]) {
            return false;
        }
        k += 1;
    }
    E::OLD.is_empty()
}

/// How cells are held.
pub(super) trait Form<E: WavefrontElement>: Copy + Send + Sync {
    /// What is held of a cell.
    type Held: Parts + Default + Send;
    /// What is compared.
    type Score: Scalar;
    /// Whether there is a base.
    const MOVES: bool;
    /// Fronts are computed in so many lanes at once, the last of which may own no row: vectors have no
    /// remainder. More than 1 only where the function can't fail for what such lanes hold.
    const GROUP: usize;

    /// Whether all cells of the next tile are in reach of the base, where `cell` is the one in the middle.
    fn is_near(&self, cell: E::Cell) -> bool;
    /// This form with its base at `cell`.
    fn around(&self, cell: E::Cell) -> Self;
    fn hold(&self, cell: E::Cell) -> Self::Held;
    fn cell(&self, held: Self::Held) -> E::Cell;
    fn score(held: Self::Held) -> Self::Score;
    fn whole(&self, score: Self::Score) -> <E::Cell as Ranked>::Score;
    /// The cell after these: north-west, north and west.
    fn next(&self, before: [Self::Held; 3], a: E::Row, b: E::Column, x: E::Input) -> Self::Held;
    /// The same after what its inputs give, where [`WavefrontElement::LOOKS_UP`] says that they give something.
    fn join(&self, before: [Self::Held; 3], pair: i8) -> Self::Held;
}

/// Cells as they are.
#[derive(Clone, Copy)]
pub(super) struct Plain<E>(pub E);

impl<E: WavefrontElement> Form<E> for Plain<E> {
    type Held = E::Cell;
    type Score = <E::Cell as Ranked>::Score;
    const MOVES: bool = false;
    const GROUP: usize = 1;

    fn is_near(&self, _: E::Cell) -> bool {
        true
    }
    fn around(&self, _: E::Cell) -> Self {
        *self
    }
    #[inline(always)]
    fn hold(&self, cell: E::Cell) -> E::Cell {
        cell
    }
    #[inline(always)]
    fn cell(&self, held: E::Cell) -> E::Cell {
        held
    }
    #[inline(always)]
    fn score(held: E::Cell) -> Self::Score {
        held.score()
    }
    #[inline(always)]
    fn whole(&self, score: Self::Score) -> Self::Score {
        score
    }
    #[inline(always)]
    fn next(&self, [nw, n, w]: [E::Cell; 3], a: E::Row, b: E::Column, x: E::Input) -> E::Cell {
        let earlier = E::Earlier::gather(|k| match E::DEPENDENCES[k] {
            [-1, -1] => nw,
            [-1, 0] => n,
            _ => w,
        });
        self.0.cell(earlier, E::Old::gather(|_| E::Cell::default()), a, b, x)
    }
    /// Not called: whole cells have no striped order.
    #[inline(always)]
    fn join(&self, [_, _, w]: [E::Cell; 3], _: i8) -> E::Cell {
        w
    }
}

/// The distances of a cell's parts from a base, and one number more: an array of 8 bytes would be copied as one number
/// of 64 bits, and a loop over lanes would pack and unpack it.
pub(super) struct Distances<C>([i16; MOST_PARTS + 1], PhantomData<fn() -> C>);

impl<C> Clone for Distances<C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for Distances<C> {}
impl<C> Default for Distances<C> {
    fn default() -> Self {
        Self([0; MOST_PARTS + 1], PhantomData)
    }
}

impl<C: Parts> Parts for Distances<C> {
    type Part = i16;
    const PARTS: usize = C::PARTS;

    #[inline(always)]
    fn part(&self, which: usize) -> i16 {
        self.0[which]
    }
    #[inline(always)]
    fn of(mut part: impl FnMut(usize) -> i16) -> Self {
        let mut one = |k: usize| if k < C::PARTS { part(k) } else { 0 };
        Self([one(0), one(1), one(2), one(3), 0], PhantomData)
    }
}

/// Whether cells may have parts that are [`TOO_LOW`].
pub(super) trait Reach: Copy + Send + Sync {
    /// Sums must leave these as they are, so they saturate.
    const LOW: bool;
}

/// They have none: all parts of cells are near.
#[derive(Clone, Copy)]
pub(super) struct AllNear;

/// Some may have.
#[derive(Clone, Copy)]
pub(super) struct SomeLow;

impl Reach for AllNear {
    const LOW: bool = false;
}
impl Reach for SomeLow {
    const LOW: bool = true;
}

/// Cells as distances from a base.
#[derive(Clone, Copy)]
pub(super) struct Cells16<E, R> {
    element: E,
    base: i32,
    zero: i16,
    /// How far from the base the cell in the middle may be.
    slack: u32,
    reach: PhantomData<R>,
}

/// The farthest from its base that a cell may be, with a margin.
const FARTHEST: u64 = 32_000;
/// What stands for all numbers that are too low: a border may have some that no cell is computed from, such as
/// the gap that has not been opened. It is kept when the base moves, and stands for this number.
const TOO_LOW: i16 = i16::MIN;
const LOW: i32 = -(1 << 30);
/// The least extent that a tile is shrunk to.
const LEAST: usize = 64;

impl<E: WavefrontElement, R: Reach> Cells16<E, R> {
    /// The form with its base at 0, for tiles that [`fits`] gave.
    pub fn new(wavefront: &Wavefront<'_, E>, policy: CpuPolicy) -> Self {
        let used = reach(wavefront, policy).unwrap_or(FARTHEST);
        let slack = FARTHEST.saturating_sub(used) as u32;
        Self { element: wavefront.element, base: 0, zero: 0, slack, reach: PhantomData }
    }
}

/// Whether the border has parts that are too low: farther from its score than neighbours are from one another.
pub(super) fn some_low<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> bool {
    if const { E::Cell::PARTS == 1 } {
        return false;
    }
    let Border::Value(border) = wavefront.border else { return true };
    let score = number(&border.part(E::Cell::SCORE));
    let step = wavefront.element.step(border).unwrap_or_default();
    (0..E::Cell::PARTS).any(|k| number(&border.part(k)).abs_diff(score) > step)
}

/// How far cells of a tile may be from the cell in the middle of its first front: from there, or its end, to a
/// cell of the next tile, across the tile-row in rows and in columns, and a tile further on.
fn reach<E: WavefrontElement>(wavefront: &Wavefront<'_, E>, policy: CpuPolicy) -> Option<u64> {
    let Border::Value(border) = wavefront.border else { return None };
    let step = u64::from(wavefront.element.step(border)?);
    let [rows, columns] = wavefront.extents();
    let (rows, columns) = (rows.min(policy.tile_rows), columns.min(policy.tile_columns));
    Some(step.saturating_mul(2 * rows as u64 + columns as u64 + 8))
}

/// The policy whose tiles are small enough for 16 bits, if that is possible at all.
pub(super) fn fits<E: WavefrontElement>(
    wavefront: &Wavefront<'_, E>,
    policy: CpuPolicy,
) -> Option<CpuPolicy> {
    let whole = TypeId::of::<Part<E>>() == TypeId::of::<i32>();
    if !policy.cells_16_bit || !E::RELATIVE || !whole || wavefront.band.is_some() {
        return None;
    }
    let mut policy = policy;
    loop {
        if reach(wavefront, policy)? <= FARTHEST {
            return Some(policy);
        }
        let [rows, columns] = wavefront.extents();
        let (rows, columns) = (rows.min(policy.tile_rows), columns.min(policy.tile_columns));
        if rows.max(columns) <= LEAST {
            return None;
        }
        match rows > columns {
            true => policy.tile_rows = rows / 2,
            false => policy.tile_columns = columns / 2,
        }
    }
}

impl<E: WavefrontElement, R: Reach> Form<E> for Cells16<E, R> {
    type Held = Distances<E::Cell>;
    type Score = i16;
    const MOVES: bool = true;
    const GROUP: usize = 32;

    fn is_near(&self, cell: E::Cell) -> bool {
        number(&cell.part(E::Cell::SCORE)).abs_diff(self.base) <= self.slack
    }
    fn around(&self, cell: E::Cell) -> Self {
        let base = number(&cell.part(E::Cell::SCORE));
        let zero = base.saturating_neg().clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        Self { base, zero, ..*self }
    }
    #[inline(always)]
    fn hold(&self, cell: E::Cell) -> Self::Held {
        // The score is near: `fits` has seen to that. Of several parts some may be too low.
        Parts::of(|k| {
            let number = number(&cell.part(k));
            match const { R::LOW } {
                true => {
                    number.saturating_sub(self.base).clamp(TOO_LOW.into(), FARTHEST as i32) as i16
                }
                false => number.wrapping_sub(self.base) as i16,
            }
        })
    }
    #[inline(always)]
    fn cell(&self, held: Self::Held) -> E::Cell {
        E::Cell::of(|k| {
            let low = const { R::LOW } && held.part(k) == TOO_LOW;
            of_number(if low { LOW } else { self.base.wrapping_add(held.part(k).into()) })
        })
    }
    #[inline(always)]
    fn score(held: Self::Held) -> i16 {
        held.part(<E::Cell as Ranked>::SCORE)
    }
    #[inline(always)]
    fn whole(&self, score: i16) -> <E::Cell as Ranked>::Score {
        of_number(self.base.wrapping_add(score.into()))
    }
    #[inline(always)]
    fn next(&self, before: [Self::Held; 3], a: E::Row, b: E::Column, x: E::Input) -> Self::Held {
        let near = |held: Self::Held| Parts::of(|k| Relative::new(held.part(k), self.zero, R::LOW));
        let cell = self.element.relative(before.map(near), a, b, x);
        Parts::of(|k| cell.part(k).value())
    }
    #[inline(always)]
    fn join(&self, before: [Self::Held; 3], pair: i8) -> Self::Held {
        let near = |held: Self::Held| Parts::of(|k| Relative::new(held.part(k), self.zero, R::LOW));
        let cell = self.element.joined(before.map(near), pair.into());
        Parts::of(|k| cell.part(k).value())
    }
}

type Part<E> = <<E as WavefrontElement>::Cell as Parts>::Part;

/// A part that `fits` has seen to be an `i32`.
#[inline(always)]
fn number<P: 'static>(part: &P) -> i32 {
    (part as &dyn Any).downcast_ref().copied().unwrap_or_default()
}

/// The number as a part or score that `fits` has seen to be an `i32`.
#[inline(always)]
fn of_number<P: Copy + Default + 'static>(number: i32) -> P {
    (&number as &dyn Any).downcast_ref().copied().unwrap_or_default()
}
