//! The loops over lanes, compiled once an instruction set and chosen at run time.
//!
//! All else that a tile-row does is compiled once for an element, whatever the instructions and the
//! scores compared.

use super::form::Form;
use super::front::{self, Cells, Greatest, Inputs, Least, Nothing, Track};
use super::given::{Given, LookedUp, Symbols};
use super::parts::{GROUP, View};
use super::striped::{self, Lines, Striped};
use crate::recurrence::{Extreme, Parts, WavefrontElement, sum};
use warpweft_core::cpu::Simd;

/// The loops in the copies for one instruction set, which the machine has, and one kind of scores
/// compared.
pub(super) struct Loops<E: WavefrontElement, F: Form<E>> {
    double: Double<E, F, Symbols>,
    /// For functions that look something up: by what their inputs give.
    double_looked_up: Option<Double<E, F, LookedUp>>,
    single: Single<E, F>,
    /// Where the form has no striped order, it is not compiled.
    quads: Option<Quads<E, F, Symbols>>,
    /// The same for functions that look something up.
    looked_up: Option<Quads<E, F, LookedUp>>,
    sum: for<'v> unsafe fn(&F, View<'v, F::Held>) -> i128,
    hold: Convert<F, E::Cell, F::Held>,
    cells: Convert<F, F::Held, E::Cell>,
}

type Row<E> = <E as WavefrontElement>::Row;
type Column<E> = <E as WavefrontElement>::Column;
type Input<E> = <E as WavefrontElement>::Input;
type Held<E, F> = <F as Form<E>>::Held;
type Part<E, F> = <Held<E, F> as Parts>::Part;
type Score<E, F> = <F as Form<E>>::Score;

/// Makes other values of all.
type Convert<F, From, To> = unsafe fn(&F, &[From], &mut [To]);

/// [`front::double`], every array an argument.
type Double<E, F, G> = unsafe fn(
    F,
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Score<E, F>],
    &[<G as Given<E, F>>::Row],
    &[<G as Given<E, F>>::Column],
    &[<G as Given<E, F>>::Column],
    &[<G as Given<E, F>>::Input],
    &[<G as Given<E, F>>::Input],
    [Held<E, F>; 3],
);

/// [`front::single`], every array an argument.
type Single<E, F> = unsafe fn(
    F,
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Part<E, F>],
    &mut [Score<E, F>],
    &[Row<E>],
    &[Column<E>],
    &[Input<E>],
    [Held<E, F>; 2],
);

/// [`striped::quads`], every array an argument.
type Quads<E, F, G> = unsafe fn(
    F,
    &mut [[Part<E, F>; GROUP]],
    &mut [[Part<E, F>; GROUP]],
    &mut [[Part<E, F>; GROUP]],
    &mut [[Part<E, F>; GROUP]],
    &mut [[Part<E, F>; GROUP]],
    &mut [[Part<E, F>; GROUP]],
    &mut [[Part<E, F>; GROUP]],
    &mut [[Part<E, F>; GROUP]],
    &mut [[Score<E, F>; GROUP]],
    &[[<G as Given<E, F>>::Row; GROUP]],
    &[[<G as Given<E, F>>::Column; GROUP]],
    &[Held<E, F>],
    &mut [Held<E, F>],
);

impl<E: WavefrontElement, F: Form<E>> Clone for Loops<E, F> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: WavefrontElement, F: Form<E>> Copy for Loops<E, F> {}

