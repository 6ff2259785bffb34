//! What the equations say, checked against the paper's expanded forms and its conclusions.

use super::*;

/// Rates of the order of an H200 behind a 100 Gbit/s network.
const GPU: GhostModel = GhostModel {
    compute: Linear { per_unit: 2e-12, fixed: 4e-6 },
    network: Linear { per_unit: 8e-11, fixed: 30e-6 },
    host_link: Linear { per_unit: 2e-11, fixed: 10e-6 },
    kernel: Kernel::Whole,
    staging: Staging::Whole,
    overlap: Overlap::None,
};

fn cube(b: usize, delta: usize) -> Subdomain {
    Subdomain { extents: [b; 3].into(), delta: [[delta; 2]; 3].into(), cell_bytes: 4.0 }
}

fn close(a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 1e-12, "{a} against {b}");
}

#[test]
fn cells_equal_the_papers_expanded_polynomials() {
    for (b, d, r) in [(400, 1, 1), (400, 2, 7), (30, 3, 5), (1, 1, 1)] {
        let part = cube(b, d);
        let (bf, df, rf) = (b as f64, d as f64, r as f64);
        // Equation (2).
        close(
            part.shrinking_cells(r),
            2.0 * df.powi(3) * rf.powi(4)
                + (4.0 * bf * df * df - 4.0 * df.powi(3)) * rf.powi(3)
                + (3.0 * bf * bf * df - 6.0 * bf * df * df + 2.0 * df.powi(3)) * rf * rf
                + (bf.powi(3) - 3.0 * bf * bf * df + 2.0 * bf * df * df) * rf,
        );
        // Equation (3).
        close(
            part.whole_cells(r),
            8.0 * df.powi(3) * rf.powi(4)
                + 12.0 * bf * df * df * rf.powi(3)
                + 6.0 * bf * bf * df * rf * rf
                + bf.powi(3) * rf,
        );
        // Equation (5), in bytes of 4 a cell.
        close(
            part.halo_bytes(r),
            4.0 * (8.0 * (df * rf).powi(3)
                + 12.0 * bf * (df * rf).powi(2)
                + 6.0 * bf * bf * df * rf),
        );
        // Equation (6).
        close(
            part.staged_bytes(r),
            4.0 * (8.0 * (df * rf).powi(3)
                + 16.0 * bf * (df * rf).powi(2)
                + 10.0 * bf * bf * df * rf
                + 2.0 * bf.powi(3)),
        );
    }
}

#[test]
fn a_step_is_equation_7_with_the_papers_coefficients() {
    let (b, d) = (300.0, 2.0);
    let (a_c, b_c) = (GPU.compute.per_unit, GPU.compute.fixed);
    // The paper's x counts cells; here bytes of 4.
    let (m, g) = (GPU.network.per_unit * 4.0, GPU.host_link.per_unit * 4.0);
    let a0 = a_c * b * b * b + b_c + (6.0 * m + 10.0 * g) * b * b * d;
    let a1 = 6.0 * a_c * b * b * d + (12.0 * m + 16.0 * g) * b * d * d;
    let a2 = 12.0 * a_c * b * d * d + 8.0 * (m + g) * d * d * d;
    let a3 = 8.0 * a_c * d * d * d;
    let inverse = GPU.network.fixed + GPU.host_link.fixed + 2.0 * g * b * b * b;
    for r in [1.0f64, 2.0, 5.0, 20.0] {
        let expect = a3 * r.powi(3) + a2 * r * r + a1 * r + a0 + inverse / r;
        close(GPU.predict(&cube(300, 2), r as usize).seconds, expect);
    }
}

#[test]
fn the_parts_add_up() {
    let p = GPU.predict(&cube(300, 2), 3);
    close(p.compute + p.redundant + p.latency + p.bandwidth, p.seconds);
}

