//! `Stencil::run` as a user calls it, on the cores.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warpweft::Error;
use warpweft::prelude::*;
use warpweft::stencil::drive::{Distribution, Ranks, run_on_cores};
use warpweft::stencil::{
    Boundaries, Checkpoint, CpuPolicy, Partition, Policy, Run, Settings, Target, Tuning, reference,
};
use warpweft::trace::Trace;

#[stencil]
fn diffuse(u: Near<f64, 2>, rate: f64) -> f64 {
    let around = u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]];
    u[[0, 0]] + rate * (around - 4.0 * u[[0, 0]])
}

#[stencil]
fn divide(u: Near<i32, 2>) -> i32 {
    100 / u[[0, 1]]
}

/// Faults where a cell is like the next one.
#[stencil]
fn slope(u: Near<i32, 1>) -> i32 {
    u[[0]] + 6 / (u[[1]] - u[[0]]) - 6
}

fn spot() -> Volume<f64, 2> {
    Volume::from_fn([40, 50], |[y, x]| if (y, x) == (20, 25) { 100.0 } else { 0.0 })
}

fn on_cores<'a>() -> Run<'a> {
    Run { target: Target::Cpu, ..Run::default() }
}

#[test]
fn a_run_has_the_references_bits_and_a_report() {
    let stencil = Stencil::of(diffuse(0.2)).boundary(Boundary::Periodic);
    let (mut found, mut expect) = (spot(), spot());
    let machine = Machine::detect().unwrap();
    let report = stencil.run_with(&mut found, Steps(37), &machine, &on_cores()).unwrap();
    reference(&stencil, &mut expect, 37).unwrap();
    assert_eq!(found.as_slice(), expect.as_slice());
    assert_eq!((report.done, report.interrupted, report.residual), (37, false, None));
    assert!(report.rate.value > 0.0 && report.policy["executor"] == "cpu");
    let again = stencil.run_with(&mut found, Steps(0), &machine, &on_cores()).unwrap();
    assert_eq!((again.done, found.as_slice() == expect.as_slice()), (0, true));
}

#[test]
fn it_stops_where_the_reference_does() {
    let machine = Machine::detect().unwrap();
    for residual in [Residual::Max, Residual::Sum, Residual::SumOfSquares] {
        let stencil = Stencil::of(diffuse(0.2)).boundary(Boundary::Neumann).until(residual, 1e-1);
        let (mut found, mut expect) = (spot(), spot());
        let done = reference(&stencil, &mut expect, 1000).unwrap();
        let report = stencil.run_with(&mut found, Steps(1000), &machine, &on_cores()).unwrap();
        assert!(done < 1000);
        assert_eq!(report.done, done);
        assert!(report.residual.unwrap() <= 1e-1);
        assert_eq!(found.as_slice(), expect.as_slice());
    }
}

#[test]
fn it_stops_at_a_checked_step_alone() {
    let machine = Machine::detect().unwrap();
    let free = Stencil::of(diffuse(0.2)).boundary(Boundary::Neumann);
    let (mut found, mut expect) = (spot(), spot());
    let every_step = free.clone().until(Residual::Sum, 1e-1);
    let first = every_step.run_with(&mut found, Steps(1000), &machine, &on_cores()).unwrap().done;
    let every = 7;
    let stencil = free.clone().until_every(Residual::Sum, 1e-1, every);
    let done = reference(&stencil, &mut expect, 1000).unwrap();
    let mut found = spot();
    let report = stencil.run_with(&mut found, Steps(1000), &machine, &on_cores()).unwrap();
    assert_eq!((report.done, report.done), (done, first.next_multiple_of(every)));
    assert_eq!(found.as_slice(), expect.as_slice());
    let never = free.until_every(Residual::Sum, 1e-1, 0);
    let error = never.run_with(&mut found, Steps(1), &machine, &on_cores()).unwrap_err();
    assert!(error.to_string().contains("every 1 or more steps"), "{error}");
}

#[test]
fn an_interrupted_run_keeps_the_steps_it_did() {
    let stencil = Stencil::of(diffuse(0.2));
    let machine = Machine::detect().unwrap();
    let flag = AtomicBool::new(false);
    let told = RefCell::new(Vec::new());
    let progress = |done, of| {
        told.borrow_mut().push((done, of));
        flag.store(true, Ordering::Relaxed);
    };
    let run = Run { interrupt: Some(&flag), progress: Some(&progress), ..on_cores() };
    let (mut found, mut expect) = (spot(), spot());
    let report = stencil.run_with(&mut found, Steps(1 << 40), &machine, &run).unwrap();
    assert!(report.interrupted && report.done > 0);
    assert_eq!(*told.borrow(), [(report.done, 1 << 40)]);
    stencil.run_with(&mut expect, Steps(report.done), &machine, &on_cores()).unwrap();
    assert_eq!(found.as_slice(), expect.as_slice());
}

