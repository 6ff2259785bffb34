//! The translation unit of one element, plan and policy.

use crate::cuda::names::{Wanted, names};
use crate::plan::Plan;
use crate::policy::TilePolicy;
use crate::recurrence::WavefrontElement;
use crate::spec::{Erased, Keep, Wavefront};
use warpweft_core::cuda::{Cubin, Options, SharedMemory, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

/// The kernel's struct of arguments, as `ww_arguments` in `tile.cuh`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Arguments {
    pub rows: u64,
    pub columns: u64,
    pub inputs: u64,
    pub matrix: u64,
    pub top: u64,
    pub sides: u64,
    pub border: u64,
    pub carry: u64,
    pub flags: u64,
    pub kept: u64,
    pub candidates: u64,
    pub idle: u64,
    pub row_count: i32,
    pub column_count: i32,
    pub tile_rows: i32,
    pub sweeps: i32,
    pub width: i32,
    pub fronts: i32,
    pub tile: i32,
    pub tiles: i32,
    pub ring: i32,
    pub lag: i32,
    pub sweep_lag: i32,
    pub ahead: i32,
    pub sweep_ahead: i32,
    pub borders: i32,
    pub states: i32,
    pub delay: u32,
    pub band: [i32; 2],
    pub buffered: i32,
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
    let wanted = Wanted { inputs: true, scores: Some(wavefront.keep) };
    let [element, types] = names(&mut unit, &wavefront.element, wanted);
    let keep = match wavefront.keep {
        Keep::Best | Keep::Least | Keep::Score => 0,
        Keep::LastRow => 1,
        Keep::LastColumn => 2,
        Keep::Matrix => 3,
        Keep::Sum => 4,
    };
    let old = wavefront.element.old;
    let shape = &plan.shape;
    let numbers: String = [
        ("HEIGHT", plan.layout.height),
        ("SKEW", shape.skew),
        ("ABOVE", shape.above),
        ("HISTORY", shape.history),
        ("LEFT", shape.sides[0]),
        ("RIGHT", shape.sides[1]),
        ("OLDS", old.len()),
        ("GROUP", plan.group),
        ("DEPTH", shape.depth),
        ("SQUARE", usize::from(plan.policy.method.square())),
        ("KEEP", keep),
        ("HAS_INPUT", usize::from(wavefront.element.input > 0)),
        ("FAULTS", usize::from(unit.faults())),
        ("BAND", usize::from(wavefront.band.is_some())),
        ("ARGUMENTS_BYTES", size_of::<Arguments>()),
    ]
    .into_iter()
    .map(|(name, value)| format!("#define WW_{name} {value}\n"))
    .collect();
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
    let kernel = if plan.policy.method.flags() { "flags.cuh" } else { "barriers.cuh" };
    let text = format!(
        "{}
{element}{types}{numbers}{switches}\
__device__ constexpr int ww_ahead(int u) {{ return {ahead}; }}
__device__ constexpr bool ww_reads(int u) {{ return {reads}; }}
__device__ constexpr int ww_old_index(int di, int dj) {{ return {old_index}-1; }}
__device__ constexpr int ww_old_row(int q) {{ return {old_row}; }}
__device__ constexpr int ww_old_column(int q) {{ return {old_column}; }}
#include \"{kernel}\"
",
        unit.source()
    );
    (text, unit)
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
