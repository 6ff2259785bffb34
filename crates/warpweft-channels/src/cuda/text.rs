//! The translation unit of one function and of all that it spawns.

use super::proof::Proof;
use crate::spawning::DeviceCall;
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};

/// Functions that spawn one another: more make kernels that are hard to compile.
const FUNCTIONS: usize = 64;
/// Warps of a block, where no team is larger than a warp; fewer where each warp's windows take much of an SM's shared memory.
const WARPS: u32 = 4;
const JOINING_WARPS: u32 = 2;

/// Warps of an SM for which registers are to suffice, where teams are blocks.
const RESIDENT_WARPS: u32 = 32;

/// Text of routines beyond which steps are not unrolled.
const LONG: usize = 4500;

/// The kernel's struct of arguments, as `ww_arguments` in `tasks.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Arguments {
    pub roots: u64,
    pub results: u64,
    pub ring: u64,
    pub inbox: u64,
    pub inbox_counts: u64,
    pub stacks: u64,
    pub pool: u64,
    pub records: u64,
    pub free_records: u64,
    pub returned: u64,
    pub counters: u64,
    pub counts: u64,
    pub roots_count: u32,
    pub roots_bytes: u32,
    pub ring_size: u32,
    pub window: u32,
    pub chunks: u32,
    pub every: u32,
    pub idle: u32,
    pub ramp: u32,
    pub age: u32,
    pub warps: u32,
    pub records_each: u32,
    pub _padding: u32,
}

/// Warps of a block of the kernel of a level.
pub(super) const LEVEL_WARPS: u32 = 8;

/// Its struct of arguments, as `ww_level_arguments` in `levels.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct LevelArguments {
    pub from: u64,
    pub to: u64,
    pub results: u64,
    pub appended: u64,
    pub status: u64,
    pub count: u64,
    pub capacity: u64,
}

/// CUDA C++ of the kernel for calls of `root`, with `proof` if they are one sum, for one root or any number, with clocks or
/// without, with lanes' windows in shared memory or not, and for so many warps of an SM, or any number if 0.
///
/// # Errors
/// Too many functions that spawn one another.
pub(super) fn source(
    unit: &Unit,
    root: &str,
    proof: Option<Proof>,
    (uniform, timed): (bool, bool),
    (shared, warps): (bool, u32),
) -> Result<String> {
    check_count(unit, root)?;
    let unroll = unroll(unit);
    Ok(format!(
        "#define WW_UNIFORM {}
#define WW_TIMED {}
#define WW_JOINS {}
#define WW_TEAMS {}
#define WW_BLOCK_TEAMS {}
{}
#define WW_FUNCTIONS(F) {}
#define WW_ROOT {root}
#define WW_WARPS {}
#define WW_RESIDENT {}
#define WW_SHARED {}
#define WW_OPERATION {}
#define WW_UNROLL {unroll}
#define WW_ARGUMENTS_BYTES {}
#include \"tasks.cuh\"
",
        u32::from(uniform),
        u32::from(timed),
        u32::from(proof.is_none()),
        u32::from(has_teams(unit)),
        u32::from(lanes(unit) > 32),
        unit.source(),
        numbered(unit),
        block_warps(unit),
        resident(unit, warps),
        u32::from(shared),
        proof.map_or(0, |proof| proof.operation),
        size_of::<Arguments>(),
    ))
}

/// CUDA C++ of the kernel that runs a level of calls of `root`, with as many first calls.
///
/// # Errors
/// Too many functions that spawn one another.
pub(super) fn level_source(
    unit: &Unit,
    root: &str,
    proof: Proof,
    (uniform, one_root): (bool, bool),
) -> Result<String> {
    check_count(unit, root)?;
    Ok(format!(
        "#define WW_UNIFORM {}
#define WW_ONE_ROOT {}
#define WW_JOINS 0
#define WW_TEAMS 0
#define WW_BLOCK_TEAMS 0
{}
#define WW_FUNCTIONS(F) {}
#define WW_ROOT {root}
#define WW_WARPS {}
#define WW_OPERATION {}
#define WW_ARGUMENTS_BYTES {}
#include \"levels.cuh\"
",
        u32::from(uniform),
        u32::from(one_root),
        unit.source(),
        numbered(unit),
        LEVEL_WARPS,
        proof.operation,
        size_of::<LevelArguments>(),
    ))
}

