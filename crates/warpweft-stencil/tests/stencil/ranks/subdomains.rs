//! Several subdomains a process: the conformance suite over the driver on the cores and on GPUs, and what holds
//! on GPUs alone. One GPU has all subdomains where there is but one.

use std::sync::atomic::{AtomicBool, Ordering};

use super::AT_ONCE;
use crate::linear::star;
use warpweft::cuda::Buffer;
use warpweft::prelude::*;
use warpweft::stencil::drive::Ranks;
use warpweft::stencil::{
    CudaKernel, CudaPolicy, GpuList, Policy, Run, Settings, StencilElement, Target, reference,
};
use warpweft_conformance::Pick;
use warpweft_conformance::stencil::{OnSubdomains, Outcome, Subject, conformance_picked};

linear!(Heat2, f32, 2, star::<2, 5>(1), |k| 0.3 - 0.04 * k as f32);
linear!(Heat3, f32, 3, star::<3, 7>(1), |k| 0.2 - 0.02 * k as f32);
linear!(Wide6, f32, 3, star::<3, 19>(3), |k| 0.1 - 0.008 * k as f32);
linear!(Wide8, f32, 3, star::<3, 25>(4), |k| 0.1 - 0.006 * k as f32);
linear!(Double8, f64, 3, star::<3, 25>(4), |k| 0.1 - 0.006 * k as f64);

fn noise(index: usize) -> f32 {
    let mut h = (index as u64 ^ 0x9e37).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h ^= h >> 29;
    (h.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f32 / (1u64 << 24) as f32
}

/// All cases, so many of them at a time.
fn every_case(subject: &(impl Subject + Sync), at_once: usize) {
    let cases: Vec<_> = std::thread::scope(|scope| {
        let share = |n| conformance_picked(subject, &mut Pick::share(n, at_once), |_| {});
        let shares: Vec<_> = (0..at_once).map(|n| scope.spawn(move || share(n))).collect();
        shares.into_iter().flat_map(|share| share.join().unwrap()).collect()
    });
    let failed: Vec<_> =
        cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_))).collect();
    let passed = cases.iter().filter(|case| case.outcome == Outcome::Passed).count();
    println!("{passed} passed, {} failed, {} cases", failed.len(), cases.len());
    assert!(failed.is_empty(), "{} of {}: {failed:#?}", failed.len(), cases.len());
    assert!(passed > 200, "only {passed} of {} cases ran", cases.len());
}

#[test]
fn subdomains_on_cores_have_the_references_bits_in_every_case() {
    every_case(&OnSubdomains::on_cores(&Machine::detect().unwrap()), 1);
}

#[test]
fn subdomains_on_gpus_have_the_references_bits_in_every_case() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    every_case(&OnSubdomains::on_gpus(&machine).unwrap(), AT_ONCE);
}

fn all_gpus(machine: &Machine) -> Option<Target> {
    let all: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
    GpuList::new(&all).ok().map(Target::Gpus)
}

/// With contraction there is no reference to the bit, but one GPU is.
#[test]
fn contracted_kernels_give_the_bits_of_one() {
    let machine = Machine::detect().unwrap();
    let Some(target) = all_gpus(&machine) else { return println!("skipped: no GPU") };
    let stencil = Stencil::of(Heat3 { rate: 0.9 }).boundary(Boundary::Periodic);
    let start = Volume::from_fn([46, 30, 200], |[z, y, x]| noise((z * 30 + y) * 200 + x));
    let shapes =
        CudaPolicy::default_for(&stencil, start.extents().into(), machine.gpus[0].capability);
    let shapes = CudaPolicy { contraction: true, ..shapes };
    let policy = Some(Policy::Cuda(shapes));
    // The default of so small a volume is for whole volumes only.
    let direct = CudaPolicy { kernel: CudaKernel::Direct, cells: [4, 2, 2], warps: 4, ..shapes };
    let mut expect = start.clone();
    let alone = Run { target: Target::Gpu(machine.gpus[0].ordinal), policy, ..Run::default() };
    stencil.run_with(&mut expect, Steps(900), &machine, &alone).unwrap();
    for count in 2..=4 {
        let ranks = Ranks { count, grid: None, depth: None };
        let run = Run { target, policy: Some(Policy::Cuda(direct)), ..Run::default() };
        let mut found = start.clone();
        stencil
            .run_with(
                &mut found,
                Steps(900),
                &machine,
                &Run { settings: run.settings.over(ranks), ..run.clone() },
            )
            .unwrap();
        assert!(found.as_slice() == expect.as_slice(), "{count} subdomains");
    }
}

