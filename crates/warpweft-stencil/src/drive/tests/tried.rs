//! Kernels that are to be tried are timed alone, also in runs that look at each fiftieth step or record probes.

use std::sync::{Arc, Mutex};

use crate::drive::start::Start;
use crate::drive::subdomain::{How, LocalSubdomain};
use crate::exchange::Cells;
use crate::executor::SweepExecutor;
use crate::plan::partition::Partition;
use crate::plan::{Region, Sweep};
use crate::prelude::*;
use crate::spec::total::Total;
use crate::{Boundaries, CpuPolicy, CpuSweeps, Residual, Spec};
use warpweft_core::cluster::Alone;
use warpweft_core::cpu::{Pool, Simd};
use warpweft_core::element::CellType;
use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume, RawVolumeMut};

/// Steps of a pass of the kernels to try.
const DEPTH: u64 = 20;

/// What was called: the steps of a sweep, or none where the device was waited for.
type Calls = Arc<Mutex<Vec<Option<u64>>>>;

/// Has a kernel to try until it was waited for after so many sweeps.
struct Trying {
    inner: CpuSweeps,
    calls: Calls,
    left: u32,
    swept: Option<u64>,
}

impl SweepExecutor for Trying {
    fn tries_kernels(&self) -> bool {
        self.left > 0
    }
    fn steps_per_pass(&self) -> Option<u64> {
        Some(DEPTH)
    }
    fn sweep(&mut self, sweep: &Sweep) -> Result<()> {
        self.calls.lock().unwrap().push(Some(sweep.steps));
        // A second sweep before the device was waited for says nothing.
        self.swept = Some(if self.swept.is_none() { sweep.steps } else { 0 });
        self.inner.sweep(sweep)
    }
    fn finish(&mut self) -> Result<()> {
        self.calls.lock().unwrap().push(None);
        if self.swept.take().is_some_and(|steps| steps >= DEPTH) {
            self.left = self.left.saturating_sub(1);
        }
        self.inner.finish()
    }
    fn residual(&mut self, kind: Residual) -> Result<f64> {
        self.inner.residual(kind)
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

#[stencil]
fn spread(u: Near<f64, 2>) -> f64 {
    0.25 * (u[[0, -1]] + u[[0, 1]] + u[[-1, 0]] + u[[1, 0]])
}

/// The calls of blocks of 50 steps, the last of each measured, with so many trials to make.
fn calls(trials: u32, blocks: usize) -> Vec<Option<u64>> {
    let stencil = Stencil::of(spread()).boundary(Boundary::Neumann);
    let volume = Volume::from_fn([12, 10], |[y, x]| (y * 10 + x) as f64).into_raw();
    let calls = Calls::default();
    let build = |stencil: &Spec, volume: &RawVolume, _: usize| {
        let policy = CpuPolicy::default_for(stencil, volume.extents(), 1, 1 << 20);
        let pool = Arc::new(Pool::new(&[0])?);
        let inner = CpuSweeps::new(stencil, volume, policy, pool, Simd::detect())?;
        let trying = Trying { inner, calls: calls.clone(), left: trials, swept: None };
        Ok(Box::new(trying) as Box<dyn SweepExecutor>)
    };
    let walls = Boundaries::all(2, Boundary::Neumann);
    let partition = Partition::grid([12, 10], [1, 1], &walls).unwrap();
    let zone = partition.grown(0, &Axes::filled(2, [0; 2]));
    let start = Start::Volume(&volume);
    let mut local = LocalSubdomain::new(&stencil, (&partition, 0), zone, start, &build, 0).unwrap();
    let how = How { ahead: None, overlaps: false, queued: false };
    for _ in 0..blocks {
        local.advance(50, &how, Some(Residual::Max), &Alone).unwrap();
    }
    drop(local);
    let calls = calls.lock().unwrap();
    calls.clone()
}

#[test]
fn a_kernel_to_try_takes_the_steps_before_one_that_is_measured_alone() {
    let tried = [Some(49), None, Some(1), None];
    let known = [Some(49), Some(1), None];
    assert_eq!(calls(2, 3), [&tried[..], &tried, &known].concat());
    assert_eq!(calls(0, 2), [known, known].concat());
}
