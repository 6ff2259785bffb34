//! Sums by scans: equal to the recurrence where numbers are exact, close where they are rounded.

use warpweft::cuda::{Device, compiler};
use warpweft::prelude::*;
use warpweft::wavefront::cuda::scan::{ScanExecutor, compile_check, misses};
use warpweft::wavefront::{Kept, ScanPolicy, WavefrontExecutor, reference};
use warpweft_conformance::wavefront::{Inputs, area, mix};

/// Rows and columns of each size are weighed too.
#[wavefront(sums)]
fn weighed(h: Earlier<i64>, #[row] a: i32, #[column] b: i32, #[cell] x: i16) -> i64 {
    h.n + h.w - h.nw + a as i64 * x as i64 - b as i64
}

/// Rows and columns without inputs of cells.
#[wavefront(sums)]
fn outer(h: Earlier<i64>, #[row] a: i32, #[column] b: i32) -> i64 {
    h.n + h.w - h.nw + a as i64 * b as i64
}

#[wavefront(sums)]
fn real(h: Earlier<f32>, #[cell] x: f32) -> f32 {
    h.n + h.w - h.nw + x
}

#[wavefront(sums)]
fn not_a_sum(h: Earlier<i32>, #[cell] x: i32) -> i32 {
    h.n.max(h.w) - h.nw + x
}

#[wavefront(sums)]
fn clipped(h: Earlier<i32>, #[cell] x: i32) -> i32 {
    (h.n + h.w - h.nw + x).max(0)
}

#[wavefront(sums)]
fn sometimes(h: Earlier<i64>, #[cell] x: i32) -> i64 {
    if x < 7 { h.n + h.w - h.nw + x as i64 } else { h.n }
}

/// What nobody may call with inputs of its own.
#[wavefront]
fn divided(h: Earlier<i32>, #[row] a: i32) -> i32 {
    h.n / a + h.w
}

const POLICIES: [ScanPolicy; 5] = [
    ScanPolicy { rows: 8, warps: 16 },
    ScanPolicy { rows: 3, warps: 2 },
    ScanPolicy { rows: 1, warps: 31 },
    ScanPolicy { rows: 16, warps: 3 },
    ScanPolicy { rows: 13, warps: 2 },
];

#[test]
fn kernels_compile_for_ampere_and_hopper() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    compile_check::<weighed>(&POLICIES[0], "sm_80").unwrap();
    compile_check::<area>(&POLICIES[0], "sm_90").unwrap();
    compile_check::<outer>(&POLICIES[2], "sm_90").unwrap();
    compile_check::<weighed>(&POLICIES[3], "sm_80").unwrap();
    compile_check::<real>(&POLICIES[1], "sm_90").unwrap();
    let error = compile_check::<real>(&ScanPolicy { rows: 17, warps: 1 }, "sm_90").unwrap_err();
    assert!(error.to_string().contains("1 warps of 17 rows"), "{error}");
}

#[test]
fn what_is_no_sum_is_not_scanned() {
    let pixels = [1; 6];
    let sum = Wavefront::of(area()).over([2, 3]).inputs(&[1; 6]).keep(Keep::Matrix);
    assert_eq!(misses(&sum), None);
    assert_eq!(misses(&sum.clone().keep(Keep::LastRow)), Some("result but the matrix"));
    let wrong = Wavefront::of(not_a_sum()).over([2, 3]).inputs(&pixels).keep(Keep::Matrix);
    assert_eq!(misses(&wrong), Some("sum that adds up otherwise"));
    let wrong = Wavefront::of(clipped()).over([2, 3]).inputs(&pixels).keep(Keep::Matrix);
    assert_eq!(misses(&wrong), Some("sum that adds up otherwise"));
    let late = [1, 2, 3, 4, 5, 9];
    let wrong = Wavefront::of(sometimes()).over([2, 3]).inputs(&late).keep(Keep::Matrix);
    assert_eq!(misses(&wrong), Some("sum that adds up otherwise"));
    let never = Wavefront::of(divided()).rows(&[3]).columns(&[(); 2]).keep(Keep::Matrix);
    assert_eq!(misses(&never), Some("recurrence but sums"));
    let other = Wavefront::of(mix(1)).rows(&[1]).columns(&[1]).keep(Keep::Matrix);
    assert_eq!(misses(&other), Some("recurrence but sums"));
}

#[test]
fn sums_equal_the_reference_on_the_gpu() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut inputs = Inputs(5);
    for policy in POLICIES {
        let mut executor = ScanExecutor::new(&device, Some(policy)).unwrap();
        // Bands that blocks take one after another; tiles that end within one; rows of any alignment.
        let shapes = [
            [1, 1],
            [3, 5],
            [200, 128],
            [129, 500],
            [300, 1300],
            [700, 272],
            [20_000, 8],
            [1000, 4],
        ];
        for [m, n] in shapes {
            let pixels: Vec<_> = (0..m * n).map(|_| inputs.bits() as u8).collect();
            let wide: Vec<_> = (0..m * n).map(|_| inputs.bits() as i16).collect();
            let rows: Vec<_> = (0..m).map(|_| inputs.bits() as i32 >> 8).collect();
            let columns: Vec<_> = (0..n).map(|_| inputs.bits() as i32 >> 8).collect();
            let line = |i: isize, j: isize| (i * 1_000_003 + j * 77) as i64;
            for border in [Border::Value(-3), Border::from_fn(m, n, line), Border::function(line)] {
                let wavefront = Wavefront::of(weighed())
                    .rows(&rows)
                    .columns(&columns)
                    .inputs(&wide)
                    .border(border)
                    .keep(Keep::Matrix);
                let expect = reference(&wavefront).unwrap();
                assert!(executor.run(&wavefront).unwrap().0 == expect, "{m} × {n}, {policy:?}");
            }
            let outer = Wavefront::of(outer()).rows(&rows).columns(&columns).keep(Keep::Matrix);
            let expect = reference(&outer).unwrap();
            assert!(executor.run(&outer).unwrap().0 == expect, "{m} × {n}, {policy:?}");
            let bytes = Wavefront::of(area()).over([m, n]).inputs(&pixels).keep(Keep::Matrix);
            let expect = reference(&bytes).unwrap();
            assert!(executor.run(&bytes).unwrap().0 == expect, "{m} × {n}, {policy:?}");
            // Sums of so many small integers are exact in floats, in any order.
            let reals: Vec<_> = pixels.iter().map(|&p| f32::from(p)).collect();
            let reals = Wavefront::of(real()).over([m, n]).inputs(&reals).keep(Keep::Matrix);
            let (Kept::Matrix(found), Kept::Matrix(expect)) =
                (executor.run(&reals).unwrap().0, expect)
            else {
                panic!("not a matrix");
            };
            let equal = found.iter().zip(&expect).all(|(a, &b)| *a == b as f32 || b > 1 << 24);
            assert!(equal, "{m} × {n}, {policy:?}");
        }
    }
}
