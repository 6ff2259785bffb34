//! What is written can be read again, and by others.

use std::process::Command;

use warpweft::grid::Volume;
use warpweft::grid::io::{npy, png};

use crate::{Ran, warpweft, warpweft_in};

#[test]
fn a_run_in_two_halves_through_a_file_is_the_whole_run() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let ran = |line: &str| warpweft_in(directory.path(), line).fine();
    for (app, size) in [("heat --dtype f64", "9x10x11"), ("life3d", "9x10x11"), ("life", "20x30")] {
        ran(&format!("run {app} --size {size} --seed 5 --steps 14 --output whole.npy"));
        ran(&format!("run {app} --size {size} --seed 5 --steps 8 --output half.npy"));
        ran(&format!("run {app} --input half.npy --steps 6 --output second.npy"));
        let read = |name| std::fs::read(directory.path().join(name)).expect("just written");
        assert_eq!(read("second.npy"), read("whole.npy"), "{app}");
    }
}

#[test]
fn a_picture_of_life_is_life() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let ran = |line: &str| warpweft_in(directory.path(), line).fine();
    ran("run life --size 40x50 --steps 3 --output a.png --output a.npy");
    ran("run life --input a.png --steps 4 --output b.npy");
    ran("run life --input a.npy --steps 4 --output c.npy");
    let read = |name| std::fs::read(directory.path().join(name)).expect("just written");
    assert_eq!(read("b.npy"), read("c.npy"));
}

#[test]
fn a_picture_of_heat_comes_back_grey_for_grey() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let ran = |line: &str| warpweft_in(directory.path(), line);
    let ramp = Volume::from_fn([16, 16], |[y, x]| (16 * y + x) as f32 / 255.0);
    npy::write(&directory.path().join("ramp.npy"), &ramp, 0).expect("a small file");
    ran("run heat --input ramp.npy --steps 0 --output a.png").fine();
    let greys = |name| png::read(&directory.path().join(name)).expect("a picture");
    assert!(greys("a.png").as_slice().iter().map(|&grey| u32::from(grey)).eq(0..256));
    ran("run heat --input a.png --steps 0 --output b.png --output b.npy").fine();
    assert_eq!(greys("b.png").as_slice(), greys("a.png").as_slice());
    let back: Volume<f32, 2> = npy::read(&directory.path().join("b.npy")).expect("cells");
    assert_eq!(back.as_slice(), ramp.as_slice());

    let kelvin = Volume::from_fn([4, 4], |[y, _]| 290.0 + y as f32);
    npy::write(&directory.path().join("kelvin.npy"), &kelvin, 0).expect("a small file");
    let ran = ran("run heat --input kelvin.npy --steps 0 --output c.png");
    assert!(
        ran.err.contains("c.png has 256 levels from 0 to 1, and values are 290 to 293"),
        "{}",
        ran.err
    );
}

#[test]
fn a_plot_is_as_wide_as_its_title() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let line = "run laplace --size 4 --sweeps 3 --omega 1.25 --plot p.png";
    warpweft_in(directory.path(), line).fine();
    let title = "laplace 4 x 4 cells of f32, over-relaxed by 1.25, 3 sweeps";
    let page = png::read(&directory.path().join("p.png")).expect("a picture");
    // The title's line is above the plane, twelve pixels a letter, and has nothing else.
    let inked = |x: usize| (0..40).any(|y| page.get([y, x]).is_some_and(|grey| grey < 100));
    let last = (0..page.extents()[1]).rev().find(|&x| inked(x)).expect("a title");
    assert_eq!(last, 70 + 12 * title.len() - 3, "of {} pixels", page.extents()[1]);
}

#[test]
fn every_format_is_written_and_listed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let line = "run heat --size 12 --steps 2 --json --output a.npy --output a.vti --output a.png \
                --plot p.png --trace t.json";
    let json = warpweft_in(directory.path(), line).json();
    assert_eq!(json["outputs"], serde_json::json!(["a.npy", "a.vti", "a.png", "p.png", "t.json"]));
    let begins = |name: &str, with: &[u8]| {
        let bytes = std::fs::read(directory.path().join(name)).expect("just written");
        assert!(bytes.starts_with(with), "{name}");
    };
    begins("a.npy", b"\x93NUMPY");
    begins("a.vti", b"<?xml");
    begins("a.png", b"\x89PNG");
    begins("p.png", b"\x89PNG");
    let trace = std::fs::read_to_string(directory.path().join("t.json")).expect("just written");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    assert!(trace["traceEvents"].as_array().is_some_and(|events| events.len() > 3));
    let left: Vec<_> = std::fs::read_dir(directory.path()).expect("it is there").collect();
    assert_eq!(left.len(), 5);
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_fails_takes_nothing_else_with_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let full = directory.path().join("full.npy");
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let line = "run heat --size 12 --steps 2 --output full.npy --output b.npy --plot p.png \
                --trace t.json";
    let ran = warpweft_in(directory.path(), line);
    ran.fails(1, &["full.npy", "No space left", "has room"]);
    assert!(ran.out.contains("check    passed"), "{}", ran.out);
    assert!(ran.out.contains("written  b.npy, p.png, t.json"), "{}", ran.out);
    assert!(directory.path().join("p.png").exists());
    let json = warpweft_in(directory.path(), &format!("{line} --json")).json();
    assert_eq!(json["outputs"], serde_json::json!(["b.npy", "p.png", "t.json"]));
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_has_no_room_is_not_half_written() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(directory.path().join("a.npy"), "of before").expect("a small file");
    // The signal that comes with the limit would end the program, and leave a hidden file behind.
    let line = format!(
        "ulimit -f 8; exec {} run heat --size 64x64 --steps 1 --output a.npy --output b.vti",
        crate::program().display()
    );
    let ran = Ran::of(crate::cached(Command::new("sh"), directory.path()).args(["-c", &line]));
    ran.fails(1, &["a.npy: File too large", "b.vti: File too large", "has room"]);
    assert!(ran.out.contains("check    passed") && !ran.out.contains("written"), "{}", ran.out);
    let left: Vec<_> = std::fs::read_dir(directory.path()).expect("it is there").collect();
    assert_eq!(left.len(), 1, "nothing half-written: {left:?}");
    let kept = std::fs::read(directory.path().join("a.npy")).expect("still there");
    assert_eq!(kept, b"of before");
}

#[test]
fn two_results_in_one_file_are_refused_before_any_work() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let long = "run heat --size 400 --steps 1000000000";
    for options in [
        "--output a.npy --output ./a.npy",
        "--output heat.png --plot",
        "--output p.png --plot p.png",
    ] {
        let ran = warpweft_in(directory.path(), &format!("{long} {options}"));
        ran.fails(2, &["is to be written twice"]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn results_can_go_to_a_pipe() {
    let ran = warpweft("run heat --size 8 --steps 1 --trace /dev/stderr --json");
    assert!(ran.err.contains("traceEvents"), "{}", ran.err);
    ran.json();
}
