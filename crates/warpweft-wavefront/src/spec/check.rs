//! Whether a computation is well posed.

use super::{Band, ElementType, Erased, Keep, MAX_EXTENT};
use crate::recurrence::{Interval, Lookup, Reach, legal};
use warpweft_core::element::ScalarKind;
use warpweft_core::error::{Error, Result};

impl Erased<'_> {
    /// As [`Wavefront::check`](super::Wavefront::check).
    pub fn check(&self) -> Result<()> {
        let ElementType { name, dependences, old, .. } = self.element;
        legal(dependences, old)?;
        for (what, n) in ["rows", "columns"].into_iter().zip(self.extents) {
            if n == 0 || n > MAX_EXTENT {
                return Err(Error::spec(
                    format!("{n} {what} for {name}"),
                    format!("give 1 to {MAX_EXTENT}"),
                ));
            }
        }
        self.check_border()?;
        if let Some(Band { lower, upper, .. }) = self.band
            && lower > upper
        {
            return Err(Error::spec(
                format!("a band from diagonal {lower} to {upper}"),
                "give the lower diagonal (j - i) first",
            ));
        }
        self.check_sweeps()?;
        let bytes = self.element.cell.max(self.element.input);
        if (self.keep == Keep::Matrix || self.given != [0; 2])
            && usize::try_from(self.cells())
                .ok()
                .and_then(|n| n.checked_mul(bytes))
                .is_none_or(|n| n > isize::MAX as usize)
        {
            return Err(Error::spec(
                format!("a matrix of {:?} cells", self.extents),
                "keep the best cell or the last row",
            ));
        }
        let counts = [
            ("inputs", self.given[0], self.element.input > 0),
            ("initial cells", self.given[1], !old.is_empty()),
        ];
        for (what, given, wanted) in counts {
            if wanted && given as u64 != self.cells() || !wanted && given != 0 {
                let cells = if wanted { self.cells() } else { 0 };
                return Err(Error::spec(
                    format!("{given} {what} for {:?} cells of {name}", self.extents),
                    format!("give {cells}, row by row"),
                ));
            }
        }
        self.check_sum()?;
        let (symbols, lookups) = self.known.lookups();
        check_lookups(name, symbols, &lookups)?;
        self.check_overflow()
    }

    /// Whether scores are not floats, where they are summed.
    pub fn check_sum(&self) -> Result<()> {
        let ElementType { name, score: kind, .. } = self.element;
        use ScalarKind::{Bf16, F16, F32, F64};
        if self.keep == Keep::Sum && matches!(kind, F16 | Bf16 | F32 | F64) {
            return Err(Error::spec(
                format!(
                    "the sum of scores of {name}, which are {}: its rounding would depend on the order",
                    kind.name()
                ),
                "score an integer, such as the number of thousandths as i64, or keep the matrix",
            ));
        }
        Ok(())
    }

    fn check_border(&self) -> Result<()> {
        let Some([top, left]) = self.border.given() else { return Ok(()) };
        if [left, top] != self.extents {
            return Err(Error::spec(
                format!(
                    "border lines of {top} columns and {left} rows around {:?} cells",
                    self.extents
                ),
                "give one cell a column on top and one a row on the left",
            ));
        }
        let ElementType { name, dependences, old, .. } = self.element;
        let reach = Reach::of(dependences).with(Reach::of(old));
        if reach.north > 1 || reach.west > 1 || reach.south + reach.east > 0 {
            return Err(Error::spec(
                format!("border lines for {name}, which reads cells further out"),
                "give the border as a value or as a function",
            ));
        }
        Ok(())
    }

    fn check_sweeps(&self) -> Result<()> {
        if self.sweeps == 0 {
            return Err(Error::spec("no sweeps", "make at least one"));
        }
        if self.sweeps > 1 && self.element.old.is_empty() {
            return Err(Error::spec(
                format!(
                    "{} sweeps of {}, which reads no old values",
                    self.sweeps, self.element.name
                ),
                "use one sweep: further sweeps would compute the same",
            ));
        }
        Ok(())
    }

    fn check_overflow(&self) -> Result<()> {
        let ElementType { name, score: kind, .. } = self.element;
        let Some([least, greatest]) = self.known.bounds() else { return Ok(()) };
        let holds = |kind| holds_all(kind, [least, greatest]);
        let Some([low, high]) = range(kind).filter(|_| !holds(kind)) else { return Ok(()) };
        let wider = [ScalarKind::I16, ScalarKind::I32, ScalarKind::I64];
        let hint = match wider.into_iter().find(|&kind| holds(kind)) {
            Some(wider) => {
                format!("make the cell's scores {}, or use smaller weights", wider.name())
            }
            None => "make the cell's scores f64, or use smaller weights".into(),
        };
        Err(Error::spec(
            format!(
                "scores of {name} over {:?} cells may reach {least}..{greatest}, and {} holds {low}..{high}",
                self.extents,
                kind.name()
            ),
            hint,
        ))
    }
}

/// The same of problem `k` of several.
pub(crate) fn of_problem(k: usize, error: Error) -> Error {
    match error {
        Error::Spec { what, hint } => {
            Error::Spec { what: format!("problem {}: {what}", k + 1), hint }
        }
        error => error,
    }
}

/// Whether all of `lookups` in a function called `name` are inside their slices, for these symbols of rows and columns.
pub(crate) fn check_lookups(name: &str, symbols: [Interval; 2], lookups: &[Lookup]) -> Result<()> {
    match lookups.iter().find_map(|lookup| lookup.outside(name, symbols)) {
        Some([what, hint]) => Err(Error::spec(what, hint)),
        None => Ok(()),
    }
}

/// Whether a scalar of this kind holds all numbers from `least` to `greatest`.
pub(crate) fn holds_all(kind: ScalarKind, [least, greatest]: [f64; 2]) -> bool {
    range(kind).is_none_or(|[low, high]| least >= low && greatest <= high)
}

/// Least and greatest value of an integer scalar.
fn range(kind: ScalarKind) -> Option<[f64; 2]> {
    let signed = match kind {
        ScalarKind::I8
        | ScalarKind::I16
        | ScalarKind::I32
        | ScalarKind::I64
        | ScalarKind::Isize => true,
        ScalarKind::U8
        | ScalarKind::U16
        | ScalarKind::U32
        | ScalarKind::U64
        | ScalarKind::Usize => false,
        ScalarKind::Bool
        | ScalarKind::F32
        | ScalarKind::F64
        | ScalarKind::F16
        | ScalarKind::Bf16 => return None,
    };
    let bits = kind.size() as i32 * 8;
    Some(match signed {
        true => [-(2f64.powi(bits - 1)), 2f64.powi(bits - 1) - 1.0],
        false => [0.0, 2f64.powi(bits) - 1.0],
    })
}
