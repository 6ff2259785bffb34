//! Himeno against the benchmark's own values, and its cross terms, which the benchmark leaves at 0.

use warpweft::prelude::*;
use warpweft_apps::himeno::{self, Cell, Relaxes};

use super::{BOUNDARIES, error, noise, plain, run, run_fast};

/// `gosa` of step `n` of a benchmark run.
fn gosa<T: Relaxes>(size: &str, n: u64) -> f64 {
    let (_, extents) = *himeno::SIZES.iter().find(|(name, _)| *name == size).expect("a size");
    let start = himeno::start::<T>(extents).expect("a small size");
    himeno::gosa_of::<T>(&run_fast(&T::stencil(), start, n - 1))
}

#[test]
fn gosa_is_the_benchmark_s() {
    for (n, expect) in [(3, 3.295_448e-3), (100, 2.147_093e-3)] {
        let found = gosa::<f64>("S", n);
        assert!((found / expect - 1.0).abs() < 3e-7, "step {n}: {found:e} for {expect:e}");
        // In f32 the sixth is 3e-8 too large, which ss, a small difference, shows ten thousandfold.
        let found = gosa::<f32>("S", n);
        assert!((found / expect - 1.0).abs() < 1e-3, "step {n}: {found:e} for {expect:e}");
    }
}

#[test]
fn gosa_is_also_the_change_of_a_step() {
    let before = himeno::start::<f64>([32, 32, 64]).expect("a small size");
    let expect = himeno::gosa_of::<f64>(&before);
    let after = run(&f64::stencil(), before.clone(), 1);
    let changes = super::values(&after, 0).into_iter().zip(super::values(&before, 0));
    let squares = changes.map(|(after, before)| (after - before).powi(2)).sum();
    let found = himeno::gosa(squares);
    assert!((found / expect - 1.0).abs() < 1e-9, "{found:e} for {expect:e}");
}

/// Every coefficient at random, pressure too.
fn mixture(extents: [usize; 3]) -> Volume<Cell<f32>, 3> {
    let mut next = noise(7);
    let mut next = move || next() as f32;
    Volume::from_fn(extents, |_| Cell {
        p: next(),
        a0: 1.0 + next(),
        a1: 1.0 + next(),
        a2: 1.0 + next(),
        a3: 1.0 / 8.0,
        b0: next(),
        b1: next(),
        b2: next(),
        c0: 1.0 + next(),
        c1: 1.0 + next(),
        c2: 1.0 + next(),
        bnd: if next() > -0.4 { 1.0 } else { 0.0 },
        wrk: next(),
    })
}

#[test]
fn random_coefficients_agree_with_the_straightforward_loop() {
    for boundary in BOUNDARIES {
        let start = mixture([8, 11, 21]);
        let mut plain = plain(&start, 1, boundary);
        let found = run(&f32::stencil().boundary(boundary), start, 6);
        (0..6).for_each(|_| himeno::plain_step(&mut plain));
        let error = error(&found, &plain);
        // Coefficients add up to at most 15/8 a step; 40 roundings each.
        assert!(error <= 40.0 * 2f64.powi(6) * f64::from(f32::EPSILON), "{boundary:?}: {error:e}");
    }
}

#[test]
fn cross_terms_differentiate_products_along_their_own_two_axes() {
    // p = i j + 2 j k + 4 i k, for which the four diagonal cells in the plane of two axes differ by
    // 4 times its mixed derivative there: 4, 8 and 16.
    let extents = [6, 7, 8];
    for (b, expect) in [([1.0, 0.0, 0.0], 4.0), ([0.0, 1.0, 0.0], 8.0), ([0.0, 0.0, 1.0], 16.0)] {
        let mut start = himeno::start::<f32>(extents).expect("a small size");
        for i in 0..6 {
            for j in 0..7 {
                for k in 0..8 {
                    let mut cell = start.get([i, j, k]).expect("inside");
                    cell.p = (i * j + 2 * j * k + 4 * i * k) as f32;
                    [cell.b0, cell.b1, cell.b2] = b;
                    start.set([i, j, k], cell);
                }
            }
        }
        let found = run(&f32::stencil(), start.clone(), 1);
        for at in [[1, 1, 1], [2, 3, 4], [4, 5, 6]] {
            // The rest of the equation is satisfied by p itself: all but the cross term cancels.
            let moved = found.get(at).expect("inside").p - start.get(at).expect("inside").p;
            let expect = 0.8 * expect / 6.0;
            assert!((moved - expect).abs() < 1e-4, "{b:?} at {at:?}: {moved} for {expect}");
        }
    }
}