#[test]
fn one_step_of_a_shrinking_region_is_never_redundant() {
    let model = GhostModel { kernel: Kernel::Shrinking, ..GPU };
    let p = model.predict(&cube(100, 3), 1);
    assert_eq!(p.redundant, 0.0);
    close(p.compute, model.compute.per_unit * 1e6);
}

#[test]
fn a_part_that_spans_its_axes_swaps_nothing() {
    let mut whole = cube(100, 1);
    whole.delta = [[0; 2]; 3].into();
    let model = GhostModel { staging: Staging::None, ..GPU };
    let p = model.predict(&whole, 4);
    assert_eq!((p.bandwidth, p.redundant), (0.0, 0.0));
    close(p.latency, model.compute.fixed);
}

#[test]
fn the_optimum_moves_up_with_latency_and_down_with_delta() {
    let best = |latency: f64, delta: usize| {
        let network = Linear { fixed: latency, ..GPU.network };
        let model = GhostModel { network, staging: Staging::None, ..GPU };
        model.best_depth(&cube(128, delta), 32).0
    };
    let by_latency = [1e-7, 1e-5, 1e-4, 1e-3].map(|latency| best(latency, 1));
    assert!(by_latency.is_sorted() && by_latency[0] < by_latency[3], "{by_latency:?}");
    let by_delta = [1, 2, 4].map(|delta| best(1e-3, delta));
    assert!(by_delta.is_sorted_by(|a, b| a >= b) && by_delta[0] > by_delta[2], "{by_delta:?}");
}

#[test]
fn time_falls_and_then_rises_with_depth() {
    let network = Linear { fixed: 1e-3, ..GPU.network };
    let model = GhostModel { network, staging: Staging::None, ..GPU };
    let part = cube(128, 1);
    let times: Vec<f64> = (1..=64).map(|r| model.predict(&part, r).seconds).collect();
    let best = model.best_depth(&part, 64).0;
    assert!(best > 1 && best < 64);
    assert!(times[..best].is_sorted_by(|a, b| a > b) && times[best - 1..].is_sorted());
}

#[test]
fn overlap_hides_what_the_core_covers_and_costs_a_launch() {
    let model = GhostModel { staging: Staging::None, kernel: Kernel::ShrinkingLaunches, ..GPU };
    let model = GhostModel { network: Linear { per_unit: 1e-11, fixed: 30e-6 }, ..model };
    let overlapped = GhostModel { overlap: Overlap::Core, ..model };
    // A large part hides everything: the time is the computation alone.
    let p = overlapped.predict(&cube(768, 1), 1);
    close(p.seconds, 768f64.powi(3) * 2e-12 + 8e-6);
    // A part that is all rim hides nothing.
    let rim = Subdomain { extents: [4; 3].into(), ..cube(4, 1) };
    let (with, without) = (overlapped.predict(&rim, 2), model.predict(&rim, 2));
    assert_eq!(with, without);
}

#[test]
fn a_deep_zone_sent_at_once_hides_behind_one_step_alone() {
    let model = GhostModel { staging: Staging::None, kernel: Kernel::ShrinkingLaunches, ..GPU };
    let model = GhostModel { overlap: Overlap::LastStep, ..model };
    let part = cube(200, 1);
    let step = model.compute.seconds(200f64.powi(3), 1.0);
    let swap = |r: usize| model.network.seconds(part.halo_bytes(r), 1.0);
    assert!(swap(1) > step);
    for r in [1, 2, 4] {
        let work = model.compute.seconds(part.shrinking_cells(r), r as f64);
        close(model.predict(&part, r).seconds, (work + swap(r) - step) / r as f64);
    }
    // What one step hides costs nothing at all.
    let network = Linear { per_unit: 0.0, fixed: 0.5 * step };
    close(GhostModel { network, ..model }.predict(&part, 1).seconds, step);
}

