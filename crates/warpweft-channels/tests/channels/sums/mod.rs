//! The kernel of `channels/cuda/sums.cuh` itself, on warps that the host plays: functions that are proved to be sums have
//! the values of Rust, however calls are spread.

use std::process::Command;

use warpweft::channels::Spawning;
use warpweft::element::{DeviceType, Unit};
use warpweft::prelude::*;
use warpweft_lab::conformance::channels::{
    chain, fib, hasty, kinds, mixed, path, queens, tree, wide,
};

use crate::translation_support::host::{compiler, scratch};

/// Windows and thresholds of one run.
struct Setting {
    warps: u32,
    window: u32,
    every: u32,
    idle: u32,
    ramp: u32,
    age: u32,
}

const SETTINGS: [Setting; 4] = [
    Setting { warps: 1, window: 8, every: 4, idle: 1, ramp: 1, age: 1 },
    Setting { warps: 2, window: 8, every: 1, idle: 1, ramp: 9, age: 1 },
    Setting { warps: 3, window: 16, every: 8, idle: 8, ramp: 1, age: 4 },
    Setting { warps: 5, window: 32, every: 16, idle: 30, ramp: 2, age: 2 },
];

/// The operation and type that a function is a sum of, as the host is told; none if it is none.
fn noted<C: Spawning>() -> Vec<String> {
    let mut unit = Unit::new();
    C::cuda(&mut unit);
    unit.notes().map(String::from).collect()
}

/// Runs `calls` on played warps: calls that were run, given away and put into global memory.
fn played<C: Spawning>(
    calls: &[(C, Vec<String>)],
    operation: u32,
    uniform: bool,
    seeds: u32,
) -> Option<[u64; 3]> {
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(reason) => {
            println!("skipped: {reason}");
            return None;
        }
    };
    let mut unit = Unit::new();
    let root = C::cuda(&mut unit);
    let mut roots = String::new();
    let mut expect = String::new();
    for (call, arguments) in calls {
        roots.push_str(&format!("{root}{{{}}}, ", arguments.join(", ")));
        expect.push_str(&format!("{}, ", call.plain().cuda_value(&mut unit)));
    }
    let functions: Vec<_> = unit.numbered().iter().map(|name| format!("F({name})")).collect();
    let skeleton = [
        include_str!("../../../src/cuda/sums.cuh"),
        include_str!("../../../src/cuda/sums_warp.cuh"),
    ];
    let included = |line: &&str| !line.starts_with("#include") && !line.starts_with("#pragma once");
    let skeleton: String =
        skeleton.concat().lines().filter(included).map(|line| format!("{line}\n")).collect();
    let mut text = format!("#define WW_UNIFORM {}\n", u32::from(uniform));
    text.push_str(&unit.source());
    text.push_str(include_str!("../warps.cuh"));
    text.push_str(&format!(
        "#define WW_FUNCTIONS(F) {}\n#define WW_ROOT {root}\n#define WW_WARPS 5\n#define WW_SHARED 0\n#define WW_OPERATION {operation}\n#define WW_UNROLL 1\n#define WW_ARGUMENTS_BYTES 112\n",
        functions.join(" ")
    ));
    text.push_str(&skeleton);
    text.push_str("static u64 host_given = 0, host_calls = 0, host_spilled = 0;\n");
    text.push_str(include_str!("main.cuh"));
    text.push_str(&format!(
        "int main() {{\n  const std::vector<Root> roots = {{{roots}}};\n  const std::vector<Total> expect = {{{expect}}};\n  bool right = true;\n  for (u64 seed = 1; right && seed <= {seeds}; ++seed) {{\n"
    ));
    for Setting { warps, window, every, idle, ramp, age } in SETTINGS {
        text.push_str(&format!("    right = right && host_check(roots, expect, Setting{{{warps}, {window}, {every}, {idle}, {ramp}, {age}}}, seed);\n"));
    }
    text.push_str("  }\n  if (right) printf(\"%llu %llu %llu\\n\", host_calls, host_given, host_spilled);\n  return !right;\n}\n");
    let folder = scratch("sums");
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join(format!("{root}.cpp")), folder.join(&root));
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-U_FORTIFY_SOURCE"]);
    let output = command.arg(&source).arg("-o").arg(&program).output().unwrap();
    let log: String = String::from_utf8_lossy(&output.stderr).chars().take(6000).collect();
    assert!(output.status.success(), "{log}");
    let ran = Command::new(&program).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{:?}", ran.status);
    let counts: Vec<u64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
    Some([counts[0], counts[1], counts[2]])
}

