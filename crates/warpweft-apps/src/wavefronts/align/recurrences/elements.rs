//! The recurrences with a linear gap: plain, and in the form that the device computes fastest.

use warpweft::element::Unit;
use warpweft::wavefront::{Dependence, Earlier, Relative, WavefrontElement, wavefront};

use crate::align::Weights;

/// Smith-Waterman over any letters. Of the three terms only the one to the north waits for the row
/// above, so it comes last.
#[wavefront(bounds = letters_bounds, step = letters_step)]
pub fn letters(
    h: Earlier<i32>,
    #[row] a: u8,
    #[column] b: u8,
    matching: i32,
    mismatch: i32,
    below: i32,
    right: i32,
) -> i32 {
    let pair = if a == b { matching } else { mismatch };
    (h.n + below).max((h.nw + pair).max(h.w + right).max(0))
}

fn letters_bounds(of: &letters, rows: u64, columns: u64) -> [f64; 2] {
    Weights::linear(of.matching, of.mismatch, of.below).local_bounds(rows, columns)
}

/// Two neighbours differ by a match and a gap at most, and a sum by what is added.
fn letters_step(of: &letters, border: i32) -> Option<u32> {
    let letters { matching, mismatch, below, right, .. } = *of;
    let step = i64::from(matching.max(0)) - i64::from(mismatch.min(below).min(right).min(0));
    let known = border == 0 && below.max(right) <= 0 && mismatch <= matching;
    u32::try_from(step).ok().filter(|_| known)
}

impl letters {
    /// With these weights, whose gap is linear.
    pub fn with(weights: Weights) -> Self {
        letters(weights.matching, weights.mismatch, weights.extend, weights.extend)
    }
}

/// Needleman-Wunsch (1970) with a linear gap: the best alignment of both sequences whole.
#[wavefront(bounds = global_letters_bounds)]
pub fn global_letters(
    h: Earlier<i32>,
    #[row] a: u8,
    #[column] b: u8,
    matching: i32,
    mismatch: i32,
    below: i32,
    right: i32,
) -> i32 {
    let pair = if a == b { matching } else { mismatch };
    (h.n + below).max((h.nw + pair).max(h.w + right))
}

fn global_letters_bounds(of: &global_letters, rows: u64, columns: u64) -> [f64; 2] {
    Weights::linear(of.matching, of.mismatch, of.below).global_bounds(rows, columns)
}

impl global_letters {
    /// With these weights, whose gap is linear.
    pub fn with(weights: Weights) -> Self {
        global_letters(weights.matching, weights.mismatch, weights.extend, weights.extend)
    }
}

/// Smith-Waterman over `ACGT` in the columns and any letters in the rows.
///
/// On the device a row's letter becomes its four scores, one a byte, and a column's letter a one in
/// its byte: the dot product with the cell to the north-west added is one instruction, off the
/// pipe that computes maxima. The two gap weights are equal, but two parameters, so that the
/// compiler adds within the maximum (one instruction from row to row, not two).
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Dna(letters);

impl Dna {
    /// Whether the weights fit a byte.
    pub fn can(weights: &Weights) -> bool {
        i8::try_from(weights.matching).is_ok() && i8::try_from(weights.mismatch).is_ok()
    }

    /// With these weights, for which [`Dna::can`] holds and whose gap is linear.
    pub fn new(weights: Weights) -> Self {
        Self(letters::with(weights))
    }

    /// The same over any letters.
    pub(super) fn letters(&self) -> &letters {
        &self.0
    }
}

// SAFETY: the C++ struct has the four members in order; nothing is read through the inputs.
unsafe impl WavefrontElement for Dna {
    type Cell = i32;
    type Row = u8;
    type Column = u8;
    type Input = ();
    type Earlier = <letters as WavefrontElement>::Earlier;
    type Old = [i32; 0];
    const NAME: &'static str = "smith_waterman_dna";
    const DEPENDENCES: &'static [Dependence] = letters::DEPENDENCES;
    const PAIRED: bool = true;

    #[inline(always)]
    fn cell(&self, h: Self::Earlier, old: [i32; 0], a: u8, b: u8, x: ()) -> i32 {
        WavefrontElement::cell(&self.0, h, old, a, b, x)
    }

    fn alike(&self, other: &Self) -> bool {
        self.0.alike(&other.0)
    }

    fn bounds(&self, rows: u64, columns: u64) -> Option<[f64; 2]> {
        self.0.bounds(rows, columns)
    }

    fn step(&self, border: i32) -> Option<u32> {
        self.0.step(border)
    }

    const RELATIVE: bool = letters::RELATIVE;

    #[inline(always)]
    fn relative(&self, h: [Relative; 3], a: u8, b: u8, x: ()) -> Relative {
        self.0.relative(h, a, b, x)
    }

    fn cuda(unit: &mut Unit) -> String {
        unit.define("warpweft_apps::align::Dna", "smith_waterman_dna", |_, name| {
            format!(
                "struct {name} {{
  ww::i32 matching, mismatch, below, right;
  using Row = ww::u32;
  using Column = ww::u32;
  WW_FN ww::u32 score(ww::u8 a, ww::u8 letter) const {{
    return ww::u8(a == letter ? matching : mismatch);
  }}
  WW_FN Row row(ww::u8 a) const {{
    return score(a, 'A') | score(a, 'C') << 8 | score(a, 'G') << 16 | score(a, 'T') << 24;
  }}
  WW_FN Column column(ww::u8 b) const {{
    return b == 'A' ? 1u : b == 'C' ? 1u << 8 : b == 'G' ? 1u << 16 : 1u << 24;
  }}
  template<class Earlier> WW_FN ww::i32 operator()(const Earlier& h, Row a, Column b) const {{
    const ww::i32 pair = __dp4a(ww::i32(a), ww::i32(b), h.template at<-1, -1>());
    return max(h.template at<-1, 0>() + below, max(max(h.template at<0, -1>() + right, pair), 0));
  }}
  WW_FN ww::i32 pair(Row a, Column b) const {{ return __dp4a(ww::i32(a), ww::i32(b), 0); }}
  template<class Near, class Earlier, class Pair> WW_FN Near joined(const Earlier& h, Pair pair) const {{
    const auto paired = ww::add(h.template at<-1, -1>(), pair);
    const auto rest = ww::max(ww::max(ww::add(h.template at<0, -1>(), right), paired), 0);
    return ww::max(ww::add(h.template at<-1, 0>(), below), rest);
  }}
}};
"
            )
        })
    }
}
