//! Regrouped sums: all steps of a linear stencil at once, against the plain run.

use warpweft::grid::RawVolume;
use warpweft::prelude::*;
use warpweft::stencil::{Face, Run, Stages, reference};

const WEIGHTS: [f64; 2] = [-2.0, 1.0];

/// As the application writes it.
#[stencil]
fn heat1<T: Stored<Number = N>, N: Real>(u: Near<T, 1>, rate: N) -> T {
    let mut sum = N::lit(WEIGHTS[0]) * u[[0]].widen();
    for k in 1..=1 {
        sum += N::lit(WEIGHTS[k as usize]) * (u[[-k]].widen() + u[[k]].widen());
    }
    T::narrow(u[[0]].widen() + rate * sum)
}

#[device]
fn blend(a: f32, b: f32, share: f32) -> f32 {
    let rest = 1.0 - share;
    share * a + rest * b
}

/// Asymmetric, with all that a sum over cells may be made of.
#[stencil]
fn drift(u: Near<f32, 2>, weights: [f32; 3], up: i32) -> f32 {
    let mut sum = 0.0;
    for k in 0..3 {
        sum += weights[k as usize] * u[[k - 1, 1]];
    }
    let side = if up > 0 { u[[2, 0]] } else { u[[-2, 0]] };
    let both = blend(side, u[[0, 0]], 0.25) * (up as f32 / 8.0);
    (-u[[1, -2]]).mul_add(-0.125, sum) + both
}

#[stencil]
fn space(u: Near<f64, 3>, rate: f64) -> f64 {
    let around = u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]] + u[[0, 0, -1]];
    u[[0, 0, 0]] + rate * (around + u[[0, 0, 1]] - 6.0 * u[[0, 0, 0]])
}

#[stencil]
fn smooth(u: Near<f64, 3>) -> f64 {
    0.5 * u[[0, 0, 0]] + 0.25 * (u[[1, 1, 0]] + u[[-1, 0, 1]])
}

fn machine() -> Machine {
    Machine::detect().unwrap()
}

/// The largest difference, as a part of the largest cell.
fn off(a: &RawVolume, b: &RawVolume) -> f64 {
    let values = |volume: &RawVolume| match volume.field::<f32>(0) {
        Some(cells) => cells.iter().map(|&cell| f64::from(cell)).collect(),
        None => volume.field::<f64>(0).unwrap().to_vec(),
    };
    let (a, b) = (values(a), values(b));
    let largest = b.iter().fold(0.0f64, |most, cell| most.max(cell.abs()));
    let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(largest > 0.0 && apart.is_finite());
    apart / largest
}

/// Compares `steps` regrouped steps on `target` with the reference.
fn compare<S: Fields, const D: usize>(
    stencil: Stencil<S, D>,
    first: &Volume<S, D>,
    (steps, most): (u64, f64),
    target: Target,
) {
    let stencil = stencil.boundary(Boundary::Periodic);
    let (mut found, mut expect) = (first.clone(), first.clone());
    reference(&stencil, &mut expect, steps).unwrap();
    let run = Run { target, ..Run::default() };
    let report =
        stencil.regroup_sums().run_with(&mut found, Steps(steps), &machine(), &run).unwrap();
    assert_eq!((report.done, report.temporal_depth), (steps, Some(steps as f64)));
    let off = off(found.raw_mut(), expect.raw_mut());
    assert!(off <= most, "{:?}, {steps} steps: off by {off:.2e}", first.extents());
}

fn all(target: Target) {
    let noise = |n: usize| ((n * 7919 + 13) % 1009) as f64 / 1009.0;
    for cells in [1, 2, 45, 64] {
        let line = Volume::from_fn([cells], |[x]| noise(x));
        compare(Stencil::of(heat1::<f64, f64>(0.3)), &line, (1000, 1e-12), target);
        let line = Volume::from_fn([cells], |[x]| noise(x) as f32);
        compare(Stencil::of(heat1::<f32, f32>(0.3)), &line, (1000, 1e-5), target);
    }
    for extents in [[15, 22], [16, 9]] {
        let plate = Volume::from_fn(extents, |[y, x]| noise(31 * y + x) as f32 + 1.0);
        for up in [2, -2] {
            let weights = [0.25, 0.375, 0.5];
            compare(Stencil::of(drift(weights, up)), &plate, (25, 1e-5), target);
        }
    }
    let block = Volume::from_fn([5, 6, 9], |[z, y, x]| noise(97 * z + 13 * y + x));
    compare(Stencil::of(space(0.15)), &block, (1000, 1e-12), target);
    compare(Stencil::sequence((space(0.15), smooth())), &block, (200, 1e-12), target);
}

