//! Conjugate gradients for Poisson's equation: milliseconds of an iteration.

use warpweft::prelude::*;
use warpweft::stencil::{Session, SessionScalar};

use super::{Figure, On, Place};

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

/// 48^3 on cores, 256^3 on a GPU.
pub fn measured(place: &Place<'_>) -> Result<Vec<Figure>> {
    let size = |on| if on == On::Cores { 48 } else { 256 } / place.shrink;
    place.devices().into_iter().map(|on| solver(place, on, size(on))).collect()
}

fn solver(place: &Place<'_>, on: On, n: usize) -> Result<Figure> {
    let noise = |[z, y, x]: [usize; 3]| ((z * 31 + y * 17 + x * 7) % 101) as f64 - 50.0;
    let mut vectors = Volume::from_fn([n; 3], |at| {
        let b = noise(at);
        Vectors { x: 0.0, r: b, p: b, q: 0.0 }
    });
    let run = place.run(on);
    let stencil = Stencil::of(multiply()).boundary(Boundary::Dirichlet(0.0));
    let mut session = stencil.on_with(&mut vectors, place.machine, &run)?;
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
    let each = seconds.iter().map(|seconds| 1e3 * seconds / f64::from(ITERATIONS)).collect();
    let figure = Figure::median(format!("conjugate gradients, {n}^3 f64"), on.name(), each, "ms");
    let traffic = place.traffic(on, (PASSES * 8 * n * n * n) as f64);
    Ok(match traffic.filter(|_| on == On::Gpu) {
        Some(seconds) => {
            let ratio = figure.value * 1e-3 / seconds;
            figure.over(ratio, "times its memory traffic")
        }
        None => figure,
    })
}
