//! Sessions over ranks have the bits of one rank.

use std::time::Duration;

use super::*;
use warpweft::cluster::in_process;
use warpweft::stencil::Settings;

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Poisson {
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

/// The solution, the norms of the residuals, and the steps that took in a dot product.
type Solved = (Volume<Poisson, 3>, Vec<u64>, u64);

/// Conjugate gradients.
pub fn solved(run: &Run<'_>, machine: &Machine) -> Result<Solved> {
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
    let report = on.finish()?;
    Ok((volume, norms, report.policy["reducing_steps"].as_u64().unwrap_or(0)))
}

/// Whether both came to the same bits.
pub fn alike(found: &Solved, expect: &Solved) -> bool {
    found.1 == expect.1 && (0..4).all(|n| found.0.field_bytes(n) == expect.0.field_bytes(n))
}

/// A system that [`solved`] solves.
pub fn system() -> (Stencil<impl Fields, 3>, [usize; 3]) {
    (Stencil::of(multiply()), [16; 3])
}

#[test]
fn conjugate_gradients_have_the_same_bits_on_any_number_of_ranks() {
    let machine = machine();
    let expect = solved(&on_the_cores(), &machine).unwrap();
    assert!(f64::from_bits(expect.1[29]) < 1e-6 * f64::from_bits(expect.1[0]));
    for ranks in [2, 3, 8] {
        let all = in_process(ranks, Duration::from_secs(60), |net| {
            solved(&Run { net: Some(net), ..on_the_cores() }, &machine)
        });
        assert!(all.unwrap().iter().all(|found| alike(found, &expect)), "{ranks}");
    }
}

#[test]
fn what_a_program_asks_of_ranks_has_the_bits_of_plain_loops() {
    check_program(Target::Cpu, None);
}

/// A program over ranks on such devices.
pub fn check_program(target: Target, policy: Option<Policy>) {
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
            let run = Run { net: Some(net), settings, target, policy, ..Run::default() };
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

/// Reads further than a subdomain.
#[stencil]
fn far(now: Near<Cell, 2>, next: &mut Cell) {
    next.v = now.u[[0, 9]] + now.u[[9, 0]];
}

/// Reads further than the volume.
#[stencil]
fn further(now: Near<Cell, 2>, next: &mut Cell) {
    next.v = now.u[[30, 0]];
}

#[test]
fn what_one_rank_lacks_is_an_error_on_all_and_no_end() {
    let machine = machine();
    let stencil = Stencil::of(spread(0.2)).boundary(Boundary::Periodic);
    let expect = by_reference(&[Ask::Run(2)], Boundary::Periodic);
    let all = in_process(3, Duration::from_secs(60), |net| {
        let threads = (net.rank() == 1).then_some(0);
        let run = Run { net: Some(net), threads, ..on_the_cores() };
        let mut volume = start();
        let refused = stencil.on_with(&mut volume, &machine, &run).map(drop).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("0 threads"), "{refused}");
        assert_eq!(refused.contains("because rank 1 failed"), net.rank() != 1, "{refused}");
        // The same ranks open another session, which outlives functions that are refused.
        let run = Run { net: Some(net), ..on_the_cores() };
        let mut on = stencil.on_with(&mut volume, &machine, &run)?;
        on.run(Steps(1))?;
        for error in [on.apply(far()).unwrap_err(), on.apply(further()).unwrap_err()] {
            assert!(error.to_string().contains("; help: "), "{error}");
        }
        on.run(Steps(1))?;
        on.finish()?;
        Ok(volume)
    });
    assert!(all.unwrap().iter().all(|volume| same(volume, &expect)));
}

#[test]
fn functions_that_are_refused_end_no_session() {
    let mut volume = start();
    let machine = machine();
    let stencil = Stencil::of(spread(0.2)).boundary(Boundary::Periodic);
    let mut on = stencil.on_with(&mut volume, &machine, &on_the_cores()).unwrap();
    on.run(Steps(1)).unwrap();
    let error = on.apply(further()).unwrap_err().to_string();
    assert!(error.contains("; help: "), "{error}");
    on.run(Steps(1)).unwrap();
    on.finish().unwrap();
    assert!(same(&volume, &by_reference(&[Ask::Run(2)], Boundary::Periodic)));
}

#[stencil]
fn blur(u: Near<f64, 3>) -> f64 {
    0.5 * u[[0, 0, 0]] + 0.25 * (u[[-1, 0, 0]] + u[[1, 0, 0]])
}

#[test]
fn large_volumes_come_back_in_pieces() {
    let start =
        || Volume::from_fn([300, 90, 90], |[z, y, x]| ((z * 31 + y * 17 + x * 7) % 23) as f64);
    let (machine, stencil) = (machine(), Stencil::of(blur()));
    let mut expect = start();
    stencil.run_with(&mut expect, Steps(1), &machine, &on_the_cores()).unwrap();
    let all = in_process(2, Duration::from_secs(60), |net| {
        let mut volume = start();
        let run = Run { net: Some(net), ..on_the_cores() };
        let mut on = stencil.on_with(&mut volume, &machine, &run)?;
        on.run(Steps(1))?;
        let part = on.read([1..299, 0..90, 1..89])?;
        on.finish()?;
        Ok((volume, part))
    });
    for (volume, part) in all.unwrap() {
        assert!(volume.as_slice() == expect.as_slice());
        assert_eq!(part.get([297, 89, 87]), expect.get([298, 89, 88]));
    }
}

/// Two ranks on a session each makes calls of.
type Unlike<'c> = &'c (dyn Fn(&mut Session<'_, Cell, 2>) -> Result<()> + Sync);

#[test]
fn calls_that_ranks_do_not_share_are_errors_on_all_and_no_end() {
    let one = start();
    let calls: [(Unlike<'_>, &str); 12] = [
        (&|on| on.sum("u").map(drop), "Sum of fields [0, 0]"),
        (&|on| on.max("u").map(drop), "Greatest of fields [0, 0]"),
        (&|on| on.sum("v").map(drop), "Sum of fields [1, 1]"),
        (&|on| on.run(Steps(1)).map(drop), "run from step 2 to 3"),
        (&|on| on.run(Steps(2)).map(drop), "run from step 2 to 4"),
        (&|on| on.apply(wide(0.5)), "apply wide"),
        (&|on| on.apply(scale(0.5)), "apply scale"),
        (&|on| on.apply(scale(0.25)), "apply scale"),
        (&|on| on.read([0..2, 0..3]).map(drop), "read field 0 of cells [0, 0] to [2, 3]"),
        (&|on| on.get([0, 9]).map(drop), "read field 0 of cells [0, 9] to [1, 10]"),
        (&|on| on.write([0, 0], &start()), "write field 0 of cells [0, 0] to [11, 23]"),
        (&|on| on.fold(numbers::twisted(0.5)).map(drop), "fold by twisted"),
    ];
    let (machine, stencil) = (machine(), Stencil::of(spread(0.2)).boundary(Boundary::Periodic));
    let all = in_process(2, Duration::from_secs(60), |net| {
        let run = Run { net: Some(net), ..on_the_cores() };
        let mut volume = one.clone();
        let mut on = stencil.on_with(&mut volume, &machine, &run)?;
        on.run(Steps(2))?;
        for (number, pair) in calls.windows(2).enumerate() {
            let error = pair[net.rank()].0(&mut on).unwrap_err().to_string();
            let told = pair.iter().all(|(_, name)| error.contains(name));
            assert!(told && error.contains("make the same calls"), "{number}: {error}");
        }
        on.run(Steps(1))?;
        on.finish()?;
        Ok(volume)
    });
    let expect = by_reference(&[Ask::Run(3)], Boundary::Periodic);
    assert!(all.unwrap().iter().all(|volume| same(volume, &expect)));
}

#[test]
fn ranks_that_heed_interrupts_or_record_unlike_open_no_session() {
    let (machine, flag) = (machine(), std::sync::atomic::AtomicBool::new(false));
    let plain = || Stencil::of(spread(0.2)).boundary(Boundary::Periodic);
    let all = in_process(2, Duration::from_secs(60), |net| {
        let first = net.rank() == 0;
        let run = Run { net: Some(net), interrupt: first.then_some(&flag), ..on_the_cores() };
        let error = plain().on_with(&mut start(), &machine, &run).map(drop).unwrap_err();
        assert!(error.to_string().contains("rank 1 has interrupts not heeded"), "{error}");
        let run = Run { net: Some(net), ..on_the_cores() };
        let probing = if first {
            plain().probe(Probe { field: 0, at: vec![[2, 3]], every: 1 })
        } else {
            plain()
        };
        let error = probing.on_with(&mut start(), &machine, &run).map(drop).unwrap_err();
        assert!(error.to_string().contains("rank 1 has as probes none"), "{error}");
        let ending = if first { plain() } else { plain().until(Residual::Max, 0.5) };
        let error = ending.on_with(&mut start(), &machine, &run).map(drop).unwrap_err();
        assert!(error.to_string().contains("rank 1 has as end Max"), "{error}");
        Ok(())
    });
    all.unwrap();
}
