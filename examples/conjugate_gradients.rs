//! Poisson's equation by conjugate gradients: a session, three element functions and dot products.
//!
//! `cargo run --release --package warpweft --example conjugate_gradients`

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

const N: usize = 48;

/// The solution that is to be found: zero outside, as the boundary is.
fn exact([z, y, x]: [usize; 3]) -> f64 {
    let bump = |i: usize| ((i + 1) * (N - i)) as f64 / (N * N) as f64;
    bump(z) * bump(y) * bump(x) * (1.0 + (0.3 * x as f64).sin())
}

/// `b = A x` of the exact solution, by a plain loop.
fn right_hand_side(at: [usize; 3]) -> f64 {
    let mut sum = 6.0 * exact(at);
    for axis in 0..3 {
        let neighbours = [at[axis].checked_sub(1), Some(at[axis] + 1).filter(|&i| i < N)];
        for index in neighbours.into_iter().flatten() {
            let mut beside = at;
            beside[axis] = index;
            sum -= exact(beside);
        }
    }
    sum
}

fn main() -> Result<()> {
    let machine = Machine::detect()?;
    let mut vectors = Volume::from_fn([N; 3], |at| {
        let b = right_hand_side(at);
        Vectors { x: 0.0, r: b, p: b, q: 0.0 }
    });
    let stencil = Stencil::of(multiply()).boundary(Boundary::Dirichlet(0.0));
    let mut session = stencil.on(&mut vectors, &machine)?;
    let begun = std::time::Instant::now();
    let first = session.dot("r", "r")?;
    let (mut rr, mut iterations) = (first, 0);
    while rr > 1e-20 * first {
        session.run(Steps(1))?;
        let alpha = rr / session.dot("p", "q")?;
        session.apply(advance(alpha))?;
        let next = session.dot("r", "r")?;
        session.apply(update_direction(next / rr))?;
        rr = next;
        iterations += 1;
    }
    let each = begun.elapsed().as_secs_f64() / f64::from(iterations);
    session.finish()?;
    let mut worst = 0.0f64;
    for z in 0..N {
        for y in 0..N {
            for x in 0..N {
                let found = vectors.get([z, y, x]).map_or(f64::NAN, |cell| cell.x);
                worst = worst.max((found - exact([z, y, x])).abs());
            }
        }
    }
    println!("{iterations} iterations of {:.3} ms each", 1e3 * each);
    println!("largest error {worst:.1e}");
    assert!(worst < 1e-8, "the solution is that which the right-hand side was made of");
    Ok(())
}
