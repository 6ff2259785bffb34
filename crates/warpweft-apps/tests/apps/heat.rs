//! Heat conduction against the exact solution of the discrete equation.

use warpweft::prelude::*;
use warpweft::stencil::reference;
use warpweft_apps::heat::{self, Conducts, HotSpot, Rounding};

/// Largest difference to the exact solution after `steps` steps, and what rounding allows.
fn error<T: Conducts<D>, const D: usize>(
    extents: [usize; D],
    order: usize,
    boundary: Boundary,
    steps: u64,
) -> (f64, f64) {
    let rate = 0.9 * heat::stable_rate(order, D).expect("a known order");
    let spot = spot::<T, D>(extents, order, boundary, rate);
    let values = |steps| {
        let mut values = Vec::new();
        spot.rows(steps, |_, row| values.extend_from_slice(row));
        values
    };
    let mut start = values(0).into_iter();
    let mut volume =
        Volume::from_fn(extents, |_| T::from_f64(start.next().expect("a value a cell")));
    let stencil = heat::stencil::<T, D>(order, rate).expect("stable").boundary(boundary);
    // The sequential loop has the same bits; where steps are many, it takes a minute for what the cores do at once.
    if steps > 1000 {
        volume = crate::fields::run_fast(&stencil, volume, steps);
    } else {
        reference(&stencil, &mut volume, steps).expect("well posed");
    }
    let error = volume
        .as_slice()
        .iter()
        .zip(values(steps))
        .map(|(&a, b)| (a.to_f64() - b).abs())
        .fold(0.0, f64::max);
    (error, allowed::<T, D>(&spot, order, rate, steps))
}

/// The exact solution with coefficients as `T` holds them.
fn spot<T: Stored, const D: usize>(
    extents: [usize; D],
    order: usize,
    boundary: Boundary,
    rate: f64,
) -> HotSpot {
    let weights = heat::weights_in(T::KIND, order, D).expect("a known order");
    let rate = heat::number(T::KIND, rate);
    HotSpot::new(&extents, &[[boundary; 2]; D], &weights, rate).expect("an exact case")
}

fn allowed<T: Stored, const D: usize>(spot: &HotSpot, order: usize, rate: f64, steps: u64) -> f64 {
    spot.allowed(steps, &Rounding::of(T::KIND, order, D, rate).expect("a known order"))
}

#[test]
fn every_order_and_dimension_follows_the_exact_solution() {
    for order in heat::ORDERS {
        for boundary in [Boundary::Periodic, Boundary::Neumann, Boundary::Mirror] {
            for (error, tolerance) in [
                error::<f64, 1>([24], order, boundary, 30),
                error::<f64, 2>([13, 24], order, boundary, 30),
                error::<f64, 3>([9, 12, 10], order, boundary, 30),
                error::<f32, 1>([24], order, boundary, 30),
                error::<f32, 2>([13, 24], order, boundary, 30),
                error::<f32, 3>([9, 12, 10], order, boundary, 30),
            ] {
                assert!(
                    error <= tolerance,
                    "order {order}, {boundary:?}: {error:e} > {tolerance:e}"
                );
                assert!(tolerance < 1e-4);
            }
        }
    }
}

#[test]
fn cells_of_two_bytes_are_rounded_once_a_step_and_no_more() {
    for order in heat::ORDERS {
        for (error, tolerance, most) in [
            error::<f16, 2>([13, 24], order, Boundary::Periodic, 30),
            error::<f16, 3>([9, 12, 10], order, Boundary::Mirror, 30),
            error::<bf16, 2>([13, 24], order, Boundary::Neumann, 30),
        ]
        .into_iter()
        .zip([0.02, 0.02, 0.15])
        .map(|((error, tolerance), most)| (error, tolerance, most))
        {
            assert!(error <= tolerance, "order {order}: {error:e} > {tolerance:e}");
            assert!(error > 0.0 && tolerance < most, "order {order}: {tolerance:e}");
        }
    }
}

#[test]
fn a_held_temperature_draws_the_volume_to_itself() {
    let (error, tolerance) = error::<f64, 3>([7, 8, 9], 2, Boundary::Dirichlet(0.25), 60);
    assert!(error <= tolerance, "{error:e} > {tolerance:e}");
}

#[test]
fn long_runs_stay_within_what_rounding_allows() {
    for order in heat::ORDERS {
        for (error, allowed) in [
            error::<f32, 1>([64], order, Boundary::Periodic, 30_000),
            // So slow that cells round the same way for thousands of steps.
            error::<f32, 1>([1000], order, Boundary::Neumann, 20_000),
            error::<f32, 2>([24, 31], order, Boundary::Periodic, 4_000),
            error::<f32, 3>([9, 12, 10], order, Boundary::Mirror, 3_000),
            error::<f64, 1>([300], order, Boundary::Periodic, 20_000),
        ] {
            assert!(error <= allowed, "order {order}: {error:e} > {allowed:e}");
        }
    }
}

#[test]
fn what_is_allowed_is_less_than_a_wrong_coefficient_makes_of_it() {
    let extents = [64; 3];
    for order in heat::ORDERS {
        let right = spot::<f32, 3>(extents, order, Boundary::Periodic, 0.1);
        let wrong = spot::<f32, 3>(extents, order, Boundary::Periodic, 0.1 * 1.03);
        let rounding = Rounding::of(<f32 as Scalar>::KIND, order, 3, 0.1).expect("a known order");
        let values = |spot: &HotSpot, steps| {
            let mut values = Vec::new();
            spot.rows(steps, |_, row| values.extend_from_slice(row));
            values
        };
        for steps in [1, 30, 1_000, 30_000, 1_000_000, 1_000_000_000] {
            let telling = right.telling(steps, &rounding);
            assert!(telling == steps || steps > 1_000, "{telling} of {steps}");
            let pairs = values(&right, telling).into_iter().zip(values(&wrong, telling));
            let off = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let allowed = right.allowed(telling, &rounding);
            assert!(allowed < off, "order {order}, {telling} of {steps}: {allowed:e} < {off:e}");
        }
    }
}
