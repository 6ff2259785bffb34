//! On a GPU: sessions, and functions that are told where their cell is.

use std::time::Duration;

use super::*;
use warpweft::cluster::{Transport, in_process};
use warpweft::grid::Axes;

#[stencil]
fn indexed(u: Near<i64, 3>, #[at] at: [usize; 3], #[step] step: u64, by: i64) -> i64 {
    let here = (at[0] * 10_000 + at[1] * 100 + at[2]) as i64;
    (u[[0, 0, 1]] * by + u[[-1, 0, 0]] - u[[0, 1, 0]]) ^ (here + 7 * step as i64)
}

/// GPU 0, with the roundings of the cores.
pub fn on_a_gpu(
    spec: &warpweft::stencil::Spec,
    extents: Axes<usize>,
    machine: &Machine,
) -> Option<Run<'static>> {
    let Some(gpu) = machine.gpus.first() else {
        println!("skipped: no GPU");
        return None;
    };
    if let Err(error) = warpweft::cuda::compiler() {
        println!("skipped: {error}");
        return None;
    }
    let policy = CudaPolicy::default_for(spec, extents, gpu.capability);
    let policy = Some(Policy::Cuda(CudaPolicy { contraction: false, ..policy }));
    Some(Run { target: Target::Gpu(gpu.ordinal), policy, ..Run::default() })
}

#[test]
fn sessions_on_a_gpu_have_the_bits_of_plain_loops() {
    let asked = [
        Ask::Run(3),
        Ask::Wide(0.25),
        Ask::Scale(0.5),
        Ask::Set([2, 3], 1.5),
        Ask::Reduced,
        Ask::Run(40),
        Ask::Reduced,
        Ask::Wide(-0.5),
        Ask::Run(2),
    ];
    let machine = machine();
    for boundary in [Boundary::Periodic, Boundary::Mirror, Boundary::Dirichlet(0.5)] {
        let stencil = Stencil::of(spread(0.2)).boundary(boundary);
        let Some(run) = on_a_gpu(&stencil, [11, 23].into(), &machine) else { return };
        let (mut volume, mut expect) = (start(), by_reference(&asked, boundary));
        let mut on = stencil.on_with(&mut volume, &machine, &run).unwrap();
        asked.iter().for_each(|ask| ask.of(&mut on));
        let found = [on.sum("u"), on.dot("u", "v"), on.norm("v"), on.min("v"), on.max("fixed")];
        on.finish().unwrap();
        assert!(same(&volume, &expect), "{boundary:?}");
        let mut on = stencil.on_with(&mut expect, &machine, &on_the_cores()).unwrap();
        let wanted = [on.sum("u"), on.dot("u", "v"), on.norm("v"), on.min("v"), on.max("fixed")];
        let bits = |all: [Result<f64>; 5]| all.map(|value| value.unwrap().to_bits());
        assert_eq!(bits(found), bits(wanted), "{boundary:?}");
    }
}

#[test]
fn steps_that_nobody_waits_for_are_done_in_order() {
    let (machine, stencil) = (machine(), Stencil::of(spread(0.2)).boundary(Boundary::Periodic));
    let Some(run) = on_a_gpu(&stencil, [11, 23].into(), &machine) else { return };
    let asked = [Ask::Run(1), Ask::Reduced];
    let asked: Vec<_> = asked.into_iter().cycle().take(80).collect();
    let (mut volume, expect) = (start(), by_reference(&asked, Boundary::Periodic));
    let mut on = stencil.on_with(&mut volume, &machine, &run).unwrap();
    asked.iter().for_each(|ask| ask.of(&mut on));
    let sum = on.queue_sum("u").unwrap();
    assert!(same(&on.volume().unwrap(), &expect));
    for weight in [0.5, -0.25] {
        let folded = on.fold(numbers::twisted(weight)).unwrap();
        assert_eq!(folded, numbers::by_pairs(&expect, weight));
        let queued =
            ["u", "fixed"].map(|field| on.queue_fold(numbers::twisted(weight), field).unwrap());
        let values = queued.map(|number| on.value(&number).unwrap());
        assert_eq!(values, [folded.u, f64::from(folded.fixed)]);
    }
    // A number of this session in another, and of one whose executor was made anew.
    let mut other = start();
    let mut second = stencil.on_with(&mut other, &machine, &run).unwrap();
    let error = second.apply(scale::with(&sum)).unwrap_err().to_string();
    assert!(error.contains("a `SessionScalar` of another session"), "{error}");
    second.run(Steps(1)).unwrap();
    let before = on.value(&sum).unwrap();
    on.apply(wide(0.5)).unwrap();
    assert_eq!(on.value(&sum).unwrap().to_bits(), before.to_bits());
}

