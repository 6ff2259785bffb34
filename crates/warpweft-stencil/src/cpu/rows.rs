//! The innermost loops: rows of cells, compiled once per element and instruction set.
//!
//! What makes them fast, each worth 1.2 to 3 times when measured alone on AVX-512 cores:
//! the written row is a `&mut` argument of a function that is not inlined, which tells LLVM that it
//! overlaps no source, so the loop vectorises with no run-time checks; two planes are computed
//! together, which shares loads; the remainder of a row is done by computing the last full vector
//! once more, overlapped. rustc never contracts a multiply and an add, so results have the same
//! bits on every instruction set.

use super::slab::{RowPlace, Slab};
use crate::{Place, StencilElement, Tap};
use warpweft_core::cpu::Simd;
use warpweft_core::element::{CellPtr, Fields, MAX_FIELDS, Unchecked};

/// The fields that a stage both writes and reads away from the cell, as bits: they need a second
/// array. The other written fields are updated in place.
const fn flips<const D: usize>(taps: &[Tap<D>], writes: &[usize]) -> u32 {
    let mut reads = 0;
    let mut i = 0;
    while i < taps.len() {
        let mut d = 0;
        while d < D {
            if taps[i].offset[d] != 0 {
                reads |= 1 << taps[i].field;
            }
            d += 1;
        }
        i += 1;
    }
    reads & mask(writes)
}

const fn mask(fields: &[usize]) -> u32 {
    let mut mask = 0;
    let mut i = 0;
    while i < fields.len() {
        mask |= 1 << fields[i];
        i += 1;
    }
    mask
}

/// Constants of an element.
struct Of<E, const D: usize>(std::marker::PhantomData<E>);

impl<E: StencilElement<D>, const D: usize> Of<E, D> {
    const WRITES: u32 = mask(E::WRITES);
    /// Written fields that are read, if at all, only at the cell itself.
    const IN_PLACE: u32 = Self::WRITES & !flips(E::TAPS, E::WRITES);
    /// Cells of one vector of the widest field.
    const VECTOR: usize = {
        let (mut widest, mut f) = (1, 0);
        while f < E::State::FIELDS.len() {
            let size = E::State::FIELDS[f].kind.size();
            if size > widest {
                widest = size;
            }
            f += 1;
        }
        64 / widest
    };
    /// A row's address needs one argument, and rows can be unrolled and jammed.
    const SINGLE: bool = E::WRITES.len() == 1 && Self::IN_PLACE == 0;
}

/// Constants of an element by an instruction set.
struct By<E, R, const D: usize>(std::marker::PhantomData<(E, R)>);

impl<E: StencilElement<D>, R: RowFunctions<E, D>, const D: usize> By<E, R, D> {
    /// Whether planes are computed together: elsewhere these rows are not compiled at all.
    const UNROLLS: bool = R::UNROLLS && D > 1 && Of::<E, D>::SINGLE;
}

/// Computes every cell of `slab`.
///
/// # Safety
/// `slab` must describe live arrays of `E::State`'s fields in which the box and every tap around
/// it lie; nothing else may access the box in `target`, nor write what the taps read, meanwhile.
/// Fields that [`flips`] names must have different arrays as source and target, others the same.
pub(crate) unsafe fn slab<E: StencilElement<D>, const D: usize>(element: &E, slab: &Slab) {
    #[cfg(target_arch = "x86_64")]
    match slab.simd {
        // SAFETY: the caller's contract; `simd` is a set the machine has.
        Simd::Avx512 => return unsafe { walk::<E, D, avx512::Rows>(element, slab) },
        // SAFETY: as above.
        Simd::Avx2 => return unsafe { walk::<E, D, avx2::Rows>(element, slab) },
        Simd::Portable => {}
    }
    // SAFETY: as above.
    unsafe { walk::<E, D, portable::Rows>(element, slab) }
}

/// A row that is read: where it begins, in every field.
struct Row<'s, const D: usize> {
    /// Per field, the first cell of the slab.
    slab: &'s [*const u8; MAX_FIELDS],
    /// Elements from there to the row.
    offset: isize,
    strides: [isize; D],
    place: RowPlace<D>,
}

/// Per field, the element `offset` elements from that of `slab`.
///
/// # Safety
/// It must be inside the arrays of all fields of `S`.
#[inline(always)]
unsafe fn base<S: Fields>(
    slab: &[*const u8; MAX_FIELDS],
    offset: isize,
) -> [*const u8; MAX_FIELDS] {
    let mut base = [std::ptr::null(); MAX_FIELDS];
    for (f, field) in S::FIELDS.iter().enumerate() {
        // SAFETY: the caller's contract.
        base[f] = unsafe { slab[f].offset(offset * field.kind.size() as isize) };
    }
    base
}

