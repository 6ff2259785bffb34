//! The loop over the lanes of a front, compiled once an instruction set and chosen at run time.
//!
//! What it writes are arguments of a function that is never inlined, as in `cpu::front`, and for the same reason.

use super::geometry::MOST;
use crate::cpu::front::{Greatest, Least, Nothing, Track};
use crate::recurrence::{Cells, Extreme, Ranked, WavefrontElement, sum};
use warpweft_core::cpu::Simd;

pub(super) type Score<E> = <<E as WavefrontElement>::Cell as Ranked>::Score;

/// What the lanes of a front read: where the first lane's cells are, the other lanes' lie behind them.
pub(super) struct Read<'l, E: WavefrontElement> {
    /// A pointer each of `DEPENDENCES` and of `OLD`, valid for as many cells as lanes are computed.
    pub earlier: [*const E::Cell; MOST],
    pub old: [*const E::Cell; MOST],
    pub rows: &'l [E::Row],
    pub columns: &'l [E::Column],
    pub cells: &'l [E::Input],
}

/// What it writes.
pub(super) struct Write<'l, E: WavefrontElement> {
    pub cells: &'l mut [E::Cell],
    /// Winning scores, one a lane, and the fronts where they were found.
    pub winning: &'l mut [Score<E>],
    pub found: &'l mut [u32],
}

/// Computes the cells of front `now`.
///
/// # Safety
/// As [`Read`] says; no pointer leads to the cells that are written.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn compute<E: WavefrontElement, T: Track>(
    element: &E,
    earlier: &[*const E::Cell; MOST],
    old: &[*const E::Cell; MOST],
    cells: &mut [E::Cell],
    rows: &[E::Row],
    columns: &[E::Column],
    inputs: &[E::Input],
    winning: &mut [Score<E>],
    found: &mut [u32],
    now: u32,
) {
    let count = cells.len();
    let (a, b, x) = (&rows[..count], &columns[..count], &inputs[..count]);
    let tracked = if T::EXTREME.is_some() { count } else { 0 };
    let (winning, found) = (&mut winning[..tracked], &mut found[..tracked]);
    for l in 0..count {
        // SAFETY: passed on to the caller.
        let read = |from: *const E::Cell| unsafe { *from.add(l) };
        let before = E::Earlier::gather(|k| read(earlier[k]));
        let older = E::Old::gather(|k| read(old[k]));
        let cell = element.cell(before, older, a[l], b[l], x[l]);
        cells[l] = cell;
        if let Some(extreme) = T::EXTREME {
            let score = cell.score();
            let better = extreme.better(score, winning[l]);
            winning[l] = if better { score } else { winning[l] };
            found[l] = if better { now } else { found[l] };
        }
    }
}

/// The loops in the copies for one instruction set, which the machine has.
pub(super) struct Loops<E: WavefrontElement> {
    front: unsafe fn(&E, &Read<'_, E>, Write<'_, E>, u32),
    sum: unsafe fn(&[E::Cell]) -> i128,
}

impl<E: WavefrontElement> Clone for Loops<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: WavefrontElement> Copy for Loops<E> {}

macro_rules! copies {
    ($($(#[$attribute:meta])* $name:ident;)*) => {$(
        mod $name {
            use super::*;

            $(#[$attribute])*
            #[inline(never)]
            #[allow(clippy::too_many_arguments)]
            unsafe fn lanes<E: WavefrontElement, T: Track>(
                element: &E,
                earlier: &[*const E::Cell; MOST],
                old: &[*const E::Cell; MOST],
                cells: &mut [E::Cell],
                rows: &[E::Row],
                columns: &[E::Column],
                inputs: &[E::Input],
                winning: &mut [Score<E>],
                found: &mut [u32],
                now: u32,
            ) {
                // SAFETY: passed on to the caller.
                unsafe {
                    compute::<E, T>(
                        element, earlier, old, cells, rows, columns, inputs, winning, found, now,
                    );
                }
            }
            $(#[$attribute])*
            unsafe fn front<E: WavefrontElement, T: Track>(
                element: &E,
                read: &Read<'_, E>,
                write: Write<'_, E>,
                now: u32,
            ) {
                let Write { cells, winning, found } = write;
                let &Read { rows, columns, cells: inputs, .. } = read;
                let (earlier, old) = (&read.earlier, &read.old);
                // SAFETY: passed on to the caller.
                unsafe {
                    lanes::<E, T>(
                        element, earlier, old, cells, rows, columns, inputs, winning, found, now,
                    );
                }
            }
            $(#[$attribute])*
            fn sum_of<E: WavefrontElement>(cells: &[E::Cell]) -> i128 {
                sum(cells.iter().map(Ranked::score))
            }
            pub fn loops<E: WavefrontElement, T: Track>() -> Loops<E> {
                Loops { front: front::<E, T>, sum: sum_of::<E> }
            }
        }
    )*};
}
copies! {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    avx512;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    avx2;
    portable;
}

impl<E: WavefrontElement> Loops<E> {
    /// Those for `simd`, or the widest set below it that this machine has, which compare scores for `extreme`.
    pub fn of(simd: Simd, extreme: Option<Extreme>) -> Self {
        // Of several sweeps nothing is compared on the way: what is never called is not compiled.
        if const { !E::OLD.is_empty() } {
            return Self::tracking::<Nothing>(simd);
        }
        match extreme {
            Some(Extreme::Greatest) => Self::tracking::<Greatest>(simd),
            Some(Extreme::Least) => Self::tracking::<Least>(simd),
            None => Self::tracking::<Nothing>(simd),
        }
    }

    fn tracking<T: Track>(simd: Simd) -> Self {
        match simd.min(Simd::detect()) {
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => avx512::loops::<E, T>(),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => avx2::loops::<E, T>(),
            _ => portable::loops::<E, T>(),
        }
    }

    /// The cells of front `now`.
    ///
    /// # Safety
    /// As [`Read`] says; no pointer leads to the cells that are written.
    #[inline(always)]
    pub unsafe fn front(&self, element: &E, read: &Read<'_, E>, write: Write<'_, E>, now: u32) {
        // SAFETY: the machine has the features, `tracking` has seen to that; the rest is passed on.
        unsafe { (self.front)(element, read, write, now) }
    }

    /// The sum of the scores of `cells`.
    pub fn sum(&self, cells: &[E::Cell]) -> i128 {
        // SAFETY: the machine has the features, `tracking` has seen to that.
        unsafe { (self.sum)(cells) }
    }
}
