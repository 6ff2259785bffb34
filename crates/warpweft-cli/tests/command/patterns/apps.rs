//! Applications of several fields: checked answers, and what each is about.

use serde_json::Value;

use warpweft::grid::Volume;
use warpweft::grid::io::{npy, png};

use crate::{warpweft, warpweft_in};

fn json(line: &str) -> Value {
    warpweft(&format!("run {line} --device cpu --json")).json()
}

#[test]
fn every_application_is_right() {
    for line in [
        "edge --size 33x20 --steps 40",
        "edge --size 33x20 --steps 40 --boundary mirror --seed 3",
        "hyperthermia --size 9x10x17 --steps 8",
        "himeno --size 10x11x19 --steps 9 --ranks 2 --depth 2",
        "swim --size 21x34 --steps 9",
        "tricubic --size 9x10x21 --steps 4 --boundary neumann",
        "seismic --size 14x15x21 --steps 6",
        "seismic --size 14x15x21 --steps 6 --ranks 3 --boundary mirror",
        "hyperthermia --size 9x10x17 --steps 8 --dtype f64",
        "himeno --size 10x11x19 --steps 9 --dtype f64",
        "swim --size 21x34 --steps 9 --dtype f32",
        "tricubic --size 9x10x21 --steps 4 --dtype f64",
        "seismic --size 14x15x21 --steps 6 --dtype f64",
    ] {
        let json = json(line);
        assert_eq!(json["check"]["passed"], true, "{line}: {json}");
    }
}

/// As many digits as tell two doubles apart.
#[test]
fn sums_over_all_cells_are_told_in_full() {
    let line = "swim --size 64 --steps 9";
    let said = warpweft(&format!("run {line} --device cpu")).fine();
    let sum = said.split("sum of u ").nth(1).and_then(|rest| rest.split(',').next());
    let sum: f64 = sum.and_then(|sum| sum.parse().ok()).expect("a number");
    assert_eq!(json(line)["result"]["sum_of_u"].as_f64().map(f64::to_bits), Some(sum.to_bits()));
}

#[test]
fn cells_hold_what_was_asked_for() {
    for (line, kinds) in [
        ("himeno --size 8 --steps 1 --dtype double", "13 fields of f64"),
        ("swim --size 8 --steps 1 --dtype f32", "10 fields of f32"),
        ("swim --size 8 --steps 1", "10 fields of f64"),
    ] {
        assert_eq!(json(line)["settings"]["dtype"], kinds, "{line}");
    }
}

#[test]
fn a_seed_is_noise_where_the_start_is_at_rest_too() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let state = |seed: u64| {
        let line = format!("run seismic --size 12 --steps 1 --device cpu --seed {seed}");
        warpweft_in(folder.path(), &format!("{line} --output vx.npy")).fine();
        let volume: Volume<f32, 3> = npy::read(&folder.path().join("vx.npy")).expect("a volume");
        volume.as_slice().to_vec()
    };
    let [one, two] = [1, 2].map(state);
    let (least, most) = one.iter().fold((1.0f32, 0.0f32), |(a, b), &v| (a.min(v), b.max(v)));
    assert!(most - least > 0.5, "{least} to {most}");
    assert!(one != two);
}

#[test]
fn a_picture_comes_back_from_its_edges() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let run = |line: &str| warpweft_in(folder.path(), line).fine();
    run("run life --size 24x30 --steps 0 --output picture.png");
    run("run edge --input picture.png --steps 6000 --output back.png");
    let read = |name| warpweft::grid::io::png::read(&folder.path().join(name)).expect("a picture");
    let (before, after) = (read("picture.png"), read("back.png"));
    for (a, b) in before.as_slice().iter().zip(after.as_slice()) {
        assert!(a.abs_diff(*b) <= 1, "{b} for {a}");
    }
}

#[test]
fn himeno_reports_mflops_and_gosa() {
    let json = json("himeno --class xs --steps 3");
    assert_eq!(json["result"]["extents"], serde_json::json!([32, 32, 64]));
    let number = |name: &str| json["result"][name].as_f64().expect("a number");
    let (mflops, seconds) = (number("mflops"), json["seconds"].as_f64().expect("a number"));
    let flops = 34.0 * 30.0 * 30.0 * 62.0 * 3.0;
    assert!((mflops * 1e6 * seconds / flops - 1.0).abs() < 1e-6);
    assert!(number("gosa_of_the_next_step") > 0.0);
    warpweft("run himeno --class huge").fails(2, &["no class huge", "choose XS, S, M, L or XL"]);
    warpweft("run swim --boundary mirror")
        .fails(2, &["swim has no --boundary mirror", "--boundary"]);
}

