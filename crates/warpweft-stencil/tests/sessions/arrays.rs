//! Cells with members that are arrays: each element is a field, whatever reads and writes it.

use super::gpu::on_a_gpu;
use super::*;

/// Particles that fly to the left, rest, and fly to the right.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Gas {
    f: [f64; 3],
    seen: [u8; 2],
}

#[stencil]
fn fly(now: Near<Gas, 2>, next: &mut Gas, mark: u8) {
    for q in 0..3 {
        next.f[q as usize] = now.f[q as usize][[0, 1 - q]];
    }
    next.seen[1] = now[[0, 1]].seen[0] + mark;
}

#[stencil]
fn swap(g: Near<Gas, 2>) -> Gas {
    let here = g[[0, 0]];
    let most = (here.f[2] > here.f[0]) as usize;
    Gas { f: [here.f[2], g[[0, 0]].f[1] + most as f64, g.f[0][[0, 0]]], seen: here.seen }
}

fn gas() -> Volume<Gas, 2> {
    Volume::from_fn([5, 13], |[y, x]| Gas {
        f: [(y * 13 + x) as f64, 0.5 * x as f64, (x * x + y) as f64],
        seen: [x as u8, y as u8],
    })
}

/// What the gas is after `steps` steps of flight alone.
fn flown(found: &Volume<Gas, 2>, steps: usize) {
    let begin = gas();
    for (y, x) in (0..5).flat_map(|y| (0..13).map(move |x| (y, x))) {
        let from = |x: usize| begin.get([y, x % 13]).unwrap();
        let f = [from(x + steps).f[0], from(x).f[1], from(x + 13 * steps - steps).f[2]];
        let seen = [from(x).seen[0], from(x + 1).seen[0] + 3];
        assert_eq!(found.get([y, x]).unwrap(), Gas { f, seen }, "[{y}, {x}]");
    }
}

#[test]
fn elements_of_arrays_are_fields() {
    let stencil = Stencil::of(fly(3)).boundary(Boundary::Periodic);
    let policy =
        CpuPolicy { temporal_depth: 3, tile_rows: 2, tile_cells: 8, ..CpuPolicy::default() };
    let fused = Run { policy: Some(Policy::Cpu(policy)), ..on_the_cores() };
    let ranks = Ranks { count: 2, grid: Some([1, 2].into()), depth: Some(2) };
    let one = Run { threads: Some(1), ..on_the_cores() };
    let two = Run { settings: one.settings.over(ranks), ..one.clone() };
    for run in [one, fused, two] {
        let mut found = gas();
        stencil.run_with(&mut found, Steps(7), &machine(), &run).unwrap();
        flown(&found, 7);
    }
    let mut found = gas();
    let names = ["f[0]", "f[1]", "f[2]", "seen[0]", "seen[1]"];
    assert_eq!(Gas::FIELDS.iter().map(|field| field.name).collect::<Vec<_>>(), names);
    let machine = machine();
    let mut on = stencil.on_with(&mut found, &machine, &on_the_cores()).unwrap();
    on.run(Steps(2)).unwrap();
    on.apply(swap()).unwrap();
    assert_eq!(on.sum("f[2]").unwrap(), (0..65).sum::<usize>() as f64);
    on.finish().unwrap();
    assert_eq!(found.field::<f64>("f[0]").unwrap()[2], 0.0);
    assert_eq!(found.get([0, 0]).unwrap().f[2], 2.0);
}

#[test]
fn gpus_compile_arrays_in_cells() {
    if let Err(error) = warpweft::cuda::compiler() {
        return println!("skipped: {error}");
    }
    let stencil = Stencil::sequence((fly(3), swap())).boundary(Boundary::Periodic);
    for arch in ["sm_80", "sm_90"] {
        let policy = CudaPolicy::default_for(&stencil, [99, 999].into(), (9, 0));
        compile_check(&stencil, [99, 999].into(), &policy, arch).unwrap();
    }
}

#[test]
fn a_gpu_moves_elements_of_arrays() {
    let stencil = Stencil::of(fly(3)).boundary(Boundary::Periodic);
    let machine = machine();
    let Some(run) = on_a_gpu(&stencil, [5, 13].into(), &machine) else { return };
    let mut found = gas();
    stencil.run_with(&mut found, Steps(7), &machine, &run).unwrap();
    flown(&found, 7);
}