#[test]
fn regrouped_sums_are_those_of_single_steps_on_the_cores() {
    all(Target::Cpu);
}

#[test]
fn regrouped_sums_are_those_of_single_steps_on_a_gpu() {
    if machine().gpus.is_empty() {
        println!("skipped: no GPU");
        return;
    }
    all(Target::Gpu(0));
}

#[stencil]
fn squared(u: Near<f32, 1>) -> f32 {
    u[[0]] * u[[1]]
}
#[stencil]
fn largest(u: Near<f32, 1>) -> f32 {
    u[[0]].max(u[[1]])
}
#[stencil]
fn shifted(u: Near<f32, 1>) -> f32 {
    u[[0]] + 0.5
}
#[stencil]
fn capped(u: Near<f32, 1>) -> f32 {
    if u[[0]] > 1.0 { 1.0 } else { u[[0]] }
}
#[stencil]
fn placed(u: Near<f32, 1>, #[step] step: u64) -> f32 {
    u[[0]] * step as f32
}
#[stencil]
fn counted(u: Near<u8, 1>) -> u8 {
    u[[0]]
}

#[stencil]
fn stored_small(u: Near<f32, 1>, level: f32) -> f32 {
    u[[0]] * f32::from(level as u8)
}
#[stencil]
fn chosen(u: Near<f32, 1>, weights: [f32; 2], at: i32) -> f32 {
    u[[0]] * weights[at as usize]
}

/// What a run that regroups sums says.
fn refusal<S: Fields, const D: usize>(stencil: Stencil<S, D>) -> String {
    let mut volume = Volume::zeroed([8; D]).unwrap();
    let stencil = stencil.regroup_sums();
    stencil.run(&mut volume, Steps(3), &machine()).unwrap_err().to_string()
}

fn periodic<const D: usize, S: Fields>(stages: impl Stages<D, State = S>) -> Stencil<S, D> {
    Stencil::sequence(stages).boundary(Boundary::Periodic)
}

#[test]
fn what_is_not_linear_or_not_periodic_is_refused_with_the_reason() {
    let said = [
        (
            refusal(periodic(squared())),
            "`squared`, which is not linear: it multiplies cells by cells",
        ),
        (refusal(periodic(largest())), "it calls `max`"),
        (refusal(periodic(shifted())), "it adds 0.5"),
        (refusal(periodic(capped())), "it compares cells"),
        (refusal(periodic(placed())), "it is told the index of its cell or the step"),
        (refusal(periodic(counted())), "of cells of u8"),
        (refusal(periodic(stored_small(300.0))), "it has the integer 300, outside of 0 to 255"),
        (refusal(periodic(chosen([0.5, 1.0], -1))), "it has the integer -1, outside of 0 to"),
        (refusal(Stencil::of(heat1::<f32, f32>(0.1))), "along x"),
        (refusal(periodic(heat1::<f32, f32>(0.1)).until(Residual::Max, 0.1)), "single steps"),
    ];
    for (said, expect) in said {
        assert!(said.contains(expect), "{said}");
        assert!(said.contains("leave `regroup_sums` ("), "{said}");
    }
    let stencil = periodic(heat1::<f32, f32>(0.1)).regroup_sums();
    let mut volume = Volume::zeroed([8]).unwrap();
    let machine = machine();
    assert!(stencil.on(&mut volume, &machine).is_err());
    let mut none = Volume::from_fn([8], |[x]| x as f32);
    stencil.run(&mut none, Steps(0), &machine).unwrap();
    assert_eq!(none.as_slice()[3], 3.0);
}

#[stencil]
fn blurred(u: Near<f64, 2>, down: [f64; 3], right: [f64; 3]) -> f64 {
    let mut sum = 0.0;
    for y in 0..3 {
        let row = right[0] * u[[y - 1, -1]] + right[1] * u[[y - 1, 0]] + right[2] * u[[y - 1, 1]];
        sum += down[y as usize] * row;
    }
    sum
}

/// Of radius 2 along x alone.
#[stencil]
fn streaked(u: Near<f64, 2>) -> f64 {
    let near = u[[0, -1]] + u[[0, 1]];
    0.4 * u[[0, 0]] + 0.2 * near + 0.1 * (u[[0, -2]] + u[[0, 2]])
}

#[stencil]
fn smoothed(u: Near<f64, 3>, deep: [f64; 3], down: [f64; 3], right: [f64; 3]) -> f64 {
    let mut sum = 0.0;
    for z in 0..3 {
        for y in 0..3 {
            let row = right[0] * u[[z - 1, y - 1, -1]]
                + right[1] * u[[z - 1, y - 1, 0]]
                + right[2] * u[[z - 1, y - 1, 1]];
            sum += deep[z as usize] * down[y as usize] * row;
        }
    }
    sum
}

