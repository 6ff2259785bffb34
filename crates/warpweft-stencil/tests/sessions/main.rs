//! Sessions: steps, reads, writes, other functions and reductions in any order have the bits of plain loops and runs.

mod arrays;
mod errors;
mod gpu;
mod numbers;
mod ranks;
mod saved;
mod tables;

use std::ops::ControlFlow;

use proptest::prelude::*;
use warpweft::prelude::*;
use warpweft::stencil::cuda::compile_check;
use warpweft::stencil::drive::Ranks;
use warpweft::stencil::{CpuPolicy, CudaPolicy, Policy, Run, Session, Target, reference};

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Cell {
    u: f64,
    v: f64,
    fixed: f32,
}

/// Reads all fields next to the cell and writes the first.
#[stencil]
fn spread(now: Near<Cell, 2>, next: &mut Cell, #[step] step: u64, rate: f64) {
    let around = now.u[[-1, 0]] + now.u[[1, 0]] + now.u[[0, -1]] + now.u[[0, 1]];
    let pull = now.fixed[[0, 1]] as f64 + now.v[[1, 0]] + step as f64;
    next.u = now.u[[0, 0]] + rate * (around - 4.0 * now.u[[0, 0]]) + 0.001 * pull;
}

/// Reaches two cells, and writes what the other reads next to the cell.
#[stencil]
fn wide(now: Near<Cell, 2>, next: &mut Cell, weight: f64) {
    next.v = weight * (now.u[[2, 0]] - now.u[[0, -2]]) + 0.5 * now.v[[0, 1]];
}

/// Touches its own cell alone.
#[stencil]
fn scale(now: Near<Cell, 2>, next: &mut Cell, by: f64) {
    next.u = by * now.u[[0, 0]] - next.v;
}

fn start() -> Volume<Cell, 2> {
    Volume::from_fn([11, 23], |[y, x]| Cell {
        u: ((y * 7 + x * 3) % 13) as f64,
        v: ((y + 2 * x) % 5) as f64 - 2.0,
        fixed: (x % 4) as f32,
    })
}

fn machine() -> Machine {
    Machine::detect().unwrap()
}

/// On the cores, whose roundings are those of plain loops wherever there is a GPU too.
fn on_the_cores() -> Run<'static> {
    Run { target: Target::Cpu, ..Run::default() }
}

/// One thing that a program asks of a session.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Run(u64),
    Wide(f64),
    Scale(f64),
    /// Scales by what reductions come to.
    Reduced,
    Set([usize; 2], f32),
}

impl Ask {
    fn of(self, on: &mut Session<'_, Cell, 2>) {
        match self {
            Self::Run(steps) => _ = on.run(Steps(steps)).unwrap(),
            Self::Wide(weight) => on.apply(wide(weight)).unwrap(),
            Self::Scale(by) => on.apply(scale(by)).unwrap(),
            Self::Reduced => {
                let norm = on.queue_norm("u").unwrap();
                let by = (on.queue_max("v").unwrap() - on.queue_min("v").unwrap()) / (norm + 3.0);
                let by = -by * on.queue_dot("v", "fixed").unwrap() + on.queue_sum("v").unwrap();
                on.apply(scale::with(&by / 1e6)).unwrap();
            }
            Self::Set(at, fixed) => {
                let cell = Cell { fixed, ..on.get(at).unwrap() };
                on.set(at, cell).unwrap();
            }
        }
    }
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        (0u64..5).prop_map(Ask::Run),
        (-1.0..1.0).prop_map(Ask::Wide),
        (-1.0..1.0).prop_map(Ask::Scale),
        Just(Ask::Reduced),
        ((0usize..11, 0usize..23), -3f32..3.0).prop_map(|((y, x), fixed)| Ask::Set([y, x], fixed)),
    ]
}

fn boundary() -> impl Strategy<Value = Boundary> {
    prop::sample::select(vec![Boundary::Periodic, Boundary::Mirror, Boundary::Dirichlet(0.5)])
}