/// That functions are not too many.
fn check_count(unit: &Unit, root: &str) -> Result<()> {
    let count = unit.numbered().len();
    if count <= FUNCTIONS {
        return Ok(());
    }
    let what = format!(
        "`{}` spawns {count} different functions, directly or indirectly",
        root.trim_end_matches("_ww")
    );
    Err(Error::spec(what, format!("spawn at most {FUNCTIONS} different functions")))
}

/// Steps in a row without a test: 1 where functions are long.
pub(super) fn unroll(unit: &Unit) -> u32 {
    let prelude = routines(&Unit::new().source());
    if has_teams(unit) || routines(&unit.source()) - prelude > LONG { 1 } else { 4 }
}

/// Bytes of a source without what turns frames of waiting calls into words.
fn routines(source: &str) -> usize {
    let (mut bytes, mut in_frame) = (0, false);
    for line in source.lines() {
        in_frame |= line == "  struct Joins {";
        if !in_frame {
            bytes += line.len() + 1;
        }
        in_frame &= !line.contains("void joins(Lane& lane, Joins& f");
    }
    bytes
}

/// Whether some calls are run by all lanes of a warp together.
pub(super) fn has_teams(unit: &Unit) -> bool {
    lanes(unit) > 0
}

/// Lanes of the largest team, or 0.
fn lanes(unit: &Unit) -> u32 {
    let lanes = unit.notes().filter_map(|note| note.strip_prefix("team ")?.parse().ok());
    lanes.max().unwrap_or(0)
}

/// Warps of a block: those of the largest team, or several that each have calls of their own.
pub(super) fn block_warps(unit: &Unit) -> u32 {
    match lanes(unit) {
        lanes if lanes > 32 => lanes / 32,
        _ if has_teams(unit) || Proof::of(unit).is_some() => WARPS,
        _ => JOINING_WARPS,
    }
}

/// Blocks of an SM for which registers are to suffice, or 0 where the kernel decides. The scheduler of a block's first warp needs more than what all its
/// warps run, so that without a limit few warps would fit.
fn resident(unit: &Unit, warps: u32) -> u32 {
    let warps = if warps == 0 && lanes(unit) > 32 { RESIDENT_WARPS } else { warps };
    warps / block_warps(unit)
}

/// Warps of a block that hold calls.
pub(super) fn holding_warps(unit: &Unit) -> u32 {
    if lanes(unit) > 32 { 1 } else { block_warps(unit) }
}

/// The functions of `unit` as the arguments of a macro.
pub(super) fn numbered(unit: &Unit) -> String {
    unit.numbered().iter().map(|name| format!("F({name}) ")).collect()
}

/// The bytes of calls.
pub(super) fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: they are only copied, by the driver, never looked at; values outlive the borrow.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of outputs, to be overwritten by those of outputs.
pub(super) fn bytes_of_mut<T: Copy>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; the kernel wrote values of the same type, laid out the same.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// What the skeleton may include.
pub(super) fn options() -> Options {
    Options::including(&[
        ("tasks.cuh", include_str!("tasks.cuh")),
        ("tasks_frames.cuh", include_str!("tasks_frames.cuh")),
        ("tasks_sums.cuh", include_str!("tasks_sums.cuh")),
        ("tasks_joins.cuh", include_str!("tasks_joins.cuh")),
        ("tasks_teams.cuh", include_str!("teams/tasks_teams.cuh")),
        ("tasks_sharing.cuh", include_str!("tasks_sharing.cuh")),
        ("tasks_blocks.cuh", include_str!("teams/tasks_blocks.cuh")),
        ("words.cuh", include_str!("words.cuh")),
        ("clocks.cuh", include_str!("clocks.cuh")),
        ("operations.cuh", include_str!("levels/operations.cuh")),
        ("levels.cuh", include_str!("levels/levels.cuh")),
    ])
}

/// Whether all roots may be taken for one in what each call passes on.
pub(super) fn is_uniform<C: DeviceCall>(unit: &Unit, roots: usize) -> bool {
    roots == 1 && unit.numbered().len() == 1 && size_of::<C>() > 0
}

/// Compiles the kernel for one call of `C` for `arch` without a device.
///
/// # Errors
/// Too many functions; the compiler's.
pub fn compile_check<C: DeviceCall>(arch: &str) -> Result<Cubin> {
    let mut unit = Unit::new();
    let root = C::cuda(&mut unit);
    let uniform = is_uniform::<C>(&unit, 1);
    let text = source(&unit, &root, Proof::of(&unit), (uniform, false), (!has_teams(&unit), 0))?;
    compile(&text, C::NAME, arch, &options())
}