#[test]
fn swim_s_tolerance_follows_its_size_and_is_a_field_s_own() {
    for line in ["swim --size 400 --steps 5", "swim --size 512 --steps 2 --dtype f32"] {
        let json = json(line);
        assert_eq!(json["check"]["passed"], true, "{line}");
        // Of all fields the velocities are the nearest to what is allowed.
        let reference = json["check"]["reference"].as_str().expect("a reference solution");
        let of = reference.strip_prefix("straightforward loop, in ").expect("a field");
        assert!(["u", "v", "uold", "vold", "cu", "cv"].contains(&of), "{reference}");
    }
}

/// Pressure is what velocities are rounded by.
#[test]
fn swim_under_high_pressure_is_right() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let pressure = Volume::from_fn([256, 256], |_| 4e5);
    npy::write(&folder.path().join("p.npy"), &pressure, 0).expect("a small file");
    let line = "run swim --input p.npy --steps 2 --device cpu --json";
    let json = warpweft_in(folder.path(), line).json();
    assert_eq!(json["check"]["passed"], true, "{json}");
}

#[test]
fn swim_is_compared_while_roundings_only_add_up() {
    let json = json("swim --size 8 --steps 12000");
    assert_eq!(json["check"]["passed"], true, "{json}");
    assert_eq!(
        json["check"]["part"],
        "the first 4527 of 12000 steps, because later rounding errors may be as large as real errors"
    );
}

#[test]
fn a_check_that_anything_would_pass_is_none() {
    let json = json("heat --size 24 --dims 2 --dtype bf16 --order 8 --rate 0.05 --steps 1000");
    let reason = json["check"]["reason"].as_str().unwrap();
    assert!(json["check"]["passed"].is_null() && reason.contains("--dtype f32"), "{json}");
    assert!(json["check"]["reference"].is_null(), "{json}");
}

#[test]
fn swim_ends_at_the_benchmark_s_sum() {
    let json = json("swim --size 256 --steps 99");
    let sum = json["result"]["sum_of_u"].as_f64().expect("a number");
    assert!((sum / 6.518_659_856_5e3 - 1.0).abs() < 1e-9, "{sum}");
}

#[test]
fn a_blast_s_wave_is_where_it_should_be() {
    let json = json("seismic --size 64 --steps 40");
    let at = |name: &str| json["result"][name].as_f64().expect("a place");
    let (found, expect) = (at("p_wave_found_at_metres"), at("p_wave_expected_at_metres"));
    assert!((found / expect - 1.0).abs() < 0.03, "{found} for {expect}");
}

#[test]
fn a_blast_s_wave_is_told_only_while_it_is_whole_and_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let still = Volume::<f32, 3>::zeroed([40; 3]).expect("a small volume");
    npy::write(&folder.path().join("still.npy"), &still, 0).expect("a small file");
    let shows_wave = |line: &str| {
        let line = format!("run seismic {line} --device cpu --json");
        let json = warpweft_in(folder.path(), &line).json();
        assert!(json["result"]["time_seconds"].as_f64().is_some(), "{json}");
        ["p_wave_expected_at_metres", "p_wave_found_at_metres"]
            .map(|name| !json["result"][name].is_null())
    };
    assert_eq!(shows_wave("--size 40 --steps 32"), [true, true]);
    for line in [
        // Not yet out of where it came from; partly or wholly gone; met by what came back from a near face.
        "--size 40 --steps 3",
        "--size 40 --steps 50",
        "--size 16 --steps 32",
        "--size 16 --steps 32 --boundary periodic",
        "--size 16x40x40 --steps 28",
        // Another start.
        "--input still.npy --steps 32",
    ] {
        assert_eq!(shows_wave(line), [false, false], "{line}");
    }
}

/// Jacobi's iteration leaves the greys on its way.
#[test]
fn a_plot_of_edge_shows_all_that_a_picture_of_it_can_not() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let line =
        "run edge --size 64 --steps 5 --output a.png --output a.npy --plot p.png --device cpu";
    let ran = warpweft_in(folder.path(), line);
    assert!(ran.err.contains("a.png has 256 levels from 0 to 255, and values are"), "{}", ran.err);
    assert!(ran.err.contains("--plot shows all"), "{}", ran.err);
    let values: Volume<f32, 2> = npy::read(&folder.path().join("a.npy")).expect("cells");
    let values = values.as_slice();
    let [least, greatest] = values
        .iter()
        .fold([0.0, 255.0f32], |[low, high], &value| [low.min(value), high.max(value)]);
    assert!(greatest > 300.0, "{greatest}");
    let plot = png::read(&folder.path().join("p.png")).expect("a picture");
    // Eight pixels a cell, at the margins of every plot: 70 on the left, 44 above.
    let grey = |cell: usize| {
        plot.get([44 + 8 * (cell / 64) + 4, 70 + 8 * (cell % 64) + 4]).expect("on the page")
    };
    for (cell, &value) in values.iter().enumerate() {
        let expect = 255.0 * (value - least) / (greatest - least);
        assert!((f32::from(grey(cell)) - expect).abs() <= 1.0, "{value} is {}", grey(cell));
    }
}
