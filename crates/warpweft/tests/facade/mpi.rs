//! Runs over processes that `mpirun` starts: the reference's bits for any number of ranks, any grid of
//! them, any boundary, any depth of ghost zones and any way that halos take between GPUs. The processes are
//! this very program.

/// The example, as users copy it.
#[path = "../../../../examples/ranks.rs"]
#[allow(dead_code)]
mod example;

use std::sync::Arc;
use std::time::Duration;

use crate::launchers::{launchers, within};
use warpweft::cluster::mpi::Mpi;
use warpweft::cluster::{Launched, Remote, Tag, Transport, thread_group};
use warpweft::grid::Axes;
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::drive::{Ranks, Route, deepest_feasible, fewest_dependences, footprints_of};
use warpweft::stencil::{
    Boundaries, CudaPolicy, Partition, Policy, Residual, Run, Settings, Target, reference,
};

/// Mixes all bits of an uneven box: one wrong neighbour anywhere and nothing is right.
#[stencil]
fn stir(u: Near<u32, 3>, by: u32) -> u32 {
    let mut hash = u[[0, 0, 0]] * by;
    hash = (hash ^ u[[-1, 0, 1]]) * 0x9e37_79b1 + u[[0, -2, 0]];
    hash = (hash ^ u[[1, 1, 0]]) * 0x85eb_ca6b + u[[0, 0, -1]];
    (hash ^ u[[0, 1, -1]]) * 0xc2b2_ae35 + u[[2, 0, 0]]
}

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
struct Wave {
    v: f32,
    s: f64,
    rho: f32,
}

#[stencil]
fn velocity(now: Near<Wave, 2>, next: &mut Wave, dt: f32) {
    let slope = (now.s[[0, 1]] - now.s[[0, 0]] + now.s[[2, 0]]) as f32;
    next.v = now.v[[0, 0]] + dt * now.rho[[0, -1]] * slope;
}

#[stencil]
fn stress(now: Near<Wave, 2>, next: &mut Wave) {
    let bent = now.v[[0, -1]] - now.v[[-1, 0]] + 0.5 * now.v[[0, 0]];
    next.s = 0.9 * now.s[[0, 0]] + bent as f64;
}

fn kinds<const D: usize>() -> Vec<[[Boundary; 2]; D]> {
    let mixed = std::array::from_fn(|d| match d % 2 {
        0 => [Boundary::Mirror, Boundary::Dirichlet(2.0)],
        _ => [Boundary::Periodic; 2],
    });
    let all = [Boundary::Periodic, Boundary::Neumann, Boundary::Mirror, Boundary::Dirichlet(1.0)];
    all.map(|kind| [[kind; 2]; D]).into_iter().chain([mixed]).collect()
}

fn faced<S: Fields, const D: usize>(
    mut stencil: Stencil<S, D>,
    faces: [[Boundary; 2]; D],
) -> Stencil<S, D> {
    for (axis, [low, high]) in faces.into_iter().enumerate() {
        stencil = stencil.face(axis, Face::Low, low).face(axis, Face::High, high);
    }
    stencil
}

/// All boundaries and depths on one grid of ranks, as many a process as it takes, or on one a process and the
/// grid that cuts fewest dependences; how many runs there were. On GPUs if halos are to travel a certain way.
fn same_bits<S: Fields, const D: usize>(
    net: &Mpi,
    stencil: &Stencil<S, D>,
    start: &Volume<S, D>,
    grid: Option<[usize; D]>,
    halos: Option<Route>,
) -> usize {
    let machine = Machine::detect().unwrap();
    let mut run = Run { target: Target::Cpu, threads: Some(1), ..Run::default() };
    if halos.is_some() {
        let capability = machine.gpus[0].capability;
        let policy = CudaPolicy::default_for(stencil, start.extents().into(), capability);
        let policy = Policy::Cuda(CudaPolicy { contraction: false, ..policy });
        let settings = Settings { halos, ..Settings::default() };
        run = Run { policy: Some(policy), settings, ..Run::default() };
    }
    let count = grid.map_or(net.ranks(), |grid| grid.iter().product());
    let by = match (halos, count) {
        (None, _) => Route::Host.to_string(),
        (Some(_), 1) => "none".into(),
        (Some(by), _) => by.to_string(),
    };
    let mut runs = 0;
    for faces in kinds() {
        let stencil = faced(stencil.clone(), faces);
        let mut expect = start.clone();
        let done = reference(&stencil, &mut expect, 7).unwrap();
        let boundaries = Boundaries(faces.into());
        let stages = footprints_of(&stencil);
        let grid = grid.map(Axes::of);
        let cut = grid.map_or_else(
            || {
                let extents = start.extents().into();
                fewest_dependences(extents, net.ranks(), &boundaries, &stages, S::FIELDS)
            },
            Ok,
        );
        let Ok(cut) = cut else { continue };
        let partition = Partition::grid(start.extents(), cut, &boundaries).unwrap();
        let deepest = deepest_feasible(&partition, &boundaries, &stages, S::FIELDS.len(), 3);
        if deepest == 0 {
            continue;
        }
        for depth in (1..=deepest).map(Some).chain([None]) {
            let ranks = Ranks { count, grid, depth };
            let mut found = start.clone();
            let report = stencil.run_with(
                &mut found,
                Steps(7),
                &machine,
                &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
            );
            let report = report.unwrap();
            assert_eq!(report.done, done);
            if net.rank() == 0 {
                assert_eq!(report.policy["halos_by"], by);
            }
            runs += 1;
            for field in 0..S::FIELDS.len() {
                let same = net.rank() > 0 || found.field_bytes(field) == expect.field_bytes(field);
                assert!(same, "field {field}, {faces:?}, grid {cut:?}, depth {depth:?}");
            }
        }
    }
    runs
}

