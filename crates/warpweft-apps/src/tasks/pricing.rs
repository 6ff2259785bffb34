//! European call options by Monte Carlo, one a task of about 100 us on a core; checked against the closed form of Black
//! and Scholes ("The pricing of options and corporate liabilities", 1973).
//!
//! The logarithm and the exponential are written out in sums and products, so that every device gives the same price.

use warpweft::error::{Error, Result};
use warpweft::prelude::*;

use crate::soup::SplitMix;

/// A call option: the right to buy at `strike` once `years` have passed.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct Contract {
    /// The price today.
    pub spot: f64,
    /// The price agreed on.
    pub strike: f64,
    /// Interest a year.
    pub rate: f64,
    /// The deviation of the logarithm of the price in a year.
    pub volatility: f64,
    /// Until it can be used.
    pub years: f64,
    /// Of its random numbers.
    pub seed: u64,
}

/// What a simulation found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Device, Packed)]
#[repr(C)]
pub struct Price {
    /// The value of the option today.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

/// The price of one contract by `paths` random prices at its end.
#[task(memory = coalesced, arithmetic = high, eviction = low, reuse = low)]
pub fn price(contract: Contract, paths: u32) -> Price {
    let drift = (contract.rate - 0.5 * contract.volatility * contract.volatility) * contract.years;
    let spread = contract.volatility * contract.years.sqrt();
    let mut random = Random { state: contract.seed };
    let mut sum = 0.0;
    let mut squares = 0.0;
    let mut k = 0u32;
    while k < paths {
        // Two normal numbers of one point in the unit disc (Marsaglia's polar method).
        let mut u = 0.0;
        let mut v = 0.0;
        let mut s = 2.0;
        while s >= 1.0 || s == 0.0 {
            u = next(&mut random);
            v = next(&mut random);
            s = u * u + v * v;
        }
        let scale = (-2.0 * logarithm(s) / s).sqrt();
        let first = gain(contract, drift + spread * (u * scale));
        sum += first;
        squares += first * first;
        k += 1;
        if k < paths {
            let second = gain(contract, drift + spread * (v * scale));
            sum += second;
            squares += second * second;
            k += 1;
        }
    }
    let n = paths as f64;
    let discount = exponential(-contract.rate * contract.years);
    let mean = sum / n;
    let variance = (squares / n - mean * mean).max(0.0);
    Price { mean: discount * mean, error: discount * (variance / n).sqrt() }
}

/// A stream of random numbers: splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Copy, Device)]
#[repr(C)]
struct Random {
    state: u64,
}

/// The next one, uniform from -1 to 1.
#[device]
fn next(random: &mut Random) -> f64 {
    random.state = random.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = random.state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    // 53 bits: every sum and product here is exact.
    (bits >> 11) as f64 * (1.0 / 4_503_599_627_370_496.0) - 1.0
}

/// What the option brings where the price has grown by e^x.
#[device]
fn gain(contract: Contract, x: f64) -> f64 {
    (contract.spot * exponential(x) - contract.strike).max(0.0)
}

/// e^x to about 1e-14 of it, for |x| up to 20: the power series at x / 64 by Horner, squared six times.
#[device]
fn exponential(x: f64) -> f64 {
    let r = x * 0.015625;
    let mut sum = 1.0 / 39_916_800.0 + r * (1.0 / 479_001_600.0);
    sum = 1.0 / 362_880.0 + r * (1.0 / 3_628_800.0 + r * sum);
    sum = 1.0 / 5040.0 + r * (1.0 / 40_320.0 + r * sum);
    sum = 1.0 / 120.0 + r * (1.0 / 720.0 + r * sum);
    sum = 1.0 / 6.0 + r * (1.0 / 24.0 + r * sum);
    sum = 1.0 + r * (1.0 + r * (0.5 + r * sum));
    let mut k = 0u32;
    while k < 6 {
        sum = sum * sum;
        k += 1;
    }
    sum
}

/// The logarithm of x, which is above 0 and at most 1, to about 1e-15: by the series of the inverse hyperbolic tangent.
#[device]
fn logarithm(x: f64) -> f64 {
    let mut m = x;
    let mut halvings = 0.0;
    while m < std::f64::consts::FRAC_1_SQRT_2 {
        m *= 2.0;
        halvings += 1.0;
    }
    let t = (m - 1.0) / (m + 1.0);
    let tt = t * t;
    let mut sum = 1.0 / 17.0 + tt * (1.0 / 19.0);
    sum = 1.0 / 13.0 + tt * (1.0 / 15.0 + tt * sum);
    sum = 1.0 / 9.0 + tt * (1.0 / 11.0 + tt * sum);
    sum = 1.0 / 5.0 + tt * (1.0 / 7.0 + tt * sum);
    sum = 1.0 + tt * (1.0 / 3.0 + tt * sum);
    2.0 * t * sum - halvings * std::f64::consts::LN_2
}

/// Contract number `k` of a book: at and around the money, half a year to two years.
pub fn contract(k: u64) -> Contract {
    let mut stream = SplitMix::new(k);
    let mut between = |low: f64, high: f64| {
        low + (high - low) * (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    };
    Contract {
        spot: 100.0,
        strike: between(80.0, 120.0),
        rate: between(0.0, 0.06),
        volatility: between(0.2, 0.5),
        years: between(0.5, 2.0),
        seed: stream.next_u64(),
    }
}

impl Contract {
    /// Whether it has a price.
    ///
    /// # Errors
    /// A number that is none, prices or times that are not above 0, or growth beyond what the simulation is exact for.
    pub fn check(&self) -> Result<()> {
        let Self { spot, strike, rate, volatility, years, .. } = *self;
        let above = [spot, strike, volatility, years].iter().all(|x| x.is_finite() && *x > 0.0);
        // Normal numbers of the polar method are below 9.
        let reach =
            (rate.abs() + 0.5 * volatility * volatility) * years + 9.0 * volatility * years.sqrt();
        if !above || reach.is_nan() || reach > 20.0 {
            let what = format!("{self:?} as an option");
            let hint = "give spot, strike, volatility and years above 0, and a growth below e^20";
            return Err(Error::spec(what, hint));
        }
        Ok(())
    }

    /// Its price by the closed form of Black and Scholes.
    pub fn closed_form(&self) -> f64 {
        let Self { spot, strike, rate, volatility, years, .. } = *self;
        let spread = volatility * years.sqrt();
        let d1 = ((spot / strike).ln() + (rate + volatility * volatility / 2.0) * years) / spread;
        spot * normal(d1) - strike * (-rate * years).exp() * normal(d1 - spread)
    }

    /// The standard deviation of what one random price brings, as of today.
    pub fn deviation(&self) -> f64 {
        let Self { spot, strike, rate, volatility, years, .. } = *self;
        let spread = volatility * years.sqrt();
        let d1 = ((spot / strike).ln() + (rate + volatility * volatility / 2.0) * years) / spread;
        // The mean of the square of a price above the strike, less the strike.
        let strike = strike * (-rate * years).exp();
        let squares = spot * spot * (spread * spread).exp() * normal(d1 + spread);
        let square =
            squares - 2.0 * spot * strike * normal(d1) + strike * strike * normal(d1 - spread);
        (square - self.closed_form().powi(2)).max(0.0).sqrt()
    }
}

/// The normal distribution function, by Taylor's series of the error function, whose terms don't change their sign.
fn normal(x: f64) -> f64 {
    if x.abs() > 9.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum) = (x, x);
    for k in 1..400 {
        term *= x * x / f64::from(2 * k + 1);
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// How simulated prices compare with exact ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The mean price.
    pub mean: f64,
    /// By how much it differs from the exact mean.
    pub difference: f64,
    /// The standard error of the mean, by the closed form.
    pub error: f64,
    /// Prices within two of their own standard errors, as a fraction; 0.954 for normal numbers.
    pub within_two: f64,
    /// The largest difference of a price, in standard errors by the closed form.
    pub worst: f64,
}

/// Compares the price of each contract, by so many `paths`, with its closed form. Of a few paths perhaps none ends above
/// the strike: then a price has an error of 0 of its own, but not by the closed form.
pub fn compared(prices: impl Iterator<Item = (Contract, Price)>, paths: u32) -> Compared {
    let (mut count, mut sum, mut exact, mut variance) = (0u64, 0.0, 0.0, 0.0);
    let (mut within, mut worst) = (0u64, 0.0f64);
    for (contract, price) in prices {
        let expect = contract.closed_form();
        let difference = (price.mean - expect).abs();
        let error = contract.deviation() / f64::from(paths).sqrt();
        let off = difference / error;
        count += 1;
        sum += price.mean;
        exact += expect;
        variance += error * error;
        within += u64::from(difference <= 2.0 * price.error);
        worst = if off.is_nan() { f64::INFINITY } else { worst.max(off) };
    }
    let n = count.max(1) as f64;
    Compared {
        mean: sum / n,
        difference: (sum - exact).abs() / n,
        error: variance.sqrt() / n,
        within_two: within as f64 / n,
        worst,
    }
}
