//! When two cells of 16 bits may share a register.
//!
//! All numbers that a warp holds at one time lie within the element's step times the cells between
//! them, of one base: where that fits 16 bits, pairs are exact.

use crate::element::{Scalar, ScalarKind, Unit};
use crate::error::{Error, Result};
use crate::wavefront::{Border, CudaPolicy, Keep, Ranked, Wavefront, WavefrontElement};

/// The farthest from its base that a number of 16 bits may be, with a margin: the least stands for
/// none.
const FARTHEST: u64 = 32_000;
/// Columns between two bases, as `WINDOW` in `layout.cuh`.
const WINDOW: u32 = 128;

/// Whether pairs of this shape compute `wavefront` exactly, if its `edges` are not kept beside.
///
/// # Errors
/// What stands against it.
pub(super) fn check<E: WavefrontElement>(
    wavefront: &Wavefront<'_, E>,
    policy: &CudaPolicy,
    edges: bool,
) -> Result<()> {
    let refuse = |what: String| {
        let error = format!("two cells of {} a register: {what}", E::NAME);
        Err(Error::spec(error, "set `pairs` of the policy to false"))
    };
    let kind = <<E::Cell as Ranked>::Score as Scalar>::KIND;
    let number = matches!(kind, ScalarKind::I16 | ScalarKind::I32)
        && <E::Cell as Ranked>::MEMBER.is_empty()
        && size_of::<E::Cell>() == kind.size();
    let mut unit = Unit::new();
    if !number || E::cuda_pairs(&mut unit).is_none() {
        return refuse("the element has no form for it".into());
    }
    if edges {
        return refuse("it keeps the last row and column".into());
    }
    if !matches!(wavefront.keep, Keep::Best | Keep::Score) {
        return refuse(format!("it keeps {:?}", wavefront.keep));
    }
    let Border::Value(border) = wavefront.border else {
        return refuse("the border is not the same everywhere".into());
    };
    let Some(step) = wavefront.element.step(border) else {
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