/// The row functions of one instruction set.
trait RowFunctions<E: StencilElement<D>, const D: usize> {
    /// Whether planes are worth computing together: with few registers they are not.
    const UNROLLS: bool;
    unsafe fn one(element: &E, row: &Row<'_, D>, target: &mut [u8], cells: usize);
    unsafe fn two(element: &E, row: &Row<'_, D>, targets: [&mut [u8]; 2], cells: usize);
    unsafe fn four(element: &E, row: &Row<'_, D>, targets: [&mut [u8]; 4], cells: usize);
    unsafe fn many(element: &E, row: &Row<'_, D>, slab: &[*mut u8; MAX_FIELDS], cells: usize);
}

/// The loops over rows. All share a source row's plane neighbours, so planes are innermost. Rows may be short, so what
/// is done for each is little: addresses are computed in the row functions, of the fields that are used there.
unsafe fn walk<E: StencilElement<D>, const D: usize, R: RowFunctions<E, D>>(
    element: &E,
    slab: &Slab,
) {
    let strides = slab.strides.array::<D>();
    let [planes, rows, inner, cells] = slab.counts;
    let unroll = if cells >= Of::<E, D>::VECTOR { slab.unroll_and_jam } else { 1 };
    for y in 0..rows as isize {
        for m in 0..inner as isize {
            let mut z = 0;
            let offset =
                |z: usize| z as isize * slab.steps[0] + y * slab.steps[1] + m * slab.steps[2];
            while z < planes {
                let place = match E::KNOWS.anything() {
                    true => RowPlace::of(slab, [z as isize, y, m]),
                    false => RowPlace::UNKNOWN,
                };
                let row = Row { slab: &slab.source, offset: offset(z), strides, place };
                if Of::<E, D>::SINGLE {
                    let field = E::WRITES[0];
                    let size = E::State::FIELDS[field].kind.size();
                    // SAFETY: rows of the box are disjoint and exclusively ours, says the caller.
                    let target = |z: usize| unsafe {
                        let row = slab.target[field].offset(offset(z) * size as isize);
                        std::slice::from_raw_parts_mut(row, cells * size)
                    };
                    if By::<E, R, D>::UNROLLS {
                        // SAFETY: the caller's contract, for the rows `z` and up to three more in the box.
                        unsafe {
                            if unroll >= 4 && z + 4 <= planes {
                                let targets =
                                    [target(z), target(z + 1), target(z + 2), target(z + 3)];
                                R::four(element, &row, targets, cells);
                                z += 4;
                                continue;
                            }
                            if unroll >= 2 && z + 2 <= planes {
                                R::two(element, &row, [target(z), target(z + 1)], cells);
                                z += 2;
                                continue;
                            }
                        }
                    }
                    // SAFETY: as above, for this row.
                    unsafe { R::one(element, &row, target(z), cells) };
                } else {
                    // SAFETY: as above; the caller vouches for exclusive access.
                    unsafe { R::many(element, &row, &slab.target, cells) };
                }
                z += 1;
            }
        }
    }
}

/// The new value of the cell `x` along a row and `plane` planes up.
#[inline(always)]
unsafe fn cell<E: StencilElement<D>, const D: usize>(
    element: &E,
    base: [*const u8; MAX_FIELDS],
    strides: [isize; D],
    place: &RowPlace<D>,
    [x, plane]: [isize; 2],
) -> E::State {
    let place = if E::KNOWS.anything() { place.cell(x, plane) } else { Place::FIRST };
    let mut shift = [0; D];
    shift[0] = if D > 1 { plane } else { 0 };
    let at = CellPtr { base, index: x, strides, bounds: Unchecked { shift } };
    // SAFETY: the caller's contract: the cell and all taps around it are inside live arrays.
    unsafe {
        let up = if D > 1 { plane * strides[0] } else { 0 };
        let mut next = E::State::load(&base, x + up);
        element.cell_unchecked(E::State::near(&at), &mut next, place);
        next
    }
}

/// Cells `from..from + count` of `N` rows that write one field, values first, then stores.
///
/// Unoptimised builds have each of these loops once instead of three times an instruction set: there
/// the sets make the same code of it, in which nothing is vectorised, and most of the time to compile
/// an element would go into it.
macro_rules! unrolled {
    ($name:ident, $n:literal, $($plane:literal => $value:ident),+) => {
        #[cfg_attr(not(unoptimised), inline(always))]
        #[cfg_attr(unoptimised, inline(never))]
        unsafe fn $name<E: StencilElement<D>, const D: usize>(
            element: &E,
            source: [*const u8; MAX_FIELDS],
            strides: [isize; D],
            place: &RowPlace<D>,
            targets: [*mut u8; $n],
            from: usize,
            count: usize,
        ) {
            for x in from as isize..(from + count) as isize {
                let mut base = [std::ptr::null_mut(); MAX_FIELDS];
                // SAFETY: the caller's contract; `base` has the one field that is stored.
                unsafe {
                    $(let $value = cell::<E, D>(element, source, strides, place, [x, $plane]);)+
                    $(
                        base[E::WRITES[0]] = targets[$plane];
                        $value.store(&base, x, Of::<E, D>::WRITES);
                    )+
                }
            }
        }
    };
}

unrolled!(unrolled1, 1, 0 => a);
unrolled!(unrolled2, 2, 0 => a, 1 => b);
unrolled!(unrolled4, 4, 0 => a, 1 => b, 2 => c, 3 => d);

/// Cells `0..cells` of a row that write any fields of `targets`, read at `base`. As [`unrolled`].
#[cfg_attr(not(unoptimised), inline(always))]
#[cfg_attr(unoptimised, inline(never))]
unsafe fn each<E: StencilElement<D>, const D: usize>(
    element: &E,
    base: [*const u8; MAX_FIELDS],
    strides: [isize; D],
    place: &RowPlace<D>,
    targets: [*mut u8; MAX_FIELDS],
    cells: usize,
) {
    for x in 0..cells as isize {
        // SAFETY: the caller's contract.
        unsafe {
            let next = cell::<E, D>(element, base, strides, place, [x, 0]);
            next.store(&targets, x, Of::<E, D>::WRITES);
        }
    }
}

/// `$unrolled` over full vectors, then over the last vector once more if cells remain.
macro_rules! overlapped {
    ($unrolled:ident, $element:ident, $row:ident, $targets:expr, $cells:ident) => {{
        let vector = Of::<E, D>::VECTOR;
        let (strides, place, targets) = ($row.strides, &$row.place, $targets);
        let whole = $cells / vector * vector;
        // SAFETY: the caller's contract; all ranges are within the row.
        unsafe {
            let source = base::<E::State>($row.slab, $row.offset);
            if $cells < vector {
                $unrolled::<E, D>($element, source, strides, place, targets, 0, $cells);
            } else {
                $unrolled::<E, D>($element, source, strides, place, targets, 0, whole);
                if whole < $cells {
                    $unrolled::<E, D>(
                        $element,
                        source,
                        strides,
                        place,
                        targets,
                        $cells - vector,
                        vector,
                    );
                }
            }
        }
    }};
}

/// Rows of any number of written fields, in place or not: one argument each, in the order of `WRITES`, so that each is
/// known to overlap nothing else; a field updated in place is also read through it.
macro_rules! many_fields {
    ($(#[$lint:meta])? $name:ident, [$($features:literal)?]; $($t:ident)+) => {
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        $(#[$lint])?
        unsafe fn $name<E: StencilElement<D>, const D: usize>(
            element: &E, row: &Row<'_, D>, cells: usize, $($t: &mut [u8]),+
        ) {
            let (rows, mut targets) = ([$($t.as_mut_ptr()),+], [std::ptr::null_mut(); MAX_FIELDS]);
            for i in 0..E::WRITES.len() {
                targets[E::WRITES[i]] = rows[i];
            }
            // SAFETY: the caller's contract.
            let mut base = unsafe { base::<E::State>(row.slab, row.offset) };
            for f in 0..E::State::FIELDS.len() {
                if Of::<E, D>::IN_PLACE >> f & 1 == 1 {
                    base[f] = targets[f];
                }
            }
            // SAFETY: the caller's contract.
            unsafe { each::<E, D>(element, base, row.strides, &row.place, targets, cells) }
        }
    };
}

/// The row functions, compiled for one instruction set.
macro_rules! instruction_set {
    ($name:ident, $unrolls:literal $(, $features:literal)?) => {
        mod $name {
            use super::*;

            pub(super) struct Rows;

            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            unsafe fn one<E: StencilElement<D>, const D: usize>(
                element: &E, row: &Row<'_, D>, a: &mut [u8], cells: usize,
            ) {
                overlapped!(unrolled1, element, row, [a.as_mut_ptr()], cells)
            }

            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            unsafe fn two<E: StencilElement<D>, const D: usize>(
                element: &E, row: &Row<'_, D>, a: &mut [u8], b: &mut [u8], cells: usize,
            ) {
                overlapped!(unrolled2, element, row, [a.as_mut_ptr(), b.as_mut_ptr()], cells)
            }

            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            unsafe fn four<E: StencilElement<D>, const D: usize>(
                element: &E, row: &Row<'_, D>,
                a: &mut [u8], b: &mut [u8], c: &mut [u8], d: &mut [u8], cells: usize,
            ) {
                let targets = [a.as_mut_ptr(), b.as_mut_ptr(), c.as_mut_ptr(), d.as_mut_ptr()];
                overlapped!(unrolled4, element, row, targets, cells)
            }

            many_fields!(few, [$($features)?]; t0 t1 t2 t3);
            many_fields!(#[expect(clippy::too_many_arguments, reason = "only arguments carry `noalias`")]
                many, [$($features)?]; t0 t1 t2 t3 t4 t5 t6 t7 t8 t9 t10 t11 t12 t13 t14 t15);
            many_fields!(#[expect(clippy::too_many_arguments, reason = "only arguments carry `noalias`")]
                many_wide, [$($features)?]; t0 t1 t2 t3 t4 t5 t6 t7 t8 t9 t10 t11 t12 t13 t14 t15
                t16 t17 t18 t19 t20 t21 t22 t23 t24 t25 t26 t27 t28 t29 t30 t31);

            impl<E: StencilElement<D>, const D: usize> RowFunctions<E, D> for Rows {
                const UNROLLS: bool = $unrolls;
                unsafe fn one(element: &E, row: &Row<'_, D>, target: &mut [u8], cells: usize) {
                    // SAFETY: the caller's contract, and the machine has the instruction set.
                    unsafe { one::<E, D>(element, row, target, cells) }
                }
                unsafe fn two(element: &E, row: &Row<'_, D>, [a, b]: [&mut [u8]; 2], cells: usize) {
                    // SAFETY: as above.
                    unsafe { two::<E, D>(element, row, a, b, cells) }
                }
                unsafe fn four(
                    element: &E, row: &Row<'_, D>, [a, b, c, d]: [&mut [u8]; 4], cells: usize,
                ) {
                    // SAFETY: as above.
                    unsafe { four::<E, D>(element, row, a, b, c, d, cells) }
                }
                unsafe fn many(
                    element: &E, row: &Row<'_, D>, slab: &[*mut u8; MAX_FIELDS], cells: usize,
                ) {
                    // The row of written field number `i`; there may be fewer.
                    let to = |i: usize| -> &mut [u8] {
                        let Some(&field) = E::WRITES.get(i) else { return &mut [] };
                        let size = E::State::FIELDS[field].kind.size();
                        // SAFETY: the row is ours alone, and fields do not overlap.
                        unsafe {
                            let first = slab[field].offset(row.offset * size as isize);
                            std::slice::from_raw_parts_mut(first, cells * size)
                        }
                    };
                    // SAFETY: as above.
                    unsafe {
                        match E::WRITES.len() {
                            ..=4 => few::<E, D>(element, row, cells, to(0), to(1), to(2), to(3)),
                            ..=16 => many::<E, D>(
                                element, row, cells, to(0), to(1), to(2), to(3), to(4), to(5), to(6), to(7),
                                to(8), to(9), to(10), to(11), to(12), to(13), to(14), to(15),
                            ),
                            _ => many_wide::<E, D>(
                                element, row, cells, to(0), to(1), to(2), to(3), to(4), to(5), to(6), to(7),
                                to(8), to(9), to(10), to(11), to(12), to(13), to(14), to(15),
                                to(16), to(17), to(18), to(19), to(20), to(21), to(22), to(23),
                                to(24), to(25), to(26), to(27), to(28), to(29), to(30), to(31),
                            ),
                        }
                    }
                }
            }
        }
    };
}

instruction_set!(portable, false);
#[cfg(target_arch = "x86_64")]
instruction_set!(avx2, true, "avx2,fma");
#[cfg(target_arch = "x86_64")]
instruction_set!(avx512, true, "avx512f,avx512vl,avx512dq,avx512bw,fma");
