//! The translation unit of one element, plan and policy.

use crate::cuda::names::names;
use crate::cuda::signature::{WAITING, arguments, declaration};
use crate::plan::Plan;
use crate::policy::TilePolicy;
use crate::recurrence::WavefrontElement;
use crate::spec::{Erased, Keep, Wavefront};
use warpweft_core::cuda::{Cubin, Options, SharedMemory, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

arguments! {
    /// The kernel's arguments.
    pub(super) struct Arguments = "ww_arguments" {
        /// `[row_count]`.
        rows: u64 = "const ww_row_input*",
        /// Column 0; padded.
        columns: u64 = "const ww_column_input*",
        /// Hybrid layout; padded.
        inputs: u64 = "const ww_cell_input*",
        /// Hybrid layout; padded; the old values at first.
        matrix: u64 = "ww_cell*",
        /// `[ABOVE][width]`: row -v at v - 1.
        top: u64 = "const ww_cell*",
        /// `[row_count][LEFT + RIGHT]`, or null: all are edges.border.
        sides: u64 = "const ww_cell*",
        /// `[borders][ABOVE]``[width]`: the bottom rows of tile-rows.
        border: u64 = "ww_cell*",
        /// `[states][CARRY]``[HEIGHT]`: what a tile leaves to the next.
        carry: u64 = "ww_cell*",
        /// `[blocks * FLAG_STRIDE]`, zero; or the barrier's word.
        flags: u64 = "unsigned*",
        /// Last row or column.
        kept: u64 = "ww_cell*",
        /// Per warp that computes: rank, score's bits, row << 32 | column; or low and high word of its sum.
        candidates: u64 = "unsigned long long*",
        /// Per block: see idle.cuh.
        idle: u64 = "unsigned long long*",
        row_count: i32 = "int",
        column_count: i32 = "int",
        tile_rows: i32 = "int",
        sweeps: i32 = "int",
        /// LEFT + column_count + RIGHT.
        width: i32 = "int",
        /// Of a tile-row, whole groups.
        fronts: i32 = "int",
        /// WIDTH.
        tile: i32 = "int",
        /// Of a tile-row.
        tiles: i32 = "int",
        /// Cells of a ring, a power of two.
        ring: i32 = "int",
        /// Steps from a tile-row to the next, from a sweep to the next.
        lag: i32 = "int",
        sweep_lag: i32 = "int",
        /// Columns that a row above must be ahead.
        ahead: i32 = "int",
        /// Fronts that the sweep before must be ahead.
        sweep_ahead: i32 = "int",
        borders: i32 = "int",
        states: i32 = "int",
        /// Seed of random delays, where they are compiled in.
        delay: u32 = "unsigned",
        band_lower: i32 = "int",
        band_upper: i32 = "int",
        /// Tiles whose borders the rings hold.
        buffered: i32 = "int",
    }
}

/// What is compiled in or limited for measurements and tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Each block's waits are timed.
    pub idle: bool,
    /// Random delays between a tile and the next, from this seed.
    pub delays: Option<u32>,
    /// Blocks of a launch at most.
    pub blocks: Option<u32>,
}