fn waves(extents: [usize; 2]) -> Volume<Wave, 2> {
    Volume::from_fn(extents, |[y, x]| Wave {
        v: (y * 31 + x) as f32 * 0.01,
        s: (x * 17 + y) as f64 * 0.003,
        rho: 1.0 + (y % 3) as f32,
    })
}

/// What every process of [`the_same_bits_on_any_ranks`] does.
#[test]
#[ignore = "a rank, which the other tests start by mpirun"]
fn rank() {
    let Some(launched) = Launched::detect() else {
        println!("skipped: mpirun starts this");
        return;
    };
    let net = Mpi::join(&launched).unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let space = Volume::from_fn([11, 13, 14], |[z, y, x]| (z * 911 + y * 83 + x * 7) as u32);
        let plane = waves([17, 19]);
        let mut runs = 0;
        let stir = Stencil::of(stir(3));
        let grids: &[[usize; 3]] = match net.ranks() {
            8 => &[[2, 2, 2], [1, 2, 4]],
            6 => &[[3, 1, 2]],
            4 => &[[1, 4, 1]],
            // Several a process.
            3 => &[[3, 1, 2]],
            2 => &[[2, 1, 2], [1, 6, 1]],
            1 => &[[1, 2, 1]],
            _ => &[],
        };
        for grid in grids {
            runs += same_bits(&net, &stir, &space, Some(*grid), None);
        }
        runs += same_bits(&net, &stir, &space, None, None);
        let waves = Stencil::sequence((velocity(0.01), stress()));
        runs += same_bits(&net, &waves, &plane, None, None);
        converges(&net, 1);
        shared_memory(&net);
        remote_memory(&net);
        if net.ranks() < 4 {
            converges(&net, 2);
            let told = thread_group(&net, 2, |net| {
                shared_memory(net);
                Ok(net.ranks())
            });
            assert_eq!(told.unwrap(), [2 * net.ranks(); 2]);
        }
        if net.rank() == 0 {
            println!("{runs} runs over {} ranks by {}", net.ranks(), net.library());
        }
    }));
    if outcome.is_err() {
        net.abort("a comparison failed");
        net.end_all(1);
    }
    net.leave().unwrap();
}

/// What every process of [`the_same_bits_by_any_way`] does: GPUs, and halos the way that is named.
#[test]
#[ignore = "a rank with a GPU, which the other tests start by mpirun"]
fn rank_with_gpu() {
    let net = Mpi::join(&Launched::detect().expect("mpirun started this")).unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let named = std::env::var("BY").unwrap();
        let by = [Route::Ipc, Route::CudaAware, Route::Staged];
        let by = by.into_iter().find(|route| route.to_string() == named);
        assert!(by.is_some(), "no way is called {named}");
        let space = Volume::from_fn([23, 21, 70], |[z, y, x]| (z * 911 + y * 83 + x * 7) as u32);
        let stir = Stencil::of(stir(3));
        let grid = if net.ranks() == 4 { [1, 2, 2] } else { [1, 2, 1] };
        let mut runs = same_bits(&net, &stir, &space, Some(grid), by);
        runs += same_bits(&net, &stir, &space, None, by);
        let plane = waves([33, 47]);
        let sequence = Stencil::sequence((velocity(0.01), stress()));
        runs += same_bits(&net, &sequence, &plane, None, by);
        if net.rank() == 0 {
            println!("{runs} runs over {} ranks by {named}, {}", net.ranks(), net.library());
        }
    }));
    if outcome.is_err() {
        net.abort("a comparison failed");
        net.end_all(1);
    }
    net.leave().unwrap();
}