/// Compares steps of separable weights with single steps on the cores; several take one pass on a GPU that can do so.
fn compare_separable<const D: usize>(
    stencil: Stencil<f64, D>,
    first: &Volume<f64, D>,
    steps: u64,
    (target, depth): (Target, f64),
) {
    let (mut found, mut expect) = (first.clone(), first.clone());
    let run = Run { target: Target::Cpu, ..Run::default() };
    stencil.run_with(&mut expect, Steps(steps), &machine(), &run).unwrap();
    let run = Run { target, ..Run::default() };
    let report =
        stencil.regroup_sums().run_with(&mut found, Steps(steps), &machine(), &run).unwrap();
    assert_eq!(report.done, steps);
    if report.policy["separable"].is_object() {
        assert_eq!(report.temporal_depth, Some(depth));
    } else {
        // Nothing has such units but GPUs from 9.0 on.
        let single = report.notes.iter().any(|note| note.contains("the run took single steps"));
        assert!(single || report.policy["fourier"].is_object(), "{report:?}");
        assert!(target == Target::Cpu || machine().gpus[0].capability < (9, 0), "{report:?}");
    }
    let off = off(found.raw_mut(), expect.raw_mut());
    assert!(off <= 1e-14, "{:?}, {steps} steps: off by {off:.2e}", first.extents());
}

/// Both faces of an axis.
fn axis<const D: usize>(stencil: Stencil<f64, D>, axis: usize, both: Boundary) -> Stencil<f64, D> {
    stencil.face(axis, Face::Low, both).face(axis, Face::High, both)
}

fn all_separable(target: Target) {
    let noise = |n: usize| ((n * 7919 + 13) % 1009) as f64 / 1009.0;
    let (down, right, deep) = ([0.24, 0.49, 0.27], [0.26, 0.45, 0.29], [0.22, 0.47, 0.31]);
    // Of the second kind one axis leaves cells next to its faces to single steps.
    let (even, flat) = ([0.25, 0.5, 0.25], [0.0, 0.7, 0.3]);
    // They add up to less than 1, differ by more than a factor of 16, and have two signs.
    let (short, uneven, sharp) = ([0.2, 0.4, 0.3], [0.02, 0.5, 0.48], [-0.1, 0.8, 0.3]);
    let (around, held) = (Boundary::Periodic, Boundary::Dirichlet(0.25));
    // Single steps have tests of their own: on the cores this is about the choice.
    let some = if target == Target::Cpu { 1 } else { 5 };
    for extents in [[33, 50], [419, 642], [60, 200], [5, 7], [1, 300]].into_iter().take(some) {
        let plate = Volume::from_fn(extents, |[y, x]| noise(31 * y + x));
        for [y, x] in [[held, held], [around, held], [held, around], [around, around]] {
            let faces = |stencil: Stencil<f64, 2>| axis(axis(stencil, 0, y), 1, x);
            for steps in [1, 24, 64] {
                let others = [(even, short), (uneven, right), (sharp, even)];
                for (down, right) in [(down, right), (even, flat), (even, right), (down, flat)]
                    .into_iter()
                    .chain(others)
                {
                    let stencil = faces(Stencil::of(blurred(down, right)));
                    compare_separable(stencil, &plate, steps, (target, 24.0));
                }
            }
            compare_separable(faces(Stencil::of(streaked())), &plate, 30, (target, 12.0));
        }
    }
    for extents in [[9, 16, 12], [77, 91, 170], [3, 2, 5]].into_iter().take(some) {
        let block = Volume::from_fn(extents, |[z, y, x]| noise(97 * z + 13 * y + x));
        for [z, y, x] in [[held, held, held], [around, held, around], [around, around, around]] {
            for steps in [1, 4, 11] {
                for (deep, down, right) in [
                    (deep, down, right),
                    (flat, even, even),
                    (deep, even, flat),
                    (even, down, flat),
                ] {
                    let stencil = Stencil::of(smoothed(deep, down, right));
                    let stencil = axis(axis(axis(stencil, 0, z), 1, y), 2, x);
                    compare_separable(stencil, &block, steps, (target, 4.0));
                }
            }
        }
    }
}

#[test]
fn separable_steps_are_single_steps_on_the_cores() {
    all_separable(Target::Cpu);
}

#[test]
fn separable_steps_are_single_steps_on_a_gpu() {
    if machine().gpus.is_empty() {
        println!("skipped: no GPU");
        return;
    }
    all_separable(Target::Gpu(0));
}
