//! Heat conduction: explicit steps of the diffusion equation, second to eighth order in space.
//!
//! `u += rate × Σ_axis Σ_k w_k u[±k]` with the central weights of the second difference, where
//! `rate` is the diffusion number κ Δt / Δx². Checked against the exact solution of the discrete
//! equation ([`HotSpot`]) or, from any other state, against [`crate::plain`].

mod element;
mod exact;
mod rounding;

pub use element::Conducts;
pub use exact::HotSpot;
pub use rounding::Rounding;

use warpweft::element::ScalarKind;
use warpweft::prelude::*;
use warpweft::stencil::Spec;

use crate::plain::Place;
use crate::rounded_down;

/// The orders there are.
pub const ORDERS: [usize; 4] = [2, 4, 6, 8];

const SECOND: [f64; 2] = [-2.0, 1.0];
const FOURTH: [f64; 3] = [-5.0 / 2.0, 4.0 / 3.0, -1.0 / 12.0];
const SIXTH: [f64; 4] = [-49.0 / 18.0, 3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0];
const EIGHTH: [f64; 5] = [-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];

/// The weights of the second difference, centre first.
///
/// # Errors
/// An order that is not one of [`ORDERS`].
pub fn weights(order: usize) -> Result<&'static [f64]> {
    match order {
        2 => Ok(&SECOND),
        4 => Ok(&FOURTH),
        6 => Ok(&SIXTH),
        8 => Ok(&EIGHTH),
        _ => Err(Error::spec(format!("order {order}"), "choose one of 2, 4, 6 and 8")),
    }
}

/// The weights as an element over cells of `kind` in `dims` dimensions holds them: rounded, so that they don't
/// sum to nothing any more, which shows after many steps.
///
/// # Errors
/// As [`weights`].
pub fn weights_in(kind: ScalarKind, order: usize, dims: usize) -> Result<Vec<f64>> {
    let rounded = |value| number(kind, value);
    let mut weights: Vec<f64> = weights(order)?.to_vec();
    weights[0] = rounded(dims as f64 * weights[0]) / dims as f64;
    weights[1..].iter_mut().for_each(|weight| *weight = rounded(*weight));
    Ok(weights)
}

/// `value` as an element over cells of `kind` computes with it: cells of two bytes in `f32`.
pub fn number(kind: ScalarKind, value: f64) -> f64 {
    if kind == ScalarKind::F64 { value } else { f64::from(value as f32) }
}

/// The largest rate at which no mode grows.
///
/// # Errors
/// As [`weights`].
pub fn stable_rate(order: usize, dims: usize) -> Result<f64> {
    // The stiffest mode alternates in sign from cell to cell.
    let stiffest: f64 = weights(order)?
        .iter()
        .enumerate()
        .map(|(k, w)| if k == 0 { *w } else { 2.0 * w * if k % 2 == 1 { -1.0 } else { 1.0 } })
        .sum();
    Ok(2.0 / (dims as f64 * -stiffest))
}

/// Heat conduction in `D` dimensions, boundaries still to be said.
///
/// # Errors
/// As [`weights`]; a rate that is not positive or at which the computation blows up.
pub fn stencil<T: Conducts<D>, const D: usize>(order: usize, rate: f64) -> Result<Stencil<T, D>> {
    let limit = stable_rate(order, D)?;
    // Written so that NaN is refused.
    if !(rate > 0.0 && rate <= limit * (1.0 + 1e-12)) {
        return Err(Error::spec(
            format!("rate {rate} at order {order} in {D} dimensions"),
            format!(
                "choose a rate above 0 and at most {}, beyond which errors grow",
                rounded_down(limit)
            ),
        ));
    }
    T::of_order(order, T::Number::lit(rate)).ok_or_else(|| {
        Error::spec(format!("order {order} in {D} dimensions"), "choose one of 2, 4, 6 and 8")
    })
}

/// The same for cells of a kind that is known at run time only.
///
/// # Errors
/// As [`stencil`]; cells that are no floats.
pub fn spec<const D: usize>(kind: ScalarKind, order: usize, rate: f64) -> Result<Spec>
where
    f16: Conducts<D>,
    bf16: Conducts<D>,
    f32: Conducts<D>,
    f64: Conducts<D>,
{
    match kind {
        ScalarKind::F16 => stencil::<f16, D>(order, rate).map(Stencil::into_spec),
        ScalarKind::Bf16 => stencil::<bf16, D>(order, rate).map(Stencil::into_spec),
        ScalarKind::F32 => stencil::<f32, D>(order, rate).map(Stencil::into_spec),
        ScalarKind::F64 => stencil::<f64, D>(order, rate).map(Stencil::into_spec),
        other => Err(Error::spec(
            format!("heat in cells of {}", other.name()),
            "choose f16, bf16, f32 or f64",
        )),
    }
}

/// One step of the straightforward loop.
pub fn plain_step(weights: &[f64], rate: f64, dims: usize) -> impl Fn(Place<'_>) -> f64 {
    move |u| {
        let mut sum = dims as f64 * weights[0] * u.at([0, 0, 0]);
        for d in 3 - dims..3 {
            for (k, w) in weights.iter().enumerate().skip(1) {
                sum += w * u.both_sides(d, k);
            }
        }
        u.at([0, 0, 0]) + rate * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_differentiate_polynomials_of_their_order_exactly() {
        for order in ORDERS {
            let weights = weights(order).unwrap();
            for power in 0..=order as i32 + 1 {
                // The second derivative of x^power at 0 is 2 for power 2 and 0 for any other.
                let sum: f64 = weights
                    .iter()
                    .enumerate()
                    .map(|(k, w)| {
                        let (a, b) = ((k as f64).powi(power), (-(k as f64)).powi(power));
                        if k == 0 { w * a } else { w * (a + b) }
                    })
                    .sum();
                let expect = if power == 2 { 2.0 } else { 0.0 };
                assert!((sum - expect).abs() < 1e-11, "order {order}, x^{power}: {sum}");
            }
        }
    }

    #[test]
    fn rates_beyond_stability_are_refused_with_the_limit() {
        assert!((stable_rate(2, 3).unwrap() - 1.0 / 6.0).abs() < 1e-15);
        let refusal = stencil::<f32, 3>(2, 0.2).err().map(|error| error.to_string());
        assert!(refusal.as_ref().is_some_and(|r| r.contains("at most 0.166666,")), "{refusal:?}");
        // The limit that is named is allowed.
        fn named<const D: usize>(order: usize)
        where
            f64: Conducts<D>,
        {
            let refusal = stencil::<f64, D>(order, 9.0).err().map(|error| error.to_string());
            let (_, most) = refusal.as_deref().unwrap().split_once("at most ").unwrap();
            let most: f64 = most.split(',').next().unwrap().parse().unwrap();
            assert!(stencil::<f64, D>(order, most).is_ok(), "{most}");
            assert!(stencil::<f64, D>(order, most + 2e-6).is_err(), "{most}");
        }
        for order in ORDERS {
            named::<1>(order);
            named::<2>(order);
            named::<3>(order);
        }
        for rate in [0.0, -0.1, f64::NAN] {
            assert!(stencil::<f64, 1>(2, rate).is_err());
        }
        assert!(stencil::<f64, 1>(2, 0.5).is_ok());
        assert!(stencil::<f64, 1>(3, 0.5).is_err());
    }
}
