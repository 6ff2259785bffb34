//! Two executors of the cores in the roles of cores and GPU, slowed down to known speeds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::drive::hybrid::*;
use crate::drive::subdomain::Built;
use crate::exchange::Cells;
use crate::executor::SweepExecutor;
use crate::model::FusedSteps;
use crate::plan::Sweep;
use crate::prelude::*;
use crate::spec::total::Total;
use crate::{CpuSweeps, Residual, reference};
use warpweft_core::cpu::{Pool, Simd};
use warpweft_core::element::CellType;
use warpweft_core::grid::RawVolumeMut;

/// Takes at least so long for every plane and step.
struct Slowed {
    inner: CpuSweeps,
    a_step: Duration,
}

impl SweepExecutor for Slowed {
    fn sweep(&mut self, sweep: &Sweep) -> Result<()> {
        let begin = Instant::now();
        self.inner.sweep(sweep)?;
        std::thread::sleep((self.a_step * sweep.steps as u32).saturating_sub(begin.elapsed()));
        Ok(())
    }
    fn residual(&mut self, kind: Residual) -> Result<f64> {
        self.inner.residual(kind)
    }
    fn finish(&mut self) -> Result<()> {
        self.inner.finish()
    }
    fn store(&mut self, volume: RawVolumeMut<'_>) -> Result<()> {
        self.inner.store(volume)
    }
    fn read(&mut self, boxes: &[Cells], to: &mut Vec<u8>) -> Result<()> {
        self.inner.read(boxes, to)
    }
    fn write(&mut self, boxes: &[Cells], bytes: &[u8]) -> Result<()> {
        self.inner.write(boxes, bytes)
    }
    fn changes(&mut self, kind: Residual, region: &Region) -> Result<Total> {
        self.inner.changes(kind, region)
    }
    fn cell(&self) -> CellType {
        self.inner.cell()
    }
}

/// Makes executors that take so many microseconds a plane and step.
fn slowed(micros: u64) -> impl Fn(&Spec, &RawVolume, usize) -> Built + Sync {
    move |stencil, volume, part| {
        let pool = Arc::new(Pool::new(&[part])?);
        let policy = CpuPolicy::default_for(stencil, volume.extents(), 1, 1 << 20);
        let inner = CpuSweeps::new(stencil, volume, policy, pool, Simd::detect())?;
        let a_step = Duration::from_micros(micros * volume.extents()[0] as u64);
        Ok(Box::new(Slowed { inner, a_step }))
    }
}

/// `steps` steps of `stencil` on devices of these speeds, of which the first has `share` at first; the
/// bits must be the reference's.
fn shared<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    start: &Volume<S, D>,
    (steps, depth): (u64, usize),
    micros: [u64; 2],
    share: f64,
) -> Shared {
    let (cpu, gpu) = (slowed(micros[0]), slowed(micros[1]));
    let both = Both {
        stencil,
        builds: [&cpu, &gpu],
        depth,
        fused_steps: FusedSteps::STEP,
        first: State::default(),
        steps,
        saving: None,
        probed: &Mutex::default(),
    };
    let balance = Balance::new(start.extents()[0], stencil.thinnest(depth), share);
    let mut found = start.clone();
    let shared = both.run(found.raw_mut(), balance, &Run::default()).unwrap();
    let mut expect = start.clone();
    reference(stencil, &mut expect, steps).unwrap();
    for field in 0..start.cell_type().len() {
        assert!(found.field_bytes(field) == expect.field_bytes(field), "{:?}", shared.shares);
    }
    assert_eq!(shared.reports[0].steps, steps);
    shared
}

#[stencil]
fn stir(u: Near<u32, 3>) -> u32 {
    let hash = (u[[0, 0, 0]] ^ u[[-1, 0, 1]]) * 0x9e37_79b1 + u[[0, -1, 0]];
    (hash ^ u[[1, 1, 0]]) * 0x85eb_ca6b + u[[2, 0, 0]]
}

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
struct Wave {
    v: f32,
    s: f64,
    rho: f32,
}

