//! `--until 1e-6` or `--until sum:1e-6`.

use std::str::FromStr;

use warpweft::prelude::*;

/// A residual and its tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UntilChoice(pub Residual, pub f64);

impl FromStr for UntilChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (residual, tolerance) = match text.split_once(':') {
            None => (Residual::Max, text),
            Some(("max", tolerance)) => (Residual::Max, tolerance),
            Some(("sum", tolerance)) => (Residual::Sum, tolerance),
            Some(("squares", tolerance)) => (Residual::SumOfSquares, tolerance),
            Some((other, _)) => return Err(format!("no residual '{other}'; max, sum or squares")),
        };
        match tolerance.parse() {
            Ok(tolerance) if tolerance >= 0.0 => Ok(Self(residual, tolerance)),
            _ => Err(format!("'{tolerance}' is not a tolerance; write e.g. 1e-6 or sum:1e-3")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_change_is_meant_unless_another_is_named() {
        assert_eq!("1e-3".parse(), Ok(UntilChoice(Residual::Max, 1e-3)));
        assert_eq!("squares:2".parse(), Ok(UntilChoice(Residual::SumOfSquares, 2.0)));
        for text in ["", "nan", "-1", "mean:1", "max:"] {
            assert!(text.parse::<UntilChoice>().is_err(), "{text}");
        }
    }
}
