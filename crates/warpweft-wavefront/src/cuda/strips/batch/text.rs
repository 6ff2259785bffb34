//! The translation unit of a batch of one element.

use super::MOST_ROWS;
use crate::cuda::names::names;
use crate::cuda::signature::{ALONE, arguments, declaration};
use crate::cuda::strips::recording::Recording;
use crate::recurrence::{Ranked, Traced, WavefrontElement};
use crate::spec::{ElementType, Keep};
use crate::traceback::End;
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

arguments! {
    /// One problem: where its inputs begin in those of all, and where what is kept of it does.
    pub(super) struct Problem = "ww_problem" {
        /// Where its inputs begin.
        rows: u64 = "unsigned long long",
        columns: u64 = "unsigned long long",
        /// Where its last row or column goes; its number among the results, where one thing is kept of each.
        kept: u64 = "unsigned long long",
        /// Where its words of choices do.
        directions: u64 = "unsigned long long",
        row_count: i32 = "int",
        column_count: i32 = "int",
    }
}

arguments! {
    /// A path: its runs of moves, and where it begins, see trails.cuh.
    pub(super) struct Trail = "ww_trail" {
        first: u64 = "unsigned long long",
        count: u32 = "unsigned",
        row: i32 = "int",
        column: i32 = "int",
        good: i32 = "int",
    }
}

arguments! {
    /// The kernels' arguments.
    pub(super) struct Arguments = "ww_arguments" {
        /// Of all problems.
        rows: u64 = "const ww_row_input*",
        columns: u64 = "const ww_column_input*",
        /// `[count]`, the largest first.
        problems: u64 = "const ww_problem*",
        /// `[count]` if each problem has its own, otherwise one.
        elements: u64 = "const ww_element*",
        /// As many pairs: what cell `[-1, -1]` holds, and what every other cell outside does.
        borders: u64 = "const ww_cell*",
        /// Cells above the first row and to the west of the first column of all problems, if they differ.
        top: u64 = "const ww_cell*",
        left: u64 = "const ww_cell*",
        /// The first that no warp has taken, 0.
        next: u64 = "unsigned*",
        /// A warp: `[line]`.
        lines: u64 = "ww_cell*",
        kept: u64 = "ww_cell*",
        /// A problem: rank, score's bits, row << 32 | column.
        candidates: u64 = "unsigned long long*",
        /// Words of choices, and as many functions that tell them as elements, if any are recorded.
        directions: u64 = "void*",
        choices: u64 = "const void*",
        /// What choices mean, the first free run, 0, all runs, and a path each: see trails.cuh.
        back: u64 = "const unsigned short*",
        cursor: u64 = "unsigned long long*",
        runs: u64 = "unsigned*",
        trails: u64 = "ww_trail*",
        line: u64 = "unsigned long long",
        count: u32 = "unsigned",
        /// Whether each problem has its own element and border.
        each: i32 = "int",
    }
}

arguments! {
    /// Two problems of the same rows, the one with more columns in the low halves of registers.
    pub(super) struct Item = "ww_item" {
        /// Where their columns begin.
        columns_low: u64 = "unsigned long long",
        columns_high: u64 = "unsigned long long",
        /// Where their line does.
        line: u64 = "unsigned long long",
        /// How many there are: none of a problem that there is not.
        count_low: i32 = "int",
        count_high: i32 = "int",
        /// Their numbers among the results.
        result_low: u32 = "unsigned",
        result_high: u32 = "unsigned",
    }
}

arguments! {
    /// The arguments of a launch for some rows of many problems.
    pub(super) struct Search = "ww_search" {
        /// `[row_count]`.
        rows: u64 = "const ww_row_input*",
        /// Of all problems.
        columns: u64 = "const unsigned char*",
        /// `[count]`, the largest first.
        items: u64 = "const ww_item*",
        /// What cell `[-1, -1]` holds, and what every other cell outside does.
        borders: u64 = "const ww_cell*",
        /// The numbers of 256 symbols, and the symbols by number.
        symbols: u64 = "const unsigned char*",
        alphabet: u64 = "const unsigned char*",
        /// The first item that no warp has taken, 0.
        next: u64 = "unsigned*",
        /// A score each.
        found: u64 = "int*",
        /// Cells between launches, a pair a column of the item.
        lines: u64 = "void*",
        count: u32 = "unsigned",
        row_count: i32 = "int",
        symbol_count: i32 = "int",
        /// Whether these are the first rows, the last rows.
        first: i32 = "int",
        last: i32 = "int",
        reserved: i32 = "int",
    }
}

/// What is kept of each problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cuda::strips) enum Wanted {
    Keep(Keep),
    /// The last cell.
    Corner,
}

impl Wanted {
    /// What tells where paths end.
    pub fn of(end: End) -> Self {
        match end {
            End::Best => Self::Keep(Keep::Best),
            End::Corner => Self::Corner,
        }
    }

    /// What is kept, or what it is a part of.
    pub fn keep(self) -> Keep {
        match self {
            Self::Keep(keep) => keep,
            Self::Corner => Keep::LastRow,
        }
    }

    /// Its number in the kernel.
    fn number(self) -> u32 {
        match self {
            Self::Keep(Keep::LastRow) => 1,
            Self::Keep(Keep::LastColumn) => 2,
            Self::Corner => 3,
            Self::Keep(Keep::Score) => 4,
            Self::Keep(_) => 0,
        }
    }

    /// The most rows that a lane owns, of cells of so many bytes: their choices fit a word. A best cell's place takes
    /// registers of its own.
    pub fn most_rows(self, cell: usize, recording: Option<&Recording>) -> u32 {
        let most = if self.number() == 0 { MOST_ROWS / 2 } else { MOST_ROWS };
        let most = (most as usize * 4 / cell.max(4)).max(1) as u32;
        recording.map_or(most, |recording| most.min(32 / recording.bits))
    }
}

