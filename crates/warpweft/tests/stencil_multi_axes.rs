//! GPUs cut across any axis: kernels compile without a GPU; with one or more, slabs give the reference's
//! bits, whichever axis they are across.

mod linear;
mod several;

use std::time::Instant;

use linear::{cube, star, taps};
use several::sound::{blur, pressure, sound, velocity};
use several::{check_all, check_by, filled, machines, policies, policy, residents, ringed};
use warpweft::cuda::{Device, Together};
use warpweft::element::Fields;
use warpweft::grid::RawVolume;
use warpweft::prelude::*;
use warpweft::stencil::{
    CudaKernel, Exchange, GpuList, MultiCudaPolicy, MultiCudaSweeps, PointSource, Policy, Probe,
    Region, Spec, Sweep, SweepExecutor, Target, reference, reference_with_probes,
};
use warpweft_lab::conformance::stencil::{Outcome, Subject, conformance};

linear!(Heat2, f32, 2, star::<2, 5>(1), |k| 0.3 - 0.04 * k as f32);
linear!(Box2, i32, 2, cube::<2, 9>(1), |k| k as i32 - 3);
linear!(Heat3, f32, 3, star::<3, 7>(1), |k| 0.2 - 0.02 * k as f32);
linear!(Box3, f32, 3, cube::<3, 27>(1), |k| 0.01 * k as f32);
linear!(Star3, i32, 3, star::<3, 7>(1), |k| 2 * k as i32 + 1);
linear!(Lopsided, f32, 3, taps([[0, 0, 0], [-1, 0, 2], [1, -1, 0], [0, 2, -1]]), |k| 0.1
    * k as f32);
linear!(
    Rising,
    f32,
    3,
    taps([
        [0, 0, 0],
        [-8, 0, 0],
        [-4, 0, 0],
        [-2, 0, 0],
        [-1, 0, 0],
        [1, 0, 0],
        [2, 0, 0],
        [4, 0, 0],
        [8, 0, 0],
        [0, -1, 0],
        [0, 1, 0],
        [0, 0, -1],
        [0, 0, 1]
    ]),
    |k| 0.12 - 0.01 * k as f32
);
linear!(Heat4, f32, 4, star::<4, 9>(1), |k| 0.15 - 0.01 * k as f32);

/// The policies, each across these axes.
fn across(policies: &[MultiCudaPolicy], axes: &[usize]) -> Vec<MultiCudaPolicy> {
    let of = |&axis: &usize| policies.iter().map(move |policy| MultiCudaPolicy { axis, ..*policy });
    axes.iter().flat_map(of).collect()
}

#[test]
fn planes_across_columns() {
    check_by(across(&policies(2), &[1]), Stencil::of(Heat2 { rate: 0.9 }), &filled([67, 261]));
    check_by(across(&policies(2), &[1]), Stencil::of(Box2 { rate: 3 }), &filled([3, 150]));
}

#[test]
fn volumes_across_every_axis() {
    check_by(
        across(&policies(3), &[1, 2]),
        Stencil::of(Lopsided { rate: 0.9 }),
        &filled([13, 29, 70]),
    );
    // Shorter than a slab is, across the slowest axis.
    check_by(across(&policies(3), &[1]), Stencil::of(Heat3 { rate: 0.9 }), &filled([2, 45, 133]));
    check_by(
        across(&policies(3)[2..5], &[1, 2]),
        Stencil::of(Box3 { rate: 0.9 }),
        &filled([10, 24, 67]),
    );
    check_by(across(&residents(3), &[1]), Stencil::of(Heat3 { rate: 0.9 }), &filled([16, 64, 128]));
    check_by(across(&residents(2), &[1]), Stencil::of(Heat2 { rate: 0.9 }), &filled([256, 64]));
}

#[test]
fn rings_across_rows() {
    if machines().iter().flatten().any(|device| device.capability().unwrap() < (9, 0)) {
        return println!("skipped: a GPU without a copy engine");
    }
    check_by(across(&ringed(), &[1]), Stencil::of(Rising { rate: 0.9 }), &filled([40, 24, 75]));
}

#[test]
fn four_dimensions_across_every_axis() {
    let all = across(&policies(4), &[1, 2, 3]);
    check_by(all, Stencil::of(Heat4 { rate: 0.9 }), &filled([6, 9, 7, 37]));
}

#[test]
fn sequences_of_several_fields_across_every_axis() {
    let few = across(&policies(3)[..4], &[1, 2]);
    check_by(few.clone(), Stencil::sequence((velocity(0.1), pressure(0.1))), &sound());
    check_by(few, Stencil::sequence((pressure(0.1), blur(0.125), velocity(0.1))), &sound());
}

