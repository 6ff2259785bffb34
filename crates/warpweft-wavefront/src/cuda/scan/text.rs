//! The translation unit of one sum and policy.

use crate::cuda::names::names;
use crate::cuda::signature::{WAITING, arguments, declaration};
use crate::policy::ScanPolicy;
use crate::recurrence::WavefrontElement;
use crate::spec::ElementType;
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

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
        /// `[bands * FLAG_STRIDE]`, zero.
        flags: u64 = "unsigned*",
        row_count: i32 = "int",
        column_count: i32 = "int",
        has_lines: i32 = "int",
        /// Whether rows begin at multiples of 16 bytes.
        wide: i32 = "int",
    }
}

/// CUDA C++ of the kernel for `element`.
pub(super) fn source(element: &ElementType, policy: &ScanPolicy) -> String {
    let mut unit = Unit::new();
    let [element, types] = names(&mut unit, element, None);
    let ScanPolicy { rows, warps } = policy;
    let signature = Arguments::declaration() + &declaration(WAITING);
    format!(
        "{}
{element}{types}#define WW_SCAN_ROWS {rows}
#define WW_SCAN_WARPS {warps}
{signature}#include \"scan.cuh\"
",
        unit.source()
    )
}

/// What the skeleton may include.
pub(super) fn options() -> Options {
    Options::including(&[
        ("scan.cuh", include_str!("scan.cuh")),
        ("flags.cuh", include_str!("../flags.cuh")),
        ("words.cuh", include_str!("../words.cuh")),
    ])
}

/// Compiles the kernel for `arch` without a device.
///
/// # Errors
/// A policy that no kernel can have; the compiler's.
pub fn compile_check<E: WavefrontElement>(policy: &ScanPolicy, arch: &str) -> Result<Cubin> {
    policy.check()?;
    compile(&source(&ElementType::of::<E>(), policy), E::NAME, arch, &options())
}
