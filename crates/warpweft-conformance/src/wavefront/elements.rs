//! Recurrences of every kind: cells, inputs, dependences and sweeps.

use warpweft::element::Device;
use warpweft::wavefront::{Earlier, Old, Ranked, wavefront};

/// A wrapping mixture of everything a cell reads: any cell or input out of place changes it. `salt`
/// is added to every cell.
#[wavefront]
pub fn mix(h: Earlier<u64>, #[row] a: u32, #[column] b: u16, salt: u64) -> u64 {
    let mixed = h.nw.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ h.n.wrapping_mul(0xbf58_476d_1ce4_e5b9)
        ^ h.w.wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 29)).wrapping_add(u64::from(a) * 5 + u64::from(b)).wrapping_add(salt)
}

/// Smith-Waterman with a linear gap: what equal letters, different ones and a letter against nothing
/// add.
#[wavefront(bounds = local_bounds, step = local_step)]
pub fn local(
    h: Earlier<i32>,
    #[row] a: u8,
    #[column] b: u8,
    matching: i32,
    mismatch: i32,
    gap: i32,
) -> i32 {
    let pair = if a == b { matching } else { mismatch };
    (h.n + gap).max((h.nw + pair).max(h.w + gap).max(0))
}

fn local_bounds(of: &local, rows: u64, columns: u64) -> [f64; 2] {
    let least = of.mismatch.min(of.gap).min(0);
    [f64::from(least), f64::from(of.matching) * rows.min(columns) as f64]
}

/// Two neighbours differ by a match and a gap at most, and a sum by what is added.
fn local_step(of: &local, border: i32) -> Option<u32> {
    let step = i64::from(of.matching.max(0)) - i64::from(of.mismatch.min(of.gap).min(0));
    let known = border == 0 && of.gap <= 0 && of.mismatch <= of.matching;
    u32::try_from(step).ok().filter(|_| known)
}

/// Local alignment by a slice of scores, `width` a row.
#[wavefront(bounds = sliced_bounds)]
pub fn sliced(
    h: Earlier<i32>,
    #[row] a: u8,
    #[column] b: u16,
    scores: &[i16],
    width: u32,
    gap: i32,
) -> i32 {
    let pair = scores[a as usize * width as usize + b as usize] as i32;
    (h.n + gap).max((h.nw + pair).max(h.w + gap).max(0))
}

fn sliced_bounds(of: &sliced<'_>, rows: u64, columns: u64) -> [f64; 2] {
    [f64::from(of.gap) - 30.0, 30.0 * rows.min(columns) as f64]
}

/// Dynamic time warping: |a − b| plus the least of three.
#[wavefront]
pub fn warp(h: Earlier<f32>, #[row] a: f32, #[column] b: f32) -> f32 {
    (a - b).abs() + h.n.min(h.w).min(h.nw)
}

/// A cell of Gotoh's recurrence: the best score, and the best that ends in a gap either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Device, Ranked)]
#[repr(C)]
pub struct AffineCell {
    /// Best score that ends here.
    #[score]
    pub h: i32,
    /// .. with a gap along the row.
    pub e: i32,
    /// .. with a gap along the column.
    pub f: i32,
}

/// Smith-Waterman with affine gaps (Gotoh 1982), a struct of three a cell: `open` is added for the
/// first letter of a gap, `extend` for each further one.
#[wavefront(step = affine_local_step)]
pub fn affine_local(
    before: Earlier<AffineCell>,
    #[row] a: u8,
    #[column] b: u8,
    matching: i32,
    mismatch: i32,
    open: i32,
    extend: i32,
) -> AffineCell {
    let pair = if a == b { matching } else { mismatch };
    let e = (before.w.h + open).max(before.w.e + extend);
    let f = (before.n.h + open).max(before.n.f + extend);
    AffineCell { h: (before.nw.h + pair).max(e).max(f).max(0), e, f }
}

/// Two neighbours' scores differ by a match and the first letter of a gap at most, and those of gaps lie between the
/// best score and the cell's before with the first letter.
fn affine_local_step(of: &affine_local, border: AffineCell) -> Option<u32> {
    let affine_local { matching, mismatch, open, extend } = *of;
    let step = i64::from(matching.max(0)) - i64::from(mismatch.min(open).min(extend).min(0));
    let known = border.h == 0 && border.e.max(border.f) <= 0;
    u32::try_from(step).ok().filter(|_| known && open.max(extend) <= 0 && mismatch <= matching)
}

/// A summed area table: the input of each cell, and no other.
#[wavefront(sums)]
pub fn area(h: Earlier<i32>, #[cell] pixel: u8) -> i32 {
    h.n + (h.w - h.nw + pixel as i32)
}

/// A wrapping mixture of cells further away, in every direction that is earlier.
#[wavefront]
pub fn far(h: Earlier<u32>, #[row] a: u16, #[column] b: u8, #[cell] x: u32, salt: u32) -> u32 {
    let mut mixed = salt ^ x.rotate_left(7);
    for d in 1..=3 {
        mixed = mixed.wrapping_mul(0x85eb_ca6b) ^ h[[-2, d - 1]] ^ h[[0, -d]].rotate_left(3);
    }
    mixed ^= h.ne.wrapping_mul(0xc2b2_ae35) ^ h[[-1, -2]];
    (mixed ^ (mixed >> 15)).wrapping_add(a as u32 * 31 + b as u32)
}

/// Gauss-Seidel for the heat equation with a source: two new neighbours, two old ones.
#[wavefront]
pub fn relax(u: Earlier<f32>, old: Old<f32>, #[cell] source: f32, omega: f32) -> f32 {
    let mean = 0.25 * (u.n + u.w + old.e + old.s + source);
    old.c + omega * (mean - old.c)
}

/// A wrapping mixture of new and old cells further away.
#[wavefront]
pub fn remix(h: Earlier<u32>, old: Old<u32>, #[row] a: u32, #[column] b: u32) -> u32 {
    let new = h.n.wrapping_mul(0x85eb_ca6b) ^ h[[-2, 1]].rotate_left(5) ^ h[[0, -2]];
    let before = old.c.wrapping_mul(0xc2b2_ae35) ^ old[[2, -3]].rotate_left(9) ^ old[[0, 2]];
    let mixed = new ^ before ^ old.se;
    (mixed ^ (mixed >> 13)).wrapping_add(a * 7 + b)
}