/// The same by references of whole volumes, each from step 0 on.
fn by_reference(asked: &[Ask], boundary: Boundary) -> Volume<Cell, 2> {
    let (mut volume, mut done) = (start(), 0);
    for ask in asked {
        match *ask {
            Ask::Run(steps) => {
                (done..done + steps).for_each(|step| plain(&mut volume, boundary, step));
                done += steps;
            }
            Ask::Wide(weight) => one(&Stencil::of(wide(weight)).boundary(boundary), &mut volume),
            Ask::Scale(by) => one(&Stencil::of(scale(by)).boundary(boundary), &mut volume),
            Ask::Reduced => {
                let by = reduced(&mut volume);
                one(&Stencil::of(scale(by)).boundary(boundary), &mut volume);
            }
            Ask::Set(at, fixed) => {
                let cell = Cell { fixed, ..volume.get(at).unwrap() };
                volume.set(at, cell);
            }
        }
    }
    volume
}

/// What [`Ask::Reduced`] scales by, computed by the host.
fn reduced(volume: &mut Volume<Cell, 2>) -> f64 {
    let (machine, stencil) = (machine(), Stencil::of(scale(1.0)));
    let mut on = stencil.on_with(volume, &machine, &on_the_cores()).unwrap();
    let norm = on.norm("u").unwrap();
    let by = (on.max("v").unwrap() - on.min("v").unwrap()) / (norm + 3.0);
    (-by * on.dot("v", "fixed").unwrap() + on.sum("v").unwrap()) / 1e6
}

fn one(stencil: &Stencil<Cell, 2>, volume: &mut Volume<Cell, 2>) {
    reference(stencil, volume, 1).unwrap();
}

/// Step number `step` of `spread(0.2)`, written as a loop.
fn plain(volume: &mut Volume<Cell, 2>, boundary: Boundary, step: u64) {
    let before = volume.clone();
    let [rows, columns] = volume.extents().map(|n| n as isize);
    let index = |at: isize, n: isize| match boundary {
        Boundary::Periodic => Some(at.rem_euclid(n)),
        Boundary::Mirror if at < 0 => Some(-at),
        Boundary::Mirror if at >= n => Some(2 * n - 2 - at),
        _ => (0..n).contains(&at).then_some(at),
    };
    let near = |y: isize, x: isize| {
        let at = index(y, rows).zip(index(x, columns));
        at.map_or(Cell { u: 0.5, v: 0.5, fixed: 0.5 }, |(y, x)| {
            before.get([y as usize, x as usize]).unwrap()
        })
    };
    for y in 0..rows {
        for x in 0..columns {
            let around = near(y - 1, x).u + near(y + 1, x).u + near(y, x - 1).u + near(y, x + 1).u;
            let pull = near(y, x + 1).fixed as f64 + near(y + 1, x).v + step as f64;
            let here = near(y, x);
            let u = here.u + 0.2 * (around - 4.0 * here.u) + 0.001 * pull;
            volume.set([y as usize, x as usize], Cell { u, ..here });
        }
    }
}

fn same(found: &Volume<Cell, 2>, expect: &Volume<Cell, 2>) -> bool {
    (0..3).all(|field| found.field_bytes(field) == expect.field_bytes(field))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]
    #[test]
    fn calls_in_any_order_have_the_bits_of_plain_loops(
        asked in prop::collection::vec(ask(), 1..9),
        boundary in boundary(),
        (threads, depth) in (1usize..3, 1usize..4),
    ) {
        let expect = by_reference(&asked, boundary);
        let (mut volume, machine) = (start(), machine());
        let policy = CpuPolicy { temporal_depth: depth, tile_rows: 1, tile_cells: 16, slab_planes: 2, unroll_and_jam: 1 };
        let run = Run { policy: Some(Policy::Cpu(policy)), threads: Some(threads), ..Run::default() };
        let stencil = Stencil::of(spread(0.2)).boundary(boundary);
        let mut on = stencil.on_with(&mut volume, &machine, &run).unwrap();
        asked.iter().for_each(|ask| ask.of(&mut on));
        let seen = on.volume().unwrap();
        prop_assert!(same(&seen, &expect), "{asked:?}");
        let expect_sum: f64 = expect.field::<f32>("fixed").unwrap().iter().map(|&v| f64::from(v)).sum();
        let sum = on.sum("fixed").unwrap();
        prop_assert!((sum - expect_sum).abs() < 1e-3);
        let dot = on.dot("u", "v").unwrap();
        on.finish().unwrap();
        prop_assert!(same(&volume, &expect));
        // Another number of threads, and a session that has only just begun.
        let mut again = expect.clone();
        let run = Run { threads: Some(3 - threads), ..on_the_cores() };
        let mut on = stencil.on_with(&mut again, &machine, &run).unwrap();
        prop_assert_eq!(on.dot("u", "v").unwrap().to_bits(), dot.to_bits());
    }
}