/// A run that ends on a residual ends after the same step on every rank, with the same residual.
fn converges(net: &Mpi, each: usize) {
    let start = Volume::from_fn([9, 14], |[y, x]| (y * x) as f64);
    #[stencil]
    fn smooth(u: Near<f64, 2>) -> f64 {
        0.25 * (u[[0, -1]] + u[[0, 1]] + u[[-1, 0]] + u[[1, 0]])
    }
    let stencil = Stencil::of(smooth()).until_every(Residual::SumOfSquares, 40.0, 2);
    let machine = Machine::detect().unwrap();
    let run = Run { target: Target::Cpu, threads: Some(1), ..Run::default() };
    let ranks = Ranks { count: each * net.ranks(), grid: None, depth: Some(1) };
    let (mut found, mut alone) = (start.clone(), start);
    let report = stencil
        .run_with(
            &mut found,
            Steps(500),
            &machine,
            &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
        )
        .unwrap();
    let expect = stencil.run_with(&mut alone, Steps(500), &machine, &run).unwrap();
    assert!(report.done < 500 && report.done == expect.done, "{} {}", report.done, expect.done);
    assert_eq!(report.residual, expect.residual);
    assert!(net.rank() > 0 || found.as_slice() == alone.as_slice());
}

/// Messages from memory that is shared and into memory that is there, in any order of tags.
fn shared_memory(net: &dyn Transport) {
    let (to, from) = ((net.rank() + 1) % net.ranks(), (net.rank() + net.ranks() - 1) % net.ranks());
    let long: Vec<u8> = (0..3_000_001u32).map(|n| (n % 251) as u8).collect();
    net.send_shared(to, Tag(3), Arc::new(long.clone())).unwrap();
    net.send(to, Tag(4), Vec::new()).unwrap();
    assert!(net.receive(from, Tag(4)).unwrap().is_empty());
    let mut found = vec![0; long.len()];
    net.receive_into(from, Tag(3), &mut found).unwrap();
    assert!(found == long);
    net.flush().unwrap();
}

/// By address alone, as out of and into a GPU's memory.
fn remote_memory(net: &Mpi) {
    let (to, from) = ((net.rank() + 1) % net.ranks(), (net.rank() + net.ranks() - 1) % net.ranks());
    let long: Vec<u8> = (0..3_000_001u32).map(|n| (n % 251) as u8).collect();
    net.send_remote(to, Tag(5), Arc::new(Placed(long.clone()))).unwrap();
    let place = Placed(vec![0; long.len()]);
    net.receive_remote(from, Tag(5), &place).unwrap();
    assert!(place.0 == long);
    net.flush().unwrap();
}

/// Memory of the host in the place of a GPU's.
struct Placed(Vec<u8>);

// SAFETY: the vector's own bytes; it is not used until the messages have come.
unsafe impl Remote for Placed {
    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
    fn bytes(&self) -> usize {
        self.0.len()
    }
}

