//! Sessions over ranks have the bits of one rank.

use std::time::Duration;

use super::*;
use warpweft::cluster::in_process;
use warpweft::stencil::Settings;

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Poisson {
    x: f64,
    r: f64,
    p: f64,
    q: f64,
}

#[stencil]
fn multiply(now: Near<Poisson, 3>, next: &mut Poisson) {
    let z = now.p[[-1, 0, 0]] + now.p[[1, 0, 0]];
    let y = now.p[[0, -1, 0]] + now.p[[0, 1, 0]];
    let x = now.p[[0, 0, -1]] + now.p[[0, 0, 1]];
    next.q = 6.0 * now.p[[0, 0, 0]] - (z + y + x);
}

#[stencil]
fn advance(now: Near<Poisson, 3>, next: &mut Poisson, alpha: f64) {
    next.x = now.x[[0, 0, 0]] + alpha * now.p[[0, 0, 0]];
    next.r = now.r[[0, 0, 0]] - alpha * now.q[[0, 0, 0]];
}

#[stencil]
fn turn(now: Near<Poisson, 3>, next: &mut Poisson, beta: f64) {
    next.p = now.r[[0, 0, 0]] + beta * now.p[[0, 0, 0]];
}

/// Conjugate gradients; the solution and the norms of the residuals.
fn solved(run: &Run<'_>, machine: &Machine) -> Result<(Volume<Poisson, 3>, Vec<u64>)> {
    let mut volume = Volume::from_fn([16, 16, 16], |[z, y, x]| {
        let r = ((z * 31 + y * 17 + x * 7) % 23) as f64 / 3.0 - 3.0;
        Poisson { x: 0.0, r, p: r, q: 0.0 }
    });
    let stencil = Stencil::of(multiply());
    let mut on = stencil.on_with(&mut volume, machine, run)?;
    let (mut norms, mut rr) = (Vec::new(), on.queue_dot("r", "r")?);
    for _ in 0..30 {
        on.run(Steps(1))?;
        let alpha = &rr / on.queue_dot("p", "q")?;
        on.apply(advance::with(&alpha))?;
        let next = on.queue_dot("r", "r")?;
        on.apply(turn::with(&next / &rr))?;
        norms.push(on.value(&next)?.to_bits());
        rr = next;
    }
    on.finish()?;
    Ok((volume, norms))
}

#[test]
fn conjugate_gradients_have_the_same_bits_on_any_number_of_ranks() {
    let machine = machine();
    let (expect, norms) = solved(&on_the_cores(), &machine).unwrap();
    assert!(f64::from_bits(norms[29]) < 1e-6 * f64::from_bits(norms[0]));
    for ranks in [2, 3, 8] {
        let all = in_process(ranks, Duration::from_secs(60), |net| {
            solved(&Run { net: Some(net), ..on_the_cores() }, &machine)
        });
        for (volume, found) in all.unwrap() {
            let cells = (0..4).all(|n| volume.field_bytes(n) == expect.field_bytes(n));
            assert!(found == norms && cells, "{ranks}");
        }
    }
}

#[test]
fn what_a_program_asks_of_ranks_has_the_bits_of_plain_loops() {
    let asked = [
        Ask::Run(3),
        Ask::Wide(0.25),
        Ask::Scale(0.5),
        Ask::Set([2, 3], 1.5),
        Ask::Reduced,
        Ask::Run(7),
        Ask::Wide(-0.5),
        Ask::Run(2),
    ];
    let machine = machine();
    for (boundary, grid) in [
        (Boundary::Periodic, [2, 1]),
        (Boundary::Mirror, [1, 3]),
        (Boundary::Dirichlet(0.5), [2, 2]),
    ] {
        let expect = by_reference(&asked, boundary);
        let stencil = Stencil::of(spread(0.2)).boundary(boundary);
        let count = grid[0] * grid[1];
        let all = in_process(count, Duration::from_secs(60), |net| {
            let over = Ranks { count, grid: Some(grid.into()), depth: None };
            let settings = Settings::default().over(over);
            let run = Run { net: Some(net), settings, ..on_the_cores() };
            let mut volume = start();
            let mut on = stencil.on_with(&mut volume, &machine, &run)?;
            asked.iter().for_each(|ask| ask.of(&mut on));
            let part = on.read([2..9, 5..20])?;
            let folded = on.fold(numbers::twisted(0.5))?;
            on.finish()?;
            Ok((volume, part, folded))
        });
        for (volume, part, folded) in all.unwrap() {
            assert!(same(&volume, &expect), "{boundary:?}");
            assert_eq!(part.get([6, 14]), expect.get([8, 19]));
            assert_eq!(folded, numbers::by_pairs(&expect, 0.5));
        }
    }
}