#[test]
fn a_fault_of_the_element_names_its_stage_and_leaves_the_volume() {
    let mut volume = Volume::from_fn([9, 9], |[y, x]| if (y, x) == (4, 4) { 0 } else { 10 });
    let before = volume.clone();
    let stencil = Stencil::of(divide()).boundary(Boundary::Dirichlet(1.0));
    let machine = Machine::detect().unwrap();
    let error = stencil.run_with(&mut volume, Steps(3), &machine, &on_cores()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`divide`") && text.contains("divide by zero"), "{text}");
    assert_eq!(volume.as_slice(), before.as_slice());
}

#[test]
fn a_trace_shows_what_every_worker_did() {
    let trace = Arc::new(Trace::new());
    let shape = CpuPolicy {
        temporal_depth: 4,
        tile_rows: 1,
        slab_planes: 4,
        tile_cells: 16,
        unroll_and_jam: 2,
    };
    let (policy, trace_to) = (Some(Policy::Cpu(shape)), Some(trace.clone()));
    let run = Run { policy, threads: Some(2), trace: trace_to, ..on_cores() };
    let machine = Machine::detect().unwrap();
    Stencil::of(diffuse(0.2)).run_with(&mut spot(), Steps(8), &machine, &run).unwrap();
    let spans = trace.spans();
    for lane in ["run", "worker 0", "worker 1"] {
        assert!(spans.iter().any(|span| span.lane == lane), "{lane}: {spans:?}");
    }
}

#[test]
fn a_gpu_that_is_not_there_and_a_policy_of_another_device_are_refused() {
    let mut machine = Machine::detect().unwrap();
    machine.gpus.clear();
    let stencil = Stencil::of(diffuse(0.2));
    let run = Run { target: Target::Gpu(3), ..Run::default() };
    let error = stencil.run_with(&mut spot(), Steps(1), &machine, &run).unwrap_err().to_string();
    assert!(error.contains("gpu:3") && error.contains("no GPU can be used"), "{error}");
    let shape = CpuPolicy::default_for(&stencil, [40, 50].into(), 2, 1 << 20);
    let zero =
        Run { policy: Some(Policy::Cpu(CpuPolicy { slab_planes: 0, ..shape })), ..Run::default() };
    let error = stencil.run_with(&mut spot(), Steps(1), &machine, &zero).unwrap_err().to_string();
    assert!(error.contains("`slab_planes` 0"), "{error}");
    let wrong = Run { policy: Some(Policy::Cpu(shape)), ..run };
    assert!(stencil.run_with(&mut spot(), Steps(1), &machine, &wrong).is_err());
}

#[test]
fn faces_that_are_not_there_and_tolerances_below_zero_are_refused() {
    let stencil = Stencil::of(diffuse(0.2));
    let error = |stencil: Stencil<f64, 2>| stencil.check([8, 8]).unwrap_err().to_string();
    let ended = error(stencil.clone().face(3, Face::Low, Boundary::Neumann));
    assert!(ended.contains("axis 3 of 2 dimensions") && ended.contains("to 1"), "{ended}");
    for tolerance in [-1.0, f64::NAN] {
        let ended = error(stencil.clone().until(Residual::Max, tolerance));
        assert!(ended.contains(&format!("tolerance {tolerance}")), "{ended}");
    }
}

#[test]
fn a_residual_that_is_nan_ends_the_run_with_its_step() {
    let machine = Machine::detect().unwrap();
    let mut volume = Volume::from_fn([8, 8], |at| if at == [3, 3] { f64::NAN } else { 0.0 });
    let stencil = Stencil::of(diffuse(0.2)).until(Residual::Max, 1e-3);
    let report = stencil.run_with(&mut volume, Steps(4), &machine, &on_cores()).unwrap();
    let ended = |report: &Report, step| {
        let note = format!("the residual is NaN after step {step}, so the run stops there; help: ");
        assert_eq!((report.done, report.converged()), (step, Some(false)));
        assert!(report.notes.iter().any(|said| said.starts_with(&note)), "{:?}", report.notes);
    };
    ended(&report, 1);
    let stencil = Stencil::of(diffuse(0.2)).until_every(Residual::SumOfSquares, 1e-3, 3);
    let over = Ranks { count: 2, grid: None, depth: None };
    let ranks = Run { settings: on_cores().settings.over(over), ..on_cores() };
    for run in [on_cores(), ranks] {
        ended(&stencil.run_with(&mut volume, Steps(40), &machine, &run).unwrap(), 3);
    }
}

#[test]
fn tuning_keeps_a_policy_that_was_measured_and_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::detect().unwrap();
    let stencil = Stencil::of(diffuse(0.2));
    let tuning = Tuning {
        target: Target::Cpu,
        budget: std::time::Duration::from_millis(300),
        folder: Some(folder.path().into()),
        ..Tuning::default()
    };
    let tuned = stencil.tune(&spot(), &machine, &tuning).unwrap();
    assert_eq!(tuned.refused, []);
    assert!(tuned.tried >= 1 && tuned.rate >= tuned.untuned, "{tuned:?}");
    let text = std::fs::read_to_string(folder.path().join("tuning.json")).unwrap();
    assert!(text.contains("diffuse 5 taps"), "{text}");
}