#[boundary]
fn swell(at: [i64; 3], step: u64, height: i32) -> i32 {
    (at[0] * 10_000 + at[1] * 100 + at[2]) as i32 + height * (step as i32)
}

/// No two faces alike, some of them functions of position and time.
#[test]
fn faces_are_the_user_s_across_every_axis() {
    use Boundary::{Dirichlet, Mirror, Neumann};
    let star = Stencil::of(Star3 { rate: 3 }).boundary(Mirror);
    let functions = star
        .clone()
        .face_by(0, Face::Low, swell(7))
        .face_by(1, Face::High, swell(3))
        .face(2, Face::Low, Dirichlet(5.0));
    let held = star
        .face(0, Face::High, Neumann)
        .face(1, Face::Low, Dirichlet(2.0))
        .face(1, Face::High, Dirichlet(-9.0))
        .face(2, Face::High, Dirichlet(4.0));
    let few = across(&policies(3)[..6], &[1, 2]);
    check_all(few, vec![held, functions], &filled([11, 17, 70]));
}

/// GPUs of this machine, each once.
fn gpus(machine: &Machine) -> Option<GpuList> {
    let numbers: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
    (numbers.len() > 1).then(|| GpuList::new(&numbers).ok()).flatten()
}

#[test]
fn sources_probes_and_residuals_are_the_users_cells() {
    let machine = Machine::detect().unwrap();
    let Some(list) = gpus(&machine) else { return println!("skipped: fewer than two GPUs") };
    let stencil = Stencil::of(Lopsided { rate: 0.9 })
        .source(PointSource {
            field: 0,
            at: vec![[0, 30, 69], [12, 1, 2]],
            amplitudes: vec![0.5, 0.0, 2.0],
        })
        .probe(Probe { field: 0, at: vec![[0, 31, 69], [12, 0, 5], [6, 16, 0]], every: 2 })
        .until_every(Residual::SumOfSquares, 0.0, 3);
    let start = filled::<f32, 3>([13, 32, 70]);
    let mut expect = start.clone();
    let (done, probes) = reference_with_probes(&stencil, &mut expect, 12).unwrap();
    for axis in 0..3 {
        for exchange in [Exchange::Flags, Exchange::Copies] {
            let policy =
                MultiCudaPolicy { axis, ..policy(CudaKernel::Direct, [4, 2, 2], 4, exchange) };
            let run = Run {
                target: Target::Gpus(list),
                policy: Some(Policy::Gpus(policy)),
                ..Run::default()
            };
            let mut found = start.clone();
            let report = stencil.run_with(&mut found, Steps(12), &machine, &run).unwrap();
            assert_eq!((report.done, &report.probes), (done, &probes), "across {axis}");
            assert!(found.as_slice() == expect.as_slice(), "across {axis} by {exchange:?}");
            assert_eq!(report.policy["axis"], axis);
            let told = |note: &String| note.contains("the volume is cut across");
            assert_eq!(report.notes.iter().any(told), axis > 0, "{:?}", report.notes);
        }
    }
}

/// What is too short across its slowest axis is cut across another, unasked.
#[test]
fn a_short_slowest_axis_is_no_reason_to_refuse() {
    let machine = Machine::detect().unwrap();
    let Some(list) = gpus(&machine) else { return println!("skipped: fewer than two GPUs") };
    let stencil = Stencil::of(Star3 { rate: 3 }).boundary(Boundary::Periodic);
    let start = filled::<i32, 3>([2, 300, 260]);
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 9).unwrap();
    let devices: Vec<_> = machine.gpus.iter().map(|gpu| gpu.device().unwrap()).collect();
    let policy = MultiCudaPolicy::default_for(&stencil, [2, 300, 260], &devices).unwrap();
    assert_eq!(policy.axis, 1);
    let candidates = MultiCudaPolicy::candidates(&stencil, [2, 300, 260], &devices).unwrap();
    assert!(candidates.len() > 3 && candidates.iter().all(|policy| policy.axis == 1));
    for policy in [Policy::Gpus(policy), Policy::Cuda(policy.cuda)] {
        let run = Run { target: Target::Gpus(list), policy: Some(policy), ..Run::default() };
        let mut found = start.clone();
        let report = stencil.run_with(&mut found, Steps(9), &machine, &run).unwrap();
        assert!(found.as_slice() == expect.as_slice(), "{report}");
        assert_eq!(report.devices.len(), devices.len());
        assert!(report.notes.iter().any(|note| note.contains("cut across y, as z")), "{report}");
    }
}

/// All GPUs, or two slabs on the only one, across one axis.
struct Across(Vec<Device>);

