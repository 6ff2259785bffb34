//! The translation unit of one sum and policy.

use crate::cuda::names::{Wanted, names};
use crate::policy::ScanPolicy;
use crate::recurrence::WavefrontElement;
use crate::spec::ElementType;
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

/// The kernel's struct of arguments, as `ww_scan_arguments` in `scan.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Arguments {
    pub rows: u64,
    pub columns: u64,
    pub inputs: u64,
    pub kept: u64,
    pub top: u64,
    pub left: u64,
    pub flags: u64,
    pub row_count: i32,
    pub column_count: i32,
    pub has_lines: i32,
    pub wide: i32,
}

/// CUDA C++ of the kernel for `element`.
pub(super) fn source(element: &ElementType, policy: &ScanPolicy) -> String {
    let mut unit = Unit::new();
    let [element, types] = names(&mut unit, element, Wanted { inputs: true, scores: None });
    let ScanPolicy { rows, warps } = policy;
    let bytes = size_of::<Arguments>();
    format!(
        "{}
{element}{types}#define WW_SCAN_ROWS {rows}
#define WW_SCAN_WARPS {warps}
#define WW_ARGUMENTS_BYTES {bytes}
#include \"scan.cuh\"
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
