//! Searches on curves whose optimum is known.

use crate::drive::depth::search::*;
use crate::model::ghost::{GhostModel, Kernel, Linear, Overlap, Staging, Subdomain};

/// Runs a search on a curve; returns what it came to, the depths it tried and the steps it took.
fn run(search: &mut dyn DepthSearch, curve: impl Fn(usize) -> f64) -> (usize, Vec<usize>, usize) {
    let (mut tried, mut steps) = (Vec::new(), 0);
    while let Some(trial) = search.next() {
        assert_eq!(search.next(), Some(trial), "asking twice changes nothing");
        search.record(curve(trial.depth));
        steps += trial.depth * trial.swaps;
        tried.push(trial.depth);
        assert!(tried.len() < 1000, "no end");
    }
    (search.best(), tried, steps)
}

/// A valley with its floor at `floor`.
fn valley(floor: usize) -> impl Fn(usize) -> f64 {
    move |depth| 1.0 + 0.01 * (depth as f64 / floor as f64).ln().powi(2)
}

#[test]
fn the_exhaustive_search_takes_the_steps_that_partans_counted() {
    // Table II, life 2048²: 36,550 iterations, ten swaps of each halo from 1 to 85.
    let (best, _, steps) = run(&mut Exhaustive::new(85), valley(37));
    assert_eq!((best, steps), (37, 36_550));
    // Life 4096²: 145,350, up to 170. Himeno 256³: 550, up to 10. Hyperthermia: 2,100, up to 20.
    for (deepest, iterations) in [(170, 145_350), (10, 550), (20, 2_100)] {
        assert_eq!(run(&mut Exhaustive::new(deepest), valley(5)).2, iterations);
    }
}

#[test]
fn all_find_the_floor_of_a_smooth_valley() {
    for floor in [1, 2, 7, 30, 64] {
        assert_eq!(run(&mut Exhaustive::new(64), valley(floor)).0, floor);
        assert_eq!(run(&mut HillClimbing::new(64), valley(floor)).0, floor);
        let (found, tried, _) = run(&mut Dichotomic::new(64), valley(floor));
        let cost = valley(floor)(found) / valley(floor)(floor);
        assert!(cost < 1.01 && tried.len() < 16, "{found} for {floor} in {tried:?}");
    }
}

#[test]
fn hill_climbing_stops_on_a_bump_and_the_others_do_not() {
    let bumpy = |depth: usize| {
        let bump = if (4..9).contains(&depth) { 0.4 } else { 0.0 };
        2.0 / depth as f64 + 0.02 * depth as f64 + bump
    };
    assert!(run(&mut HillClimbing::new(40), bumpy).0 < 9);
    assert_eq!(run(&mut Exhaustive::new(40), bumpy).0, 10);
    assert!(bumpy(run(&mut Dichotomic::new(40), bumpy).0) < 1.1 * bumpy(10));
}

#[test]
fn a_guided_search_finds_the_optimum_from_a_prior_that_is_off_by_three() {
    let part =
        Subdomain { extents: [512, 2048].into(), delta: [[1; 2], [0; 2]].into(), cell_bytes: 1.0 };
    let truth = GhostModel {
        compute: Linear { per_unit: 1e-11, fixed: 5e-6 },
        network: Linear { per_unit: 1e-10, fixed: 4e-5 },
        host_link: Linear::default(),
        kernel: Kernel::ShrinkingLaunches,
        staging: Staging::None,
        overlap: Overlap::None,
    };
    let curve = |depth| truth.predict(&part, depth).seconds;
    let best = truth.best_depth(&part, 85).1.seconds;
    for factors in [[1.0, 1.0], [3.0, 1.0], [1.0, 3.0], [0.4, 3.0], [3.0, 0.4]] {
        let mut prior = truth;
        prior.compute.per_unit *= factors[0];
        prior.network.fixed *= factors[1];
        let (found, tried, steps) = run(&mut Guided::new(prior, part, 85), curve);
        assert!(curve(found) < 1.02 * best, "{factors:?}: {found} in {tried:?}");
        assert!(tried.len() <= 5 && steps < 1000, "{factors:?}: {tried:?}");
    }
}

#[test]
fn one_depth_is_the_end_of_it() {
    assert_eq!(run(&mut Exhaustive::new(1), valley(1)).1, [1]);
    assert_eq!(run(&mut HillClimbing::new(1), valley(1)).1, [1]);
    assert_eq!(run(&mut Dichotomic::new(1), valley(1)).0, 1);
}

#[test]
fn on_measured_depths_a_search_is_charged_what_it_took() {
    let runs = [vec![3.0, 3.1, 2.9], vec![2.0, 9.0, 2.0], vec![4.0, 4.0, 4.0]];
    let found = assess_measured(&mut Exhaustive::new(3), &runs);
    assert_eq!((found.depth, found.steps, found.after), (2, 60, 1.0));
    let share = 2.0 * (1.0 + 2.0 + 3.0) / (3.0 + 2.0 * 2.0 + 3.0 * 4.0);
    assert!((found.during - share).abs() < 1e-12, "{found:?}");
}
