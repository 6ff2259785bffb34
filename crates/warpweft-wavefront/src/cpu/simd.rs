//! The loops over lanes, compiled once an instruction set and chosen at run time.
//!
//! All else that a tile-row does is compiled once, whatever the instructions and the scores compared.

use super::form::Form;
use super::front::{self, Cells, Greatest, Inputs, Least, Nothing, Track};
use super::strip::{Sink, Strip};
use crate::recurrence::{Extreme, WavefrontElement, sum};
use warpweft_core::cpu::Simd;

/// The loops in the copies for one instruction set, which the machine has, and one kind of scores
/// compared.
pub(super) struct Loops<E: WavefrontElement, F: Form<E>> {
    two_fronts: TwoFronts<E, F>,
    lanes: unsafe fn(&mut Strip<'_, E, F>, usize, usize, F::Held),
    rebase: unsafe fn(&mut Strip<'_, E, F>),
    sum: unsafe fn(&F, &[F::Held]) -> i128,
}

type TwoFronts<E, F> = unsafe fn(
    &mut Strip<'_, E, F>,
    &[<E as WavefrontElement>::Cell],
    &mut Vec<<E as WavefrontElement>::Cell>,
    Option<&mut dyn Sink<E, F>>,
);

impl<E: WavefrontElement, F: Form<E>> Clone for Loops<E, F> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: WavefrontElement, F: Form<E>> Copy for Loops<E, F> {}

macro_rules! copies {
    ($($(#[$attribute:meta])* $name:ident;)*) => {$(
        mod $name {
            use super::*;

            // Every array an argument of its own, and never inlined: see `front`.
            $(#[$attribute])*
            #[inline(never)]
            #[allow(clippy::too_many_arguments)]
            fn double<E: WavefrontElement, F: Form<E>, T: Track>(
                form: F,
                last: &mut [F::Held],
                before: &mut [F::Held],
                winning: &mut [F::Score],
                rows: &[E::Row],
                columns: &[E::Column],
                later_columns: &[E::Column],
                cells: &[E::Input],
                later_cells: &[E::Input],
                norths: [F::Held; 3],
            ) {
                let now = Inputs { rows, columns, cells };
                let later = Inputs { rows, columns: later_columns, cells: later_cells };
                front::double::<E, F, T>(Cells { form, last, before, winning }, [now, later], norths);
            }
            $(#[$attribute])*
            #[inline(never)]
            #[allow(clippy::too_many_arguments)]
            fn single<E: WavefrontElement, F: Form<E>, T: Track>(
                form: F,
                last: &mut [F::Held],
                before: &mut [F::Held],
                winning: &mut [F::Score],
                rows: &[E::Row],
                columns: &[E::Column],
                cells: &[E::Input],
                norths: [F::Held; 2],
            ) {
                let inputs = Inputs { rows, columns, cells };
                front::single::<E, F, T>(Cells { form, last, before, winning }, inputs, norths);
            }
            $(#[$attribute])*
            fn two_fronts<E: WavefrontElement, F: Form<E>, T: Track>(
                strip: &mut Strip<'_, E, F>,
                top: &[E::Cell],
                bottom: &mut Vec<E::Cell>,
                sink: Option<&mut dyn Sink<E, F>>,
            ) {
                strip.two_fronts(top, bottom, sink, |to, [now, later], norths| {
                    let Cells { form, last, before, winning } = to;
                    double::<E, F, T>(
                        form, last, before, winning, now.rows, now.columns, later.columns, now.cells,
                        later.cells, norths,
                    );
                });
            }
            $(#[$attribute])*
            fn lanes<E: WavefrontElement, F: Form<E>, T: Track>(
                strip: &mut Strip<'_, E, F>,
                from: usize,
                to: usize,
                top: F::Held,
            ) {
                strip.lanes(from, to, top, |to, Inputs { rows, columns, cells }, norths| {
                    let Cells { form, last, before, winning } = to;
                    single::<E, F, T>(form, last, before, winning, rows, columns, cells, norths);
                });
            }
            $(#[$attribute])*
            fn rebase<E: WavefrontElement, F: Form<E>>(strip: &mut Strip<'_, E, F>) {
                strip.rebase();
            }
            $(#[$attribute])*
            fn sum_of<E: WavefrontElement, F: Form<E>>(form: &F, cells: &[F::Held]) -> i128 {
                sum(cells.iter().map(|&cell| form.whole(F::score(cell))))
            }
            pub fn loops<E: WavefrontElement, F: Form<E>, T: Track>() -> Loops<E, F> {
                Loops {
                    two_fronts: two_fronts::<E, F, T>,
                    lanes: lanes::<E, F, T>,
                    rebase: rebase::<E, F>,
                    sum: sum_of::<E, F>,
                }
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

impl<E: WavefrontElement, F: Form<E>> Loops<E, F> {
    /// Those for `simd`, or the widest set below it that this machine has, which compare scores for
    /// `extreme`.
    pub fn of(simd: Simd, extreme: Option<Extreme>) -> Self {
        match extreme {
            Some(Extreme::Greatest) => Self::tracking::<Greatest>(simd),
            Some(Extreme::Least) => Self::tracking::<Least>(simd),
            None => Self::tracking::<Nothing>(simd),
        }
    }

    fn tracking<T: Track>(simd: Simd) -> Self {
        match simd.min(Simd::detect()) {
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => avx512::loops::<E, F, T>(),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => avx2::loops::<E, F, T>(),
            _ => portable::loops::<E, F, T>(),
        }
    }

    /// [`Strip::two_fronts`].
    pub fn two_fronts(
        &self,
        strip: &mut Strip<'_, E, F>,
        top: &[E::Cell],
        bottom: &mut Vec<E::Cell>,
        sink: Option<&mut dyn Sink<E, F>>,
    ) {
        // SAFETY: the machine has the features, `tracking` has seen to that; likewise below.
        unsafe { (self.two_fronts)(strip, top, bottom, sink) }
    }

    /// [`Strip::lanes`].
    pub fn lanes(&self, strip: &mut Strip<'_, E, F>, from: usize, to: usize, top: F::Held) {
        // SAFETY: as above.
        unsafe { (self.lanes)(strip, from, to, top) }
    }

    /// [`Strip::rebase`].
    pub fn rebase(&self, strip: &mut Strip<'_, E, F>) {
        // SAFETY: as above.
        unsafe { (self.rebase)(strip) }
    }

    /// The sum of the scores of `cells`.
    pub fn sum(&self, form: &F, cells: &[F::Held]) -> i128 {
        // SAFETY: as above.
        unsafe { (self.sum)(form, cells) }
    }
}
