//! Poisson's equation by conjugate gradients, and a flow with diffusion, whose matrix is not symmetric, by BiCGStab: a
//! session each, element functions and dot products.
//!
//! `cargo run --release --package warpweft --example conjugate_gradients`

use warpweft::grid::io::{Colours, Picture, middle_range, png};
use warpweft::prelude::*;

/// One cell of the four vectors of the method.
#[derive(Clone, Copy, Fields)]
struct Vectors {
    /// The solution.
    x: f64,
    /// The residual, `b - A x`.
    r: f64,
    /// The search direction.
    p: f64,
    /// `A p`.
    q: f64,
}

/// `q = A p`, with A the Laplacian of seven points, its sign changed.
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
fn update_direction(now: Near<Vectors, 3>, next: &mut Vectors, beta: f64) {
    next.p = now.r[[0, 0, 0]] + beta * now.p[[0, 0, 0]];
}

/// One cell of the seven vectors of BiCGStab.
#[derive(Clone, Copy, Fields)]
struct Seven {
    x: f64,
    r: f64,
    /// The residual at the start, against which all later ones are measured.
    shadow: f64,
    p: f64,
    /// `A p`.
    v: f64,
    s: f64,
    /// `A s`.
    t: f64,
}

/// `v = A p`: diffusion, and a flow along the last axis, differenced against it.
#[stencil]
fn flow_p(now: Near<Seven, 3>, next: &mut Seven, flow: f64) {
    let along = now.p[[-1, 0, 0]] + now.p[[1, 0, 0]] + now.p[[0, -1, 0]] + now.p[[0, 1, 0]];
    let diffused = 6.0 * now.p[[0, 0, 0]] - along - now.p[[0, 0, -1]] - now.p[[0, 0, 1]];
    next.v = diffused + flow * (now.p[[0, 0, 0]] - now.p[[0, 0, -1]]);
}

/// `t = A s`.
#[stencil]
fn flow_s(now: Near<Seven, 3>, next: &mut Seven, flow: f64) {
    let along = now.s[[-1, 0, 0]] + now.s[[1, 0, 0]] + now.s[[0, -1, 0]] + now.s[[0, 1, 0]];
    let diffused = 6.0 * now.s[[0, 0, 0]] - along - now.s[[0, 0, -1]] - now.s[[0, 0, 1]];
    next.t = diffused + flow * (now.s[[0, 0, 0]] - now.s[[0, 0, -1]]);
}

/// `s = r - alpha v`.
#[stencil]
fn halfway(now: Near<Seven, 3>, next: &mut Seven, alpha: f64) {
    next.s = now.r[[0, 0, 0]] - alpha * now.v[[0, 0, 0]];
}

/// `x += alpha p + omega s` and `r = s - omega t`.
#[stencil]
fn stabilise(now: Near<Seven, 3>, next: &mut Seven, alpha: f64, omega: f64) {
    next.x = now.x[[0, 0, 0]] + alpha * now.p[[0, 0, 0]] + omega * now.s[[0, 0, 0]];
    next.r = now.s[[0, 0, 0]] - omega * now.t[[0, 0, 0]];
}

/// `p = r + beta (p - omega v)`.
#[stencil]
fn redirect(now: Near<Seven, 3>, next: &mut Seven, beta: f64, omega: f64) {
    next.p = now.r[[0, 0, 0]] + beta * (now.p[[0, 0, 0]] - omega * now.v[[0, 0, 0]]);
}

const N: usize = 48;
/// Iterations between two reads of the residual: in between, the host does not wait for a GPU.
const LOOK: u32 = 4;
/// The cell Péclet number: the speed of the flow times the width of a cell, divided by the diffusivity.
const FLOW: f64 = 2.0;

/// The solution that is to be found: zero outside, as the boundary is.
fn exact([z, y, x]: [usize; 3]) -> f64 {
    let bump = |i: usize| ((i + 1) * (N - i)) as f64 / (N * N) as f64;
    bump(z) * bump(y) * bump(x) * (1.0 + (0.3 * x as f64).sin())
}

