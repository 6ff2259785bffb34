//! Functions that are proved to be sums, level by level.

use std::process::Command;

use warpweft::channels::cuda::{LevelsExecutor, compile_levels_check};
use warpweft::channels::{ChannelsExecutor as _, LevelsPolicy, Policy, Run, Spawning};
use warpweft::cuda::Device;
use warpweft::element::{DeviceType, Unit};
use warpweft::prelude::*;
use warpweft_conformance::channels::{fib, mixed, path, queens};

use crate::translation_support::host::{compiler, scratch};

/// Many calls at once, by way of two functions whose arguments are of different sizes.
#[spawning]
fn bushy(n: u32, seed: u64) -> u64 {
    let mut sum = seed & 7;
    for k in 0..n {
        sum += spawn!(leafy([n - 1, k, 3], mixed(seed ^ k as u64)));
    }
    sync!();
    sum
}

#[spawning]
fn leafy(some: [u32; 3], seed: u64) -> u64 {
    let mut sum = seed % some[2] as u64;
    if some[0] > 0 {
        sum += spawn!(bushy(some[0], seed));
        if seed & 1 == 0 {
            sum += spawn!(leafy([some[0] - 1, some[1], 5], seed >> 3));
        }
    }
    sync!();
    sum
}

/// The largest number below a node.
#[spawning]
fn most(n: u32) -> i32 {
    if n < 2 {
        return (n as i32 * 7919) % 101 - 50;
    }
    let left = spawn!(most(n - 1));
    let right = spawn!(most(n - 2));
    sync!();
    left.max(right)
}

/// Divides by zero in one of its calls.
#[spawning]
fn broken(n: u32) -> u32 {
    let mut sum = 12 / (n + 1 - 1);
    if n > 0 {
        sum += spawn!(broken(n - 1));
    }
    sync!();
    sum
}

/// Runs `calls` on warps that the host plays: how many calls there were.
fn played<C: Spawning>(calls: &[(C, Vec<String>)], operation: u32, capacity: u64) -> Option<u64> {
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(reason) => {
            println!("skipped: {reason}");
            return None;
        }
    };
    let mut unit = Unit::new();
    let root = C::cuda(&mut unit);
    let (mut roots, mut expect) = (String::new(), String::new());
    for (call, arguments) in calls {
        roots.push_str(&format!("{root}{{{}}}, ", arguments.join(", ")));
        expect.push_str(&format!("{}, ", call.plain().cuda_value(&mut unit)));
    }
    let functions: Vec<_> = unit.numbered().iter().map(|name| format!("F({name})")).collect();
    let one = calls.len() == 1;
    let uniform = one && functions.len() == 1;
    let included = |line: &&str| !line.starts_with("#include") && !line.starts_with("#pragma");
    let kernel = include_str!("../../../src/cuda/levels/levels.cuh").replace(
        "#include \"operations.cuh\"",
        include_str!("../../../src/cuda/levels/operations.cuh"),
    );
    let kernel: String = kernel.lines().filter(included).map(|line| format!("{line}\n")).collect();
    let text = format!(
        "#define WW_UNIFORM {}\n#define WW_ONE_ROOT {}\n#define WW_JOINS 0\n#define WW_TEAMS 0\n#define WW_BLOCK_TEAMS 0\n{}{}
#define WW_FUNCTIONS(F) {}\n#define WW_ROOT {root}\n#define WW_WARPS 3\n#define WW_OPERATION {operation}\n#define WW_ARGUMENTS_BYTES 56
{kernel}{}
int main() {{
  const std::vector<WW_ROOT> roots = {{{roots}}};
  const std::vector<Total> expect = {{{expect}}};
  return host_check(roots, expect, {capacity}) ? 0 : 1;
}}
",
        u32::from(uniform),
        u32::from(one),
        unit.source(),
        include_str!("../warps.cuh"),
        functions.join(" "),
        include_str!("levels.cuh"),
    );
    let folder = scratch("tasks");
    std::fs::create_dir_all(&folder).unwrap();
    let name = format!("levels_{root}{one}");
    let (source, program) = (folder.join(format!("{name}.cpp")), folder.join(&name));
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-U_FORTIFY_SOURCE"]);
    let output = command.arg(&source).arg("-o").arg(&program).output().unwrap();
    let log: String = String::from_utf8_lossy(&output.stderr).chars().take(6000).collect();
    assert!(output.status.success(), "{log}");
    let ran = Command::new(&program).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{:?}", ran.status);
    Some(said.trim().parse().unwrap())
}