/// Two ranks with ghost zones two cells deep, at whose ends the quotient faults though no cell of the
/// volume does.
#[test]
fn ranks_fault_where_the_volume_does_and_nowhere_else() {
    let face = Boundary::Dirichlet(-5.0);
    let stencil = Stencil::of(slope()).boundary(face);
    let partition = Partition::grid([32], [2], &Boundaries([[face; 2]].into())).unwrap();
    let distribution =
        Distribution { partition, depth: 2, search: None, fused_steps: 1, boundary_first: false };
    let run = |volume: &mut Volume<i32, 1>| {
        let (cores, soon) = ([vec![0]], Duration::from_secs(60));
        let policy = CpuPolicy::default();
        run_on_cores(&stencil, volume, 4, &distribution, policy, &cores, soon)
    };
    let ramp = Volume::from_fn([32], |[x]| x as i32);
    let (mut found, mut expect) = (ramp.clone(), ramp);
    reference(&stencil, &mut expect, 4).unwrap();
    run(&mut found).unwrap();
    assert_eq!(found.as_slice(), expect.as_slice());
    // One that a cell of the volume comes by is reported with its place.
    let mut flat = Volume::from_fn([32], |[x]| (x as i32).min(20));
    let error = run(&mut flat).unwrap_err();
    assert!(matches!(error, Error::Element { .. }), "{error}");
    assert!(error.to_string().contains("divide by zero"), "{error}");
}

#[derive(Clone, Copy, Fields)]
#[repr(C)]
struct Drifting {
    narrow: u16,
    wide: f64,
}

#[stencil]
fn drift(now: Near<Drifting, 3>, next: &mut Drifting) {
    next.wide = now.wide[[-1, 0, 1]] + now.narrow[[0, 1, 0]] as f64;
}

#[test]
fn a_state_in_long_files_goes_on_over_any_ranks() {
    // Rows of 101 cells, so that pieces of 1 MiB end within them; of the wide field over 3 MiB.
    let start = Volume::from_fn([41, 99, 101], |[z, y, x]| {
        let n = (z * 99 + y) * 101 + x;
        Drifting { narrow: (n * 31) as u16, wide: n as f64 * 0.7 }
    });
    let stencil = Stencil::of(drift()).boundary(Boundary::Periodic);
    let machine = Machine::detect().expect("a machine");
    let folder = tempfile::tempdir().expect("a folder");
    let mut expect = start.clone();
    for (steps, grid) in [(1, [1, 1, 2]), (2, [1, 1, 1]), (3, [2, 1, 2]), (4, [1, 3, 1])] {
        reference(&stencil, &mut expect, 1).expect("well posed");
        let checkpoint =
            Checkpoint { directory: folder.path().into(), every: 9, resume: steps > 1 };
        let run = Run { checkpoint: Some(&checkpoint), ..on_cores() };
        let count: usize = grid.iter().product();
        let ranks = Ranks { count, grid: Some(grid.into()), depth: Some(2) };
        let mut found = start.clone();
        let report = match count {
            1 => stencil.run_with(&mut found, Steps(steps), &machine, &run),
            _ => stencil.run_with(
                &mut found,
                Steps(steps),
                &machine,
                &Run { settings: run.settings.over(ranks), ..run.clone() },
            ),
        };
        assert_eq!(report.expect("a run").first, steps - 1);
        for field in 0..2 {
            assert!(found.field_bytes(field) == expect.field_bytes(field), "{field}, {grid:?}");
        }
    }
}

#[test]
fn a_deadline_that_has_passed_ends_a_run_before_its_first_step() {
    let machine = Machine::detect().unwrap();
    let (stencil, start) = (Stencil::of(diffuse(0.2)), spot());
    for ranks in [None, Some(1), Some(3)] {
        let ranks = ranks.map(|count| Ranks { count, grid: None, depth: None });
        let settings = Settings { ranks, ..Settings::default() };
        let deadline = Some(Instant::now());
        let run = Run { target: Target::Cpu, deadline, settings, ..Run::default() };
        let mut volume = start.clone();
        let report = stencil.run_with(&mut volume, Steps(1000), &machine, &run).unwrap();
        assert!(report.interrupted && report.done == 0, "{ranks:?}: {} steps", report.done);
        assert_eq!(volume.as_slice(), start.as_slice());
    }
}
