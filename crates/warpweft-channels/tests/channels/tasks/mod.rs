//! The kernel of `channels/cuda/tasks.cuh` itself, on warps that the host plays: every interleaving that a seed draws must
//! end, with the values of Rust.

mod blocks;
mod generate;
mod joins;
mod levels;
mod random;
mod slices;
mod sums;

use std::process::Command;

use warpweft::channels::Spawning;
use warpweft::element::{DeviceType, Unit};

use crate::translation_support::host::{compiler, scratch};

/// Windows and thresholds of one run.
struct Setting {
    warps: u32,
    window: u32,
    every: u32,
    idle: u32,
    ramp: u32,
    age: u32,
    records: u32,
}

const SETTINGS: [Setting; 4] = [
    Setting { warps: 1, window: 8, every: 4, idle: 1, ramp: 1, age: 1, records: 96 },
    Setting { warps: 2, window: 8, every: 1, idle: 1, ramp: 9, age: 1, records: 128 },
    Setting { warps: 3, window: 16, every: 8, idle: 8, ramp: 1, age: 4, records: 2048 },
    Setting { warps: 5, window: 32, every: 16, idle: 30, ramp: 2, age: 2, records: 160 },
];

/// Roots and what they give, as C++.
struct Roots {
    /// The functions' text.
    unit: String,
    /// The names of all functions, as a macro's arguments, and of the roots'.
    functions: String,
    root: String,
    roots: String,
    expect: String,
}

/// Runs `calls` on played warps: calls that were run, given away and put into global memory. `operation`: what they are a sum
/// of.
pub(crate) fn played<C: Spawning>(
    calls: &[(C, Vec<String>)],
    operation: Option<u32>,
    uniform: bool,
    seeds: u32,
) -> Option<[u64; 3]> {
    let mut unit = Unit::new();
    let root = C::cuda(&mut unit);
    let mut roots = String::new();
    let mut expect = String::new();
    for (call, arguments) in calls {
        roots.push_str(&format!("{root}{{{}}}, ", arguments.join(", ")));
        expect.push_str(&format!("Value{{{}}}, ", call.plain().cuda_value(&mut unit)));
    }
    let functions: Vec<_> = unit.numbered().iter().map(|name| format!("F({name})")).collect();
    let (unit, functions) = (unit.source(), functions.join(" "));
    ran(&Roots { unit, functions, root, roots, expect }, operation, uniform, seeds)
}

/// The kernel as one text.
fn skeleton(is_sum: bool) -> String {
    let [clocks, first, others @ ..] = [
        include_str!("../../../src/cuda/clocks.cuh"),
        include_str!("../../../src/cuda/tasks.cuh"),
        include_str!("../../../src/cuda/tasks_frames.cuh"),
        match is_sum {
            true => concat!(
                include_str!("../../../src/cuda/levels/operations.cuh"),
                include_str!("../../../src/cuda/tasks_sums.cuh")
            ),
            false => include_str!("../../../src/cuda/tasks_joins.cuh"),
        },
        include_str!("../../../src/cuda/tasks_sharing.cuh"),
        include_str!("../../../src/cuda/teams/tasks_blocks.cuh"),
    ];
    let others = others.concat();
    let others = others.replace(
        "#include \"tasks_teams.cuh\"",
        include_str!("../../../src/cuda/teams/tasks_teams.cuh"),
    );
    // The first file includes the others.
    let (before, after) = first.split_once("#include \"tasks_frames.cuh\"").unwrap();
    let (_, after) = after.split_once("#include \"tasks_sharing.cuh\"").unwrap();
    let skeleton = [clocks, before, &others, after].concat();
    let included = |line: &&str| !line.starts_with("#include") && !line.starts_with("#pragma");
    skeleton.lines().filter(included).map(|line| format!("{line}\n")).collect()
}

fn ran(calls: &Roots, operation: Option<u32>, uniform: bool, seeds: u32) -> Option<[u64; 3]> {
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(reason) => {
            println!("skipped: {reason}");
            return None;
        }
    };
    let Roots { unit, functions, root, roots, expect } = calls;
    let mut text = format!(
        "#define WW_TIMED 1\n#define WW_UNIFORM {}\n#define WW_JOINS {}\n#define WW_TEAMS {}\n",
        u32::from(uniform),
        u32::from(operation.is_none()),
        u32::from(unit.contains("TEAM = true"))
    );
    let lanes = unit.split("LANES = ").skip(1);
    let lanes = lanes.filter_map(|text| text.split('u').next()?.parse::<u32>().ok()).max();
    let block = lanes.filter(|&lanes| lanes > 32).map(|lanes| lanes / 32);
    text.push_str(&format!("#define WW_BLOCK_TEAMS {}\n", u32::from(block.is_some())));
    if let Some(warps) = block {
        text.push_str(&format!("#define HOST_BLOCK_WARPS {warps}\n#define HOST_BLOCKS 5\n"));
    }
    text.push_str(unit);
    text.push_str(include_str!("../warps.cuh"));
    text.push_str(&format!(
        "#define WW_FUNCTIONS(F) {functions}\n#define WW_ROOT {root}\n#define WW_WARPS {}\n#define WW_SHARED 0\n#define WW_OPERATION {}\n#define WW_UNROLL 1\n#define WW_ARGUMENTS_BYTES 144\n",
        block.unwrap_or(5),
        operation.unwrap_or_default()
    ));
    text.push_str(&skeleton(operation.is_some()));
    text.push_str("static u64 host_given = 0, host_calls = 0, host_spilled = 0;\n");
    text.push_str(include_str!("main.cuh"));
    text.push_str(&format!(
        "int main() {{\n  const std::vector<Root> roots = {{{roots}}};\n  const std::vector<Value> expect = {{{expect}}};\n  bool right = true;\n  for (u64 seed = 1; right && seed <= {seeds}; ++seed) {{\n"
    ));
    for Setting { warps, window, every, idle, ramp, age, records } in SETTINGS {
        text.push_str(&format!("    right = right && host_check(roots, expect, Setting{{{warps}, {window}, {every}, {idle}, {ramp}, {age}, {records}}}, seed);\n"));
    }
    text.push_str("  }\n  if (right) printf(\"%llu %llu %llu\\n\", host_calls, host_given, host_spilled);\n  return !right;\n}\n");
    let folder = scratch("tasks");
    std::fs::create_dir_all(&folder).unwrap();
    let name = format!("{root}{}{uniform}", if operation.is_some() { "_sum" } else { "" });
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
    let counts: Vec<u64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
    Some([counts[0], counts[1], counts[2]])
}

/// A call and its arguments.
macro_rules! call {
    ($f:ident($($argument:expr),*)) => {{
        let mut unit = warpweft::element::Unit::new();
        let arguments = vec![$(warpweft::element::DeviceType::cuda_value(&$argument, &mut unit)),*];
        ($f::call($($argument),*), arguments)
    }};
}
pub(crate) use call;
