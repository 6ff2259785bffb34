//! Tables as parameters: coefficients by depth, values by step, arrays of arrays; the same values on every executor.

use super::gpu::on_a_gpu;
use super::*;

/// Layers that conduct differently, a source that changes with time, weights in fixed tables.
#[stencil]
fn layers(
    u: Near<f64, 2>,
    #[at] at: [usize; 2],
    #[step] step: u64,
    rates: &[f64],
    source: &[f64],
    weights: [[f64; 2]; 3],
) -> f64 {
    let mut around = 0.0;
    for k in 0..2 {
        around +=
            weights[0][k as usize] * u[[2 * k - 1, 0]] + weights[1][k as usize] * u[[0, 2 * k - 1]];
    }
    let rate = rates[at[0]] + weights[2][step as usize % 2];
    u[[0, 0]] + rate * (around - 4.0 * u[[0, 0]]) + source[step as usize] / rates.len() as f64
}

/// A number looked up by another: no index and no step.
#[stencil]
fn coloured(u: Near<u8, 1>, palette: &[u8]) -> u8 {
    palette[(u[[-1]] ^ u[[1]]) as usize]
}

const WEIGHTS: [[f64; 2]; 3] = [[1.0, 0.75], [1.25, 1.0], [0.0, 0.03125]];

fn rates() -> Vec<f64> {
    (0..9).map(|y| 0.125 / (1 + y % 3) as f64).collect()
}

fn hump() -> Volume<f64, 2> {
    Volume::from_fn([9, 14], |[y, x]| ((y * 5 + x * 3) % 11) as f64)
}

fn pulse(step: u64) -> f64 {
    if step < 4 { step as f64 } else { 0.5 }
}

fn layered(steps: u64) -> Stencil<f64, 2> {
    let source = Table::by_step(steps, pulse).unwrap();
    Stencil::of(layers(rates(), source, WEIGHTS)).boundary(Boundary::Periodic)
}

/// The same by a plain loop.
fn by_loop(steps: u64) -> Volume<f64, 2> {
    let (mut cells, rates) = (hump(), rates());
    for step in 0..steps {
        let before = cells.clone();
        for (y, x) in (0..9).flat_map(|y| (0..14).map(move |x| (y, x))) {
            let rows = [before[[(y + 8) % 9, x]], before[[(y + 1) % 9, x]]];
            let columns = [before[[y, (x + 13) % 14]], before[[y, (x + 1) % 14]]];
            let mut around = 0.0;
            for k in 0..2 {
                around += WEIGHTS[0][k] * rows[k] + WEIGHTS[1][k] * columns[k];
            }
            let (u, rate) = (before[[y, x]], rates[y] + WEIGHTS[2][step as usize % 2]);
            cells[[y, x]] = u + rate * (around - 4.0 * u) + pulse(step) / 9.0;
        }
    }
    cells
}

#[test]
fn cores_and_ranks_look_up_what_a_plain_loop_does() {
    let expect = by_loop(13);
    let one = Run { threads: Some(1), ..on_the_cores() };
    let policy =
        CpuPolicy { temporal_depth: 3, tile_rows: 2, tile_cells: 8, ..CpuPolicy::default() };
    let fused = Run { policy: Some(Policy::Cpu(policy)), ..one.clone() };
    let ranks = Ranks { count: 2, grid: Some([2, 1].into()), depth: Some(3) };
    let two = Run { settings: one.settings.over(ranks), ..one.clone() };
    for run in [one, fused, two] {
        let mut found = hump();
        layered(13).run_with(&mut found, Steps(13), &machine(), &run).unwrap();
        assert_eq!(found.as_slice(), expect.as_slice());
    }
}

#[test]
fn an_index_outside_a_table_ends_the_run_with_an_error() {
    let mut found = hump();
    let error = layered(5).run_with(&mut found, Steps(6), &machine(), &on_the_cores());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("index out of bounds: the len is 5 but the index is 5"), "{error}");
    assert_eq!(found.as_slice(), hump().as_slice(), "nothing is lost");
    let none = Stencil::of(coloured(Vec::new()));
    let mut line = Volume::from_fn([5], |[x]| x as u8);
    let error = none.run_with(&mut line, Steps(1), &machine(), &on_the_cores()).unwrap_err();
    assert!(error.to_string().contains("the len is 0"), "{error}");
}

#[test]
fn a_session_goes_on_with_another_table() {
    let start = Volume::from_fn([17], |[x]| (x % 4) as u8);
    let palettes = [vec![3, 1, 2, 0], vec![1, 0, 3, 2]];
    let mut expect = start.clone();
    for palette in palettes.iter().cycle().take(5) {
        reference(&Stencil::of(coloured(palette)), &mut expect, 1).unwrap();
    }
    let mut found = start;
    let stencil = Stencil::of(coloured(&palettes[0]));
    let machine = machine();
    let mut on = stencil.on_with(&mut found, &machine, &on_the_cores()).unwrap();
    on.run(Steps(1)).unwrap();
    for palette in palettes.iter().cycle().skip(1).take(4) {
        on.apply(coloured(palette)).unwrap();
    }
    on.finish().unwrap();
    assert_eq!(found.as_slice(), expect.as_slice());
}

#[test]
fn gpus_compile_it() {
    if let Err(error) = warpweft::cuda::compiler() {
        return println!("skipped: {error}");
    }
    for arch in ["sm_80", "sm_90"] {
        let policy = CudaPolicy::default_for(&layered(3), [9, 14].into(), (9, 0));
        compile_check(&layered(3), [9, 14].into(), &policy, arch).unwrap();
        let line = Stencil::of(coloured([1, 0, 3, 2]));
        for policy in CudaPolicy::candidates(&line, [999].into(), ((9, 0), 132)).iter().take(3) {
            compile_check(&line, [999].into(), policy, arch).unwrap();
        }
    }
}

#[test]
fn a_gpu_looks_up_the_same() {
    let machine = machine();
    let Some(run) = on_a_gpu(&layered(13), [9, 14].into(), &machine) else { return };
    let mut found = hump();
    layered(13).run_with(&mut found, Steps(13), &machine, &run).unwrap();
    assert_eq!(found.as_slice(), by_loop(13).as_slice());
    let error = layered(5).run_with(&mut found, Steps(6), &machine, &run).unwrap_err().to_string();
    assert!(error.contains("index out of bounds"), "{error}");
    let palettes = [[3, 1, 2, 0], [1, 0, 3, 2]];
    let mut found = Volume::from_fn([1700], |[x]| (x % 4) as u8);
    let mut expect = found.clone();
    let stencil = Stencil::of(coloured(palettes[0]));
    let Some(run) = on_a_gpu(&stencil, [1700].into(), &machine) else { return };
    reference(&stencil, &mut expect, 20).unwrap();
    reference(&Stencil::of(coloured(palettes[1])), &mut expect, 1).unwrap();
    reference(&Stencil::of(coloured(palettes[0])), &mut expect, 1).unwrap();
    reference(&stencil, &mut expect, 3).unwrap();
    let mut on = stencil.on_with(&mut found, &machine, &run).unwrap();
    on.run(Steps(20)).unwrap();
    on.apply(coloured(palettes[1])).unwrap();
    on.apply(coloured(palettes[0])).unwrap();
    on.run(Steps(3)).unwrap();
    on.finish().unwrap();
    assert!(found.as_slice() == expect.as_slice());
}