/// CUDA C++ of the kernel for `element`, whose lanes own `rows` rows; cells outside differ if there are `lines`; choices
/// are told by the function that `recording` defines.
pub(super) fn source(
    element: &ElementType,
    wanted: Wanted,
    [rows, warps]: [u32; 2],
    lines: bool,
    recording: Option<&Recording>,
) -> String {
    let mut unit = Unit::new();
    let south = element.south;
    let [element, types] = names(&mut unit, element, Some(wanted.keep()));
    let kept = wanted.number();
    let choice = recording.map(|recording| (recording.define)(&mut unit));
    let choice = choice.map_or(String::new(), |name| format!("using ww_choice = {name};\n"));
    let directions = recording.map_or(0, |recording| recording.bits);
    let signature = [Problem::declaration(), Trail::declaration(), Arguments::declaration()];
    let signature = signature.concat() + &declaration(ALONE);
    let lines = u32::from(lines);
    format!(
        "{}
{element}{types}{choice}#define WW_DIRECTIONS {directions}
#define WW_KEEP {kept}
#define WW_ROWS {rows}
#define WW_WARPS {warps}
#define WW_LINES {lines}
#define WW_SOUTH {south}u
{signature}#include \"batch.cuh\"
",
        unit.source()
    )
}

/// What the skeleton may include.
pub(super) fn options() -> Options {
    Options::including(&[
        ("batch.cuh", include_str!("kernel/batch.cuh")),
        ("trails.cuh", include_str!("kernel/trails.cuh")),
        ("tables.cuh", include_str!("../kernel/tables.cuh")),
        ("neighbours.cuh", include_str!("../../neighbours.cuh")),
        ("words.cuh", include_str!("../../words.cuh")),
        ("rank.cuh", include_str!("../../rank.cuh")),
    ])
}

/// Warps of a block of a search: all read the same table.
pub(super) const SEARCH_WARPS: u32 = 4;

/// CUDA C++ of the kernel for problems of the same rows, of which a lane owns up to `rows`, or of those that prepare
/// searches, if none; cells have these `members`.
pub(super) fn search_source(element: &ElementType, members: &[&str], rows: Option<u32>) -> String {
    let mut unit = Unit::new();
    // Before the element's text, which names what it defines.
    unit.define("warpweft_wavefront::near", "near", |_, _| {
        let text = [include_str!("kernel/near.cuh"), include_str!("kernel/reach.cuh")];
        text.concat().replace("#pragma once", "")
    });
    let south = element.south;
    let member = if members.is_empty() { "" } else { element.member };
    let cells = ["near", "reach"].map(|number| match members {
        [] => format!("using ww_{number} = ww::{number};\n"),
        names => format!("struct ww_{number} {{ ww::{number} {}; }};\n", names.join(", ")),
    });
    let cells = cells.concat();
    let [element, types] = names(&mut unit, element, Some(Keep::Score));
    let signature = Item::declaration() + &Search::declaration();
    let (rows, skeleton) = rows.map_or((0, "prepare"), |rows| (rows, "search"));
    format!(
        "{}
{element}{types}{cells}#define ww_near_score(cell) ((cell){member})
#define WW_ROWS {rows}
#define WW_WARPS {SEARCH_WARPS}
#define WW_SOUTH {south}u
{signature}#include \"{skeleton}.cuh\"
",
        unit.source()
    )
}

/// What its skeleton may include.
pub(super) fn search_options() -> Options {
    Options::including(&[
        ("search.cuh", include_str!("kernel/search.cuh")),
        ("prepare.cuh", include_str!("kernel/prepare.cuh")),
        ("neighbours.cuh", include_str!("../../neighbours.cuh")),
        ("words.cuh", include_str!("../../words.cuh")),
    ])
}

/// Compiles the kernel of a search, or those that prepare searches if no `rows` of a lane are given, for `arch` without a
/// device; none if `E` has no form for it.
///
/// # Errors
/// The compiler's.
pub fn compile_search_check<E: WavefrontElement>(
    rows: Option<u32>,
    arch: &str,
) -> Result<Option<Cubin>> {
    if !E::PAIRED {
        return Ok(None);
    }
    let text = search_source(&ElementType::of::<E>(), E::Cell::NEAR_MEMBERS, rows);
    compile(&text, E::NAME, arch, &search_options()).map(Some)
}

/// Compiles the kernel of a batch for `arch` without a device: of the last cell of each problem alone if nothing
/// is to be kept.
///
/// # Errors
/// The compiler's.
pub fn compile_check<E: WavefrontElement>(
    keep: Option<Keep>,
    rows: u32,
    lines: bool,
    arch: &str,
) -> Result<Cubin> {
    let element = ElementType::of::<E>();
    let wanted = keep.map_or(Wanted::Corner, Wanted::Keep);
    let text = source(&element, wanted, [rows, super::WARPS], lines, None);
    compile(&text, E::NAME, arch, &options())
}

/// The same of the kernels that record choices of `element` and read paths off them.
///
/// # Errors
/// The compiler's.
pub fn compile_paths_check<E: Traced>(
    element: &E,
    end: End,
    rows: u32,
    arch: &str,
) -> Result<Cubin> {
    let recording = Recording::of(element);
    let plain = ElementType::of::<E::Plain>();
    let (wanted, lines) = (Wanted::of(end), end == End::Corner);
    let text = source(&plain, wanted, [rows, super::WARPS], lines, Some(&recording));
    compile(&text, E::NAME, arch, &options())
}
