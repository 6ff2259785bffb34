//! Applications of several fields: checked answers, and what each is about.

use serde_json::Value;

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
    let told = said.split("sum of u ").nth(1).and_then(|rest| rest.split(',').next());
    let told: f64 = told.and_then(|sum| sum.parse().ok()).expect("a number");
    assert_eq!(json(line)["result"]["sum_of_u"].as_f64().map(f64::to_bits), Some(told.to_bits()));
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
    warpweft("run swim --boundary mirror").fails(2, &["swim with mirror faces", "--boundary"]);
}

#[test]
fn swim_s_tolerance_follows_its_size() {
    for line in ["swim --size 400 --steps 5", "swim --size 512 --steps 2 --dtype f32"] {
        assert_eq!(json(line)["check"]["passed"], true, "{line}");
    }
}

#[test]
fn a_check_that_anything_would_pass_is_none() {
    let json = json("heat --size 24 --dims 2 --dtype bf16 --order 8 --rate 0.05 --steps 1000");
    let oracle = json["check"]["oracle"].as_str().unwrap();
    assert!(json["check"]["passed"].is_null() && oracle.contains("--dtype f32"), "{json}");
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