/// A call and its arguments.
macro_rules! call {
    ($f:ident($($argument:expr),*)) => {{
        let mut unit = Unit::new();
        let arguments = vec![$($argument.cuda_value(&mut unit)),*];
        ($f::call($($argument),*), arguments)
    }};
}

/// Leaves of a tree whose branches differ, with loops of all kinds, jumps and branches around the calls.
#[spawning]
fn crooked(n: u32, seed: u64) -> i64 {
    const BIT: u64 = 1;
    if n == 0 {
        return (seed % 101) as i64 - 50;
    }
    let (low, high) = (seed & 3, (seed >> 2) & 3);
    let mut sum = high as i64;
    'rows: for i in (0..=low).rev() {
        let mut j = i;
        while j < high {
            if (i ^ j) & 3 == 3 {
                continue 'rows;
            }
            if j == 5 {
                break 'rows;
            }
            let twice = 2 * j;
            if twice & BIT == 0 {
                sum += spawn!(crooked(n / 2, mixed(seed ^ twice)));
            } else {
                let other = mixed(twice);
                sum += spawn!(crooked(n - 1, other));
            }
            j += 1;
        }
    }
    for k in (0..n).step_by(2) {
        sum += spawn!(crooked(n / 3, seed.wrapping_mul(k as u64)));
    }
    sync!();
    let mut more = 1i64;
    let mut turns = 0;
    loop {
        more += spawn!(crooked(n / 4, seed ^ 77));
        turns += 1;
        if turns == 2 {
            break;
        }
    }
    sync!();
    sum + more + n as i64
}

/// The least of what is in a tree, by way of two functions.
#[spawning]
fn least(n: u32, seed: u64) -> i32 {
    let here = (mixed(seed) as i32) / 2;
    if n < 2 {
        return here;
    }
    let left = spawn!(least(n - 1, seed ^ 5));
    let right = spawn!(lesser(n - 2, mixed(seed)));
    sync!();
    left.min(right).min(here)
}

#[spawning]
fn lesser(n: u32, seed: u64) -> i32 {
    if n == 0 {
        return 7;
    }
    let only = spawn!(least(n - 1, seed ^ 3));
    sync!();
    only
}

#[spawning]
fn product(n: u32) -> u32 {
    if n < 3 {
        return 2 * n + 1;
    }
    let left = spawn!(product(n - 1));
    let right = spawn!(product(n - 3));
    sync!();
    left.wrapping_mul(right).wrapping_mul(n | 1)
}

/// All bits of a tree, from an accumulator that is a parameter.
#[spawning]
fn bits(n: u32, mut all: u64) -> u64 {
    for k in 0..n {
        all |= spawn!(bits(k / 2, 1 << (mixed(k as u64) % 64)));
    }
    sync!();
    all
}

/// The next of a row of arrays.
#[device]
fn shuffled(node: [u32; 5], number: u32) -> [u32; 5] {
    let mut next = node;
    next[(number % 5) as usize] = mixed(node[4] as u64 + number as u64) as u32;
    next[4] ^= next[0].rotate_left(number) + number;
    next
}

