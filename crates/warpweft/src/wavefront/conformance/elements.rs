//! Recurrences of every kind of cell, written by hand against the contract.

use crate::element::{DeviceType, Unit};
use crate::wavefront::dependence::Dependence;
use crate::wavefront::{Earlier, Ranked, WavefrontElement};

const ALL: &[Dependence] = &[[-1, -1], [-1, 0], [0, -1]];

/// A wrapping mixture of everything a cell reads: any cell or input out of place changes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Mix {
    /// Added to every cell.
    pub salt: u64,
}

// SAFETY: the C++ struct has the one member `salt`; nothing is read through the inputs.
unsafe impl WavefrontElement for Mix {
    type Cell = u64;
    type Row = u32;
    type Column = u16;
    const NAME: &'static str = "mix";
    const DEPENDENCES: &'static [Dependence] = ALL;

    #[inline(always)]
    fn cell(&self, h: Earlier<u64>, a: u32, b: u16) -> u64 {
        let mixed = h.nw.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ h.n.wrapping_mul(0xbf58_476d_1ce4_e5b9)
            ^ h.w.wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 29))
            .wrapping_add(u64::from(a) * 5 + u64::from(b))
            .wrapping_add(self.salt)
    }

    fn cuda(unit: &mut Unit) -> String {
        unit.define("warpweft::wavefront::conformance::Mix", "mix", |_, name| {
            format!(
                "struct {name} {{
  ww::u64 salt;
  using Row = ww::u32;
  using Column = ww::u16;
  WW_FN Row row(ww::u32 a) const {{ return a; }}
  WW_FN Column column(ww::u16 b) const {{ return b; }}
  template<class Earlier> WW_FN ww::u64 operator()(const Earlier& h, Row a, Column b) const {{
    const ww::u64 nw = h.template at<-1, -1>(), n = h.template at<-1, 0>(), w = h.template at<0, -1>();
    const ww::u64 mixed = nw * 0x9e3779b97f4a7c15ull ^ n * 0xbf58476d1ce4e5b9ull ^ w * 0x94d049bb133111ebull;
    return (mixed ^ (mixed >> 29)) + (ww::u64(a) * 5 + b) + salt;
  }}
}};
"
            )
        })
    }
}

/// Smith-Waterman with a linear gap.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Local {
    /// Added when letters are equal.
    pub matching: i32,
    /// Added when they differ.
    pub mismatch: i32,
    /// Added for a letter against nothing.
    pub gap: i32,
}

// SAFETY: the C++ struct has the three members in order; nothing is read through the inputs.
unsafe impl WavefrontElement for Local {
    type Cell = i32;
    type Row = u8;
    type Column = u8;
    const NAME: &'static str = "local";
    const DEPENDENCES: &'static [Dependence] = ALL;

    #[inline(always)]
    fn cell(&self, h: Earlier<i32>, a: u8, b: u8) -> i32 {
        let pair = if a == b { self.matching } else { self.mismatch };
        (h.n + self.gap).max((h.nw + pair).max(h.w + self.gap).max(0))
    }

    fn cuda(unit: &mut Unit) -> String {
        unit.define("warpweft::wavefront::conformance::Local", "local", |_, name| {
            format!(
                "struct {name} {{
  ww::i32 matching, mismatch, gap;
  using Row = ww::u8;
  using Column = ww::u8;
  WW_FN Row row(ww::u8 a) const {{ return a; }}
  WW_FN Column column(ww::u8 b) const {{ return b; }}
  template<class Earlier> WW_FN ww::i32 operator()(const Earlier& h, Row a, Column b) const {{
    const ww::i32 pair = a == b ? matching : mismatch;
    const ww::i32 rest = max(max(h.template at<-1, -1>() + pair, h.template at<0, -1>() + gap), 0);
    return max(h.template at<-1, 0>() + gap, rest);
  }}
}};
"
            )
        })
    }
}

/// Dynamic time warping: |a − b| plus the least of three.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Warp;

// SAFETY: the C++ struct has no members; nothing is read through the inputs.
unsafe impl WavefrontElement for Warp {
    type Cell = f32;
    type Row = f32;
    type Column = f32;
    const NAME: &'static str = "warp";
    const DEPENDENCES: &'static [Dependence] = ALL;