#[test]
fn a_fit_recovers_the_rates_and_predicts_other_sizes_in_spite_of_an_outlier() {
    let truth = GhostModel { staging: Staging::None, ..GPU };
    let mut samples: Vec<Sample<Subdomain>> = [100, 160]
        .iter()
        .flat_map(|&b| [1, 2, 4, 8, 12].map(|depth| (cube(b, 2), depth)))
        .map(|(part, depth)| Sample { part, depth, seconds: truth.predict(&part, depth).seconds })
        .collect();
    let exact = fit(&samples, Kernel::Whole, Staging::None).unwrap();
    assert!(exact.worst_error < 1e-6, "{exact:?}");
    close(exact.model.network.fixed, truth.network.fixed);
    samples[3].seconds *= 3.0;
    let robust = fit(&samples, Kernel::Whole, Staging::None).unwrap().model;
    for (b, delta, depth) in [(220, 2, 6), (128, 3, 3), (128, 1, 10)] {
        let part = cube(b, delta);
        let error = robust.predict(&part, depth).seconds / truth.predict(&part, depth).seconds;
        assert!((error - 1.0).abs() < 0.05, "{b} {delta} {depth}: {error}");
    }
}

#[test]
fn samples_that_say_too_little_are_refused() {
    let sample = Sample { part: cube(10, 1), depth: 1, seconds: 1.0 };
    let refusal = |samples: &[Sample<Subdomain>]| {
        fit(samples, Kernel::Whole, Staging::None).unwrap_err().to_string()
    };
    assert!(refusal(&[sample; 5]).contains("two or more depths"));
    assert!(refusal(&[Sample { seconds: f64::NAN, ..sample }; 5]).contains("NaN seconds"));
}

#[test]
fn refining_explains_samples_and_leaves_the_rest_of_the_prior() {
    let truth = GhostModel { overlap: Overlap::Core, staging: Staging::None, ..GPU };
    let mut prior = truth;
    prior.network.fixed *= 4.0;
    prior.compute.per_unit *= 0.6;
    close(refine::<Subdomain>(&prior, &[]).model.network.fixed, prior.network.fixed);
    let part = cube(96, 1);
    let sample = |depth| Sample { part, depth, seconds: truth.predict(&part, depth).seconds };
    let fitted = refine(&prior, &[sample(1), sample(3), sample(8)]);
    assert!(fitted.worst_error < 0.02, "{fitted:?}");
    let best = truth.best_depth(&part, 32).0;
    let found = fitted.model.best_depth(&part, 32).0;
    let loss = truth.predict(&part, found).seconds / truth.predict(&part, best).seconds;
    assert!(loss < 1.02, "R = {found} instead of {best} costs {loss}");
}

#[test]
fn cpu_and_gpu_end_together_or_the_cpu_gets_nothing() {
    let gpu = GhostModel { kernel: Kernel::ShrinkingLaunches, staging: Staging::Halos, ..GPU };
    let cpu_rate = |times: f64| GhostModel {
        compute: Linear { per_unit: times * GPU.compute.per_unit, fixed: 0.0 },
        staging: Staging::None,
        kernel: Kernel::Shrinking,
        ..GPU
    };
    // The paper's own box (§5.2), on one node: nothing is cut but between the two devices.
    let part =
        Subdomain { extents: [8000, 200, 200].into(), delta: [[0; 2]; 3].into(), cell_bytes: 4.0 };
    let balanced = Balanced { cpu: cpu_rate(4.0), gpu, delta: [1; 2] };
    let split = balanced.split(&part, 2);
    // Four times slower: about a fifth of the planes.
    assert!((1400..1800).contains(&split.cpu), "{split:?}");
    let slow = Balanced { cpu: cpu_rate(1e5), gpu, delta: [1; 2] };
    assert_eq!(slow.split(&part, 2).cpu, 0);
    let (depth, best, _) = balanced.best_depth(&part, 16);
    assert!(best.seconds <= split.seconds && depth >= 1);
}
