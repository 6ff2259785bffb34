//! When two cells of 16 bits may share a register.
//!
//! All numbers that a warp holds at one time lie within the element's step times the cells between
//! them, of one base: where that fits 16 bits, packed cells are exact.

use crate::policy::CudaPolicy;
use crate::spec::{ElementType, Erased, Keep};
use warpweft_core::element::{ScalarKind, Unit};
use warpweft_core::error::{Error, Result};

/// The farthest from its base that a number of 16 bits may be, with a margin: the least stands for
/// none.
const FARTHEST: u64 = 32_000;
/// The most that a row and a column may give, which is a byte. It is a number on the way to a cell.
const BYTE: u32 = 127;
/// Columns between two bases, as `WINDOW` in `layout.cuh`.
const WINDOW: u32 = 128;

/// Whether packed 16×2 cells of this shape compute `wavefront` exactly, if its `edges` are not kept as well.
///
/// # Errors
/// What stands against it.
pub(super) fn check(wavefront: &Erased<'_>, policy: &CudaPolicy, edges: bool) -> Result<()> {
    let element = &wavefront.element;
    let refuse = |what: String| {
        let error = format!("two cells of {} a register: {what}", element.name);
        Err(Error::spec(error, "set `packed_16x2` of the policy to false"))
    };
    let numbers =
        element.score == ScalarKind::I32 && element.cell == 4 * element.members.len().max(1);
    if !numbers || !element.packs {
        return refuse("the element has no form for it".into());
    }
    if element.input > 0 {
        return refuse("cells have inputs".into());
    }
    if edges {
        return refuse("it keeps the last row and column".into());
    }
    if !matches!(wavefront.keep, Keep::Best | Keep::Score) {
        return refuse(format!("it keeps {:?}", wavefront.keep));
    }
    if wavefront.border.value().is_none() {
        return refuse("the border is not the same everywhere".into());
    }
    let Some(step) = wavefront.known.step() else {
        return refuse("how far neighbours differ is not known".into());
    };
    if step > BYTE {
        return refuse(format!(
            "its cells differ by up to {step}, but the score of a pair of inputs must fit into a byte"
        ));
    }
    // Rows and columns between the farthest two cells of a warp, which may lag by a chunk more.
    let cells = 64 * policy.rows + policy.lag() + WINDOW + 2 * policy.chunk;
    let spread = u64::from(step) * (u64::from(cells) + 2);
    if spread > FARTHEST {
        return refuse(format!(
            "its cells differ by up to {spread}, but 16 bits hold differences of up to {FARTHEST}"
        ));
    }
    if element.column != 1 || symbols(wavefront.columns).is_none() {
        return refuse("the columns have more than four symbols of a byte".into());
    }
    Ok(())
}

/// The symbols of columns that are bytes, a byte each, if there are four at most.
pub(super) fn symbols(columns: &[u8]) -> Option<u32> {
    let mut present = [false; 256];
    columns.iter().for_each(|&symbol| present[usize::from(symbol)] = true);
    let all: Vec<_> = (0..=u8::MAX).filter(|&symbol| present[usize::from(symbol)]).collect();
    let word = all.iter().rev().fold(0, |word, &symbol| word << 8 | u32::from(symbol));
    (all.len() <= 4).then_some(word)
}

/// Defines the numbers of packed cells in `unit`, before the text of the element, which names what they define; the
/// line that names a cell of them.
pub(super) fn define(unit: &mut Unit, element: &ElementType) -> String {
    unit.define("warpweft_wavefront::based", "based", |_, _| {
        let text = [include_str!("batch/kernel/near.cuh"), include_str!("kernel/based.cuh")];
        text.concat().replace("#pragma once", "")
    });
    match element.members {
        [] => "using ww_based = ww::based;\n".into(),
        names => format!("struct ww_based {{ ww::based {}; }};\n", names.join(", ")),
    }
}
