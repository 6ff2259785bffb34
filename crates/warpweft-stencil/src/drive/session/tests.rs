//! A session on a device that queues: what it reports as seconds, and numbers that there is no room for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::RawSession;
use crate::exchange::Cells;
use crate::executor::SweepExecutor;
use crate::plan::{Region, Sweep};
use crate::prelude::*;
use crate::run::Run;
use crate::spec::reduction::Reduce;
use crate::spec::reduction::scalar::{Bank, CAPACITY, Code, SessionScalar};
use crate::spec::total::Total;
use crate::{CpuPolicy, CpuSweeps, Residual};
use warpweft_core::cpu::{Pool, Simd};
use warpweft_core::element::CellType;
use warpweft_core::error::Result;
use warpweft_core::grid::{RawVolume, RawVolumeMut};
use warpweft_core::run::Target;

/// Computes at once, and says that it queues. Its clock has a second an interval.
struct Queueing {
    inner: CpuSweeps,
    bank: Arc<Bank>,
    /// All intervals that ended, and those that were asked for.
    ended: Arc<AtomicU32>,
    asked: u32,
}

impl SweepExecutor for Queueing {
    fn queues(&self) -> bool {
        true
    }
    fn time(&mut self, begins: bool) -> Result<()> {
        self.ended.fetch_add(u32::from(!begins), Ordering::Relaxed);
        Ok(())
    }
    fn seconds(&mut self) -> Result<f64> {
        let ended = self.ended.load(Ordering::Relaxed);
        Ok(f64::from(ended - std::mem::replace(&mut self.asked, ended)))
    }
    fn queue_reduce(&mut self, _: Reduce, _: [usize; 2], _: &Region) -> Result<SessionScalar> {
        Ok(self.bank.queue(Code::Sum, [0, 0], [0.0; 2]))
    }
    fn sweep(&mut self, sweep: &Sweep) -> Result<()> {
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
fn halve(u: Near<f64, 1>) -> f64 {
    0.5 * u[[0]]
}

fn session<'v>(
    volume: &'v mut RawVolume,
    machine: &'v Machine,
    ended: &Arc<AtomicU32>,
) -> RawSession<'v> {
    let stencil = Stencil::of(halve());
    let run = Run { target: Target::Cpu, threads: Some(1), ..Run::default() };
    let devices = run.devices(machine).unwrap();
    let mut on = RawSession::open(&stencil, volume, u64::MAX, (machine, &devices), &run).unwrap();
    on.goes_on();
    let ended = ended.clone();
    on.prepared.build = Box::new(move |stencil, volume, _| {
        let policy = CpuPolicy::default_for(stencil, volume.extents(), 1, 1 << 20);
        let pool = Arc::new(Pool::new(&[0])?);
        let inner = CpuSweeps::new(stencil, volume, policy, pool, Simd::detect())?;
        let (bank, ended, asked) = (Bank::new(0), ended.clone(), 0);
        Ok(Box::new(Queueing { inner, bank, ended, asked }) as Box<dyn SweepExecutor>)
    });
    on.make(&stencil).unwrap();
    on
}

#[test]
fn what_the_host_does_between_calls_is_no_computing() {
    let machine = Machine::detect().unwrap();
    let mut volume = Volume::from_fn([8], |[x]| x as f64).into_raw();
    let ended = Arc::default();
    let mut on = session(&mut volume, &machine, &ended);
    let (mut steps, pause) = (0, Duration::from_millis(20));
    while ended.load(Ordering::Relaxed) < 3 && steps < 500 {
        steps += 1;
        on.advance(steps).unwrap();
        std::thread::sleep(pause);
    }
    let report = on.close().unwrap();
    // Some calls, among them the first four, are waited for. They have the host's clock.
    let by_the_host = report.seconds - 3.0;
    let pauses = steps as f64 * pause.as_secs_f64();
    assert!((0.0..pauses / 2.0).contains(&by_the_host), "{by_the_host} of {pauses}");
    assert_eq!(report.done, steps);
}

#[test]
fn a_session_goes_on_after_a_number_that_there_is_no_room_for() {
    let machine = Machine::detect().unwrap();
    let mut volume = Volume::from_fn([8], |[x]| x as f64).into_raw();
    let mut on = session(&mut volume, &machine, &Arc::default());
    let numbers: Vec<_> = (0..CAPACITY).map(|_| on.reduce(Reduce::Sum, [0; 2]).unwrap()).collect();
    let error = on.reduce(Reduce::Sum, [0; 2]).unwrap_err().to_string();
    assert!(error.contains("more than 4096 numbers of a session at once"), "{error}");
    on.advance(1).unwrap();
    drop(numbers);
    on.reduce(Reduce::Sum, [0; 2]).unwrap();
    on.close().unwrap();
    assert_eq!(volume.field::<f64>(0usize).unwrap()[6], 3.0);
}