#[test]
fn a_gpu_tells_cells_where_they_are() {
    let machine = machine();
    let begin = Volume::from_fn([13, 10, 37], |[z, y, x]| (z * 31 + y * 17 + x) as i64 % 23);
    for boundary in [Boundary::Periodic, Boundary::Neumann] {
        let stencil = Stencil::of(indexed(3)).boundary(boundary);
        let Some(run) = on_a_gpu(&stencil, [13, 10, 37].into(), &machine) else { return };
        let mut expect = begin.clone();
        reference(&stencil, &mut expect, 37).unwrap();
        let mut found = begin.clone();
        stencil.run_with(&mut found, Steps(37), &machine, &run).unwrap();
        assert!(found.as_slice() == expect.as_slice(), "{boundary:?}");
        for (grid, depth) in [([2, 1, 1], 1), ([2, 1, 1], 3), ([1, 2, 1], 2), ([1, 1, 2], 2)] {
            let ranks = Ranks { count: 2, grid: Some(grid.into()), depth: Some(depth) };
            let run = Run { settings: run.settings.over(ranks), ..run.clone() };
            let mut found = begin.clone();
            stencil.run_with(&mut found, Steps(37), &machine, &run).unwrap();
            assert!(found.as_slice() == expect.as_slice(), "{boundary:?} {grid:?} {depth}");
        }
    }
    let stencil = Stencil::of(stream()).boundary(Boundary::Periodic);
    let Some(run) = on_a_gpu(&stencil, [6, 7, 9].into(), &machine) else { return };
    let mut gas = box_of_gas();
    stencil.run_with(&mut gas, Steps(21), &machine, &run).unwrap();
    streamed(&gas, 21);
}

#[test]
fn a_gpu_holds_many_numbers_and_a_full_bank_ends_no_session() {
    let (machine, stencil) = (machine(), Stencil::of(spread(0.2)).boundary(Boundary::Periodic));
    let Some(run) = on_a_gpu(&stencil, [11, 23].into(), &machine) else { return };
    let mut volume = start();
    let mut on = stencil.on_with(&mut volume, &machine, &run).unwrap();
    let mut falling = on.queue_sum("v").unwrap();
    let expect = on.value(&falling).unwrap() / 2f64.powi(20);
    for n in 0..5000 {
        falling = &falling * [0.5, 1.0][usize::from(n >= 20)];
    }
    assert_eq!(on.value(&falling).unwrap().to_bits(), expect.to_bits());
    let held: Vec<_> = (1..4096).map(|_| -&falling).collect();
    for error in [on.norm("u").unwrap_err(), on.queue_norm("u").unwrap_err()] {
        assert!(error.to_string().contains("more than 4096 `SessionScalar`s"), "{error}");
    }
    drop(held);
    on.run(Steps(1)).unwrap();
    on.norm("u").unwrap();
    on.finish().unwrap();
}

#[test]
fn steps_on_a_gpu_take_in_dot_products_with_the_same_bits() {
    let (machine, (stencil, extents)) = (machine(), ranks::system());
    let Some(run) = on_a_gpu(&stencil, extents.into(), &machine) else { return };
    let expect = ranks::solved(&on_the_cores(), &machine).unwrap();
    // The kernels for that are compiled in the first sessions.
    let solve = |n: u64| {
        std::thread::sleep(Duration::from_millis(20 * n));
        let found = ranks::solved(&run, &machine).unwrap();
        assert!(ranks::alike(&found, &expect));
        found.2
    };
    let steps = (0..40).map(solve).find(|&steps| steps >= 50);
    assert!(steps.is_some(), "no session has kernels that take in dot products");
}

#[test]
fn ranks_that_share_a_gpu_have_the_bits_of_one() {
    let (machine, (stencil, extents)) = (machine(), ranks::system());
    let Some(run) = on_a_gpu(&stencil, extents.into(), &machine) else { return };
    let expect = ranks::solved(&on_the_cores(), &machine).unwrap();
    let Run { target, policy, .. } = run;
    for count in [2, 3] {
        let all = in_process(count, Duration::from_secs(60), |net| {
            let run = Run { net: Some(net), target, policy, ..Run::default() };
            ranks::solved(&run, &machine)
        });
        assert!(all.unwrap().iter().all(|found| ranks::alike(found, &expect)), "{count}");
    }
    let stencil = Stencil::of(spread(0.2));
    let Some(run) = on_a_gpu(&stencil, [11, 23].into(), &machine) else { return };
    ranks::check_program(run.target, run.policy);
}

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Looked {
    u: f64,
    spare: f64,
}