impl Subject for Across {
    fn ways(&self) -> Vec<String> {
        (0..4).map(|axis| format!("across axis {axis}")).collect()
    }

    fn executor<const D: usize>(
        &self,
        way: usize,
        stencil: &Spec<D>,
        volume: &RawVolume<D>,
    ) -> Result<Box<dyn SweepExecutor<D>>> {
        let flags = (2..4).contains(&D) && self.0[0] != self.0[1];
        let exchange = if flags { Exchange::Flags } else { Exchange::Copies };
        let direct = policy(CudaKernel::Direct, [2, 1, 1], 2, exchange);
        let policy = MultiCudaPolicy { axis: way, ..direct };
        Ok(Box::new(MultiCudaSweeps::new(stencil, volume, &policy, &self.0)?))
    }
}

#[test]
fn every_case_of_the_suite_has_the_references_bits_across_every_axis() {
    let Some(devices) = machines().into_iter().nth(1) else { return println!("skipped: no GPU") };
    let _together = Together::begin();
    let cases = conformance(&Across(devices), |_| {});
    let failed: Vec<_> =
        cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{} of {}: {failed:#?}", failed.len(), cases.len());
    let passed = cases.iter().filter(|case| case.outcome == Outcome::Passed);
    let counts: Vec<_> = (0..4)
        .map(|axis| passed.clone().filter(|it| it.name.ends_with(&format!("axis {axis}"))).count())
        .collect();
    println!("passed across each axis: {counts:?} of {}", cases.len() / 4);
    assert!(counts[0] > 100 && counts[1] > 100 && counts[2] > 50 && counts[3] > 5, "{counts:?}");
}

/// Microseconds a step, and seconds to copy in and out.
fn time<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    start: &Volume<S, D>,
    policy: &MultiCudaPolicy,
    devices: &[Device],
) -> Result<[f64; 3]> {
    let begin = Instant::now();
    let mut executor = MultiCudaSweeps::new(stencil, start, policy, devices)?;
    executor.finish()?;
    let made = begin.elapsed().as_secs_f64();
    let region = Region { low: [0; D], high: start.extents() };
    let mut times = Vec::new();
    for _ in 0..4 {
        let begin = Instant::now();
        executor.sweep(&Sweep {
            first_step: 0,
            steps: 256,
            following: 0,
            region,
            keep_change: false,
        })?;
        executor.finish()?;
        times.push(begin.elapsed().as_secs_f64() * 1e6 / 256.0);
    }
    times[1..].sort_by(f64::total_cmp);
    let mut end = start.clone();
    let begin = Instant::now();
    executor.store(end.writable())?;
    Ok([times[2], made, begin.elapsed().as_secs_f64()])
}

/// `cargo test --release -p warpweft --test stencil_multi_axes -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn rates_across_each_axis() {
    fn each<const D: usize>(name: &str, stencil: &Stencil<f32, D>, extents: [usize; D]) {
        let start = filled::<f32, D>(extents);
        for devices in machines() {
            let parts = devices.len();
            let axis = MultiCudaPolicy::axis_for(stencil, extents, parts);
            for across in 0..D {
                let mut told = Vec::new();
                for policy in [
                    policy(CudaKernel::Direct, [4, 2, 2], 8, Exchange::Flags),
                    MultiCudaPolicy::default_for(stencil, extents, &devices).unwrap(),
                ] {
                    let policy = MultiCudaPolicy { axis: across, ..policy };
                    // The second time, what is compiled is there.
                    let _ = time(stencil, &start, &policy, &devices);
                    told.push(match time(stencil, &start, &policy, &devices) {
                        Ok([step, made, stored]) => format!(
                            "{:?} {step:.2} us, in {made:.3} s, out {stored:.3} s",
                            policy.cuda.kernel
                        ),
                        Err(error) => format!("{error}"),
                    });
                }
                let default = if across == axis { " (default)" } else { "" };
                println!(
                    "{name} {extents:?}, {parts} GPUs across axis {across}{default}: {}",
                    told.join("; ")
                );
            }
        }
    }
    let _together = Together::begin();
    each("heat", &Stencil::of(Heat3 { rate: 0.9 }), [2, 4096, 4096]);
    each("rising", &Stencil::of(Rising { rate: 0.9 }), [256, 256, 256]);
    each("heat", &Stencil::of(Heat3 { rate: 0.9 }), [32, 512, 512]);
    each("heat", &Stencil::of(Heat3 { rate: 0.9 }), [256, 256, 256]);
    each("heat", &Stencil::of(Heat2 { rate: 0.9 }), [512, 8192]);
}
