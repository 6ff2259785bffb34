//! The elements of the suite, each with its inputs and border, on one executor.

use super::super::executor::WavefrontExecutor;
use super::{AffineCell, AffineLocal, Inputs, KEEPS, Local, Mix, Warp, conforms};

/// Runs every element of the suite over [`super::EXTENTS`] × [`KEEPS`] × two borders on `executor`;
/// returns each element's name with the cases that passed, or its first difference in words.
pub fn suite<X>(executor: &mut X) -> [(&'static str, Result<usize, String>); 4]
where
    X: WavefrontExecutor<Mix>
        + WavefrontExecutor<Local>
        + WavefrontExecutor<Warp>
        + WavefrontExecutor<AffineLocal>,
{
    let (word, half) = (|i: &mut Inputs| i.bits() as u32, |i: &mut Inputs| i.bits() as u16);
    let letter = |inputs: &mut Inputs| inputs.one_of(b"ACGT");
    let sample = |inputs: &mut Inputs| (inputs.bits() % 1000) as f32 / 8.0;
    let mixed = |i: isize, j: isize| (i * 31 + j * 7) as u64;
    let corner = |i, j| if (i, j) == (-1, -1) { 0.0 } else { f32::INFINITY };
    let open = |_, _| AffineCell { h: 0, e: -1_000_000, f: -1_000_000 };
    let local = Local { matching: 2, mismatch: -1, gap: -1 };
    let affine = AffineLocal { matching: 2, mismatch: -3, open: -5, extend: -1 };
    [
        ("mixture of u64", conforms(executor, Mix { salt: 99 }, &KEEPS, word, half, mixed)),
        ("local alignment, i32", conforms(executor, local, &KEEPS, letter, letter, |_, _| 0)),
        ("time warping, f32", conforms(executor, Warp, &KEEPS, sample, sample, corner)),
        ("affine gaps, a struct", conforms(executor, affine, &KEEPS, letter, letter, open)),
    ]
}
