//! `warpweft dtw` of parts, of sets and within bands: files in, checked answers out, bad input named.

use std::path::Path;

use warpweft::grid::Volume;
use warpweft::grid::io::npy;

use crate::warpweft_in;

fn save(folder: &Path, name: &str, samples: &[f64]) {
    let volume = Volume::from_fn([samples.len()], |[i]| samples[i]);
    npy::write(&folder.join(name), &volume, 0).unwrap();
}

fn save_rows(folder: &Path, name: &str, rows: &[[f64; 4]]) {
    let volume = Volume::from_fn([rows.len(), 4], |[i, j]| rows[i][j]);
    npy::write(&folder.join(name), &volume, 0).unwrap();
}

#[test]
fn bands_have_paths_and_squares_have_roots() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    save(folder, "a.npy", &[0.0, 0.0, 3.0, 0.0]);
    save(folder, "b.npy", &[3.0, 0.0, 0.0, 0.0]);
    // Within one of the diagonal, 3 can only be paired with 0.
    let line = "dtw a.npy b.npy --cost squared --window 2 --path p.npy --device cpu --json";
    let object = warpweft_in(folder, line).json();
    assert_eq!(object["result"]["distance"], 18f64.sqrt());
    assert_eq!(
        (&object["check"]["passed"], &object["settings"]["window"]),
        (&true.into(), &2.into())
    );
    let pairs: Volume<i64, 2> = npy::read(&folder.join("p.npy")).unwrap();
    let apart = |pair: &[i64]| (pair[0] - pair[1]).abs();
    assert!(pairs.as_slice().chunks(2).all(|pair| apart(pair) <= 1));
    let object = warpweft_in(folder, "dtw a.npy b.npy --band 1 --plot --device cpu --json").json();
    assert_eq!(object["result"]["distance"], 6.0);
    warpweft_in(folder, "dtw a.npy b.npy --window 0").fails(2, &["a window of 0"]);
}

#[test]
fn parts_of_a_series_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    save(folder, "query.npy", &[1.0, 5.0, 1.0]);
    save(folder, "long.npy", &[9.0, 1.0, 5.0, 5.0, 1.0, 9.0, 9.0, 1.0, 4.0, 1.0, 9.0]);
    let line = "dtw query.npy long.npy --subsequence --matches 2 --path p.npy --device cpu --json";
    let object = warpweft_in(folder, line).json();
    let expected = serde_json::json!([
        {"distance": 0.0, "first": 1, "last": 4},
        {"distance": 1.0, "first": 7, "last": 9},
    ]);
    assert_eq!(object["result"]["matches"], expected);
    assert_eq!(object["check"]["passed"], true);
    let pairs: Volume<i64, 2> = npy::read(&folder.join("p.npy")).unwrap();
    assert_eq!(pairs.as_slice(), [0, 1, 1, 2, 1, 3, 2, 4]);
    let said = warpweft_in(folder, "dtw query.npy long.npy --subsequence --device cpu").fine();
    assert!(said.contains("samples 1 to 4, distance 0"), "{said}");
}

#[test]
fn sets_are_compared_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows = [[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0], [9.0, 9.0, 9.0, 9.0]];
    save_rows(folder, "set.npy", &rows);
    let object = warpweft_in(folder, "dtw set.npy --matrix d.npy --device cpu --json").json();
    assert_eq!((&object["result"]["pairs"], &object["check"]["passed"]), (&3.into(), &true.into()));
    let distances: Volume<f64, 1> = npy::read(&folder.join("d.npy")).unwrap();
    assert_eq!(distances.as_slice(), [0.0, 34.0, 35.0]);
    save(folder, "query.npy", &[0.0, 1.0, 0.0]);
    let line = "dtw query.npy set.npy --nearest 2 --device cpu";
    let object = warpweft_in(folder, &format!("{line} --json")).json();
    let expected = serde_json::json!([
        {"series": 0, "distance": 0.0}, {"series": 1, "distance": 0.0}
    ]);
    assert_eq!(object["result"]["nearest"], expected);
    let said = warpweft_in(folder, line).fine();
    assert!(
        said.contains("of 3 series, 0 were left out by LB_Kim and 0 more by LB_Keogh"),
        "{said}"
    );
}

#[test]
fn sets_that_can_not_be_compared_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    save(folder, "one.npy", &[1.0, 2.0]);
    save_rows(folder, "set.npy", &[[1.0; 4], [1.0, f64::NAN, 1.0, 1.0]]);
    let fails = |line: &str, said: &[&str]| {
        warpweft_in(folder, line).fails(1, said);
    };
    fails("dtw one.npy --matrix d.npy", &["one.npy: has shape [2], and not 2 axes"]);
    fails("dtw set.npy --matrix d.npy", &["set.npy: sample 1 of series 1 is NaN"]);
    fails("dtw one.npy set.npy --nearest 1", &["set.npy: sample 1 of series 1 is NaN"]);
    fails("dtw one.npy set.npy", &["set.npy: has shape [2, 4], and not 1 axis"]);
    // A file of NumPy's with no sample.
    let header = format!("{:<117}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }");
    let file = [b"\x93NUMPY\x01\x00", &118u16.to_le_bytes()[..], header.as_bytes()].concat();
    std::fs::write(folder.join("none.npy"), file).unwrap();
    fails("dtw one.npy none.npy", &["none.npy", "0"]);
}