#[test]
fn the_same_bits_on_any_ranks() {
    let launchers = launchers();
    if launchers.is_empty() {
        return println!("skipped: no mpirun of Open MPI or MPICH");
    }
    let program = std::env::current_exe().unwrap();
    for launcher in &launchers {
        // Starting processes takes longest: every number by the first launcher, a few by the others.
        let all = *launcher == launchers[0];
        for ranks in if all { &[1, 2, 3, 4, 5, 6, 7, 8][..] } else { &[2, 8] } {
            let mut command = launcher.command();
            command.arg("-n").arg(ranks.to_string()).arg(&program);
            command.args(["--exact", "mpi::rank", "--ignored", "--nocapture"]);
            let ran = within(Duration::from_secs(120), &mut command);
            let (out, err) =
                (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            assert!(ran.status.success(), "{launcher:?}, {ranks} ranks: {out}{err}");
            let told = format!("runs over {ranks} ranks by");
            let line = out
                .lines()
                .find(|line| line.contains(&told))
                .unwrap_or_else(|| panic!("{out}{err}"));
            println!("{line}");
        }
    }
}

/// What every process of [`who_forgets_to_leave_leaves`] does.
#[test]
#[ignore = "a rank, which the other tests start by mpirun"]
fn rank_of_the_example() {
    example::main().unwrap();
}

#[test]
fn who_forgets_to_leave_leaves() {
    let launchers = launchers();
    if launchers.is_empty() {
        return println!("skipped: no mpirun of Open MPI or MPICH");
    }
    let program = std::env::current_exe().unwrap();
    let found = launchers.iter().map(|launcher| {
        let mut command = launcher.command();
        command.args(["-n", "3"]).arg(&program);
        command.args(["--exact", "mpi::rank_of_the_example", "--ignored", "--nocapture"]);
        let ran = within(Duration::from_secs(60), &mut command);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{launcher:?}: {text}");
        assert_eq!(text.matches("stencil: 100 steps on").count(), 1, "{launcher:?}: {text}");
        assert!(!text.contains("note: this is process"), "{text}");
        let line = text.lines().find(|line| line.contains("in the middle"));
        line.unwrap_or_else(|| panic!("{launcher:?} lost what rank 0 said: {text}")).to_string()
    });
    let found: Vec<_> = found.collect();
    assert!(found.iter().all(|line| *line == found[0]), "{found:?}");
}

/// What every process of [`who_leaves_early_is_named_at_once`] does: rank 0 has an error of its own, or nothing
/// to do.
#[test]
#[ignore = "a rank, which the other tests start by mpirun"]
fn rank_that_may_leave() {
    let outcome = || -> Result<()> {
        let net = Mpi::join(&Launched::detect().expect("mpirun started this"))?;
        if net.rank() == 0 && std::env::var_os("IN_ORDER").is_some() {
            return net.leave();
        }
        if net.rank() == 0 {
            return Err(Error::spec("no such file", "name another"));
        }
        let machine = Machine::detect()?;
        let ranks = Ranks { count: net.ranks(), grid: None, depth: None };
        let run = Run { target: Target::Cpu, threads: Some(1), ..Run::default() };
        let mut plane = waves([17, 19]);
        let stencil = Stencil::sequence((velocity(0.01), stress()));
        stencil
            .run_with(
                &mut plane,
                Steps(3),
                &machine,
                &Run { settings: run.settings.over(ranks), net: Some(&net), ..run.clone() },
            )
            .map(drop)
    };
    if let Err(error) = outcome() {
        println!("error: {error}");
        // Time for the others to tell theirs.
        std::thread::sleep(Duration::from_millis(500));
        std::process::exit(7);
    }
}

#[test]
fn who_leaves_early_is_named_at_once() {
    let launchers = launchers();
    if launchers.is_empty() {
        return println!("skipped: no mpirun of Open MPI or MPICH");
    }
    let program = std::env::current_exe().unwrap();
    for (launcher, in_order) in launchers.iter().flat_map(|one| [(one, false), (one, true)]) {
        let mut command = launcher.command();
        command.args(["-n", "3"]).arg(&program);
        command.args(["--exact", "mpi::rank_that_may_leave", "--ignored", "--nocapture"]);
        if in_order {
            command.env("IN_ORDER", "");
        }
        // Much less than a rank is waited for that is alive.
        let ran = within(Duration::from_secs(30), &mut command);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(!ran.status.success(), "{launcher:?}: {text}");
        // A rank that leaves in order gets the error.
        let own = if in_order {
            "rank 0: stopped because rank"
        } else {
            "no such file; help: name another"
        };
        assert!(text.contains(&format!("error: {own}")), "{launcher:?}: {text}");
        assert!(text.contains("rank 0 has left before it sent message"), "{launcher:?}: {text}");
    }
}

#[test]
fn the_same_bits_by_any_way() {
    let gpus = Machine::detect().map_or(0, |machine| machine.gpus.len());
    if gpus == 0 {
        return println!("skipped: no GPU");
    }
    let launchers = launchers();
    if launchers.is_empty() {
        return println!("skipped: no mpirun of Open MPI or MPICH");
    }
    let program = std::env::current_exe().unwrap();
    for launcher in &launchers {
        for (ranks, by) in
            [(1, "ipc"), (2, "ipc"), (1, "staged"), (2, "staged"), (4, "ipc"), (4, "staged")]
        {
            // One process has two ranks.
            if ranks.max(2) > gpus && by == "ipc" {
                println!("skipped: {ranks} ranks by ipc on {gpus} GPUs");
                continue;
            }
            let mut command = launcher.command();
            command.arg("-n").arg(ranks.to_string()).arg(&program).env("BY", by);
            command.args(["--exact", "mpi::rank_with_gpu", "--ignored", "--nocapture"]);
            let ran = within(Duration::from_secs(120), &mut command);
            let (out, err) =
                (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            assert!(ran.status.success(), "{launcher:?}, {ranks} ranks by {by}: {out}{err}");
            let told = format!("runs over {ranks} ranks by {by}");
            let line = out.lines().find(|line| line.contains(&told));
            println!("{}", line.unwrap_or_else(|| panic!("{out}{err}")));
        }
    }
}
