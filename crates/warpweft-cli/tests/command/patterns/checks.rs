//! `--check full` and `--no-check` of every command that has a result.

use warpweft::grid::Volume;
use warpweft::grid::io::npy;

use crate::warpweft_in;

/// Each command, small, and what a full check compares the result with.
const COMMANDS: [(&str, &str); 18] = [
    ("run heat --size 8 --steps 3", "exact solution"),
    ("run life --size 8 --steps 3", "loop"),
    ("run laplace --size 8 --sweeps 2", "straightforward loop"),
    ("run mandelbrot --size 30 --limit 90", "plain loop over complex numbers"),
    ("run options --count 20 --paths 200", "closed form"),
    ("run paths --size 6x8 --samples 4 --bounces 3", "plain loop over rays"),
    ("align a.fa b.fa", "straightforward loop"),
    ("align a.fa b.fa --score-only --global", "straightforward loop"),
    ("dtw a.npy b.npy", "straightforward loop"),
    ("sat image.npy", "running sums"),
    ("apsp random:50 --sources random:9", "Dijkstra"),
    ("channels fib 15", "doubling"),
    ("channels queens 6", "OEIS"),
    ("channels uts T1 --depth 3", "loop over all nodes"),
    ("channels knapsack 20", "table over all weights"),
    ("channels quadrature --tolerance 1e-9", "antiderivative"),
    ("channels sort 2000", "all keys by another sort"),
    ("channels strassen 40", "product by its definition"),
];

#[test]
fn everything_is_compared_in_full_and_nothing_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.fa"), ">a\nACGTTGCA\n").unwrap();
    std::fs::write(folder.join("b.fa"), ">b\nACGATGCA\n").unwrap();
    for name in ["a.npy", "b.npy"] {
        let series = Volume::from_fn([9], |[i]| (i % name.len()) as f32);
        npy::write(&folder.join(name), &series, 0).unwrap();
    }
    let image = Volume::from_fn([5, 7], |[i, j]| (i * j) as u8);
    npy::write(&folder.join("image.npy"), &image, 0).unwrap();
    for (line, with) in COMMANDS {
        let check = |how: &str| {
            let line = format!("{line} --device cpu --threads 1 --json {how}");
            warpweft_in(folder, &line).json()["check"].take()
        };
        let full = check("--check full");
        assert_eq!((&full["passed"], &full["part"]), (&true.into(), &().into()), "{line}: {full}");
        let reference = full["reference"].as_str().unwrap_or_default();
        assert!(reference.contains(with), "{line}: {full}");
        let none = check("--no-check");
        let said = "the result was not checked: --no-check";
        assert_eq!((&none["passed"], &none["reason"]), (&().into(), &said.into()), "{line}");
    }
}

/// Values next to the least number of `f32` round by as much as they are.
#[test]
fn values_next_to_nothing_pass_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let start = Volume::from_fn([16; 2], |at| if at == [8, 8] { 1e-42f32 } else { 0.0 });
    npy::write(&folder.path().join("start.npy"), &start, 0).unwrap();
    let line = "run heat --input start.npy --steps 50 --device cpu";
    assert_eq!(
        warpweft_in(folder.path(), &format!("{line} --json")).json()["check"]["passed"],
        true
    );
}