/// Faults in the step after the last of `values`.
#[stencil]
fn looks(now: Near<Looked, 1>, next: &mut Looked, #[step] step: u64, values: &[f64]) {
    next.u = now.u[[0]] + values[step as usize];
}

/// Halves of sums of whole numbers are exact for so few steps, whatever is fused.
#[stencil]
fn halve(now: Near<Looked, 3>, next: &mut Looked) {
    next.u = 0.5 * (now.u[[-1, 0, 0]] + now.u[[0, 0, 1]]);
}

#[stencil]
fn add(now: Near<Looked, 3>, next: &mut Looked) {
    next.spare = now.spare[[0, 0, 0]] + now.u[[0, 0, 0]];
}

#[test]
fn ranks_on_a_gpu_leave_fields_alone_that_no_function_touches() {
    let machine = machine();
    let stencil = Stencil::of(halve()).boundary(Boundary::Dirichlet(0.0));
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let sums = |net: Option<&dyn Transport>| {
        let start =
            |[z, y, x]: [usize; 3]| Looked { u: ((z + 3 * y + 7 * x) % 64) as f64, spare: 1.0 };
        let mut volume = Volume::from_fn([64; 3], start);
        let run = Run { net, target: Target::AnyGpu, ..Run::default() };
        let mut on = stencil.on_with(&mut volume, &machine, &run)?;
        on.run(Steps(7))?;
        let first = on.sum("u")?;
        on.apply(add())?;
        let sums = [first, on.sum("spare")?, on.dot("u", "spare")?];
        on.finish().map(|_| sums)
    };
    let expect = sums(None).unwrap();
    let all = in_process(2, Duration::from_secs(60), |net| sums(Some(net))).unwrap();
    assert_eq!(all, [expect, expect]);
}

#[reduction]
fn larger(a: Looked, b: Looked) -> Looked {
    if b.u > a.u { b } else { a }
}

#[test]
fn a_fault_on_a_gpu_is_an_error_of_every_call_that_gives_cells() {
    type Call<'c> = &'c dyn Fn(&mut Session<'_, Looked, 1>, &Machine) -> Result<()>;
    let machine = machine();
    let stencil = Stencil::of(looks(vec![1.0; 5]));
    let Some(run) = on_a_gpu(&stencil, [15].into(), &machine) else { return };
    let start = || Volume::from_fn([15], |[x]| Looked { u: x as f64, spare: 0.5 });
    let restricted = |on: &mut Session<'_, Looked, 1>, machine: &Machine| {
        let mut half = Volume::from_fn([7], |_| Looked { u: 0.0, spare: 0.0 });
        let run = on_a_gpu(&stencil, [7].into(), machine).unwrap();
        let mut coarse = stencil.on_with(&mut half, machine, &run)?;
        on.restrict("u", &mut coarse, "u")
    };
    let part = || std::array::from_fn::<_, 1, _>(|_| 1..4_usize);
    let calls: [Call<'_>; 9] = [
        &|on, _| on.read(part()).map(drop),
        &|on, _| on.get([3]).map(drop),
        &|on, _| on.volume().map(drop),
        &|on, _| on.read_field::<f64>("u", part()).map(drop),
        &|on, _| on.read_field::<f64>("spare", part()).map(drop),
        &|on, _| on.fold(larger()).map(drop),
        &|on, _| on.sum("u").map(drop),
        &|on, _| on.sum("spare").map(drop),
        &restricted,
    ];
    for (number, call) in calls.iter().enumerate() {
        let mut volume = start();
        let mut on = stencil.on_with(&mut volume, &machine, &run).unwrap();
        // The first calls are waited for; the last steps are not.
        for _ in 0..5 {
            on.run(Steps(1)).unwrap();
        }
        let error = on.run(Steps(1)).map(drop).and_then(|()| call(&mut on, &machine)).unwrap_err();
        assert!(error.to_string().contains("index out of bounds"), "{number}: {error}");
        assert!(on.finish().is_err(), "{number}");
        assert_eq!(volume.field::<f64>("u"), start().field("u"), "the volume is as it was");
    }
}