use super::call;

#[test]
fn levels_on_warps_that_the_host_plays() {
    let Some(calls) = played(&[call!(fib(12u32))], 1, 1 << 12) else { return };
    assert_eq!(calls, 465);
    let calls: Vec<_> = [12u32, 3, 0, 9].map(|n| call!(fib(n))).into();
    assert_eq!(played(&calls, 1, 1 << 12), Some(465 + 5 + 1 + 109));
    played(&[call!(queens((1u32 << 6) - 1, 0u32, 0u32, 0u32))], 1, 1 << 12);
    played(&[call!(bushy(4u32, 77u64))], 1, 1 << 14);
    let calls: Vec<_> = (0..5u64).map(|seed| call!(bushy(3u32, mixed(seed)))).collect();
    played(&calls, 1, 1 << 14);
    let calls: Vec<_> = [9u32, 1, 6].map(|n| call!(most(n))).into();
    played(&calls, 4, 1 << 12);
}

#[test]
fn kernels_of_levels_compile_for_ampere_and_hopper() {
    if let Err(error) = warpweft::cuda::compiler() {
        return println!("skipped: {error}");
    }
    compile_levels_check::<queens>("sm_90").unwrap();
    compile_levels_check::<bushy>("sm_80").unwrap();
}

#[test]
fn levels_on_a_gpu_give_what_plain_calls_give() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut executor = LevelsExecutor::new(&device, LevelsPolicy::default()).unwrap();
    let (values, report) = executor.run(&Channels::of(fib::call(27))).unwrap();
    assert_eq!((values, report.done), (vec![196_418], 2 * 317_811 - 1));
    let (values, _) = executor.run(&Channels::all((0..25).map(fib::call))).unwrap();
    assert_eq!(values, (0..25).map(fib).collect::<Vec<_>>());
    let (values, _) = executor.run(&Channels::of(queens::call((1 << 10) - 1, 0, 0, 0))).unwrap();
    assert_eq!(values, [724]);
    let calls = Channels::all((0..70u64).map(|seed| bushy::call(5, mixed(seed))));
    let (values, _) = executor.run(&calls).unwrap();
    assert_eq!(values, (0..70u64).map(|seed| bushy(5, mixed(seed))).collect::<Vec<_>>());
    let (values, _) = executor.run(&Channels::all((0..20).map(most::call))).unwrap();
    assert_eq!(values, (0..20).map(most).collect::<Vec<_>>());
    let (values, report) = executor.run(&Channels::of(path::call(3000))).unwrap();
    assert_eq!((values[0], report.done), (path(3000), 6001));
    // The level that has no room, a function that faults, and one that is no sum.
    let mut narrow = LevelsExecutor::new(&device, LevelsPolicy { calls: 1000 }).unwrap();
    let error = narrow.run(&Channels::of(fib::call(27))).unwrap_err().to_string();
    assert!(
        error.contains("level 11 of `fib` has 1024 calls, and there is room for 1000"),
        "{error}"
    );
    let error = executor.run(&Channels::of(broken::call(5))).unwrap_err().to_string();
    assert!(error.contains("attempt to divide by zero"), "{error}");
    let error = executor.run(&Channels::of(waiting::call(5))).unwrap_err().to_string();
    assert!(error.contains("`waiting` level by level"), "{error}");
    let (values, _) = executor.run(&Channels::of(fib::call(20))).unwrap();
    assert_eq!(values, [6765]);
}

/// A function whose value is no sum.
#[spawning]
fn waiting(n: u32) -> u32 {
    if n == 0 {
        return 1;
    }
    let below = spawn!(waiting(n - 1));
    sync!();
    (below ^ n).rotate_left(1)
}

#[test]
fn policies_of_levels_are_for_gpus() {
    let machine = Machine { gpus: Vec::new(), ..Machine::detect().unwrap() };
    let run = Run { policy: Some(Policy::Levels(LevelsPolicy::default())), ..Run::default() };
    assert!(Channels::of(fib::call(5)).run_with(&machine, &run).is_err());
    let policy: Policy = serde_json::from_str(r#"{"executor": "levels"}"#).unwrap();
    assert_eq!(policy, Policy::Levels(LevelsPolicy::default()));
    #[cfg(target_pointer_width = "64")]
    assert!(LevelsPolicy { calls: 1 << 32 }.check().is_err());
}
