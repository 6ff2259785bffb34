//! The translation unit of one sum and policy.

use super::memory::Stages;
use crate::cuda::names::names;
use crate::cuda::signature::{WAITING, arguments, declaration};
use crate::policy::ScanPolicy;
use crate::recurrence::WavefrontElement;
use crate::spec::ElementType;
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};

/// Bytes of shared memory that a block may have on an A100, which has the least of those that kernels are checked for.
const BLOCK_BYTES: usize = 163 << 10;

arguments! {
    /// The kernel's arguments.
    pub(super) struct Arguments = "ww_arguments" {
        /// `[row_count]`.
        rows: u64 = "const ww_row_input*",
        /// `[column_count]`.
        columns: u64 = "const ww_column_input*",
        /// `[row_count][column_count]`.
        inputs: u64 = "const ww_cell_input*",
        /// Likewise.
        kept: u64 = "ww_cell*",
        /// `[column_count]`: row -1, if has_lines.
        top: u64 = "const ww_cell*",
        /// `[row_count]`: column -1, if has_lines.
        left: u64 = "const ww_cell*",
        /// `[bands][tiles][2][32][words of a lane]`, zero.
        words: u64 = "unsigned long long*",
        row_count: i32 = "int",
        column_count: i32 = "int",
        has_lines: i32 = "int",
        /// Whether rows of cells begin at multiples of 16 bytes.
        wide_cells: i32 = "int",
        /// Whether those of inputs do.
        wide_inputs: i32 = "int",
    }
}

/// CUDA C++ of the kernel for `element`.
pub(super) fn source(element: &ElementType, policy: &ScanPolicy, stages: Stages) -> String {
    let mut unit = Unit::new();
    let [element, types] = names(&mut unit, element, None);
    let ScanPolicy { rows, warps } = policy;
    let Stages { count, bytes } = stages;
    let signature = Arguments::declaration() + &declaration(WAITING);
    format!(
        "{}
{element}{types}#define WW_SCAN_ROWS {rows}
#define WW_SCAN_WARPS {warps}
#define WW_SCAN_STAGES {count}
#define WW_SCAN_SHARED {bytes}
{signature}#include \"scan.cuh\"
",
        unit.source()
    )
}

/// What the skeleton may include.
pub(super) fn options() -> Options {
    Options::including(&[
        ("scan.cuh", include_str!("scan.cuh")),
        ("arriving.cuh", include_str!("arriving.cuh")),
        ("lanes.cuh", include_str!("lanes.cuh")),
        ("tagged.cuh", include_str!("../tagged.cuh")),
        ("flags.cuh", include_str!("../flags.cuh")),
        ("words.cuh", include_str!("../words.cuh")),
    ])
}

/// A block of `policy` needs more shared memory than there is.
pub(super) fn too_large(policy: &ScanPolicy) -> Error {
    Error::spec(
        format!(
            "the inputs of {} warps of {} rows are more than shared memory holds",
            policy.warps, policy.rows
        ),
        "lower `warps` or `rows` of the policy",
    )
}

/// Compiles the kernel for `arch` without a device.
///
/// # Errors
/// A policy that no kernel can have; the compiler's.
pub fn compile_check<E: WavefrontElement>(policy: &ScanPolicy, arch: &str) -> Result<Cubin> {
    policy.check()?;
    let element = ElementType::of::<E>();
    let stages = Stages::within(BLOCK_BYTES, &element, policy).ok_or_else(|| too_large(policy))?;
    compile(&source(&element, policy, stages), E::NAME, arch, &options())
}
