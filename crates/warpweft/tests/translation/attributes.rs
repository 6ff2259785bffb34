//! What the attributes make of element functions, checked against calling them as Rust.

use crate::translation_support::host::check;
use warpweft::element::{DeviceFn, Unit};
use warpweft::prelude::*;
use warpweft::stencil::{StencilElement, Tap};

/// A helper.
#[device]
fn ring<T: Real>(a: T, b: T) -> T {
    T::lit(0.5) * (a + b)
}

const WEIGHTS: [f32; 3] = [-2.5, 1.25, -0.125];

/// Heat.
#[stencil]
fn diffuse(u: Near<f32, 3>, rate: f32) -> f32 {
    let around = u[[-1, 0, 0]] + u[[1, 0, 0]] + ring(u[[0, -1, 0]], u[[0, 1, 0]]);
    if around > 100.0 {
        return 100.0;
    }
    u[[0, 0, 0]] + rate * (around - 6.0 * u[[0, 0, 0]])
}

#[stencil]
fn wide<T: Real>(u: Near<T, 1>, rate: T) -> T {
    let mut sum = T::default();
    for k in 1..=4 {
        sum += u[[-k]] + u[[k]];
    }
    u[[0]] + rate * sum
}

#[stencil]
fn table(u: Near<f32, 1>) -> f32 {
    let mut sum = WEIGHTS[0] * u[[0]];
    for k in 1..=2 {
        sum += WEIGHTS[k as usize] * (u[[-k]] + u[[k]]);
    }
    sum
}

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
struct Wave {
    height: f32,
    speed: f64,
    wet: bool,
}

#[stencil]
fn wave(now: Near<Wave, 2>, next: &mut Wave, dt: f64) {
    let slope = now.height[[0, 1]] - now.height[[0, -1]];
    next.speed += dt * slope as f64;
    if now.wet[[0, 0]] && slope >= 0.0 {
        next.height = now.height[[0, 0]] * 0.5;
    }
}

/// One field of a neighbour, all of another, and all of the cell changed.
#[stencil]
fn returned(g: Near<Wave, 1>) -> Wave {
    Wave { speed: g[[1]].speed, ..g[[0]] }
}

#[test]
fn a_returned_cell_writes_all_fields_and_a_whole_neighbour_reads_them() {
    let reads = [tap(1, [1]), tap(0, [0]), tap(1, [0]), tap(2, [0])];
    assert_eq!(<returned as StencilElement<1>>::TAPS, reads);
    assert_eq!(<returned as StencilElement<1>>::WRITES, [0, 1, 2]);
    let cells = Volume::from_fn([2], |[x]| Wave { height: x as f32, speed: 3.5, wet: x == 0 });
    let cell = returned::cell(cells.near([0]));
    assert_eq!(cell, Wave { height: 0.0, speed: 3.5, wet: true });
    assert_eq!(cells.field::<bool>("wet"), Some(&[true, false][..]));
    assert_eq!((cells.field::<f32>("wet"), cells.field::<bool>("dry")), (None, None));
    assert_eq!(cells.field::<f64>(1), cells.field::<f64>("speed"));
}

fn tap<const D: usize>(field: usize, offset: [isize; D]) -> Tap<D> {
    Tap { field, offset }
}

#[test]
fn footprints_are_read_off_the_offsets() {
    assert_eq!(
        <wide<f32> as StencilElement<1>>::TAPS,
        [-1, 1, -2, 2, -3, 3, -4, 4, 0].map(|k| tap(0, [k]))
    );
    assert_eq!(wave::WRITES, [0, 1]);
    assert_eq!(wave::TAPS, [tap(0, [0, 1]), tap(0, [0, -1]), tap(2, [0, 0]), tap(0, [0, 0])]);
}

#[test]
fn the_function_stays_callable() {
    let volume = Volume::from_fn([3, 3, 3], |[z, y, x]| (z + 10 * y + 100 * x) as f32);
    let found = diffuse::cell(volume.near([1, 1, 1]), 0.1);
    assert_eq!(found, 100.0);
    assert_eq!(ring(2.0, 4.0), 3.0);
    let line = Volume::from_fn([9], |[x]| (x * x) as f64);
    assert_eq!(wide::cell(line.near([4]), 0.5), 16.0 + 0.5 * (8.0 * 16.0 + 60.0));
}

#[test]
fn an_element_becomes_one_struct_with_its_helpers_before_it() {
    let mut unit = Unit::new();
    assert_eq!(diffuse::cuda(&mut unit), "diffuse_ww");
    assert_eq!(diffuse::cuda(&mut unit), "diffuse_ww");
    assert_eq!(<ring<f32> as DeviceFn>::cuda(&mut unit), "ring_ww");
    assert_eq!(<ring<f64> as DeviceFn>::cuda(&mut unit), "ring2_ww");
    let source = unit.source();
    let (helper, element) =
        (source.find(" ring_ww(").unwrap(), source.find("struct diffuse_ww ").unwrap());
    assert!(helper < element);
    assert_eq!(source.matches("struct diffuse_ww ").count(), 1);
    assert!(source.contains("now.template at<0, -1, 0, 0>()"), "{source}");
}