    #[inline(always)]
    fn cell(&self, h: Earlier<f32>, a: f32, b: f32) -> f32 {
        (a - b).abs() + h.n.min(h.w).min(h.nw)
    }

    fn cuda(unit: &mut Unit) -> String {
        unit.define("warpweft::wavefront::conformance::Warp", "warp", |_, name| {
            format!(
                "struct {name} {{
  using Row = ww::f32;
  using Column = ww::f32;
  WW_FN Row row(ww::f32 a) const {{ return a; }}
  WW_FN Column column(ww::f32 b) const {{ return b; }}
  template<class Earlier> WW_FN ww::f32 operator()(const Earlier& h, Row a, Column b) const {{
    return fabsf(a - b) + fminf(fminf(h.template at<-1, 0>(), h.template at<0, -1>()), h.template at<-1, -1>());
  }}
}};
"
            )
        })
    }
}

/// A cell of Gotoh's recurrence: the best score, and the best that ends in a gap either way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct AffineCell {
    /// Best score that ends here.
    pub h: i32,
    /// .. with a gap along the row.
    pub e: i32,
    /// .. with a gap along the column.
    pub f: i32,
}

impl DeviceType for AffineCell {
    fn cuda(unit: &mut Unit) -> String {
        unit.define("warpweft::wavefront::conformance::AffineCell", "affine_cell", |_, name| {
            format!("struct {name} {{ ww::i32 h, e, f; }};\n")
        })
    }
    fn cuda_value(&self, unit: &mut Unit) -> String {
        let members = [self.h, self.e, self.f].map(|member| member.cuda_value(unit));
        format!("{}{{{}}}", Self::cuda(unit), members.join(", "))
    }
}

// SAFETY: `.h` is the member that `score` reads, an `i32`.
unsafe impl Ranked for AffineCell {
    type Score = i32;
    const MEMBER: &'static str = ".h";
    #[inline(always)]
    fn score(&self) -> i32 {
        self.h
    }
}

/// Smith-Waterman with affine gaps (Gotoh 1982): a struct of three a cell.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AffineLocal {
    /// Added when letters are equal.
    pub matching: i32,
    /// Added when they differ.
    pub mismatch: i32,
    /// Added for the first letter of a gap.
    pub open: i32,
    /// Added for each further one.
    pub extend: i32,
}

// SAFETY: the C++ struct has the four members in order; nothing is read through the inputs.
unsafe impl WavefrontElement for AffineLocal {
    type Cell = AffineCell;
    type Row = u8;
    type Column = u8;
    const NAME: &'static str = "affine_local";
    const DEPENDENCES: &'static [Dependence] = ALL;

    #[inline(always)]
    fn cell(&self, before: Earlier<AffineCell>, a: u8, b: u8) -> AffineCell {
        let pair = if a == b { self.matching } else { self.mismatch };
        let e = (before.w.h + self.open).max(before.w.e + self.extend);
        let f = (before.n.h + self.open).max(before.n.f + self.extend);
        AffineCell { h: (before.nw.h + pair).max(e).max(f).max(0), e, f }
    }

    fn cuda(unit: &mut Unit) -> String {
        unit.define(
            "warpweft::wavefront::conformance::AffineLocal",
            "affine_local",
            |unit, name| {
                let cell = AffineCell::cuda(unit);
                format!(
                    "struct {name} {{
  ww::i32 matching, mismatch, open, extend;
  using Row = ww::u8;
  using Column = ww::u8;
  WW_FN Row row(ww::u8 a) const {{ return a; }}
  WW_FN Column column(ww::u8 b) const {{ return b; }}
  template<class Earlier> WW_FN {cell} operator()(const Earlier& h, Row a, Column b) const {{
    const {cell} n = h.template at<-1, 0>(), w = h.template at<0, -1>();
    const ww::i32 e = max(w.h + open, w.e + extend);
    const ww::i32 f = max(n.h + open, n.f + extend);
    const ww::i32 pair = a == b ? matching : mismatch;
    return {cell}{{max(max(h.template at<-1, -1>().h + pair, e), max(f, 0)), e, f}};
  }}
}};
"
                )
            },
        )
    }
}
