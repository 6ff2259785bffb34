//! The cases of `bench channels`, and what is right.

use warpweft_apps::{fib, queens, uts};

use super::loops;

/// What is computed.
pub const CASES: [(&str, u32); 20] = [
    ("fib", 30),
    ("fib", 35),
    ("fib", 40),
    ("queens", 13),
    ("queens", 16),
    ("queens", 17),
    ("queens", 18),
    ("uts", 10),
    ("uts", 13),
    ("uts", 15),
    ("fib-waiting", 40),
    ("queens-waiting", 13),
    ("queens-waiting", 16),
    ("queens-waiting", 18),
    ("path-waiting", 30_000),
    ("uts-t3l", 0),
    ("fib-levels", 40),
    ("queens-levels", 13),
    ("queens-levels", 16),
    ("uts-levels", 13),
];

/// Whether a case is for the GPU only: the same takes the cores long, or nothing else.
pub fn gpu_only(app: &str, n: u32) -> bool {
    let large = (app == "uts" && n > 10) || (app == "queens" && n > 16);
    large || ["-waiting", "-levels", "-t3l"].iter().any(|form| app.ends_with(form))
}

/// Whether so many threads take less than some seconds.
pub fn fits(app: &str, n: u32, threads: usize) -> bool {
    app != "queens" || n < 16 || threads >= 8
}

/// Seconds after which a case is not measured again.
pub const ENOUGH: f64 = 10.0;
/// What others published, on machines of theirs: GTaP without cutoff on one GH200 (arXiv 2604.05982).
pub const CITED: [(&str, u32, f64); 3] =
    [("fib", 40, 76.8e-3), ("queens", 13, 0.85e-3), ("queens", 16, 115.7e-3)];

/// The geometric tree of so many levels: T1, T1L or T1XL.
pub fn tree(levels: u32) -> uts::Tree {
    uts::TREES[match levels {
        10 => 0,
        13 => 1,
        _ => 2,
    }]
}

/// The binomial tree of 17,845 levels.
pub fn t3l() -> uts::Tree {
    uts::TREES[uts::TREES.len() - 1]
}

/// What the case gives, by other ways than calls.
pub fn answer(app: &str, n: u32) -> u64 {
    match app.trim_end_matches("-levels") {
        "fib" | "fib-waiting" => fib::plain(n),
        "uts" => tree(n).nodes,
        // The root is no call.
        "uts-t3l" => t3l().nodes - 1,
        "path-waiting" => u64::from(n) + 1,
        "leaves" => loops::sum(n),
        "sort" | "par_sort" => loops::in_order(n),
        _ => queens::SOLUTIONS[n as usize - 1],
    }
}
