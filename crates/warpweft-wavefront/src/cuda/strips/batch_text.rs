//! The translation unit of a batch of one element.

use crate::cuda::names::{Wanted, names};
use crate::recurrence::WavefrontElement;
use crate::spec::{ElementType, Keep};
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

/// One problem, as `ww_problem` in `batch.cuh`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Problem {
    pub rows: u64,
    pub columns: u64,
    pub kept: u64,
    pub row_count: i32,
    pub column_count: i32,
}

/// The kernel's struct of arguments, as `ww_arguments` there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Arguments {
    pub rows: u64,
    pub columns: u64,
    pub problems: u64,
    pub elements: u64,
    pub borders: u64,
    pub next: u64,
    pub lines: u64,
    pub kept: u64,
    pub candidates: u64,
    pub line: u64,
    pub count: u32,
    pub reserved: i32,
}

/// CUDA C++ of the kernel for `element`, whose lanes own `rows` rows.
pub(super) fn source(element: &ElementType, keep: Keep, rows: u32, warps: u32) -> String {
    let mut unit = Unit::new();
    let wanted = Wanted { inputs: false, scores: Some(keep) };
    let [element, types] = names(&mut unit, element, wanted);
    let kept = match keep {
        Keep::LastRow => 1,
        Keep::LastColumn => 2,
        _ => 0,
    };
    let (bytes, problem) = (size_of::<Arguments>(), size_of::<Problem>());
    format!(
        "{}
{element}{types}#define WW_KEEP {kept}
#define WW_ROWS {rows}
#define WW_WARPS {warps}
#define WW_ARGUMENTS_BYTES {bytes}
#define WW_PROBLEM_BYTES {problem}
#include \"batch.cuh\"
",
        unit.source()
    )
}

/// What the skeleton may include.
pub(super) fn options() -> Options {
    Options::including(&[
        ("batch.cuh", include_str!("kernel/batch.cuh")),
        ("neighbours.cuh", include_str!("../neighbours.cuh")),
        ("words.cuh", include_str!("../words.cuh")),
        ("rank.cuh", include_str!("../rank.cuh")),
    ])
}

/// Compiles the kernel of a batch for `arch` without a device.
///
/// # Errors
/// The compiler's.
pub fn compile_check<E: WavefrontElement>(keep: Keep, rows: u32, arch: &str) -> Result<Cubin> {
    let element = ElementType::of::<E>();
    compile(&source(&element, keep, rows, super::batch::WARPS), E::NAME, arch, &options())
}
