//! The translation unit of a batch of one element.

use crate::cuda::{Cubin, Options, compile};
use crate::element::{DeviceType, Unit};
use crate::error::Result;
use crate::wavefront::spec::Keep;
use crate::wavefront::{Ranked, WavefrontElement};

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

/// CUDA C++ of the kernel for `E`, whose lanes own `rows` rows.
pub(super) fn source<E: WavefrontElement>(keep: Keep, rows: u32, warps: u32) -> String {
    let mut unit = Unit::new();
    let element = E::cuda(&mut unit);
    let cell = E::Cell::cuda(&mut unit);
    let row = E::Row::cuda(&mut unit);
    let column = E::Column::cuda(&mut unit);
    let score = <E::Cell as Ranked>::Score::cuda(&mut unit);
    let kept = match keep {
        Keep::LastRow => 1,
        Keep::LastColumn => 2,
        _ => 0,
    };
    let (bytes, problem) = (size_of::<Arguments>(), size_of::<Problem>());
    let member = <E::Cell as Ranked>::MEMBER;
    let order = if keep == Keep::Least { "ww_reversed" } else { "" };
    format!(
        "{}
using ww_element = {element};
using ww_cell = {cell};
using ww_row_input = {row};
using ww_column_input = {column};
using ww_score_type = {score};
#define ww_score(cell) ({order}((cell){member}))
#define WW_KEEP {kept}
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
        ("batch.cuh", include_str!("batch.cuh")),
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
    compile(&source::<E>(keep, rows, super::WARPS), E::NAME, arch, &options())
}
