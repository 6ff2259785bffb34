//! A device that fails in the middle of a run: an error on every rank soon, and the last checkpoint
//! whole.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::checkpoint;
use crate::drive::start::Start;
use crate::drive::task::{Task, Watch};
use crate::drive::{Distribution, Ranks};
use crate::exchange::Cells;
use crate::exchange::Route;
use crate::executor::SweepExecutor;
use crate::model::FusedSteps;
use crate::plan::{Region, Sweep};
use crate::prelude::*;
use crate::spec::total::Total;
use crate::{Checkpoint, CpuPolicy, CpuSweeps, Residual, Spec, reference};
use warpweft_core::cluster::{Alone, in_process_all};
use warpweft_core::cpu::{Pool, Simd};
use warpweft_core::element::CellType;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{RawVolume, RawVolumeMut};

/// Fails once it is to go beyond a step.
struct Failing {
    inner: CpuSweeps,
    last: u64,
}

impl SweepExecutor for Failing {
    fn sweep(&mut self, sweep: &Sweep) -> Result<()> {
        if sweep.first_step + sweep.steps > self.last {
            return Err(Error::Device {
                stage: "waiting".into(),
                device: "GPU 2".into(),
                what: "it has fallen off the bus".into(),
                hint: "look at `nvidia-smi`".into(),
            });
        }
        self.inner.sweep(sweep)
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

#[stencil]
fn spread(u: Near<f64, 2>) -> f64 {
    0.25 * (u[[0, -1]] + u[[0, 1]] + u[[-1, 0]] + u[[1, 0]])
}

#[test]
fn a_device_that_vanishes_is_an_error_on_every_rank_and_the_last_checkpoint_is_whole() {
    let stencil = Stencil::of(spread()).boundary(Boundary::Neumann);
    let start = Volume::from_fn([24, 15], |[y, x]| (y * 15 + x) as f64);
    let ranks = Ranks { count: 4, grid: Some([2, 2].into()), depth: Some(3) };
    let distribution: Distribution = stencil.distribution(start.extents().into(), &ranks).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |resume| Checkpoint { directory: folder.path().into(), every: 5, resume };
    let opened =
        |resume| checkpoint::open(&at(resume), &stencil, (start.extents().into(), 7, 40), &Alone);
    let failing = |last: u64| {
        move |stencil: &Spec, volume: &RawVolume, part: usize| {
            let pool = Arc::new(Pool::new(&[0])?);
            let policy = CpuPolicy::default_for(stencil, volume.extents(), 1, 1 << 20);
            let inner = CpuSweeps::new(stencil, volume, policy, pool, Simd::detect())?;
            let last = if part == 2 { last } else { u64::MAX };
            Ok(Box::new(Failing { inner, last }) as Box<dyn SweepExecutor>)
        }
    };
    let raw = start.clone().into_raw();
    let run = |resume: bool, last: u64| {
        let opened = opened(resume).unwrap();
        let build = failing(last);
        let task = Task {
            stencil: &stencil,
            distribution: &distribution,
            start: Start::of(&raw, opened.from.as_ref()),
            first: opened.first(),
            steps: 40,
            build: &build,
            saving: Some(&opened.saver),
            trace: None,
            rebalance: None,
            fused_steps: FusedSteps::STEP,
            halos: Some(Route::Host),
            probed: &Mutex::default(),
        };
        let watch = || Watch { progress: &|_| (), stop: warpweft_core::run::Stop::default() };
        in_process_all(4, Duration::from_secs(60), |net| task.rank(net, &watch()))
    };
    let begin = Instant::now();
    for (rank, outcome) in run(false, 23).into_iter().enumerate() {
        let error = outcome.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("GPU 2") && error.contains("fallen off"), "{error}");
        assert_eq!(error.contains("because rank 2 failed"), rank != 2, "{error}");
    }
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(opened(true).unwrap().first().step, 20);
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 40).unwrap();
    let mut found = start.clone();
    for (rank, outcome) in run(true, u64::MAX).into_iter().enumerate() {
        let region = distribution.partition.region(rank);
        crate::drive::task::store(found.raw_mut(), region, &outcome.unwrap().0).unwrap();
    }
    assert_eq!(found.as_slice(), expect.as_slice());
}
