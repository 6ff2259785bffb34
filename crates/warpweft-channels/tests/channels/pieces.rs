//! The pieces that `#[spawning]` makes for devices, run by the host's C++ compiler: the values of Rust, in
//! whatever order calls are run.

// Programs as users write them, whether the lint likes them or not.
#![allow(clippy::let_and_return, clippy::manual_is_multiple_of)]

use std::path::Path;
use std::process::Command;

use warpweft::channels::Spawning;
use warpweft::element::{DeviceType, Unit};
use warpweft::prelude::*;
use warpweft_lab::conformance::channels::*;

use crate::translation_support::host::{compiler, scratch};

/// Calls with Rust's values, as C++.
#[derive(Default)]
struct Checks {
    unit: Unit,
    text: String,
    count: usize,
}

impl Checks {
    fn add<C: Spawning>(&mut self, call: C, arguments: &[String]) {
        let name = C::cuda(&mut self.unit);
        let expect = call.plain().cuda_value(&mut self.unit);
        self.text.push_str(&format!(
            "  check(\"{}\", {name}{{{}}}, {expect});\n",
            C::NAME,
            arguments.join(", ")
        ));
        self.count += 1;
    }
}

/// Adds a call with these arguments.
macro_rules! add {
    ($checks:expr, $f:ident $(::<$t:ty>)? ($($argument:expr),*)) => {{
        let arguments = [$($argument.cuda_value(&mut $checks.unit)),*];
        $checks.add($f $(::<$t>)? ::call($($argument),*), &arguments);
    }};
}

/// Two variables of one name, tuples taken apart, constants, loops within loops that spawn.
#[spawning]
fn names(mut n: u32, twice: bool) -> u32 {
    const STEP: u32 = 3;
    let n1 = n + STEP;
    let (x, y) = (n1 * 2, n1 ^ 5);
    let x = x + 1;
    if n == 0 {
        return x;
    }
    n -= 1;
    let mut sum = 0u32;
    let mut bits = 0u64;
    'rows: for i in 0..n {
        let mut j = i;
        while j < n {
            if (i ^ j) & 3 == 3 {
                continue 'rows;
            }
            if j == 5 {
                break;
            }
            sum += spawn!(names(j / 2, !twice));
            bits ^= spawn!(tree((i * j) as u64, 2));
            j += 1;
        }
    }
    sync!();
    let x = x + sum;
    let y = y ^ bits as u32;
    if twice {
        sum = spawn!(names(n / 2, false));
    }
    sync!();
    x ^ y.rotate_left(3) ^ sum ^ STEP
}

/// A value for each of a struct's members, through a generic function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Device)]
#[repr(C)]
struct Pair {
    left: i64,
    right: u16,
}

#[spawning]
fn same<T: Scalar>(x: T) -> T {
    x
}

#[spawning]
fn pair(p: Pair, depth: u32) -> Pair {
    if depth == 0 {
        return Pair { left: -p.left, ..p };
    }
    let less = spawn!(pair(Pair { left: p.left + 1, right: p.right }, depth - 1));
    let left = spawn!(same::<i64>(p.left * 2));
    let right = spawn!(same::<u16>(p.right / 2));
    sync!();
    Pair { left: left + less.left, right: right + less.right }
}

/// Statements before the value, with and without calls before them, and in a function that may return while calls run.
#[spawning]
fn lets(n: u32, early: bool) -> u32 {
    let x = n * 3;
    let y = x ^ 5;
    if n < 2 {
        return y;
    }
    let a = spawn!(lets(n - 1, !early));
    if early && n % 3 == 0 {
        return x;
    }
    let b = spawn!(plainly(n - 2));
    sync!();
    let (sum, product) = (a + b, a * b);
    let mixed = sum ^ product.rotate_left(x);
    if early { mixed + y } else { mixed }
}

#[spawning]
fn plainly(n: u32) -> u32 {
    let x = n + 1;
    x
}

/// More arguments than most functions have.
#[spawning]
fn many(table: [u64; 40], n: u32) -> u64 {
    if n == 0 {
        let mut sum = 0;
        for i in 0..40 {
            sum += table[i] * (i as u64 + 1);
        }
        return sum;
    }
    let mut other = table;
    other[n as usize] = u64::from(n);
    let a = spawn!(many(table, n - 1));
    let b = spawn!(many(other, n - 1));
    sync!();
    let twice = 2 * a;
    twice ^ b
}

/// How a `Pair` is compared, which may have bytes between its members.
const PAIRS: &str = "static bool same(const Pair_ww& a, const Pair_ww& b) { return a.left_ == b.left_ && a.right_ == b.right_; }\n";

fn checks() -> Checks {
    let mut checks = Checks::default();
    (0..18u32).for_each(|n| add!(checks, fib(n)));
    (1..7u32).for_each(|n| add!(checks, queens((1u32 << n) - 1, 0u32, 0u32, 0u32)));
    (0..30u64).for_each(|seed| add!(checks, tree(seed, 4u32)));
    (0..12u64).for_each(|seed| add!(checks, wide(5u32, seed * 0x1234_5678_9abc)));
    (0..9u32).for_each(|n| add!(checks, even(n)));
    (0..9u32).for_each(|n| add!(checks, odd(n)));
    (0..6u32).for_each(|n| add!(checks, idle(n)));
    (-9..9i32).for_each(|n| add!(checks, hasty(n)));
    (0..9u8).for_each(|n| add!(checks, kinds(n, f64::from(n) * 7.3)));
    (0..9u32).for_each(|n| add!(checks, chain(n)));
    (0..9u32).for_each(|n| add!(checks, names(n, true)));
    (0..12u32).for_each(|n| add!(checks, lets(n, n % 2 == 0)));
    (0..4u32).for_each(|n| add!(checks, many([u64::from(n) + 7; 40], n)));
    (0..5u32).for_each(|n| add!(checks, pair(Pair { left: 7, right: 900 }, n)));
    checks
}

#[test]
fn pieces_compute_what_rust_does_in_any_order() {
    let checks = checks();
    let mut text = checks.unit.source();
    text.push_str(include_str!("pieces.cuh"));
    text.push_str(PAIRS);
    text.push_str("static void all() {\n");
    text.push_str(&checks.text);
    text.push_str(
        "}\nint main() {\n  for (int turn = 0; turn < 20; ++turn) all();\n  printf(\"%d right, %d wrong\\n\", right, wrong);\n  return wrong != 0;\n}\n",
    );
    let folder = scratch("spawning");
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join("pieces.cpp"), folder.join("pieces"));
    std::fs::write(&source, text).unwrap();
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let output = compiled(&compiler, &source, &program);
    assert!(output.is_none(), "{}", output.unwrap_or_default());
    let ran = Command::new(&program).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let expect = format!("{} right, 0 wrong\n", 20 * checks.count);
    assert_eq!(said, expect);
}

/// What the compiler complains of, if it does.
fn compiled(compiler: &str, source: &Path, program: &Path) -> Option<String> {
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-O1", "-ffp-contract=off", "-w"]).arg(source);
    let output = command.arg("-o").arg(program).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| log.chars().take(6000).collect())
}
