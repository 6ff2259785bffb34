//! Calls of one step, and a short run next to a plain loop.

use std::time::Instant;

use warpweft::prelude::*;
use warpweft::stencil::Session;

use super::{Figure, On, Place};

/// Calls that are timed together.
const CALLS: u32 = 20_000;

#[stencil]
fn spread(u: Near<f32, 2>, rate: f32) -> f32 {
    u[[0, 0]] + rate * (u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]] - 4.0 * u[[0, 0]])
}

/// Microseconds of a call of one step of 64 x 64 cells.
pub fn measured(place: &Place<'_>) -> Result<Vec<Figure>> {
    place.devices().into_iter().map(|on| call(place, on)).collect()
}

fn call(place: &Place<'_>, on: On) -> Result<Figure> {
    let mut plate = Volume::from_fn([64; 2], |[y, x]| ((7 * y + x) % 5) as f32);
    let stencil = Stencil::of(spread(0.2)).boundary(Boundary::Periodic);
    let run = place.run(on);
    let mut session = stencil.on_with(&mut plate, place.machine, &run)?;
    let calls = |session: &mut Session<'_, f32, 2>| {
        for _ in 0..CALLS {
            session.run(Steps(1))?;
        }
        // Waits for what a GPU has yet to do.
        session.get([0, 0]).map(drop)
    };
    calls(&mut session)?;
    let seconds = place.repeated(|| calls(&mut session))?;
    session.finish()?;
    let each = seconds.iter().map(|seconds| 1e6 * seconds / f64::from(CALLS)).collect();
    Ok(Figure::median("a call of one step, 64 x 64 f32".into(), on.name(), each, "us"))
}

#[stencil]
fn diffuse(u: Near<f32, 3>, rate: f32) -> f32 {
    let along = u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]];
    u[[0, 0, 0]] + rate * (along + u[[0, 0, -1]] + u[[0, 0, 1]] - 6.0 * u[[0, 0, 0]])
}

const N: usize = 32;
const STEPS: u64 = 2000;
const EVERY: u64 = 50;
const TOLERANCE: f32 = 1e-4;

fn hot([z, y, x]: [usize; 3]) -> f32 {
    if [z, y, x] == [16; 3] { 1000.0 } else { 0.0 }
}

/// Seconds of the README's first program, the machine detected anew, next to a plain loop on one thread.
pub fn until(place: &Place<'_>) -> Result<Vec<Figure>> {
    let ours = place.repeated(|| {
        let mut volume = Volume::from_fn([N; 3], hot);
        let stencil = Stencil::of(diffuse(0.1)).boundary(Boundary::Periodic);
        let stencil = stencil.until_every(Residual::Max, TOLERANCE.into(), EVERY);
        stencil.run(&mut volume, Steps(STEPS), &Machine::detect()?).map(drop)
    })?;
    let mut plain = Vec::new();
    for _ in 0..place.repeats {
        let begin = Instant::now();
        std::hint::black_box(plain_loop());
        plain.push(begin.elapsed().as_secs_f64());
    }
    let plain = Figure::median("the same by a plain loop".into(), "one core", plain, "s");
    let case = format!("{N}^3 f32 until the change is small, {STEPS} steps");
    let ours = Figure::median(case, "default", ours, "s");
    let ratio = ours.value / plain.value;
    Ok(vec![ours.over(ratio, "of the plain loop's time"), plain])
}

/// What the program computes, as plain Rust: the cells, and the steps that were taken.
fn plain_loop() -> (Vec<f32>, u64) {
    let index = |[z, y, x]: [usize; 3]| (z * N + y) * N + x;
    let mut now: Vec<f32> = (0..N * N * N).map(|i| hot([i / (N * N), i / N % N, i % N])).collect();
    let mut next = now.clone();
    for step in 1..=STEPS {
        for z in 0..N {
            for y in 0..N {
                for x in 0..N {
                    let [below, above] = [|i: usize| (i + N - 1) % N, |i: usize| (i + 1) % N];
                    let along = now[index([below(z), y, x])] + now[index([above(z), y, x])];
                    let along = along + now[index([z, below(y), x])] + now[index([z, above(y), x])];
                    let along = along + now[index([z, y, below(x)])] + now[index([z, y, above(x)])];
                    let here = now[index([z, y, x])];
                    next[index([z, y, x])] = here + 0.1 * (along - 6.0 * here);
                }
            }
        }
        let change = || now.iter().zip(&next).map(|(a, b)| (b - a).abs()).fold(0.0, f32::max);
        let ends = step % EVERY == 0 && change() <= TOLERANCE;
        std::mem::swap(&mut now, &mut next);
        if ends {
            return (now, step);
        }
    }
    (now, STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_loop_computes_what_the_program_does() {
        let mut volume = Volume::from_fn([N; 3], hot);
        let stencil = Stencil::of(diffuse(0.1)).boundary(Boundary::Periodic);
        let stencil = stencil.until_every(Residual::Max, TOLERANCE.into(), EVERY);
        let run =
            warpweft::stencil::Run { target: warpweft::stencil::Target::Cpu, ..Default::default() };
        let machine = Machine::detect().unwrap();
        let report = stencil.run_with(&mut volume, Steps(STEPS), &machine, &run).unwrap();
        let (cells, steps) = plain_loop();
        assert_eq!(report.done, steps);
        let apart = cells.iter().zip(volume.as_slice()).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f32::max) < 1e-4);
    }
}
