//! Hyperthermia against recurrences of uniform tissue and physical bounds.

use warpweft::prelude::*;
use warpweft_apps::hyperthermia::{self, BLOOD, Warms, tissue};

use super::{BOUNDARIES, error, plain, run};

fn agrees<T: Warms>(epsilon: f64) {
    for boundary in BOUNDARIES {
        let start = hyperthermia::body::<T>([9, 10, 21]).expect("a small body");
        let mut plain = plain(&start, 1, boundary);
        let found = run(&T::stencil().boundary(boundary), start, 12);
        (0..12).for_each(|_| hyperthermia::plain_step(&mut plain));
        let error = error(&found, &plain);
        // The coefficients add up to less than one: 17 roundings a step, none amplified.
        assert!(error <= 12.0 * 17.0 * epsilon, "{boundary:?}: {error:e}");
    }
}

#[test]
fn bodies_agree_with_the_straightforward_loop() {
    agrees::<f32>(f64::from(f32::EPSILON));
    agrees::<f64>(f64::EPSILON);
}

#[test]
fn uniform_tissue_follows_its_recurrence_to_where_heat_and_blood_balance() {
    let (flow, growth, heat) = (0.01, 2e-3, 0.2);
    let start = Volume::from_fn([4, 5, 6], |_| tissue::<f64>(BLOOD, 0.1, flow, growth, heat));
    let found = run(&f64::stencil().boundary(Boundary::Periodic), start, 400);
    let mut excess: f64 = 0.0;
    for _ in 0..400 {
        let t = BLOOD + excess;
        excess += heat - (flow + growth * t) * excess;
    }
    for &t in found.field::<f64>(0).expect("temperatures") {
        assert!((t - BLOOD - excess).abs() < 1e-10, "{t} for {}", BLOOD + excess);
    }
    // heat = (flow + growth T) (T − BLOOD)
    let balance = heat - (flow + growth * (BLOOD + excess)) * excess;
    assert!(balance.abs() < 1e-12 && excess > 1.0, "{balance:e}, {excess}");
}

#[test]
fn nothing_unheated_gets_warmer_than_it_was_anywhere() {
    let mut next = super::noise(4);
    let start =
        Volume::from_fn([7, 8, 9], |_| tissue::<f64>(40.0 + 8.0 * next(), 0.1, 0.01, 0.0, 0.0));
    let most = |volume: &Volume<_, 3>| {
        volume.field::<f64>(0).expect("temperatures").iter().copied().fold(BLOOD, f64::max)
    };
    let (before, stencil) = (most(&start), f64::stencil().boundary(Boundary::Neumann));
    let after = most(&run(&stencil, start, 25));
    assert!(after < before && after > BLOOD, "{before} to {after}");
}
