//! When two cells of 16 bits may share a register.
//!
//! All numbers that a warp holds at one time lie within the element's step times the cells between
//! them, of one base: where that fits 16 bits, packed cells are exact.

use crate::policy::CudaPolicy;
use crate::spec::{Erased, Keep};
use warpweft_core::element::{ScalarKind, Unit};
use warpweft_core::error::{Error, Result};

/// The farthest from its base that a number of 16 bits may be, with a margin: the least stands for
/// none.
const FARTHEST: u64 = 32_000;
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
    let number = matches!(element.score, ScalarKind::I16 | ScalarKind::I32) && element.is_number();
    if !number || (element.packed)(&mut Unit::new()).is_none() {
        return refuse("the element has no form for it".into());
    }
    if wavefront.element.input > 0 {
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
    // Rows and columns between the farthest two cells of a warp, which may lag by a chunk more.
    let cells = 64 * policy.rows + policy.lag() + WINDOW + 2 * policy.chunk;
    let spread = u64::from(step) * (u64::from(cells) + 2);
    if spread > FARTHEST {
        return refuse(format!(
            "its cells differ by up to {spread}, which 16 bits hold to {FARTHEST}"
        ));
    }
    Ok(())
}