/// Nodes of a tree whose nodes are arrays.
#[spawning]
fn nodes_of(node: [u32; 5], below: u32) -> u64 {
    let mut nodes = 1;
    if below > 0 {
        let count = node[4] % 5;
        for number in 0..count {
            nodes += spawn!(nodes_of(shuffled(node, number), below - 1));
        }
    }
    sync!();
    nodes
}

/// A path each call of which has another call to spawn when it is back.
#[spawning]
fn dive(n: u32) -> u64 {
    if n == 0 {
        return 1;
    }
    let long = spawn!(dive(n - 1));
    let short = spawn!(dive(0));
    sync!();
    long + short
}

#[test]
fn a_sum_is_proved_by_its_form() {
    assert_eq!(noted::<fib>(), ["sum 1 ww::u64"]);
    assert_eq!(noted::<queens>(), ["sum 1 ww::u64"]);
    assert_eq!(noted::<path>(), ["sum 1 ww::u64"]);
    assert_eq!(noted::<crooked>(), ["sum 1 ww::i64"]);
    assert_eq!(noted::<least>(), ["sum 15 ww::i32", "sum 3 ww::i32"]);
    assert_eq!(noted::<product>(), ["sum 2 ww::u32"]);
    assert_eq!(noted::<bits>(), ["sum 6 ww::u64"]);
    // What is done to the sum afterwards; what is lost or said before it is known; what is no integer.
    assert_eq!(noted::<chain>(), ["joins"]);
    assert_eq!(noted::<tree>(), ["joins"]);
    assert_eq!(noted::<hasty>(), ["joins"]);
    assert!(noted::<wide>().contains(&"joins".to_string()));
    assert_eq!(noted::<kinds>(), ["joins"]);
}

#[test]
fn two_calls_a_call() {
    let calls: Vec<_> = [12u32, 3, 0, 9].map(|n| call!(fib(n))).into();
    let Some([ran, given, _]) = played(&calls, 1, false, 3) else { return };
    // 2 fib(n + 1) - 1 calls each, in 3 seeds and 4 settings.
    assert_eq!(ran, 12 * (465 + 5 + 1 + 109));
    assert!(given > 24, "only {given} calls were given away");
    let Some([ran, ..]) = played(&calls[..1], 1, true, 3) else { return };
    assert_eq!(ran, 12 * 465);
}

#[test]
fn as_many_calls_as_loops_make() {
    let calls: Vec<_> = [7u32].map(|n| call!(queens((1u32 << n) - 1, 0u32, 0u32, 0u32))).into();
    let Some([_, given, _]) = played(&calls, 1, true, 3) else { return };
    assert!(given > 0);
    let calls: Vec<_> = [6u32, 4].map(|n| call!(queens((1u32 << n) - 1, 0u32, 0u32, 0u32))).into();
    played(&calls, 1, false, 3);
    let calls: Vec<_> = (0..9u64).map(|seed| call!(crooked(7u32, mixed(seed)))).collect();
    played(&calls, 1, false, 3);
    let calls: Vec<_> = (0..9u32).map(|n| call!(bits(n, n as u64))).collect();
    played(&calls, 6, false, 2);
    let calls: Vec<_> = (0..9u32).map(|n| call!(nodes_of([n, 1, 2, 3, 3 + n], 5u32))).collect();
    played(&calls, 1, false, 2);
}

#[test]
fn other_operations_and_several_functions() {
    let calls: Vec<_> = (0..4u64).map(|seed| call!(least(9u32, seed))).collect();
    played(&calls, 3, false, 3);
    let calls: Vec<_> = (0..13u32).map(|n| call!(product(n))).collect();
    played(&calls, 2, false, 2);
}

#[test]
fn a_path_longer_than_the_window_goes_to_global_memory() {
    let calls = [call!(dive(300u32))];
    let Some([ran, _, spilled]) = played(&calls, 1, true, 2) else { return };
    assert_eq!(ran, 8 * 601);
    assert!(spilled > 100, "only {spilled} calls were put away");
}