/// A parameter, a constant and two functions that would all be called alike in C++.
const SPEED: [f32; 2] = [2.0, 3.0];

mod elsewhere {
    use warpweft::prelude::*;
    #[device]
    pub fn table(x: f32) -> f32 {
        x + 1.0
    }
}

#[stencil]
fn named_alike(u: Near<f32, 1>, table: f32, at: i32) -> f32 {
    let double = elsewhere::table(u[[0]]);
    table * double + SPEED[(at % 2) as usize]
}

#[test]
fn a_parameter_hides_neither_functions_nor_tables_of_its_name() {
    let mut unit = Unit::new();
    named_alike::cuda(&mut unit);
    let source = unit.source();
    for part in
        ["ww::f32 table_;", " table_ww(", "table2_ww = ", "ww::mul(table_, ", "at(table2_ww, "]
    {
        assert!(source.contains(part), "{part} is missing in\n{source}");
    }
}

#[test]
fn functions_of_one_path_in_two_blocks_are_two() {
    let mut unit = Unit::new();
    {
        #[device]
        fn same(a: i32) -> i32 {
            a + 1
        }
        assert_eq!(same(1), 2);
        <same as DeviceFn>::cuda(&mut unit);
    }
    {
        #[device]
        fn same(a: i32) -> i32 {
            a - 1
        }
        assert_eq!(same(1), 0);
        <same as DeviceFn>::cuda(&mut unit);
    }
    assert!(unit.source().contains(" same_ww(") && unit.source().contains(" same2_ww("));
}

#[device]
fn ping(n: u32) -> u32 {
    if n == 0 { 0 } else { pong(n - 1) }
}

#[device]
fn pong(n: u32) -> u32 {
    if n == 0 { 1 } else { ping(n - 1) }
}

#[device]
fn pinged(n: u32) -> u32 {
    ping(n) + 2
}

#[test]
fn functions_in_a_circle_of_calls_get_levels() {
    let mut unit = Unit::new();
    <ping as DeviceFn>::cuda(&mut unit);
    let source = unit.source();
    assert!(
        source
            .contains("WW_RECURSIVE ww::u32 ping_ww(const ww::u32 n_1, const ww::level ww_level);")
    );
    assert!(
        unit.faults() && unit.fault(1, "GPU").to_string().contains("`ping`: calls itself deeper")
    );
    check("circles", |cases| case!(cases, pinged, (n), &[(0,), (1,), (7,), (200,)]));
}

/// Values in structs and arrays, by a function that calls itself twice with what its calls return.
#[device]
fn ackermann(m: u32, n: [u32; 2]) -> [u32; 2] {
    if m == 0 {
        return [n[0] + 1, n[1] + 1];
    }
    if n[0] == 0 {
        return ackermann(m - 1, [1, n[1]]);
    }
    let inner = ackermann(m, [n[0] - 1, n[1]]);
    ackermann(m - 1, inner)
}

#[device]
fn ackermanns_number(m: u32, n: u32) -> u32 {
    let value = ackermann(m, [n, 0]);
    value[0] * 1000 + value[1]
}

#[test]
fn a_function_that_calls_itself_gives_what_rust_gives() {
    check("recursion", |cases| {
        case!(cases, ackermanns_number, (m, n), &[(0, 3), (1, 4), (2, 3), (3, 3)])
    });
}

/// Kernels that compute cells to be dropped are for elements that can't fault.
#[test]
fn an_index_known_to_be_inside_raises_no_fault() {
    #[device]
    fn inside(x: f32) -> f32 {
        let k = 2;
        let own = [x; 2];
        WEIGHTS[0] * x + WEIGHTS[k as usize] * own[1]
    }
    #[device]
    fn unknown(x: f32, k: usize) -> f32 {
        WEIGHTS[k] * x
    }
    #[device]
    #[allow(unconditional_panic, clippy::out_of_bounds_indexing)]
    fn outside(x: f32) -> f32 {
        let own = [x; 2];
        own[2]
    }
    const TABLE: [[i8; 4]; 3] = [[1; 4]; 3];
    #[device]
    fn masked(a: u8, b: i32) -> i8 {
        let column = (b & 3) as usize;
        TABLE[a as usize % 3][column] + TABLE[usize::from(a).min(2)][usize::from(a & 7) >> 1 & 3]
    }
    #[device]
    fn too_wide(a: u8) -> i8 {
        TABLE[(a & 3) as usize][0]
    }
    #[device]
    fn signed(a: i32) -> i8 {
        TABLE[(a % 3) as usize][0]
    }
    let site = |cuda: fn(&mut Unit) -> String| {
        let mut unit = Unit::new();
        cuda(&mut unit);
        unit.site_of(1).map(|site| site.what)
    };
    assert_eq!(site(inside::cuda), None);
    assert_eq!(site(masked::cuda), None);
    assert_eq!([site(too_wide::cuda), site(signed::cuda)], [Some("index out of bounds"); 2]);
    assert_eq!(site(unknown::cuda), Some("index out of bounds"));
    assert_eq!(site(outside::cuda), Some("index out of bounds"));
}
