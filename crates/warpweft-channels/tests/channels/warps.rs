//! The scheduler of `channels/cuda/stacks.cuh` and `lane.cuh` itself, on warps that the host plays: every interleaving that a seed
//! draws must end, with the values of Rust.

use std::path::Path;
use std::process::Command;

use warpweft::channels::Spawning;
use warpweft::element::{DeviceType, Unit};
use warpweft_lab::conformance::channels::{fib, hasty, odd, path, queens, tree, wide};

use crate::translation_support::host::{compiler, scratch};

/// Stacks, rings and frames of one run.
struct Setting {
    warps: u32,
    levels: u32,
    children: u32,
    items: u32,
    depth: u32,
    ring: u32,
    frames: u32,
    every: u32,
    idle: u32,
}

/// Runs `calls`, each with its arguments as C++, on played warps: their number, calls and calls given away.
fn played<C: Spawning>(
    calls: &[(C, Vec<String>)],
    settings: &[Setting],
    seeds: u32,
) -> Option<[u64; 2]> {
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
        expect.push_str(&format!("Value{{{}}}, ", call.plain().cuda_value(&mut unit)));
    }
    let functions: Vec<_> = unit.numbered().iter().map(|name| format!("F({name})")).collect();
    let skeleton = [
        include_str!("../../src/cuda/call.cuh"),
        include_str!("../../src/cuda/lane.cuh"),
        include_str!("../../src/cuda/stacks.cuh"),
    ];
    let skeleton = skeleton.concat();
    let included = |line: &&str| !line.starts_with("#include") && !line.starts_with("#pragma once");
    let skeleton: String =
        skeleton.lines().filter(included).map(|line| format!("{line}\n")).collect();
    let most = settings.iter().map(|setting| setting.warps).max().unwrap_or(1);
    let mut text = unit.source();
    text.push_str(include_str!("warps.cuh"));
    text.push_str(&format!(
        "#define WW_FUNCTIONS(F) {}\n#define WW_ROOT {root}\n#define WW_WARPS {most}\n#define WW_SHARED 0\n#define WW_ARGUMENTS_BYTES 136\n",
        functions.join(" ")
    ));
    text.push_str(&skeleton);
    text.push_str("static u64 host_given = 0, host_calls = 0;\n");
    text.push_str(include_str!("warps_main.cuh"));
    text.push_str(&format!(
        "int main() {{\n  const std::vector<Root> roots = {{{roots}}};\n  const std::vector<Value> expect = {{{expect}}};\n  bool right = true;\n  for (u64 seed = 1; right && seed <= {seeds}; ++seed) {{\n"
    ));
    for Setting { warps, levels, children, items, depth, ring, frames, every, idle } in settings {
        // One slot, which all rounds go through, in one channel and in two, and as many as the executor takes.
        for (slots, channels) in [(1, 1), (1, 2), (2 * warps.next_power_of_two(), 32)] {
            text.push_str(&format!("    right = right && host_check(roots, expect, Setting{{{warps}, {levels}, {children}, {items}, {depth}, {ring}, {frames}, {every}, {idle}, {slots}, {channels}}}, seed);\n"));
        }
    }
    text.push_str(
        "  }\n  if (right) printf(\"%llu %llu\\n\", host_calls, host_given);\n  return !right;\n}\n",
    );
    let folder = scratch("warps");
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join(format!("{root}.cpp")), folder.join(&root));
    std::fs::write(&source, text).unwrap();
    compile(&compiler, &source, &program);
    let ran = Command::new(&program).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{:?}", ran.status);
    let counts: Vec<u64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
    Some([counts[0], counts[1]])
}

fn compile(compiler: &str, source: &Path, program: &Path) {
    let mut command = Command::new(compiler);
    // Jumps to another stack are no mistake here.
    command.args(["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-U_FORTIFY_SOURCE"]).arg(source);
    let output = command.arg("-o").arg(program).output().unwrap();
    let log: String = String::from_utf8_lossy(&output.stderr).chars().take(6000).collect();
    assert!(output.status.success(), "{log}");
}

/// One warp and several; stacks, rings and frames as small as the plan allows and larger.
fn settings(levels: u32, quota: u32, children: u32) -> Vec<Setting> {
    let ring = (quota * levels + 32).next_power_of_two();
    let of = |warps, (items, depth, every, idle), more| Setting {
        warps,
        levels,
        children,
        items,
        depth,
        ring: more * ring,
        frames: more * levels + 33,
        every,
        idle,
    };
    let (least, some, deep) = ((1, 2, 1, 1), (quota.div_ceil(2), 4, 3, 8), (quota, 64, 2, 30));
    vec![
        of(1, least, 1),
        of(2, least, 1),
        of(2, deep, 4),
        of(3, some, 1),
        of(5, least, 1),
        of(5, some, 4),
    ]
}

/// A call and its arguments.
macro_rules! call {
    ($f:ident($($argument:expr),*)) => {{
        let mut unit = Unit::new();
        let arguments = vec![$($argument.cuda_value(&mut unit)),*];
        ($f::call($($argument),*), arguments)
    }};
}

#[test]
fn two_calls_a_call() {
    let calls: Vec<_> = [10u32, 3, 0, 9].map(|n| call!(fib(n))).into();
    let Some([ran, given]) = played(&calls, &settings(12, 2, 0), 3) else { return };
    // 2 fib(n + 1) - 1 calls each, in 3 seeds, 6 settings and 3 of slots and channels.
    assert_eq!(ran, 54 * (177 + 5 + 1 + 109));
    assert!(given > 54, "only {given} calls were given away");
}

#[test]
fn as_many_calls_as_loops_make() {
    let calls: Vec<_> = [6u32, 4].map(|n| call!(queens((1u32 << n) - 1, 0u32, 0u32, 0u32))).into();
    let Some([_, given]) = played(&calls, &settings(7, 7, 6), 4) else { return };
    assert!(given > 0);
    let calls: Vec<_> = (0..6u64).map(|seed| call!(tree(seed, 3u32))).collect();
    played(&calls, &settings(4, 40, 40), 2);
}

#[test]
fn several_waits_and_several_functions() {
    let calls: Vec<_> = (0..3u64).map(|seed| call!(wide(3u32, seed * 77))).collect();
    // Of `queens` within it: six spawns of `wide` and seven of a loop.
    played(&calls, &settings(20, 13, 7), 2);
    let calls: Vec<_> = (-3..7i32).map(|n| call!(hasty(n))).collect();
    played(&calls, &settings(9, 7, 3), 2);
    let calls: Vec<_> = (0..5u32).map(|n| call!(odd(n))).collect();
    played(&calls, &settings(6, 1, 0), 2);
}

#[test]
fn paths_down_to_the_last_level_beside_batches_that_come() {
    // Most of what is long is the first warp's, which gives.
    let long = |k: u32| k.is_multiple_of(3) && k < 48 || k < 12;
    let calls: Vec<_> = (0..64u32).map(|k| call!(path(if long(k) { 22 } else { k % 5 }))).collect();
    let levels = 24;
    let of = |warps, idle, every| Setting {
        warps,
        levels,
        children: 0,
        items: 8,
        depth: 2,
        ring: 128,
        frames: levels + 33,
        every,
        idle,
    };
    let settings = [of(2, 1, 2), of(3, 2, 4), of(3, 8, 3), of(2, 30, 8)];
    let Some([_, given]) = played(&calls, &settings, 2) else { return };
    assert!(given > 0);
}
