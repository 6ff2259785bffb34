//! The integral of two sharp peaks by Simpson's rule, adaptively: an interval is halved where the rule is not yet good.

use warpweft::error::{Error, Result};
use warpweft::prelude::*;

/// The centres of the peaks and their half widths.
const PEAKS: [[f64; 2]; 2] = [[0.3, 1e-4], [0.77, 1e-3]];
/// Halvings of an interval at most.
const MOST: u32 = 48;

/// The function: the sum of the peaks, each `w / ((x - c)^2 + w^2)`.
#[device]
pub fn peaks(x: f64) -> f64 {
    let (a, b) = (x - 0.3, x - 0.77);
    1e-4 / (a * a + 1e-8) + 1e-3 / (b * b + 1e-6)
}

/// An interval with the values at its ends and its middle, and Simpson's rule over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Device)]
#[repr(C)]
pub struct Interval {
    /// Its lower end.
    pub from: f64,
    /// Its upper end.
    pub to: f64,
    /// The function at the lower end.
    pub low: f64,
    /// In the middle.
    pub middle: f64,
    /// At the upper end.
    pub high: f64,
    /// Simpson's rule.
    pub area: f64,
}

/// The interval, with the values that are known.
#[device]
pub fn interval(from: f64, to: f64, low: f64, high: f64) -> Interval {
    let middle = peaks(0.5 * (from + to));
    let area = (to - from) / 6.0 * (low + 4.0 * middle + high);
    Interval { from, to, low, middle, high, area }
}

/// The integral over an interval to within a tolerance (Lyness, "Notes on the adaptive Simpson quadrature routine",
/// J. ACM 1969), with so many halvings left.
#[spawning]
pub fn simpson(of: Interval, tolerance: f64, left: u32) -> f64 {
    let middle = 0.5 * (of.from + of.to);
    let low = interval(of.from, middle, of.low, of.middle);
    let high = interval(middle, of.to, of.middle, of.high);
    let change = low.area + high.area - of.area;
    if left == 0 || change.abs() <= 15.0 * tolerance {
        return low.area + high.area + change / 15.0;
    }
    let a = spawn!(simpson(low, 0.5 * tolerance, left - 1));
    let b = spawn!(simpson(high, 0.5 * tolerance, left - 1));
    sync!();
    a + b
}

/// The integral from 0 to 1.
///
/// # Errors
/// A tolerance that rounding does not allow, or that is no bound at all.
pub fn channels(tolerance: f64) -> Result<Channels<simpson>> {
    if !(1e-14..=1.0).contains(&tolerance) {
        let help = "take 1e-14 to 1: the integral is about 6 and rounded to 16 digits";
        return Err(Error::spec(format!("a tolerance of {tolerance}"), help));
    }
    let whole = interval(0.0, 1.0, peaks(0.0), peaks(1.0));
    Ok(Channels::of(simpson::call(whole, tolerance, MOST)).levels(MOST + 1))
}

/// The same by the antiderivative.
pub fn exact() -> f64 {
    let each =
        PEAKS.map(|[centre, width]| ((1.0 - centre) / width).atan() + (centre / width).atan());
    each.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_is_that_of_the_antiderivative() {
        let machine = Machine::detect().unwrap();
        let mut calls = vec![];
        for tolerance in [1e-4, 1e-8, 1e-12] {
            let channels = channels(tolerance).unwrap();
            let plain = simpson(interval(0.0, 1.0, peaks(0.0), peaks(1.0)), tolerance, MOST);
            for threads in [1, 3] {
                let threads = Some(threads);
                let run =
                    warpweft::channels::Run { target: Target::Cpu, threads, ..Default::default() };
                let (found, report) = channels.run_with(&machine, &run).unwrap();
                assert_eq!(found, plain);
                assert!((found - exact()).abs() <= tolerance, "{found} for {tolerance}");
                calls.push(report.done);
            }
        }
        // A tolerance 10,000 times smaller takes ten times as many intervals: the rule is of order four.
        assert!(calls[4] > 5 * calls[2] && calls[2] > 2 * calls[0], "{calls:?}");
        assert!(channels(1e-20).is_err() && channels(f64::NAN).is_err());
    }
}