/// `b = A x` of the exact solution in a flow, by a plain loop.
fn right_hand_side(at: [usize; 3], flow: f64) -> f64 {
    let mut sum = (6.0 + flow) * exact(at);
    for axis in 0..3 {
        let weights = [if axis == 2 { 1.0 + flow } else { 1.0 }, 1.0];
        let neighbours = [at[axis].checked_sub(1), Some(at[axis] + 1).filter(|&i| i < N)];
        for (index, weight) in neighbours.into_iter().zip(weights) {
            let Some(index) = index else { continue };
            let mut beside = at;
            beside[axis] = index;
            sum -= weight * exact(beside);
        }
    }
    sum
}

/// The largest error of a solution.
fn worst(x: impl Fn([usize; 3]) -> Option<f64>) -> f64 {
    let cells = (0..N * N * N).map(|i| [i / (N * N), i / N % N, i % N]);
    let errors = cells.map(|at| x(at).map_or(f64::INFINITY, |x| (x - exact(at)).abs()));
    errors.fold(0.0, f64::max)
}

fn main() -> Result<()> {
    let machine = Machine::detect()?;
    let conjugate = conjugate_gradients(&machine)?;
    let stabilised = bicgstab(&machine)?;
    println!("largest errors {conjugate:.1e} and {stabilised:.1e}");
    assert!(conjugate < 1e-8, "the solution is that which the right-hand side was made of");
    assert!(stabilised < 1e-8, "the solution is that which the right-hand side was made of");
    Ok(())
}

fn conjugate_gradients(machine: &Machine) -> Result<f64> {
    let mut vectors = Volume::from_fn([N; 3], |at| {
        let b = right_hand_side(at, 0.0);
        Vectors { x: 0.0, r: b, p: b, q: 0.0 }
    });
    let stencil = Stencil::of(multiply()).boundary(Boundary::Dirichlet(0.0));
    let mut session = stencil.on(&mut vectors, machine)?;
    let begun = std::time::Instant::now();
    let mut rr = session.queue_dot("r", "r")?;
    let first = session.value(&rr)?;
    let mut iterations = 0;
    loop {
        session.run(Steps(1))?;
        let alpha = &rr / session.queue_dot("p", "q")?;
        session.apply(advance::with(alpha))?;
        let next = session.queue_dot("r", "r")?;
        session.apply(update_direction::with(&next / &rr))?;
        rr = next;
        iterations += 1;
        if iterations % LOOK == 0 && session.value(&rr)? <= 1e-20 * first {
            break;
        }
    }
    let each = begun.elapsed().as_secs_f64() / f64::from(iterations);
    session.finish()?;
    println!("conjugate gradients: {iterations} iterations of {:.3} ms each", 1e3 * each);
    let range = middle_range(&vectors, 0)?;
    png::write("poisson.png".as_ref(), &Picture::of_middle(&vectors, 0, range, Colours::Viridis)?)?;
    println!("written poisson.png, the solution in the middle plane");
    Ok(worst(|at| vectors.get(at).map(|cell| cell.x)))
}

fn bicgstab(machine: &Machine) -> Result<f64> {
    let mut vectors = Volume::from_fn([N; 3], |at| {
        let b = right_hand_side(at, FLOW);
        Seven { x: 0.0, r: b, shadow: b, p: b, v: 0.0, s: 0.0, t: 0.0 }
    });
    let stencil = Stencil::of(flow_p(FLOW)).boundary(Boundary::Dirichlet(0.0));
    let mut session = stencil.on(&mut vectors, machine)?;
    let begun = std::time::Instant::now();
    let mut rho = session.queue_dot("r", "r")?;
    let first = session.value(&rho)?;
    let mut iterations = 0;
    loop {
        session.run(Steps(1))?;
        let alpha = &rho / session.queue_dot("shadow", "v")?;
        session.apply(halfway::with(&alpha))?;
        session.apply(flow_s(FLOW))?;
        let omega = session.queue_dot("t", "s")? / session.queue_dot("t", "t")?;
        session.apply(stabilise::with(&alpha, &omega))?;
        let next = session.queue_dot("shadow", "r")?;
        let beta = &next / &rho * &alpha / &omega;
        session.apply(redirect::with(beta, &omega))?;
        rho = next;
        iterations += 1;
        if iterations % LOOK == 0 && session.dot("r", "r")? <= 1e-20 * first {
            break;
        }
    }
    let each = begun.elapsed().as_secs_f64() / f64::from(iterations);
    session.finish()?;
    println!("BiCGStab: {iterations} iterations of {:.3} ms each", 1e3 * each);
    Ok(worst(|at| vectors.get(at).map(|cell| cell.x)))
}