/// CUDA C++ of the kernel, and the unit that knows where it can fault.
pub(super) fn source(wavefront: &Erased<'_>, plan: &Plan, extras: Extras) -> (String, Unit) {
    let mut unit = Unit::new();
    let [element, types] = names(&mut unit, &wavefront.element, Some(wavefront.keep));
    let old = wavefront.element.old;
    let shape = &plan.shape;
    let numbers = numbers(wavefront, plan, unit.faults());
    let mut switches = String::new();
    if extras.idle {
        switches.push_str("#define WW_IDLE\n");
    }
    if extras.delays.is_some() {
        switches.push_str("#define WW_DELAYS\n");
    }
    let streams = || shape.streams.iter().enumerate();
    let ahead = choice("u", streams().map(|(u, (east, _))| (u.to_string(), *east)), -1);
    let reads = choice("u", streams().map(|(u, (_, read))| (u.to_string(), isize::from(*read))), 0);
    let olds = || old.iter().enumerate();
    let old_index: String =
        olds().map(|(q, [di, dj])| format!("di == {di} && dj == {dj} ? {q} : ")).collect();
    let old_row = choice("q", olds().map(|(q, [di, _])| (q.to_string(), *di)), 0);
    let old_column = choice("q", olds().map(|(q, [_, dj])| (q.to_string(), *dj)), 0);
    let signature = Arguments::declaration() + &declaration(WAITING);
    let kernel = if plan.policy.method.flags() { "flags.cuh" } else { "barriers.cuh" };
    let text = format!(
        "{}
{element}{types}{numbers}{switches}\
__device__ constexpr int ww_ahead(int u) {{ return {ahead}; }}
__device__ constexpr bool ww_reads(int u) {{ return {reads}; }}
__device__ constexpr int ww_old_index(int di, int dj) {{ return {old_index}-1; }}
__device__ constexpr int ww_old_row(int q) {{ return {old_row}; }}
__device__ constexpr int ww_old_column(int q) {{ return {old_column}; }}
{signature}#include \"{kernel}\"
",
        unit.source()
    );
    (text, unit)
}

/// The plan's numbers as macros of the kernel.
fn numbers(wavefront: &Erased<'_>, plan: &Plan, faults: bool) -> String {
    let keep = match wavefront.keep {
        Keep::Best | Keep::Least | Keep::Score => 0,
        Keep::LastRow => 1,
        Keep::LastColumn => 2,
        Keep::Matrix => 3,
        Keep::Sum => 4,
    };
    let shape = &plan.shape;
    [
        ("HEIGHT", plan.layout.height),
        ("SKEW", shape.skew),
        ("ABOVE", shape.above),
        ("HISTORY", shape.history),
        ("LEFT", shape.sides[0]),
        ("RIGHT", shape.sides[1]),
        ("OLDS", wavefront.element.old.len()),
        ("GROUP", plan.group),
        ("DEPTH", shape.depth),
        ("SQUARE", usize::from(plan.policy.method.square())),
        ("KEEP", keep),
        ("HAS_INPUT", usize::from(wavefront.element.input > 0)),
        ("FAULTS", usize::from(faults)),
        ("BAND", usize::from(wavefront.band.is_some())),
    ]
    .into_iter()
    .map(|(name, value)| format!("#define WW_{name} {value}\n"))
    .collect()
}

/// `name == key ? value : ..`, in C++.
fn choice(name: &str, cases: impl Iterator<Item = (String, isize)>, otherwise: isize) -> String {
    let cases: String = cases.map(|(key, value)| format!("{name} == {key} ? {value} : ")).collect();
    format!("{cases}{otherwise}")
}

/// What the kernels may include.
pub(super) fn options() -> Options {
    Options::including(&[
        ("tile.cuh", include_str!("tile.cuh")),
        ("flags.cuh", include_str!("flags.cuh")),
        ("barriers.cuh", include_str!("barriers.cuh")),
        ("idle.cuh", include_str!("idle.cuh")),
        ("words.cuh", include_str!("../words.cuh")),
        ("rank.cuh", include_str!("../rank.cuh")),
        ("sum.cuh", include_str!("../sum.cuh")),
    ])
}

/// Compiles the kernel for `arch` without a device.
///
/// # Errors
/// As [`Plan::new`]; tiles for which such devices have too little shared memory; the compiler's.
pub fn compile_check<E: WavefrontElement>(
    wavefront: &Wavefront<'_, E>,
    policy: TilePolicy,
    extras: Extras,
    arch: &str,
) -> Result<Cubin> {
    let wavefront = &wavefront.erased();
    let plan = Plan::new(wavefront.extents, wavefront.sweeps, E::DEPENDENCES, E::OLD, policy)?;
    plan.shared(wavefront.element.cell, SharedMemory::of_arch(arch))?;
    compile(&source(wavefront, &plan, extras).0, E::NAME, arch, &options())
}