#[test]
fn a_run_is_looked_at_and_may_end_early() {
    let (mut volume, machine) = (start(), machine());
    let stencil = Stencil::of(spread(0.2)).boundary(Boundary::Periodic);
    let mut on = stencil.on_with(&mut volume, &machine, &on_the_cores()).unwrap();
    let mut seen = Vec::new();
    let advance = on
        .run_every(Steps(3), Steps(100), |on| {
            seen.push(on.sum("u")?);
            Ok(if seen.len() == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
        .unwrap();
    assert_eq!((advance.done, advance.met, seen.len()), (12, false, 4));
    drop(on);
    let mut expect = start();
    (0..12).for_each(|step| plain(&mut expect, Boundary::Periodic, step));
    assert!(same(&volume, &expect), "a session that is dropped leaves its cells");
}

#[test]
fn a_tolerance_ends_each_call() {
    #[stencil]
    fn halve(u: Near<f64, 1>) -> f64 {
        0.5 * u[[0]]
    }
    let (mut line, machine) = (Volume::from_fn([9], |_| 1024.0), machine());
    let stencil = Stencil::of(halve()).until(Residual::Max, 1.0);
    let mut on = stencil.on(&mut line, &machine).unwrap();
    let advance = on.run(Steps(100)).unwrap();
    assert_eq!((advance.done, advance.residual, advance.met), (10, Some(1.0), true));
    // A further call takes a step before it can know.
    assert_eq!(on.run(Steps(100)).unwrap().done, 11);
    assert_eq!(on.get([3]).unwrap(), 0.5);
    assert_eq!(on.finish().unwrap().done, 11);
    assert_eq!(line[[8]], 0.5);
    // Met by the last step that was asked for: a loop of single steps ends there.
    let mut line = Volume::from_fn([9], |_| 1024.0);
    let mut on = stencil.on(&mut line, &machine).unwrap();
    let steps = (1..).find(|_| on.run(Steps(1)).unwrap().met);
    assert_eq!(steps, Some(10));
}

#[test]
fn what_can_not_be_is_an_error_and_the_session_goes_on_or_leaves_the_volume() {
    let (mut volume, machine) = (start(), machine());
    let stencil = Stencil::of(spread(0.2)).boundary(Boundary::Mirror);
    let mut on = stencil.on_with(&mut volume, &machine, &on_the_cores()).unwrap();
    on.run(Steps(2)).unwrap();
    let error = on.read([0..12, 0..3]).unwrap_err().to_string();
    assert!(
        error.contains("[0, 0] to [12, 3]") && error.contains("help: name cells inside"),
        "{error}"
    );
    let error = on.read_field::<f32>("u", [0..1, 0..1]).unwrap_err().to_string();
    assert!(error.contains("a field of f64 is read as f32"), "{error}");
    let error = on.run_every(Steps(0), Steps(9), |_| Ok(ControlFlow::Continue(()))).unwrap_err();
    assert!(error.to_string().contains("every 0 steps"), "{error}");
    assert_eq!(on.read_field::<f32>("fixed", [2..3, 1..4]).unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(on.run(Steps(1)).unwrap().done, 3);

    #[stencil]
    fn shares(now: Near<Cell, 2>, next: &mut Cell, by: i32) {
        next.u = now.u[[0, 1]] + (7 / by) as f64;
    }
    let error = on.apply(shares(0)).unwrap_err().to_string();
    assert!(error.contains("shares"), "{error}");
    let error = on.run(Steps(1)).unwrap_err().to_string();
    assert!(error.contains("a session that an error has ended"), "{error}");
    assert!(on.finish().is_err());
    assert!(same(&volume, &start()), "the volume is as it was");

    let error = stencil.on(&mut volume, &machine).unwrap().get([11, 0]).unwrap_err().to_string();
    assert!(error.contains("[11, 0] to [12, 1] of a volume of [11, 23]"), "{error}");

    let ranks = Run { settings: Default::default(), ..Run::default() };
    let over = Ranks { count: 2, grid: None, depth: None };
    let run = Run { settings: ranks.settings.over(over), ..Run::default() };
    let error = stencil.on_with(&mut volume, &machine, &run).map(drop).unwrap_err().to_string();
    assert!(error.contains("a session with `Settings::ranks`"), "{error}");
}

/// The populations of D3Q19, a lattice Boltzmann method.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Populations {
    f0: f32,
    f1: f32,
    f2: f32,
    f3: f32,
    f4: f32,
    f5: f32,
    f6: f32,
    f7: f32,
    f8: f32,
    f9: f32,
    f10: f32,
    f11: f32,
    f12: f32,
    f13: f32,
    f14: f32,
    f15: f32,
    f16: f32,
    f17: f32,
    f18: f32,
}

/// The directions that they fly in.
const DIRECTIONS: [[isize; 3]; 19] = [
    [0, 0, 0],
    [-1, -1, 0],
    [-1, 0, -1],
    [-1, 0, 0],
    [-1, 0, 1],
    [-1, 1, 0],
    [0, -1, -1],
    [0, -1, 0],
    [0, -1, 1],
    [0, 0, -1],
    [0, 0, 1],
    [0, 1, -1],
    [0, 1, 0],
    [0, 1, 1],
    [1, -1, 0],
    [1, 0, -1],
    [1, 0, 0],
    [1, 0, 1],
    [1, 1, 0],
];

/// Every population comes from the cell that it flies from.
#[stencil]
fn stream(f: Near<Populations, 3>) -> Populations {
    Populations {
        f0: f[[0, 0, 0]].f0,
        f1: f[[1, 1, 0]].f1,
        f2: f[[1, 0, 1]].f2,
        f3: f[[1, 0, 0]].f3,
        f4: f[[1, 0, -1]].f4,
        f5: f[[1, -1, 0]].f5,
        f6: f[[0, 1, 1]].f6,
        f7: f[[0, 1, 0]].f7,
        f8: f[[0, 1, -1]].f8,
        f9: f[[0, 0, 1]].f9,
        f10: f[[0, 0, -1]].f10,
        f11: f[[0, -1, 1]].f11,
        f12: f[[0, -1, 0]].f12,
        f13: f[[0, -1, -1]].f13,
        f14: f[[-1, 1, 0]].f14,
        f15: f[[-1, 0, 1]].f15,
        f16: f[[-1, 0, 0]].f16,
        f17: f[[-1, 0, -1]].f17,
        f18: f[[-1, -1, 0]].f18,
    }
}

fn number(field: usize, [z, y, x]: [usize; 3]) -> f32 {
    (field * 1000 + z * 81 + y * 9 + x) as f32
}

fn box_of_gas() -> Volume<Populations, 3> {
    Volume::from_fn([6, 7, 9], |at| Populations {
        f0: number(0, at),
        f1: number(1, at),
        f2: number(2, at),
        f3: number(3, at),
        f4: number(4, at),
        f5: number(5, at),
        f6: number(6, at),
        f7: number(7, at),
        f8: number(8, at),
        f9: number(9, at),
        f10: number(10, at),
        f11: number(11, at),
        f12: number(12, at),
        f13: number(13, at),
        f14: number(14, at),
        f15: number(15, at),
        f16: number(16, at),
        f17: number(17, at),
        f18: number(18, at),
    })
}

/// After `steps` steps every population is as many cells further.
fn streamed(found: &Volume<Populations, 3>, steps: isize) {
    let extents = found.extents();
    for (field, direction) in DIRECTIONS.iter().enumerate() {
        let cells = found.field::<f32>(field).unwrap();
        for (index, &cell) in cells.iter().enumerate() {
            let at = [index / 63, index / 9 % 7, index % 9];
            let from = std::array::from_fn(|d| {
                (at[d] as isize - steps * direction[d]).rem_euclid(extents[d] as isize) as usize
            });
            assert_eq!(cell, number(field, from), "field {field} at {at:?}");
        }
    }
}

#[test]
fn nineteen_fields_stream_in_nineteen_directions() {
    let stencil = Stencil::of(stream()).boundary(Boundary::Periodic);
    for (threads, depth) in [(1, 1), (2, 2)] {
        let policy = CpuPolicy { temporal_depth: depth, tile_rows: 3, ..CpuPolicy::default() };
        let policy = Some(Policy::Cpu(policy));
        let mut gas = box_of_gas();
        let run = Run { policy, threads: Some(threads), ..Run::default() };
        stencil.run_with(&mut gas, Steps(5), &machine(), &run).unwrap();
        streamed(&gas, 5);
    }
    if let Err(error) = warpweft::cuda::compiler() {
        return println!("skipped: {error}");
    }
    let policy = CudaPolicy::default_for(&stencil, [6, 7, 9].into(), (9, 0));
    compile_check(&stencil, [6, 7, 9].into(), &policy, "sm_90").unwrap();
}
