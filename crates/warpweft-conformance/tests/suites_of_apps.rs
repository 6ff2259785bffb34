//! The applications on every executor that this machine has, bit for bit; and how fast they are.
//!
//! `cargo test --release -p warpweft-conformance --features apps --test suites_of_apps -- --ignored --nocapture`

use std::sync::Arc;
use std::time::Instant;

use warpweft::cpu::Pool;
use warpweft::element::{Fields, ScalarKind};
use warpweft::prelude::*;
use warpweft::stencil::{
    CpuPolicy, CpuSweeps, CudaPolicy, CudaSweeps, PointSource, SweepExecutor, sweeps,
};
use warpweft_apps::himeno::Relaxes;
use warpweft_apps::hyperthermia::Warms;
use warpweft_apps::seismic::Medium;
use warpweft_apps::tricubic::Moves;
use warpweft_apps::{edge, swim};
use warpweft_conformance::apps::conformance;
use warpweft_conformance::stencil::{Case, OnCores, OnGpu, Outcome, Subject};

fn check(subject: &impl Subject) {
    let cases = conformance(subject, |_| ()).expect("applications");
    let failed: Vec<_> =
        cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let skipped = |Case { outcome, .. }: &&Case| matches!(outcome, Outcome::Skipped(_));
    for Case { name, outcome } in cases.iter().filter(skipped) {
        println!("skipped {name}: {outcome:?}");
    }
    assert!(cases.iter().any(|case| case.outcome == Outcome::Passed));
}

#[test]
fn applications_conform_on_the_cores() {
    let machine = Machine::detect().expect("a machine");
    check(&OnCores::new(&machine).expect("cores"));
}

#[test]
fn applications_conform_on_a_gpu() {
    let machine = Machine::detect().expect("a machine");
    match (machine.gpus.first(), warpweft::cuda::compiler()) {
        (None, _) => println!("skipped: no GPU"),
        (_, Err(error)) => println!("skipped: {error}"),
        (Some(gpu), Ok(_)) => check(&OnGpu::new(gpu).expect("a GPU")),
    }
}

/// Every field noise from 0 to 1, the same every time.
fn noise<S: Fields, const D: usize>(extents: [usize; D]) -> Volume<S, D> {
    let mut volume = Volume::zeroed(extents).expect("enough memory");
    for (f, field) in S::FIELDS.iter().enumerate() {
        let value = |i: usize| (i.wrapping_mul(0x9e37_79b9) >> 9 & 0xffff) as f64 / 65_536.0;
        match field.kind {
            ScalarKind::F32 => {
                let cells = volume.field_mut::<f32>(f).unwrap_or_default();
                cells.iter_mut().enumerate().for_each(|(i, cell)| *cell = value(i) as f32);
            }
            _ => {
                let cells = volume.field_mut::<f64>(f).unwrap_or_default();
                cells.iter_mut().enumerate().for_each(|(i, cell)| *cell = value(i));
            }
        }
    }
    volume
}

/// Cells a second of the best of three runs of `steps` steps, cut at sources as a run does.
fn rate<const D: usize>(
    executor: &mut dyn SweepExecutor,
    extents: [usize; D],
    steps: u64,
    each_step: &mut dyn FnMut(&mut dyn SweepExecutor),
    length: u64,
) -> f64 {
    let mut best = 0.0f64;
    for _ in 0..3 {
        let start = Instant::now();
        for sweep in sweeps(extents.into(), steps, length, None) {
            executor.sweep(&sweep).expect("a sweep");
            each_step(executor);
        }
        executor.finish().expect("no fault");
        let cells: usize = extents.iter().product();
        best = best.max(cells as f64 * steps as f64 / start.elapsed().as_secs_f64());
    }
    best
}

/// Rates of an application on the device and, in a smaller volume, on the cores, next to the bound at
/// 4.24 TB/s.
fn rates<S: Fields, const D: usize>(
    name: &str,
    stencil: &Stencil<S, D>,
    [large, small]: [[usize; D]; 2],
    source: Option<PointSource<D>>,
) {
    let machine = Machine::detect().expect("a machine");
    let stencil = stencil.clone().boundary(Boundary::Periodic);
    let bound = 4.24e12 / stencil.step_bytes() as f64;
    let mut each_step = |executor: &mut dyn SweepExecutor| {
        if let Some(source) = &source {
            let at: Vec<_> = source.at.iter().map(|&at| warpweft::grid::Axes::of(at)).collect();
            executor.add(source.field, &at, 1.0).expect("a cell");
        }
    };
    let length = if source.is_some() { 1 } else { u64::MAX };
    let mut line = format!("{name:<28} {:>4} B a cell", stencil.step_bytes());
    if let (Some(gpu), Ok(_)) = (machine.gpus.first(), warpweft::cuda::compiler()) {
        let device = gpu.device().expect("a device");
        let policy = CudaPolicy::default_for(&stencil, large.into(), gpu.capability);
        let volume: Volume<S, D> = noise(large);
        let mut executor =
            CudaSweeps::new(&stencil, &volume, &policy, &device).expect("a policy that fits");
        let local = executor.registers().1;
        let rate = rate(&mut executor, large, 50, &mut each_step, length);
        line += &format!(
            ", GPU {:.1} Gcells/s, {:.0} % of {:.0}, spills {local}",
            1e-9 * rate,
            100.0 * rate / bound,
            1e-9 * bound
        );
    }
    let pool = Arc::new(Pool::new(&machine.cpu.cores).expect("cores"));
    let caches = &machine.cpu.caches;
    let cache = caches.l2.unwrap_or(1 << 20).max(caches.l3.unwrap_or(0) / 4);
    let policy = CpuPolicy::default_for(&stencil, small.into(), pool.len(), cache as usize);
    let volume: Volume<S, D> = noise(small);
    let mut executor = CpuSweeps::new(&stencil, &volume, policy, pool.clone(), machine.cpu.simd)
        .expect("a policy that fits");
    let rate = rate(&mut executor, small, 12, &mut each_step, length);
    println!("{line}, {} cores {:.3} Gcells/s", pool.len(), 1e-9 * rate);
}

#[test]
#[ignore = "measures"]
fn rates_of_applications() {
    let (flat, deep) = ([[8192; 2], [2048; 2]], [[384; 3], [192; 3]]);
    let rock = Medium::granite(0.8).stencil::<f32>().expect("a medium");
    rates("edge f32", &edge::stencil(), flat, None);
    rates("hyperthermia f32", &<f32 as Warms>::stencil(), deep, None);
    rates("himeno f32", &<f32 as Relaxes>::stencil(), deep, None);
    rates("tricubic f32", &<f32 as Moves>::stencil(), deep, None);
    rates("swim f64", &swim::stencil::<f64>(), [[4096; 2], [1024; 2]], None);
    rates("seismic f32", &rock, deep, None);
    let source = PointSource { field: 3, at: vec![[96; 3]], amplitudes: Vec::new() };
    rates("seismic f32, one source", &rock, deep, Some(source));
}
