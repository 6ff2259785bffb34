//! What letters and gaps are worth, and what follows from that.

use warpweft::error::{Error, Result};
use warpweft::wavefront::Border;

use super::recurrences::{Gapped, NONE, Unreached};
use super::{Ends, Scope};

/// What letters and gaps are worth. A gap of k letters adds `open + extend · (k − 1)`, as in
/// parasail: with `open = extend` the gap is linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Added when letters are equal.
    pub matching: i32,
    /// Added when they differ, or when one of them is ambiguous.
    pub mismatch: i32,
    /// Added for the first letter of a gap.
    pub open: i32,
    /// Added for each further letter of a gap.
    pub extend: i32,
}

impl Default for Weights {
    fn default() -> Self {
        Self::linear(2, -1, -1)
    }
}

impl Weights {
    /// With a linear gap.
    pub const fn linear(matching: i32, mismatch: i32, gap: i32) -> Self {
        Self { matching, mismatch, open: gap, extend: gap }
    }

    /// Whether each letter of a gap costs the same.
    pub fn is_linear(&self) -> bool {
        self.open == self.extend
    }

    /// Whether alignment makes sense with them.
    ///
    /// # Errors
    /// A match that is not rewarded, or a mismatch or gap that is; opening a gap for less than
    /// extending one.
    pub fn check(&self) -> Result<()> {
        let Self { matching, mismatch, open, extend } = *self;
        if matching <= 0 || mismatch > 0 || open > 0 || extend > 0 {
            return Err(Error::spec(
                format!(
                    "weights match {matching}, mismatch {mismatch}, gap {open} and {extend} a \
                     further letter"
                ),
                "give a positive match and no positive mismatch or gap",
            ));
        }
        if open > extend {
            return Err(Error::spec(
                format!("the first letter of a gap scores {open}, and further letters {extend}"),
                "make the first letter of a gap cost at least as much as a further letter",
            ));
        }
        Ok(())
    }

    /// Least and greatest number that local alignment of `rows` × `columns` letters can come upon.
    pub(super) fn local_bounds(&self, rows: u64, columns: u64) -> [f64; 2] {
        let least = f64::from(self.mismatch) + f64::from(self.open) + f64::from(self.extend);
        [least, f64::from(self.matching) * rows.min(columns) as f64]
    }

    /// The same of global alignment, one gap opened more than any needs.
    pub(super) fn global_bounds(&self, rows: u64, columns: u64) -> [f64; 2] {
        let gaps = f64::from(self.extend) * (rows + columns) as f64;
        let [least, greatest] = self.local_bounds(rows, columns);
        [3.0 * least + gaps, greatest]
    }

    /// The same with affine gaps: twice as low as `i32` goes is as low as [`NONE`], and scores stay above it.
    pub(super) fn gapped_global_bounds(&self, rows: u64, columns: u64) -> [f64; 2] {
        let [least, greatest] = self.global_bounds(rows, columns);
        [2.0 * least, greatest]
    }

    /// Whether 32 bits hold all scores of sequences of `rows` and `columns` letters.
    ///
    /// # Errors
    /// They may not.
    pub(super) fn check_lengths(
        &self,
        scope: Scope,
        banded: bool,
        [rows, columns]: [usize; 2],
    ) -> Result<()> {
        // Cells outside of a band are as low as gaps that were never opened.
        let of = match (scope, self.is_linear() && !banded) {
            (Scope::Local, _) => Self::local_bounds,
            (_, true) => Self::global_bounds,
            (_, false) => Self::gapped_global_bounds,
        };
        let [least, greatest] = of(self, rows as u64, columns as u64);
        if least >= f64::from(i32::MIN) && greatest <= f64::from(i32::MAX) {
            return Ok(());
        }
        Err(Error::spec(
            format!(
                "scores of {rows} letters with {columns} may be {least} to {greatest}, more than 32 bits hold"
            ),
            "choose a match, mismatch and gap nearer to 0, or align shorter sequences",
        ))
    }

    /// The gap of `letters` letters, 0 for none.
    fn gap(&self, letters: isize) -> i32 {
        match i32::try_from(letters) {
            Ok(letters @ 1..) => self.open.wrapping_add(self.extend.wrapping_mul(letters - 1)),
            _ => 0,
        }
    }

    /// What cells outside hold, of recurrences with a linear gap.
    pub(super) fn border(self, scope: Scope, band: Option<usize>) -> Border<i32> {
        if same_everywhere(scope, band) {
            return Border::Value(0);
        }
        Border::function(move |i, j| match outside(band, i, j) {
            true => NONE,
            false => self.before(scope, i, j),
        })
    }

    /// What letters before the alignment score, at cell `[i, j]` outside.
    fn before(&self, scope: Scope, i: isize, j: isize) -> i32 {
        let Ends { query: [query, _], target: [target, _] } = scope.ends();
        let gap = |free: bool, letters| if free { 0 } else { self.gap(letters) };
        gap(query, i + 1) + gap(target, j + 1)
    }

    /// The same with affine gaps.
    pub(super) fn gapped_border(self, scope: Scope, band: Option<usize>) -> Border<Gapped> {
        if same_everywhere(scope, band) {
            return Border::Value(Gapped { h: 0, e: self.open, f: self.open });
        }
        Border::function(move |i, j| {
            let h = self.before(scope, i, j);
            // A gap that costs nothing is none that goes on.
            let Ends { query: [query, _], target: [target, _] } = scope.ends();
            if outside(band, i, j) {
                return Gapped::UNREACHED;
            }
            let further = |goes_on: bool| match goes_on {
                true => h.wrapping_add(self.open.max(self.extend)),
                false => h.wrapping_add(self.open),
            };
            Gapped { h, e: further(i < 0 && j >= 0 && !target), f: further(i >= 0 && !query) }
        })
    }
}

/// Whether all cells outside hold the same: in a band, too, where nothing is gained by what lies outside of it.
fn same_everywhere(scope: Scope, band: Option<usize>) -> bool {
    match scope {
        Scope::Local => true,
        Scope::Free(Ends { query: [true, _], target: [true, _] }) => band.is_none(),
        _ => false,
    }
}

/// Whether cell `[i, j]` outside of the domain lies outside of the band, too.
fn outside(band: Option<usize>, i: isize, j: isize) -> bool {
    band.is_some_and(|band| (j - i).unsigned_abs() > band)
}
