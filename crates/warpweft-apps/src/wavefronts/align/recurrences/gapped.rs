//! The recurrences with affine gaps: three scores a cell.

use warpweft::element::Device;
use warpweft::wavefront::{Earlier, Ranked, wavefront};

use crate::align::Weights;

/// Below every score that can arise, with room for one more gap.
pub const NONE: i32 = -(1 << 30);

/// A cell of Gotoh's recurrence (1982). Gaps are held as the next cell takes them: the sum of score and `open` then
/// serves both of them, and is computed once a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Device, Ranked)]
#[repr(C)]
pub struct Gapped {
    /// Best score of alignments that end here.
    #[score]
    pub h: i32,
    /// Of those that end one letter of the target further on, with it against nothing.
    pub e: i32,
    /// Of those that end one letter of the query further on, with it against nothing.
    pub f: i32,
}

/// A cell that no alignment leads to.
pub trait Unreached {
    /// Below every score that can arise.
    const UNREACHED: Self;
}

impl Unreached for i32 {
    const UNREACHED: Self = NONE;
}

impl Unreached for Gapped {
    const UNREACHED: Self = Self { h: NONE, e: NONE, f: NONE };
}

/// Smith-Waterman with affine gaps: `open` is added for the first letter of a gap, `extend` for each
/// further one.
#[wavefront(bounds = affine_bounds, step = affine_step)]
pub fn affine(
    before: Earlier<Gapped>,
    #[row] a: u8,
    #[column] b: u8,
    matching: i32,
    mismatch: i32,
    open: i32,
    extend: i32,
) -> Gapped {
    let pair = if a == b { matching } else { mismatch };
    let (e, f) = (before.w.e, before.n.f);
    let h = f.max((before.nw.h + pair).max(e).max(0));
    let opened = h + open;
    Gapped { h, e: opened.max(e + extend), f: opened.max(f + extend) }
}

fn affine_bounds(of: &affine, rows: u64, columns: u64) -> [f64; 2] {
    let affine { matching, mismatch, open, extend } = *of;
    Weights { matching, mismatch, open, extend }.local_bounds(rows, columns)
}

/// Two neighbours' scores differ by a match and the first letter of a gap at most. Every score of a gap lies between
/// the cell's own and that with the gap's first letter.
fn affine_step(of: &affine, border: Gapped) -> Option<u32> {
    let affine { matching, mismatch, open, extend } = *of;
    let least = mismatch.min(open).min(extend).min(0);
    let step = i64::from(matching.max(0)) - i64::from(least);
    let known = border == Gapped { h: 0, e: open, f: open } && open.max(extend) <= 0;
    u32::try_from(step).ok().filter(|_| known && mismatch <= matching)
}

impl affine {
    /// With these weights.
    pub fn with(weights: Weights) -> Self {
        let Weights { matching, mismatch, open, extend } = weights;
        affine(matching, mismatch, open, extend)
    }
}

/// Needleman-Wunsch with affine gaps: both sequences whole.
#[wavefront(bounds = global_affine_bounds)]
pub fn global_affine(
    before: Earlier<Gapped>,
    #[row] a: u8,
    #[column] b: u8,
    matching: i32,
    mismatch: i32,
    open: i32,
    extend: i32,
) -> Gapped {
    let pair = if a == b { matching } else { mismatch };
    let (e, f) = (before.w.e, before.n.f);
    let h = f.max((before.nw.h + pair).max(e));
    let opened = h + open;
    Gapped { h, e: opened.max(e + extend), f: opened.max(f + extend) }
}

fn global_affine_bounds(of: &global_affine, rows: u64, columns: u64) -> [f64; 2] {
    let global_affine { matching, mismatch, open, extend } = *of;
    Weights { matching, mismatch, open, extend }.gapped_global_bounds(rows, columns)
}

impl global_affine {
    /// With these weights.
    pub fn with(weights: Weights) -> Self {
        let Weights { matching, mismatch, open, extend } = weights;
        global_affine(matching, mismatch, open, extend)
    }
}
