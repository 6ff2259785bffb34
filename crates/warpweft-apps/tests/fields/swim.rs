//! Swim against the benchmark's own value and conservation laws.

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
