//! Heat conduction against the exact solution of the discrete equation.

use warpweft::prelude::*;
use warpweft::stencil::reference;
use warpweft_apps::heat::{self, Conducts, HotSpot};

/// Largest difference to the exact solution after `steps` steps, and what rounding allows.
fn error<T: Conducts<D>, const D: usize>(
    extents: [usize; D],
    order: usize,
    boundary: Boundary,
    steps: u64,
) -> (f64, f64) {
    let rate = 0.9 * heat::stable_rate(order, D).expect("a known order");
    let weights = heat::weights(order).expect("a known order");
    let spot = HotSpot::new(&extents, &[[boundary; 2]; D], weights, rate).expect("an exact case");
    let values = |steps| {
        let mut values = Vec::new();
        spot.rows(steps, |_, row| values.extend_from_slice(row));
        values
    };
    let mut start = values(0).into_iter();
    let mut volume =
        Volume::from_fn(extents, |_| T::from_f64(start.next().expect("a value a cell")));
    let stencil = heat::stencil::<T, D>(order, rate).expect("stable").boundary(boundary);
    reference(&stencil, &mut volume, steps).expect("well posed");
    let error = volume
        .as_slice()
        .iter()
        .zip(values(steps))
        .map(|(&a, b)| (a.to_f64() - b).abs())
        .fold(0.0, f64::max);
    (error, heat::tolerance::<T>(order, D, 1.0, steps))
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
fn a_held_temperature_draws_the_volume_to_itself() {
    let (error, tolerance) = error::<f64, 3>([7, 8, 9], 2, Boundary::Dirichlet(0.25), 60);
    assert!(error <= tolerance, "{error:e} > {tolerance:e}");
}
