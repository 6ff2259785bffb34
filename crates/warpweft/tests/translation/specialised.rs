//! The specialised copy of an element, and names that mean more than they seem to.
#![allow(clippy::all, unused_parens)]

use crate::translation_support::host::{check, inputs};
use warpweft::element::{CellPtr, Fields, MAX_FIELDS, Unchecked};
use warpweft::prelude::*;
use warpweft::stencil::{Place, StencilElement};

/// Constants that are used before they are declared, one of them hiding another.
#[stencil]
fn late(u: Near<i32, 1>) -> i32 {
    const REACH: isize = 1;
    let inner = {
        let mut sum = u[[REACH]];
        for k in 0..=LAST {
            sum += u[[k]];
        }
        const REACH: isize = LAST - 4;
        const LAST: isize = 2;
        sum
    };
    inner * 3 + u[[REACH]]
}

/// The literals here get their types from later lines; none of their arithmetic would wrap in any.
#[stencil]
fn typed_later(u: Near<i32, 1>) -> i32 {
    let (one, far) = (1, -2);
    let k = 2;
    let mut sum = u[[-k]];
    for j in 0..2 {
        sum += u[[j as isize - k]];
        let narrow: u8 = j;
        sum += narrow as i32;
    }
    let step = 1;
    sum += u[[(step + 1) as isize]] + one + far;
    let narrow: i8 = step;
    sum * narrow as i32
}

/// Neighbours in the macros of the subset, whatever these mean here.
#[stencil]
fn macros(u: Near<i32, 1>, k: i32) -> i32 {
    assert!(u[[0]] < 100, "a plain {{message}}");
    if matches!(u[[1]], 1..=3 if u[[-1]] != k) { u[[2]] } else { 7 }
}

/// Every user's name has a meaning of its own: offsets are those of the pattern's own tokens.
macro_rules! hidden {
    ($u:ident, $k:ident) => {
        #[stencil]
        fn hygienic($u: Near<i32, 1>) -> i32 {
            let $k = 1;
            $u[[$k]] + $u[[-$k]]
        }
    };
}
hidden!(u, k);

fn agree<E: StencilElement<1, State = i32>>(element: E, taps: &[isize]) {
    let found: Vec<_> = E::TAPS.iter().map(|tap| tap.offset[0]).collect();
    assert_eq!(found, taps, "{}", E::NAME);
    let line = Volume::from_fn([16], |[x]| (x * x % 11) as i32);
    let cells: Vec<i32> = (0..16).map(|x| (x * x % 11) as i32).collect();
    for x in 3..13 {
        let mut base = [std::ptr::null(); MAX_FIELDS];
        base[0] = cells.as_ptr().cast();
        let bounds = Unchecked { shift: [0] };
        let at = CellPtr { base, index: x as isize, strides: [1], bounds };
        let (mut checked, mut unchecked) = (0, 0);
        element.cell(line.near([x]), &mut checked, Place::FIRST);
        // SAFETY: three cells lie on either side of `x`, which is as far as the taps go.
        unsafe { element.cell_unchecked(i32::near(&at), &mut unchecked, Place::FIRST) };
        assert_eq!(checked, unchecked, "{} at {x}", E::NAME);
    }
}

#[test]
fn the_specialised_copy_reads_the_footprint() {
    agree(late(), &[-2, 0, 1, 2]);
    agree(typed_later(), &[-2, -1, 2]);
    agree(macros(3), &[0, 1, -1, 2]);
    agree(hygienic(), &[1, -1]);
}

#[test]
fn bound_names_hide_constants() {
    #[device]
    fn hides(n: i32, on: bool) -> i32 {
        let n = n.rem_euclid(9);
        let k = 3;
        let mut sum = 0;
        if let (k, true) = (n, on) {
            for i in 0..k {
                sum += i + 1;
            }
        } else {
            for i in 0..k {
                sum -= i + 1;
            }
        }
        sum
    }
    check("specialised_hides", |cases| {
        case!(cases, hides, (n, on), &inputs());
    });
}

#[test]
fn references_stay_references() {
    #[device]
    fn add(a: &mut i32, b: i32) -> i32 {
        *a = (*a).wrapping_add(b);
        *(a) ^ 1
    }
    #[device]
    fn twice(a: &mut i32, b: i32) -> i32 {
        add((a), b).wrapping_add(add(a, 1))
    }
    #[device]
    fn order(mut a: i32, mut b: i32) -> (i32, i32, i32) {
        let mut list = [a, b];
        let c = add(&mut a, add(&mut b, 5));
        let d = add(&mut list[1], twice(&mut b, 3));
        (a, b.wrapping_add(list[1]), c ^ d)
    }
    check("specialised_references", |cases| {
        case!(cases, order, (a, b), &inputs());
    });
}