#[stencil]
fn velocity(now: Near<Wave, 2>, next: &mut Wave) {
    let slope = (now.s[[1, 0]] - now.s[[0, 0]]) as f32;
    next.v = now.v[[0, 0]] + 0.1 * now.rho[[0, 0]] * slope;
}

#[stencil]
fn stress(now: Near<Wave, 2>, next: &mut Wave) {
    next.s = 0.9 * now.s[[0, 0]] + (now.v[[0, 0]] - now.v[[-1, 0]]) as f64;
}

fn stirred() -> Volume<u32, 3> {
    Volume::from_fn([40, 5, 6], |[z, y, x]| (z * 30 + y * 6 + x) as u32 * 0x9e37_79b1)
}

#[test]
fn bits_are_the_same_wherever_planes_are_and_however_often_they_move() {
    for boundary in [Boundary::Periodic, Boundary::Neumann, Boundary::Mirror] {
        let stencil = Stencil::of(stir()).boundary(boundary);
        let found = shared(&stencil, &stirred(), (30, 2), [200, 200], 0.2);
        assert!(found.shares.len() > 1, "{:?}", found.shares);
        let stencil = Stencil::sequence((velocity(), stress())).boundary(boundary);
        let wave = |[y, x]: [usize; 2]| Wave { v: y as f32, s: (y * x) as f64, rho: 1.0 };
        shared(&stencil, &Volume::from_fn([37, 9], wave), (23, 3), [300, 200], 0.8);
    }
}

#[test]
fn shares_settle_in_fewer_than_five_exchanges() {
    let stencil = Stencil::of(stir()).boundary(Boundary::Neumann);
    // The first takes three times as long, so a quarter of the planes is its share, of which four on
    // either side are ghosts: 8 of its own. Others may disturb the clock.
    let found = shared(&stencil, &stirred(), (24, 2), [900, 300], 0.6);
    let settled = found.shares.iter().take_while(|(rounds, _)| *rounds < 5).last().unwrap();
    assert!((5..=12).contains(&settled.1.cpu), "{:?}", found.shares);
}

#[test]
fn who_does_not_pay_gets_nothing() {
    let stencil = Stencil::of(stir()).boundary(Boundary::Periodic);
    let found = shared(&stencil, &stirred(), (40, 2), [6000, 100], 0.3);
    assert_eq!(found.shares.last().unwrap().1, Shares { cpu: 0, gpu: 40 });
    assert_eq!(found.distribution.partition.parts(), 1);
}

#[test]
fn a_gpu_and_cores_give_the_bits_of_either() {
    let machine = Machine::detect().unwrap();
    let Some(found) = machine.gpus.first() else { return println!("skipped: no GPU") };
    let device = found.device().unwrap();
    let stencil = Stencil::of(stir()).boundary(Boundary::Periodic);
    let start = stirred();
    let policy = CudaPolicy {
        phases: 0,
        contraction: false,
        ..CudaPolicy::default_for(&stencil, start.extents().into(), found.capability)
    };
    let on_gpu = |stencil: &Spec, volume: &RawVolume, _: usize| {
        let sweeps = CudaSweeps::new(stencil, volume, &policy, &device)?;
        Ok(Box::new(sweeps) as Box<dyn SweepExecutor>)
    };
    for micros in [0, 300, 20_000] {
        let on_cores = slowed(micros);
        let both = Both {
            stencil: &stencil,
            builds: [&on_cores, &on_gpu],
            depth: 2,
            fused_steps: FusedSteps::STEP,
            first: State::default(),
            steps: 61,
            saving: None,
            probed: &Mutex::default(),
        };
        let mut volume = start.clone();
        let balance = Balance::new(40, stencil.thinnest(2), 0.5);
        let shared = both.run(volume.raw_mut(), balance, &Run::default()).unwrap();
        let mut expect = start.clone();
        reference(&stencil, &mut expect, 61).unwrap();
        assert!(volume.as_slice() == expect.as_slice(), "{:?}", shared.shares);
    }
}