/// Two subdomains next to each other along x, whose boundaries begin at any cell of a row, by the kernel whose
/// planes the copy engine brings.
fn check_planes<T: Scalar>(element: impl StencilElement<3, State = T>, extents: [usize; 3]) {
    let machine = Machine::detect().unwrap();
    let Some(gpu) = machine.gpus.first() else { return println!("skipped: no GPU") };
    let stencil = Stencil::of(element).boundary(Boundary::Periodic);
    let [z, y, x] = extents;
    let start = Volume::from_fn(extents, |at| {
        T::from_f64(f64::from(noise((at[0] * y + at[1]) * x + at[2])))
    });
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 9).unwrap();
    let part = [z, y, x.div_ceil(2)].into();
    let all = CudaPolicy::candidates(&stencil, part, (gpu.capability, gpu.sms));
    let planes = all.into_iter().find(|policy| policy.kernel == CudaKernel::Planes);
    let Some(cuda) = planes else { return println!("skipped: the GPU has no copy engine") };
    for depth in 1..=2 {
        let ranks = Ranks { count: 2, grid: Some([1, 1, 2].into()), depth: Some(depth) };
        let policy = Some(Policy::Cuda(CudaPolicy { contraction: false, ..cuda }));
        let settings = Settings::default().over(ranks);
        let run = Run { target: Target::Gpu(gpu.ordinal), policy, settings, ..Run::default() };
        let mut found = start.clone();
        stencil.run_with(&mut found, Steps(9), &machine, &run).unwrap();
        assert!(found.as_slice() == expect.as_slice(), "{extents:?} at depth {depth}");
    }
}

#[test]
fn planes_of_subdomains_that_begin_at_any_cell_of_a_row() {
    check_planes(Wide6 { rate: 0.9 }, [50, 50, 74]);
    check_planes(Wide8 { rate: 0.9 }, [11, 13, 37]);
    check_planes(Double8 { rate: 0.9 }, [11, 13, 38]);
}

/// Who frees memory waits for all that runs on its GPU, and others' launches wait for them.
#[test]
fn subdomains_of_one_gpu_are_not_held_up_by_others_who_free_memory() {
    let machine = Machine::detect().unwrap();
    let Some(gpu) = machine.gpus.first() else { return println!("skipped: no GPU") };
    let device = gpu.device().unwrap();
    let start = Volume::from_fn([64, 300], |[y, x]| noise(y * 300 + x));
    let stencil = Stencil::of(Heat2 { rate: 0.1 }).boundary(Boundary::Periodic);
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 3000).unwrap();
    let cuda = CudaPolicy::default_for(&stencil, start.extents().into(), gpu.capability);
    let policy = Some(Policy::Cuda(CudaPolicy { contraction: false, ..cuda }));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut freed = 0u32;
            while !done.load(Ordering::Relaxed) {
                drop(Buffer::new(&device, 1 << 20).unwrap());
                freed += 1;
            }
            freed
        });
        let run = Run { target: Target::Gpu(gpu.ordinal), policy, ..Run::default() };
        let ranks = Ranks { count: 2, grid: Some([2, 1].into()), depth: Some(1) };
        let mut found = start.clone();
        let outcome = stencil.run_with(
            &mut found,
            Steps(3000),
            &machine,
            &Run { settings: run.settings.over(ranks), ..run.clone() },
        );
        done.store(true, Ordering::Relaxed);
        assert!(other.join().unwrap() > 0);
        outcome.unwrap();
        assert!(found.as_slice() == expect.as_slice());
    });
}

/// The volume is cut across another axis where the slowest is too short.
#[test]
fn a_short_slowest_axis_is_no_reason_to_refuse() {
    let machine = Machine::detect().unwrap();
    let Some(target) = all_gpus(&machine) else { return println!("skipped: no GPU") };
    let start = Volume::from_fn([2, 300, 260], |[z, y, x]| noise((z * 300 + y) * 260 + x));
    let stencil = Stencil::of(Heat3 { rate: 0.9 });
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 9).unwrap();
    let cuda =
        CudaPolicy::default_for(&stencil, start.extents().into(), machine.gpus[0].capability);
    let policy = Some(Policy::Cuda(CudaPolicy { contraction: false, ..cuda }));
    let run = || Run { target, policy, ..Run::default() };
    let mut found = start.clone();
    let report = stencil.run_with(&mut found, Steps(9), &machine, &run()).unwrap();
    assert!(found.as_slice() == expect.as_slice());
    assert_eq!(report.devices.len(), machine.gpus.len());
    let ranks = Ranks { count: 3, grid: None, depth: None };
    let mut found = start.clone();
    stencil
        .run_with(
            &mut found,
            Steps(9),
            &machine,
            &Run { settings: run().settings.over(ranks), ..run() },
        )
        .unwrap();
    assert!(found.as_slice() == expect.as_slice());
}