macro_rules! copies {
    ($($(#[$attribute:meta])* $name:ident $wide:literal;)*) => {$(
        mod $name {
            use super::*;

            // Every array an argument of its own, and never inlined: see `front`.
            $(#[$attribute])*
            #[inline(never)]
            #[allow(clippy::too_many_arguments)]
            fn double<E: WavefrontElement, F: Form<E>, G: Given<E, F>, T: Track>(
                form: F,
                last_0: &mut [Part<E, F>],
                last_1: &mut [Part<E, F>],
                last_2: &mut [Part<E, F>],
                last_3: &mut [Part<E, F>],
                before_0: &mut [Part<E, F>],
                before_1: &mut [Part<E, F>],
                before_2: &mut [Part<E, F>],
                before_3: &mut [Part<E, F>],
                winning: &mut [F::Score],
                rows: &[G::Row],
                columns: &[G::Column],
                later_columns: &[G::Column],
                cells: &[G::Input],
                later_cells: &[G::Input],
                norths: [F::Held; 3],
            ) {
                let last = [last_0, last_1, last_2, last_3];
                let before = [before_0, before_1, before_2, before_3];
                let now = Inputs { rows, columns, cells };
                let later = Inputs { rows, columns: later_columns, cells: later_cells };
                let cells = Cells { form, last, before, winning };
                front::double::<E, F, G, T>(cells, [now, later], norths);
            }
            $(#[$attribute])*
            #[inline(never)]
            #[allow(clippy::too_many_arguments)]
            fn single<E: WavefrontElement, F: Form<E>, T: Track>(
                form: F,
                last_0: &mut [Part<E, F>],
                last_1: &mut [Part<E, F>],
                last_2: &mut [Part<E, F>],
                last_3: &mut [Part<E, F>],
                before_0: &mut [Part<E, F>],
                before_1: &mut [Part<E, F>],
                before_2: &mut [Part<E, F>],
                before_3: &mut [Part<E, F>],
                winning: &mut [F::Score],
                rows: &[E::Row],
                columns: &[E::Column],
                cells: &[E::Input],
                norths: [F::Held; 2],
            ) {
                let last = [last_0, last_1, last_2, last_3];
                let before = [before_0, before_1, before_2, before_3];
                let inputs = Inputs { rows, columns, cells };
                front::single::<E, F, T>(Cells { form, last, before, winning }, inputs, norths);
            }
            $(#[$attribute])*
            #[inline(never)]
            #[allow(clippy::too_many_arguments)]
            fn quads<E: WavefrontElement, F: Form<E>, G: Given<E, F>, T: Track>(
                form: F,
                last_0: &mut [[Part<E, F>; GROUP]],
                last_1: &mut [[Part<E, F>; GROUP]],
                last_2: &mut [[Part<E, F>; GROUP]],
                last_3: &mut [[Part<E, F>; GROUP]],
                before_0: &mut [[Part<E, F>; GROUP]],
                before_1: &mut [[Part<E, F>; GROUP]],
                before_2: &mut [[Part<E, F>; GROUP]],
                before_3: &mut [[Part<E, F>; GROUP]],
                winning: &mut [[F::Score; GROUP]],
                rows: &[[G::Row; GROUP]],
                columns: &[[G::Column; GROUP]],
                above: &[F::Held],
                bottom: &mut [F::Held],
            ) {
                let last = [last_0, last_1, last_2, last_3];
                let before = [before_0, before_1, before_2, before_3];
                let of = Striped::<E, F, G> { form, last, before, winning, rows, columns };
                striped::quads::<E, F, G, T, $wide>(of, Lines { above, bottom });
            }
            $(#[$attribute])*
            fn sum_of<E: WavefrontElement, F: Form<E>>(form: &F, cells: View<'_, F::Held>) -> i128 {
                sum((0..cells.len()).map(|at| form.whole(F::score(cells.at(at)))))
            }
            $(#[$attribute])*
            fn hold<E: WavefrontElement, F: Form<E>>(
                form: &F,
                cells: &[E::Cell],
                to: &mut [F::Held],
            ) {
                to.iter_mut().zip(cells).for_each(|(to, &cell)| *to = form.hold(cell));
            }
            $(#[$attribute])*
            fn cells<E: WavefrontElement, F: Form<E>>(
                form: &F,
                held: &[F::Held],
                to: &mut [E::Cell],
            ) {
                to.iter_mut().zip(held).for_each(|(to, &held)| *to = form.cell(held));
            }
            pub fn loops<E: WavefrontElement, F: Form<E>, T: Track>() -> Loops<E, F> {
                Loops {
                    double: double::<E, F, Symbols, T>,
                    double_looked_up: if const { F::GROUP == GROUP && E::LOOKS_UP } {
                        Some(double::<E, F, LookedUp, T>)
                    } else {
                        None
                    },
                    single: single::<E, F, T>,
                    quads: if const { F::GROUP == GROUP } {
                        Some(quads::<E, F, Symbols, T>)
                    } else {
                        None
                    },
                    looked_up: if const { F::GROUP == GROUP && E::LOOKS_UP } {
                        Some(quads::<E, F, LookedUp, T>)
                    } else {
                        None
                    },
                    sum: sum_of::<E, F>,
                    hold: hold::<E, F>,
                    cells: cells::<E, F>,
                }
            }
        }
    )*};
}
copies! {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    avx512 true;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    avx2 false;
    portable false;
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

    /// [`front::double`] of inputs.
    pub fn double(
        &self,
        to: Cells<'_, E, F>,
        inputs: [Inputs<'_, E, F, Symbols>; 2],
        norths: [F::Held; 3],
    ) {
        Self::any_double(self.double, to, inputs, norths);
    }

    /// [`front::double`] of what these give, where the form and the function have it.
    pub fn double_looked_up(
        &self,
        to: Cells<'_, E, F>,
        inputs: [Inputs<'_, E, F, LookedUp>; 2],
        norths: [F::Held; 3],
    ) {
        if let Some(double) = self.double_looked_up {
            Self::any_double(double, to, inputs, norths);
        }
    }

    fn any_double<G: Given<E, F>>(
        double: Double<E, F, G>,
        to: Cells<'_, E, F>,
        [now, later]: [Inputs<'_, E, F, G>; 2],
        norths: [F::Held; 3],
    ) {
        let Cells { form, last: [l0, l1, l2, l3], before: [b0, b1, b2, b3], winning } = to;
        let Inputs { rows, columns, cells } = now;
        let (later_columns, later_cells) = (later.columns, later.cells);
        // SAFETY: the machine has the features, `tracking` has seen to that; likewise below.
        unsafe {
            double(
                form,
                l0,
                l1,
                l2,
                l3,
                b0,
                b1,
                b2,
                b3,
                winning,
                rows,
                columns,
                later_columns,
                cells,
                later_cells,
                norths,
            );
        }
    }

    /// [`front::single`].
    pub fn single(
        &self,
        to: Cells<'_, E, F>,
        inputs: Inputs<'_, E, F, Symbols>,
        norths: [F::Held; 2],
    ) {
        let Cells { form, last: [l0, l1, l2, l3], before: [b0, b1, b2, b3], winning } = to;
        let Inputs { rows, columns, cells } = inputs;
        // SAFETY: as above.
        unsafe {
            let single = self.single;
            single(form, l0, l1, l2, l3, b0, b1, b2, b3, winning, rows, columns, cells, norths);
        }
    }

    /// [`striped::quads`] of inputs, where the form has it.
    pub fn quads(&self, of: Striped<'_, E, F, Symbols>, lines: Lines<'_, F::Held>) {
        Self::all_quads(self.quads, of, lines);
    }

    /// [`striped::quads`] of what these give, where the form and the function have it.
    pub fn looked_up(&self, of: Striped<'_, E, F, LookedUp>, lines: Lines<'_, F::Held>) {
        Self::all_quads(self.looked_up, of, lines);
    }

    fn all_quads<G: Given<E, F>>(
        quads: Option<Quads<E, F, G>>,
        of: Striped<'_, E, F, G>,
        Lines { above, bottom }: Lines<'_, F::Held>,
    ) {
        let Striped { form, last: [l0, l1, l2, l3], before, winning, rows, columns } = of;
        let [b0, b1, b2, b3] = before;
        if let Some(quads) = quads {
            // SAFETY: as above.
            unsafe {
                quads(form, l0, l1, l2, l3, b0, b1, b2, b3, winning, rows, columns, above, bottom);
            }
        }
    }

    /// `cells` as they are held, of as many as there is room for.
    pub fn hold(&self, form: &F, cells: &[E::Cell], to: &mut [F::Held]) {
        // SAFETY: as above.
        unsafe { (self.hold)(form, cells, to) }
    }

    /// The cells of what is `held`, of as many as there is room for.
    pub fn cells(&self, form: &F, held: &[F::Held], to: &mut [E::Cell]) {
        // SAFETY: as above.
        unsafe { (self.cells)(form, held, to) }
    }

    /// The sum of the scores of `cells`.
    pub fn sum(&self, form: &F, cells: View<'_, F::Held>) -> i128 {
        // SAFETY: as above.
        unsafe { (self.sum)(form, cells) }
    }
}
