//! What a run may be told: target, threads, policy, interrupt, deadline, progress.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warpweft::prelude::{Border, Earlier, Error, Keep, Machine, Old, Wavefront, wavefront};
use warpweft::run::Target;
use warpweft::wavefront::{
    CpuPolicy, Kept, Policy, Run, RunExecutor, ScanPolicy, WavefrontExecutor, reference,
};
use warpweft_conformance::wavefront::local;

/// An interrupt is to end a run on the cores within this.
const SOON: Duration = Duration::from_millis(500);

const LOCAL: local = local { matching: 2, mismatch: -1, gap: -1 };

/// The mean of four neighbours, in place.
#[wavefront]
fn relaxed(u: Earlier<f32>, old: Old<f32>) -> f32 {
    0.25 * (u.n + u.w + old.e + old.s)
}

fn machine() -> Machine {
    Machine::detect().unwrap()
}

fn letters(count: usize) -> Vec<u8> {
    (0..count).map(|k| b"ACGT"[k * k % 7 % 4]).collect()
}

#[test]
fn any_threads_and_policy_give_the_references_cells_and_progress_comes_to_the_total() {
    let (a, b) = (letters(301), letters(450));
    let wavefront = Wavefront::of(LOCAL).rows(&a).columns(&b).keep(Keep::Matrix);
    let expect = reference(&wavefront).unwrap();
    for (threads, tile_rows) in [(1, 300), (2, 7), (3, 64)] {
        let told = RefCell::new(Vec::new());
        let progress = |done: u64, total: u64| told.borrow_mut().push((done, total));
        let policy = CpuPolicy { tile_rows, tile_columns: 33, cells_16_bit: false };
        let run = Run {
            target: Target::Cpu,
            threads: Some(threads),
            policy: Some(Policy::Cpu(policy)),
            progress: Some(&progress),
            ..Run::default()
        };
        let (kept, report) = wavefront.run_with(&machine(), &run).unwrap();
        assert!(kept == expect, "{policy:?}");
        assert_eq!(report.policy["tile_rows"], tile_rows);
        assert_eq!(told.borrow().last(), Some(&(301 * 450, 301 * 450)));
        assert!(told.borrow().is_sorted());
    }
}

/// How long `work` goes on after the run was interrupted, at the least of up to three tries: on a machine that is
/// busy otherwise a thread may wait for a core as long.
fn after_an_interrupt(work: impl Fn(&Run<'_>) -> Error) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..3 {
        least = least.min(once_after_an_interrupt(&work));
        if least < SOON {
            break;
        }
    }
    least
}

/// The same of one try, interrupted 100 ms after its beginning.
fn once_after_an_interrupt(work: impl Fn(&Run<'_>) -> Error) -> Duration {
    let flag = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let interrupter = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            flag.store(true, Ordering::Relaxed);
            Instant::now()
        });
        let run = Run { target: Target::Cpu, interrupt: Some(&flag), ..Run::default() };
        let error = work(&run);
        let ended = Instant::now();
        match error {
            Error::Interrupted { done, total, unit } => assert!(done < total && unit == "cells"),
            other => panic!("{other}"),
        }
        ended.saturating_duration_since(interrupter.join().unwrap())
    })
}

#[test]
fn an_interrupt_ends_strips_sweeps_and_batches_soon() {
    let long = letters(400_000);
    let strips = Wavefront::of(LOCAL).rows(&long).columns(&long).keep(Keep::Score);
    let took = after_an_interrupt(|run| strips.run_with(&machine(), run).unwrap_err());
    assert!(took < SOON, "strips {took:?}");

    let plate = [(); 2048];
    let sweeps = Wavefront::of(relaxed()).rows(&plate).columns(&plate);
    let cold = vec![0.0; 2048 * 2048];
    let sweeps = sweeps.initial(&cold).border(Border::Value(1.0)).sweeps(5_000);
    let sweeps = sweeps.keep(Keep::Matrix);
    let took = after_an_interrupt(|run| sweeps.run_with(&machine(), run).unwrap_err());
    assert!(took < SOON, "sweeps {took:?}");

    let some = letters(50_000);
    let pair = Wavefront::of(LOCAL).rows(&some).columns(&some).keep(Keep::Score);
    let batch = vec![pair; 100];
    let took = after_an_interrupt(|run| {
        RunExecutor::new(&machine(), run).unwrap().run_batch(&batch).unwrap_err()
    });
    assert!(took < SOON, "a batch {took:?}");
}

#[test]
fn a_deadline_ends_a_run_and_one_that_has_passed_lets_none_begin() {
    let long = letters(400_000);
    let wavefront = Wavefront::of(LOCAL).rows(&long).columns(&long).keep(Keep::Score);
    for wait in [Duration::ZERO, Duration::from_millis(200)] {
        let took = || {
            let begin = Instant::now();
            let run = Run { target: Target::Cpu, deadline: Some(begin + wait), ..Run::default() };
            let error = wavefront.run_with(&machine(), &run).unwrap_err();
            assert!(matches!(error, Error::Interrupted { .. }), "{error}");
            begin.elapsed()
        };
        // As above: the least of three tries.
        let took = [took(), took(), took()].into_iter().min().unwrap();
        assert!(took >= wait && took < wait + SOON, "{took:?}");
    }
    // One that comes to its end before says nothing.
    let later = Some(Instant::now() + Duration::from_secs(3600));
    let run = Run { target: Target::Cpu, deadline: later, ..Run::default() };
    let short = Wavefront::of(LOCAL).rows(b"ACGT").columns(b"ACGT").keep(Keep::Score);
    assert_eq!(short.run_with(&machine(), &run).unwrap().0, Kept::Score(Some(8)));
}

#[test]
fn what_can_not_be_is_refused_with_what_to_do() {
    let none = Machine { gpus: Vec::new(), ..machine() };
    let wavefront = Wavefront::of(LOCAL).rows(b"ACGT").columns(b"ACGT");
    let refused = |run: Run<'_>| wavefront.run_with(&none, &run).unwrap_err().to_string();
    let scan = Some(Policy::Scan(ScanPolicy { rows: 8, warps: 8 }));
    for (run, expect) in [
        (Run { threads: Some(0), ..Run::default() }, ["0 threads", "use at least 1"]),
        (Run { target: Target::Gpu(1), ..Run::default() }, ["gpu:1", "--device cpu"]),
        (
            Run { target: Target::Cpu, policy: scan, ..Run::default() },
            ["the policy is for GPUs, but the target is cpu", "or none"],
        ),
    ] {
        let told = refused(run);
        assert!(expect.iter().all(|part| told.contains(part)), "{told}");
    }
}
