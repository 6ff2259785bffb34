//! Swim against the benchmark's own value and conservation laws.

use warpweft::element::ScalarKind;
use warpweft::prelude::*;
use warpweft_apps::swim::{self, Flows, Water};

use super::{error, plain, run, run_fast};

fn start<T: Flows>(extents: [usize; 2]) -> Volume<Water<T>, 2> {
    let rest = swim::at_rest(extents).expect("a small ocean");
    swim::first_step(rest).expect("a small ocean")
}

#[test]
fn the_sum_of_velocities_is_the_benchmark_s() {
    let water = run_fast(&swim::stencil(), start::<f64>([256, 256]), 99);
    let [u, ..] = swim::sums(&water);
    let expect = 6.518_659_856_5e3;
    assert!((u / expect - 1.0).abs() < 1e-9, "{u:.10e} for {expect:.10e}");
}

fn agrees<T: Flows>(tolerance: f64) {
    let start = start::<T>([21, 34]);
    let mut plain = plain(&start, 1, Boundary::Periodic);
    let found = run(&swim::stencil(), start, 20);
    (0..20).for_each(|_| swim::plain_step(&mut plain));
    let error = error(&found, &plain);
    assert!(error <= tolerance, "{error:e}");
}

#[test]
fn water_agrees_with_the_straightforward_loop() {
    agrees::<f64>(1e-11);
    // Pressure of 50,000 is rounded to 0.004, and its differences push velocities of 10.
    agrees::<f32>(5e-3);
}

/// The error of every field, and what [`swim::roundings`] allows, in epsilons of its largest value a step.
fn roundings<T: Flows>(extents: [usize; 2], steps: u64) -> [[f64; 10]; 2] {
    let start = start::<T>(extents);
    let mut plain = plain(&start, 1, Boundary::Periodic);
    let found = run_fast(&swim::stencil(), start, steps);
    (0..steps).for_each(|_| swim::plain_step(&mut plain));
    let cells: [Vec<f64>; 10] = std::array::from_fn(|f| plain.cells_of(f));
    let most =
        cells.each_ref().map(|cells| cells.iter().fold(0.0, |most: f64, x| most.max(x.abs())));
    let epsilon = if T::KIND == ScalarKind::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let errors = std::array::from_fn(|f| {
        let found = found.field::<T>(f).expect("a field").iter();
        let pairs = found.zip(&cells[f]);
        let error = pairs.map(|(a, b)| (Scalar::to_f64(*a) - b).abs()).fold(0.0, f64::max);
        error / most[f] / epsilon / steps as f64
    });
    [errors, swim::roundings(most)]
}

/// Through one step and through many, whatever the shape: more is allowed than there is, by less than two orders.
#[test]
fn each_field_s_roundings_are_its_own() {
    for (extents, steps) in
        [([8, 8], 2), ([64, 64], 2), ([64, 256], 5), ([256, 64], 2), ([400, 400], 2)]
    {
        for [found, allowed] in [roundings::<f64>(extents, steps), roundings::<f32>(extents, steps)]
        {
            for (f, (found, allowed)) in found.into_iter().zip(allowed).enumerate() {
                assert!(found < 0.6 * allowed, "{extents:?}, {f}: {found} of {allowed}");
            }
            // Old ones and fluxes of the second step are of the start, which both have.
            for f in [0, 1, 2, 8] {
                let [found, allowed] = [found[f], allowed[f]];
                assert!(allowed < 100.0 * found, "{extents:?}, {f}: {found} of {allowed}");
            }
        }
    }
}

#[test]
fn no_water_is_lost() {
    let sum = |water: &Volume<Water<f64>, 2>, f: usize| {
        water.field::<f64>(f).expect("a field").iter().sum::<f64>()
    };
    let start = start::<f64>([16, 24]);
    let before = sum(&start, 2);
    let after = sum(&run(&swim::stencil(), start, 50), 2);
    assert!((after / before - 1.0).abs() < 1e-13, "{before} to {after}");
}
