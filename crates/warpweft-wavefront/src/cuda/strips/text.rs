//! The translation unit of one element and policy.

use super::carried::Carrier;
use super::packed;
use super::recording::Recording;
use super::shared;
use crate::cuda::names::names;
use crate::cuda::signature::{Parameter, RECORDING, WAITING, arguments, declaration};
use crate::policy::CudaPolicy;
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
        /// `[column_count]`.
        columns: u64 = "const ww_column_input*",
        row_count: i32 = "int",
        column_count: i32 = "int",
        /// `[column_count]`; row -1 at first, if has_lines.
        border: u64 = "ww_cell*",
        /// `[row_count]`, if has_lines.
        left: u64 = "const ww_cell*",
        /// `[tile-rows * FLAG_STRIDE]`, zero.
        flags: u64 = "unsigned*",
        /// Last column or matrix; or choices, see directions.cuh.
        kept: u64 = "ww_cell*",
        /// Greatest rank seen by any warp, zero.
        record: u64 = "unsigned long long*",
        /// Per compute warp: rank, score's bits, row << 32 | column; or low and high word of its sum.
        candidates: u64 = "unsigned long long*",
        /// The GPU that has the tile-rows below those of this one's last block: where their row above
        /// and its flags lie. Own memory where there is one GPU.
        border_below: u64 = "ww_cell*",
        flags_below: u64 = "unsigned*",
        /// `[row_count * column_count]`.
        inputs: u64 = "const ww_cell_input*",
        has_lines: i32 = "int",
        /// Tile-rows go round robin to the blocks of all GPUs: this one's are those from `first_block`
        /// on of `all_blocks`.
        first_block: i32 = "int",
        all_blocks: i32 = "int",
        /// Number of the GPU of the block before the first.
        gpu_above: i32 = "int",
        /// Seed of random delays, where they are compiled in.
        delays: u32 = "unsigned",
        /// Of packed cells the symbols of the columns, a byte each.
        symbols: u32 = "unsigned",
    }
}

/// What the kernel is compiled with in addition to the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// Several GPUs share the tile-rows.
    pub several: bool,
    /// Last row and last column are kept in addition to what the wavefront keeps.
    pub edges: bool,
    /// Random delays before flags are looked at and set.
    pub delays: bool,
}

/// CUDA C++ of the kernel for `wavefront` on devices of this shared memory.
pub(super) fn source(
    wavefront: &Erased<'_>,
    policy: &CudaPolicy,
    memory: SharedMemory,
    variant: Variant,
    recording: Option<&Recording>,
) -> String {
    let mut unit = Unit::new();
    let inputs = wavefront.element.input > 0;
    let packed = if policy.packed_16x2 {
        packed::define(&mut unit, &wavefront.element)
    } else {
        String::new()
    };
    let [element, types] = names(&mut unit, &wavefront.element, Some(wavefront.keep));
    let keep = match wavefront.keep {
        Keep::Best | Keep::Least => 0,
        Keep::LastRow => 1,
        Keep::LastColumn => 2,
        Keep::Matrix => 3,
        Keep::Score => 4,
        Keep::Sum => 5,
    };
    let CudaPolicy { rows, columns, chunk, warps, blocks, packed_16x2 } = *policy;
    let choice = recording.map(|recording| (recording.define)(&mut unit));
    let choice = choice.map_or(String::new(), |name| format!("using ww_choice = {name};\n"));
    let directions = recording.map_or(0, |recording| recording.bits);
    let [packed_16x2, several, edges, inputs] =
        [packed_16x2, variant.several, variant.edges, inputs].map(i32::from);
    let delays = if variant.delays { "#define WW_DELAYS" } else { "" };
    let staged = shared::staged(wavefront, policy, memory);
    let block = shared::block_bytes(wavefront, policy, staged);
    let staged = i32::from(staged);
    let south = wavefront.element.south;
    let signature = Arguments::declaration() + &declaration(parameters(recording.is_some()));
    format!(
        "{}
{element}{packed}
{choice}{types}#define WW_KEEP {keep}
#define WW_ROWS {rows}
#define WW_COLUMNS {columns}
#define WW_CHUNK {chunk}
#define WW_WARPS {warps}
#define WW_BLOCKS {blocks}
#define WW_PACKED {packed_16x2}
#define WW_SEVERAL {several}
#define WW_EDGES {edges}
#define WW_DIRECTIONS {directions}
#define WW_INPUTS {inputs}
#define WW_STAGED {staged}
#define WW_SHARED_BYTES {block}
{delays}
#define WW_SOUTH {south}u
{signature}#include \"strip.cuh\"
",
        unit.source()
    )
}

/// The kernel's parameters.
pub(super) fn parameters(records: bool) -> &'static [Parameter] {
    if records { RECORDING } else { WAITING }
}

/// What the skeleton may include.
pub(super) fn options() -> Options {
    Options::including(&[
        ("strip.cuh", include_str!("kernel/strip.cuh")),
        ("layout.cuh", include_str!("kernel/layout.cuh")),
        ("tables.cuh", include_str!("kernel/tables.cuh")),
        ("movers.cuh", include_str!("kernel/movers.cuh")),
        ("walker.cuh", include_str!("kernel/walker.cuh")),
        ("given.cuh", include_str!("kernel/given.cuh")),
        ("copy_warp.cuh", include_str!("kernel/copy_warp.cuh")),
        ("directions.cuh", include_str!("kernel/directions.cuh")),
        ("form.cuh", include_str!("kernel/form.cuh")),
        ("packed.cuh", include_str!("kernel/packed.cuh")),
        ("replay.cuh", include_str!("kernel/replay.cuh")),
        ("stage.cuh", include_str!("kernel/stage.cuh")),
        ("flags.cuh", include_str!("../flags.cuh")),
        ("words.cuh", include_str!("../words.cuh")),
        ("neighbours.cuh", include_str!("../neighbours.cuh")),
        ("rank.cuh", include_str!("../rank.cuh")),
        ("sum.cuh", include_str!("../sum.cuh")),
    ])
}

/// Compiles the kernel for `arch` without a device.
///
/// # Errors
/// A policy that no kernel can have, or for which such devices have too little shared memory; the
/// compiler's.
pub fn compile_check<E: WavefrontElement>(
    wavefront: &Wavefront<'_, E>,
    policy: &CudaPolicy,
    arch: &str,
) -> Result<Cubin> {
    compile_check_as(wavefront, policy, Variant::default(), arch)
}

/// As [`compile_check`], a variant of it.
///
/// # Errors
/// As there.
pub fn compile_check_as<E: WavefrontElement>(
    wavefront: &Wavefront<'_, E>,
    policy: &CudaPolicy,
    variant: Variant,
    arch: &str,
) -> Result<Cubin> {
    let erased = wavefront.erased();
    let carrier = Carrier::of(&erased);
    let larger = carrier.as_ref().map(|carrier| carrier.erased(&erased));
    let wavefront = larger.as_ref().unwrap_or(&erased);
    policy.check(wavefront.element.cell)?;
    let memory = SharedMemory::of_arch(arch);
    shared::check(wavefront, policy, memory)?;
    if policy.packed_16x2 {
        packed::check(wavefront, policy, variant.edges)?;
    }
    compile(&source(wavefront, policy, memory, variant, None), E::NAME, arch, &options())
}
