//! What faults, and that loops end then; see `translation_semantics.rs`.
#![allow(clippy::all, unconditional_panic)]

use crate::translation_support::Hue;
use crate::translation_support::host::check;
use warpweft::prelude::*;

const TABLE: [[i32; 3]; 2] = [[1, -2, 3], [i32::MIN, 5, 6]];

#[test]
fn a_fault_names_the_line_and_says_what_rust_would() {
    #[device]
    fn three(a: i32, b: i32, i: usize) -> i32 {
        let q = a / b;
        assert!(q != 3);
        q + TABLE[0][i]
    }
    let mut unit = warpweft::element::Unit::new();
    <three as warpweft::element::DeviceFn>::cuda(&mut unit);
    let sites: Vec<_> = (1..).map_while(|n| unit.site_of(n).cloned()).collect();
    let first = line!() - 9;
    let found: Vec<_> = sites.iter().map(|site| (site.line, site.what)).collect();
    assert_eq!(
        found,
        [
            (first + 2, "attempt to divide by zero"),
            (first + 2, "attempt to divide with overflow"),
            (first + 3, "assertion failed: q != 3"),
            (first + 4, "index out of bounds"),
        ]
    );
    assert!(sites.iter().all(|site| site.file.ends_with("translation/faults.rs")));
    let faulting = [(1, 0, 0), (i32::MIN, -1, 0), (6, 2, 0), (1, 1, 3), (7, 2, 1)];
    // 6 / 2 and 7 / 2 are both 3.
    check("faults", |cases| case!(cases, three, (a, b, i), &faulting));
}

/// What Rust ends with a panic must not go on for ever elsewhere, wherever the fault was.
#[test]
fn loops_end_after_a_fault() {
    use self::endless::*;
    let inputs = [(0,), (1,), (2,), (5,), (10,)];
    check("endless", |cases| {
        case!(cases, fill, (n), &inputs);
        case!(cases, fault_before_the_loop, (n), &inputs);
        case!(cases, faults_around_the_loop, (n), &inputs);
        case!(cases, long_range, (n), &inputs);
        case!(cases, of_an_enum, (n), &inputs);
        case!(cases, many_iterations, (n), &[(0,), (1,)]);
    });
}

mod endless {
    use super::*;

    #[device]
    pub fn fill(n: i32) -> i32 {
        let mut x = 0;
        while x < 10 {
            x += 10 / n;
        }
        x
    }
    #[device]
    pub fn fault_before_the_loop(n: i32) -> i32 {
        let by = 10 / n;
        let mut x = 0;
        let y = loop {
            x += by;
            if x >= 10 {
                break x + 1;
            }
        };
        y + 1
    }
    #[device]
    pub fn quotient(n: i32) -> i32 {
        10 / n
    }
    /// Has no place that faults.
    #[device]
    pub fn climb(by: i32) -> [i32; 2] {
        let mut x = 0;
        loop {
            x += by;
            if x >= 10 {
                return [x, by];
            }
        }
    }
    #[device]
    pub fn faults_around_the_loop(n: i32) -> i32 {
        let mut x = 0;
        while x < 10 || quotient(n) == 0 {
            x += climb(quotient(n))[1];
        }
        x
    }
    #[device]
    pub fn long_range(n: i32) -> u64 {
        let mut x = 0;
        'outer: for i in 0..u64::MAX {
            for _ in 0..3 {
                x += 10 / n;
                if x < 10 {
                    continue 'outer;
                }
            }
            return i;
        }
        7
    }
    #[device]
    pub fn hue(n: i32) -> Hue {
        let mut x = 0;
        while x < 10 {
            x += 10 / n;
        }
        if x == 10 { Hue::Blue } else { Hue::Red }
    }
    #[device]
    pub fn of_an_enum(n: i32) -> i32 {
        match hue(n) {
            Hue::Blue if n > 1 => 1,
            Hue::Blue => 2,
            Hue::Red if n > 1 => 3,
            _ => 4,
        }
    }
    // At 1 there is no fault, and far more iterations than lie between two reads of the fault word.
    #[device]
    pub fn many_iterations(n: i32) -> i32 {
        let mut x = 0;
        while x < 10_000 {
            x += 10 / (10 * n);
        }
        x
    }
}

#[test]
fn loops_are_watched_only_where_something_can_fault() {
    use warpweft::element::{DeviceFn, Unit};
    #[device]
    fn rises(by: f32) -> f32 {
        let mut x = 0.0;
        while x < 10.0 {
            x += by;
        }
        x
    }
    #[device]
    fn short(n: i32) -> i32 {
        let mut x = 0;
        for i in 0..100 {
            x += i / n;
        }
        x
    }
    #[device]
    fn quotient(a: i32, b: i32) -> i32 {
        a / b
    }
    let prelude = Unit::new().source().len();
    let text = |fill: &dyn Fn(&mut Unit)| {
        let mut unit = Unit::new();
        fill(&mut unit);
        unit.source().split_off(prelude)
    };
    let alone = text(&|unit| drop(rises::cuda(unit)));
    let beside = text(&|unit| {
        rises::cuda(unit);
        quotient::cuda(unit);
    });
    let watched: Vec<_> = beside.lines().filter(|line| line.contains("watch")).collect();
    assert_eq!(watched, ["  ww::watch watch;", "    if (watch.over()) return {};"]);
    let rest: Vec<_> = beside.lines().filter(|line| !line.contains("watch")).collect();
    assert!(rest.join("\n").starts_with(alone.trim_end()), "{beside}");
    assert!(!text(&|unit| drop(short::cuda(unit))).contains("watch"));
}
