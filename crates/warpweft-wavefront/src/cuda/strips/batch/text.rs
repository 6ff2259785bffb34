//! The translation unit of a batch of one element.

use crate::cuda::names::names;
use crate::cuda::signature::{ALONE, arguments, declaration};
use crate::cuda::strips::record::Recording;
use crate::recurrence::{Traced, WavefrontElement};
use crate::spec::{ElementType, Keep};
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

arguments! {
    /// One problem: where its inputs begin in those of all, and where what is kept of it does.
    pub(super) struct Problem = "ww_problem" {
        /// Where its inputs begin.
        rows: u64 = "unsigned long long",
        columns: u64 = "unsigned long long",
        /// Where its last row or column does.
        kept: u64 = "unsigned long long",
        /// Where its words of choices do.
        directions: u64 = "unsigned long long",
        row_count: i32 = "int",
        column_count: i32 = "int",
    }
}

arguments! {
    /// The kernel's arguments.
    pub(super) struct Arguments = "ww_arguments" {
        /// Of all problems.
        rows: u64 = "const ww_row_input*",
        columns: u64 = "const ww_column_input*",
        /// `[count]`, the largest first.
        problems: u64 = "const ww_problem*",
        /// `[count]`.
        elements: u64 = "const ww_element*",
        /// `[count]` pairs: what cell `[-1, -1]` holds, and what every other cell outside does.
        borders: u64 = "const ww_cell*",
        /// The first that no warp has taken, 0.
        next: u64 = "unsigned*",
        /// A warp: `[line]`.
        lines: u64 = "ww_cell*",
        kept: u64 = "ww_cell*",
        /// A problem: rank, score's bits, row << 32 | column.
        candidates: u64 = "unsigned long long*",
        /// Words of choices, and `[count]` functions that tell them, if any are recorded.
        directions: u64 = "void*",
        choices: u64 = "const void*",
        line: u64 = "unsigned long long",
        count: u32 = "unsigned",
        reserved: i32 = "int",
    }
}

/// CUDA C++ of the kernel for `element`, whose lanes own `rows` rows; choices are told by the function that
/// `recording` defines.
pub(super) fn source(
    element: &ElementType,
    keep: Keep,
    rows: u32,
    warps: u32,
    recording: Option<&Recording>,
) -> String {
    let mut unit = Unit::new();
    let [element, types] = names(&mut unit, element, Some(keep));
    let kept = match keep {
        Keep::LastRow => 1,
        Keep::LastColumn => 2,
        _ => 0,
    };
    let choice = recording.map(|recording| (recording.define)(&mut unit));
    let choice = choice.map_or(String::new(), |name| format!("using ww_choice = {name};\n"));
    let directions = recording.map_or(0, |recording| recording.bits);
    let signature = Problem::declaration() + &Arguments::declaration() + &declaration(ALONE);
    format!(
        "{}
{element}{types}{choice}#define WW_DIRECTIONS {directions}
#define WW_KEEP {kept}
#define WW_ROWS {rows}
#define WW_WARPS {warps}
{signature}#include \"batch.cuh\"
",
        unit.source()
    )
}

/// What the skeleton may include.
pub(super) fn options() -> Options {
    Options::including(&[
        ("batch.cuh", include_str!("../kernel/batch.cuh")),
        ("tables.cuh", include_str!("../kernel/tables.cuh")),
        ("neighbours.cuh", include_str!("../../neighbours.cuh")),
        ("words.cuh", include_str!("../../words.cuh")),
        ("rank.cuh", include_str!("../../rank.cuh")),
    ])
}

/// Compiles the kernel of a batch for `arch` without a device.
///
/// # Errors
/// The compiler's.
pub fn compile_check<E: WavefrontElement>(keep: Keep, rows: u32, arch: &str) -> Result<Cubin> {
    let element = ElementType::of::<E>();
    compile(&source(&element, keep, rows, super::WARPS, None), E::NAME, arch, &options())
}

/// The same of the kernel that records choices of `element`.
///
/// # Errors
/// The compiler's.
pub fn compile_paths_check<E: Traced>(element: &E, rows: u32, arch: &str) -> Result<Cubin> {
    let recording = Recording::of(element);
    let plain = ElementType::of::<E::Plain>();
    let text = source(&plain, Keep::Best, rows, super::WARPS, Some(&recording));
    compile(&text, E::NAME, arch, &options())
}
