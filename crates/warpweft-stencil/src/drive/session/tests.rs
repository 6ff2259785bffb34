//! A session on a device that queues: what it reports as seconds, and numbers that there is no room for.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use super::RawSession;
use crate::checkpoint::Checkpoint;
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
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{RawVolume, RawVolumeMut};
use warpweft_core::run::Target;

/// Computes at once, and says that it queues. Its clock has a second an interval.
struct Queueing {
    inner: CpuSweeps,
    bank: Arc<Bank>,
    /// All intervals that ended, and those that were asked for.
    ended: Arc<AtomicU32>,
    asked: u32,
    /// Whether a step has faulted, which is found out when it is waited for.
    faulted: Arc<AtomicBool>,
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
    fn end_numbers(&mut self) -> Result<()> {
        self.bank.end(vec![7.5; self.bank.taken()]);
        Ok(())
    }
    fn sweep(&mut self, sweep: &Sweep) -> Result<()> {
        self.inner.sweep(sweep)
    }
    fn residual(&mut self, kind: Residual) -> Result<f64> {
        self.inner.residual(kind)
    }
    fn finish(&mut self) -> Result<()> {
        if self.faulted.load(Ordering::Relaxed) {
            return Err(Error::spec("a fault", "none"));
        }
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

/// What a test sees and sets of the executor.
#[derive(Clone, Default)]
struct Seen {
    ended: Arc<AtomicU32>,
    faulted: Arc<AtomicBool>,
    /// Whether no executor for several functions can be made.
    full: Arc<AtomicBool>,
}

fn session<'v>(
    volume: &'v mut RawVolume,
    machine: &'v Machine,
    seen: &Seen,
    checkpoint: Option<&'v Checkpoint>,
) -> RawSession<'v> {
    let stencil = Stencil::of(halve());
    let run = Run { target: Target::Cpu, threads: Some(1), checkpoint, ..Run::default() };
    let devices = run.devices(machine).unwrap();
    let mut on = RawSession::open(&stencil, volume, u64::MAX, (machine, &devices), &run).unwrap();
    on.goes_on();
    let seen = seen.clone();
    on.prepared.build = Box::new(move |stencil, volume, _| {
        if seen.full.load(Ordering::Relaxed) && !stencil.others.is_empty() {
            return Err(Error::spec("no room for it", "none"));
        }
        let policy = CpuPolicy::default_for(stencil, volume.extents(), 1, 1 << 20);
        let pool = Arc::new(Pool::new(&[0])?);
        let inner = CpuSweeps::new(stencil, volume, policy, pool, Simd::detect())?;
        let (bank, Seen { ended, faulted, .. }) = (Bank::new(0), seen.clone());
        Ok(Box::new(Queueing { inner, bank, ended, asked: 0, faulted }) as Box<dyn SweepExecutor>)
    });
    on.make(&stencil).unwrap();
    on
}

#[test]
fn what_the_host_does_between_calls_is_no_computing() {
    let machine = Machine::detect().unwrap();
    let mut volume = Volume::from_fn([8], |[x]| x as f64).into_raw();
    let seen = Seen::default();
    let ended = &seen.ended;
    let mut on = session(&mut volume, &machine, &seen, None);
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
    let mut on = session(&mut volume, &machine, &Seen::default(), None);
    let numbers: Vec<_> = (0..CAPACITY).map(|_| on.reduce(Reduce::Sum, [0; 2]).unwrap()).collect();
    let error = on.reduce(Reduce::Sum, [0; 2]).unwrap_err().to_string();
    assert!(error.contains("holds more than 4096 `SessionScalar`s"), "{error}");
    on.advance(1).unwrap();
    drop(numbers);
    on.reduce(Reduce::Sum, [0; 2]).unwrap();
    on.close().unwrap();
    assert_eq!(volume.field::<f64>(0usize).unwrap()[6], 3.0);
}

/// How many steps are saved in a folder.
fn saved(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("step-")).count()
}

#[test]
fn cells_of_a_step_that_faulted_are_not_saved() {
    let (machine, folder) = (Machine::detect().unwrap(), tempfile::tempdir().unwrap());
    let directory = folder.path().join("saved");
    let checkpoint = Checkpoint { directory: directory.clone(), every: 1000, resume: false };
    let mut volume = Volume::from_fn([8], |[x]| x as f64).into_raw();
    let seen = Seen::default();
    let mut on = session(&mut volume, &machine, &seen, Some(&checkpoint));
    on.advance(3).unwrap();
    let before = saved(&directory);
    seen.faulted.store(true, Ordering::Relaxed);
    assert!(on.close().unwrap_err().to_string().contains("a fault"));
    assert_eq!(saved(&directory), before);
    assert_eq!(volume.field::<f64>(0usize).unwrap()[6], 6.0);
}

#[stencil]
fn double(u: Near<f64, 1>) -> f64 {
    2.0 * u[[0]]
}

#[test]
fn functions_that_there_is_no_room_for_end_no_session() {
    let machine = Machine::detect().unwrap();
    let mut volume = Volume::from_fn([8], |[x]| x as f64).into_raw();
    let seen = Seen::default();
    let mut on = session(&mut volume, &machine, &seen, None);
    on.advance(1).unwrap();
    seen.full.store(true, Ordering::Relaxed);
    let error = on.apply((*Stencil::of(double())).clone()).unwrap_err();
    assert!(error.to_string().contains("no room for it"), "{error}");
    on.advance(2).unwrap();
    seen.full.store(false, Ordering::Relaxed);
    on.apply((*Stencil::of(double())).clone()).unwrap();
    on.advance(3).unwrap();
    on.close().unwrap();
    assert_eq!(volume.field::<f64>(0usize).unwrap()[6], 1.5);
}

#[test]
fn numbers_outlive_their_session() {
    let machine = Machine::detect().unwrap();
    for finishes in [true, false] {
        let mut volume = Volume::from_fn([8], |[x]| x as f64).into_raw();
        let mut on = session(&mut volume, &machine, &Seen::default(), None);
        let sum = on.reduce(Reduce::Sum, [0; 2]).unwrap();
        assert_eq!(sum.known().unwrap(), None);
        if finishes {
            drop(on.close().unwrap())
        } else {
            drop(on)
        }
        assert_eq!((2.0 * &sum).known().unwrap(), Some(15.0));
    }
}
