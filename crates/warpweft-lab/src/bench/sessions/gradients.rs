//! Conjugate gradients for Poisson's equation: milliseconds of an iteration.

use std::time::Duration;

use warpweft::cluster::in_process;
use warpweft::prelude::*;
use warpweft::stencil::{Run, Session, SessionScalar};

use super::{Figure, On, Place, plain};

/// Iterations that are timed together.
const ITERATIONS: u32 = 40;
/// Arrays that an iteration reads or writes: 2 for `A p`, 2 and 1 for the dot products, 6 and 3 for the updates.
const PASSES: usize = 14;

/// The vectors of the method.
#[derive(Clone, Copy, Fields)]
struct Vectors {
    x: f64,
    r: f64,
    p: f64,
    q: f64,
}

/// `q = A p`.
#[stencil]
fn multiply(now: Near<Vectors, 3>, next: &mut Vectors) {
    let along = now.p[[-1, 0, 0]] + now.p[[1, 0, 0]] + now.p[[0, -1, 0]] + now.p[[0, 1, 0]];
    next.q = 6.0 * now.p[[0, 0, 0]] - along - now.p[[0, 0, -1]] - now.p[[0, 0, 1]];
}

/// `x += alpha p` and `r -= alpha q`.
#[stencil]
fn advance(now: Near<Vectors, 3>, next: &mut Vectors, alpha: f64) {
    next.x = now.x[[0, 0, 0]] + alpha * now.p[[0, 0, 0]];
    next.r = now.r[[0, 0, 0]] - alpha * now.q[[0, 0, 0]];
}

/// `p = r + beta p`.
#[stencil]
fn turn(now: Near<Vectors, 3>, next: &mut Vectors, beta: f64) {
    next.p = now.r[[0, 0, 0]] + beta * now.p[[0, 0, 0]];
}

/// An iteration; the residual's square after it.
fn iterate(session: &mut Session<'_, Vectors, 3>, rr: &SessionScalar) -> Result<SessionScalar> {
    session.run(Steps(1))?;
    let alpha = rr / session.queue_dot("p", "q")?;
    session.apply(advance::with(alpha))?;
    let next = session.queue_dot("r", "r")?;
    session.apply(turn::with(&next / rr))?;
    Ok(next)
}

/// 48^3 on cores, 256^3 on a GPU, by one rank and by two that share it.
pub fn measured(place: &Place<'_>) -> Result<Vec<Figure>> {
    let mut figures = vec![on_cores(place, 48 / place.shrink)?];
    if place.devices().contains(&On::Gpu) {
        figures.extend(on_gpu(place, 256 / place.shrink)?);
    }
    Ok(figures)
}

/// The right-hand side.
fn noise([z, y, x]: [usize; 3]) -> f64 {
    ((z * 31 + y * 17 + x * 7) % 101) as f64 - 50.0
}

/// Milliseconds of an iteration, several times.
fn solver(place: &Place<'_>, run: &Run<'_>, n: usize) -> Result<Vec<f64>> {
    let mut vectors = Volume::from_fn([n; 3], |at| {
        let b = noise(at);
        Vectors { x: 0.0, r: b, p: b, q: 0.0 }
    });
    let stencil = Stencil::of(multiply()).boundary(Boundary::Dirichlet(0.0));
    let mut session = stencil.on_with(&mut vectors, place.machine, run)?;
    let mut number = session.queue_dot("r", "r")?;
    let first = session.value(&number)?;
    let mut rr = first;
    let mut some = |session: &mut Session<'_, Vectors, 3>| {
        for _ in 0..ITERATIONS {
            number = iterate(session, &number)?;
        }
        // Waits for what a GPU has yet to do.
        rr = session.value(&number)?;
        Ok(())
    };
    some(&mut session)?;
    let seconds = place.repeated(|| some(&mut session))?;
    session.finish()?;
    if rr.is_nan() || rr >= first {
        return Err(Error::spec(
            format!("a residual of {rr} after {first}"),
            "report this as a bug",
        ));
    }
    Ok(seconds.iter().map(|seconds| 1e3 * seconds / f64::from(ITERATIONS)).collect())
}

fn name(n: usize) -> String {
    format!("conjugate gradients, {n}^3 f64")
}

fn on_cores(place: &Place<'_>, n: usize) -> Result<Figure> {
    let each = solver(place, &place.run(On::Cores), n)?;
    let figure = Figure::median(name(n), On::Cores.name(), each, "ms");
    // The least of both: other programs disturb one more than the other.
    let (least, _) = plain::measured(n, noise, (place.repeats, ITERATIONS));
    let ratio = figure.range[0] * 1e-3 / least;
    Ok(figure.over(ratio, "times two threads of plain loops, the least of both"))
}

fn on_gpu(place: &Place<'_>, n: usize) -> Result<[Figure; 2]> {
    let each = solver(place, &place.run(On::Gpu), n)?;
    let alone = Figure::median(name(n), On::Gpu.name(), each, "ms");
    let all = in_process(2, Duration::from_secs(60), |net| {
        solver(place, &Run { net: Some(net), ..place.run(On::Gpu) }, n)
    })?;
    let each = all.into_iter().next().unwrap_or_default();
    let shared = Figure::median(format!("{}, two ranks", name(n)), On::Gpu.name(), each, "ms");
    let ratio = shared.value / alone.value;
    let shared = shared.over(ratio, "times one rank");
    let traffic = place.traffic(On::Gpu, (PASSES * 8 * n * n * n) as f64);
    Ok(match traffic {
        Some(seconds) => {
            let ratio = alone.value * 1e-3 / seconds;
            [alone.over(ratio, "times its memory traffic"), shared]
        }
        None => [alone, shared],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_loops_come_to_the_residual_of_the_session() {
        let (n, iterations) = (9, 7);
        let mut vectors = Volume::from_fn([n; 3], |at| {
            let b = noise(at);
            Vectors { x: 0.0, r: b, p: b, q: 0.0 }
        });
        let run = Run { target: warpweft::stencil::Target::Cpu, ..Run::default() };
        let machine = Machine::detect().unwrap();
        let stencil = Stencil::of(multiply()).boundary(Boundary::Dirichlet(0.0));
        let mut session = stencil.on_with(&mut vectors, &machine, &run).unwrap();
        let mut number = session.queue_dot("r", "r").unwrap();
        for _ in 0..iterations {
            number = iterate(&mut session, &number).unwrap();
        }
        let (_, plain) = plain::measured(n, noise, (1, iterations));
        let found = session.value(&number).unwrap();
        assert!((found - plain).abs() < 1e-9 * found, "{found} and {plain}");
    }
}
