//! What is no number is refused where it is read; results that grew beyond their type are said to have.

use std::path::Path;

use warpweft::element::Scalar;
use warpweft::grid::Volume;
use warpweft::grid::io::npy;

use crate::{warpweft, warpweft_in};

/// Saves zeros, but for some cells.
fn save<T: Scalar, const D: usize>(file: &Path, extents: [usize; D], cells: &[([usize; D], f64)]) {
    let mut volume = Volume::<T, D>::zeroed(extents).expect("a small volume");
    for &(at, value) in cells {
        assert!(volume.set(at, T::from_f64(value)));
    }
    npy::write(file, &volume, 0).expect("a small file");
}

#[test]
fn an_input_of_no_numbers_is_refused_with_its_place() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("a.npy");
    save::<f32, 2>(&file, [9, 12], &[([2, 7], f64::NAN), ([8, 0], f64::INFINITY)]);
    for line in ["run heat --input a.npy", "run edge --input a.npy", "sat a.npy"] {
        warpweft_in(folder.path(), line)
            .fails(1, &["a.npy: cell [2, 7] is NaN", "numpy.nan_to_num(array"]);
    }
    save::<f64, 2>(&file, [9, 12], &[([8, 0], f64::NEG_INFINITY)]);
    for line in ["run heat --input a.npy", "run swim --input a.npy", "sat a.npy"] {
        warpweft_in(folder.path(), line).fails(1, &["a.npy: cell [8, 0] is -inf"]);
    }
}

#[test]
fn water_without_pressure_is_refused_with_its_place() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    save::<f64, 2>(&folder.path().join("a.npy"), [1, 2], &[([0, 0], 5e4)]);
    warpweft_in(folder.path(), "run swim --input a.npy")
        .fails(2, &["a pressure of 0 in cell [0, 1] of swim", "pressures above 0"]);
}

#[test]
fn a_result_that_grew_beyond_its_type_is_no_success() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let high = [([3, 4], 3e38), ([3, 5], 3e38)];
    save::<f32, 2>(&folder.path().join("single.npy"), [16, 16], &high);
    save::<f64, 2>(
        &folder.path().join("double.npy"),
        [16, 16],
        &high.map(|(at, x)| (at, x * 5e269)),
    );
    for (line, kind) in [
        ("run heat --input single.npy --rate 0.25 --steps 1", "larger than f32 holds"),
        ("run heat --input double.npy --rate 0.25 --steps 1", "larger than f64 holds"),
        (
            "run heat --input single.npy --rate 0.25 --steps 2",
            "after a start with 3.00e38 at [3, 4]",
        ),
        ("run edge --input single.npy --steps 1", "larger than f32 holds"),
        ("sat double.npy", "larger than f64 holds"),
    ] {
        let ran = warpweft_in(folder.path(), &format!("{line} --device cpu"));
        ran.fails(1, &["in the result", kind, "give smaller values"]);
        assert!(ran.out.contains("check    FAILED") && !ran.err.contains("wrong"), "{}", ran.err);
    }
    save::<f32, 1>(&folder.path().join("a.npy"), [2], &[([0], 3e38)]);
    save::<f32, 1>(&folder.path().join("b.npy"), [2], &[([0], -3e38)]);
    warpweft_in(folder.path(), "dtw a.npy b.npy")
        .fails(1, &["the distance is inf: more than f32 holds", "float64"]);
}

#[test]
fn the_smallest_domains_are_right_or_refused() {
    for n in [1, 2, 3] {
        for line in ["edge", "hyperthermia", "swim", "heat --dims 2", "life", "laplace", "seismic"]
        {
            let steps = if line == "laplace" { "--sweeps 3" } else { "--steps 3" };
            let ran = warpweft(&format!("run {line} --size {n} {steps} --device cpu"));
            match ran.status {
                Some(0) => assert!(ran.out.contains("check    passed"), "{line} {n}: {}", ran.out),
                _ => ran.fails(2, &["axis"]),
            }
        }
    }
    for n in [1, 2] {
        let line = format!("run himeno --size {n}x5x5 --steps 3");
        warpweft(&line)
            .fails(2, &[&format!("extents [{n}, 5, 5]"), "at least 3 cells along every axis"]);
    }
    let ran = warpweft("run himeno --size 3 --steps 3").fine();
    assert!(ran.contains("check    passed"), "{ran}");
}
