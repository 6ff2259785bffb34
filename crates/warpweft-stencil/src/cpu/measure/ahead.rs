//! Reductions that are taken in by the sweep that writes the cells, where they are expected.

use std::sync::{Mutex, PoisonError};

use super::reduce::take;
use crate::cpu::CpuSweeps;
use crate::cpu::ghosts::Box4;
use crate::cpu::layout::{M, X, Y, Z};
use crate::cpu::levels::Level;
use crate::spec::reduction::ahead::Asked;
use crate::spec::reduction::{Chunk, Reduction};

/// What a worker takes in.
pub(in crate::cpu) struct Taking<'a> {
    asked: &'a [Asked],
    each: Vec<(Chunk, Reduction)>,
}

impl<'a> Taking<'a> {
    pub fn new(asked: &'a [Asked]) -> Self {
        Self { asked, each: asked.iter().map(|_| Default::default()).collect() }
    }

    /// Adds what this worker took in.
    pub fn merge_into(self, all: &Mutex<Vec<Reduction>>) {
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        for ((asked, (mut chunk, mut mine)), all) in
            self.asked.iter().zip(self.each).zip(all.iter_mut())
        {
            mine.take_rest(asked.what, &mut chunk);
            all.merge(&mine);
        }
    }
}

impl CpuSweeps {
    /// Takes in the cells `done`, which `level` has written, in the states that they have after it.
    pub(in crate::cpu) fn take_box(&self, taking: &mut Taking<'_>, level: &Level, done: Box4) {
        let next = level.present ^ level.flips;
        let layout = &self.arrays.layout;
        let cells = (done[X][1] - done[X][0]) as usize;
        for (asked, (chunk, to)) in taking.asked.iter().zip(&mut taking.each) {
            let arrays = asked.fields.map(|field| self.arrays.array(field, next));
            let kinds = asked.fields.map(|field| self.cell.kind(field));
            let rows = (done[Z][0]..done[Z][1]).flat_map(|z| {
                (done[Y][0]..done[Y][1]).flat_map(move |y| {
                    (done[M][0]..done[M][1])
                        .map(move |m| (layout.index([z, y, m, done[X][0]]), cells))
                })
            });
            // SAFETY: the cells are inside the arrays. No level after this one writes them, and those before it have:
            // they are as far ahead as if it read them. `simd` is a set the machine has.
            unsafe { take(self.simd, (to, chunk), (asked.what, kinds), &arrays, rows) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::prelude::*;
    use crate::spec::reduction::Reduce;
    use crate::{CpuPolicy, Region, Sweep, SweepExecutor};
    use warpweft_core::cpu::{Pool, Simd};

    #[derive(Clone, Copy, Debug, PartialEq, Fields)]
    struct Pair {
        a: f32,
        b: f64,
    }

    #[stencil]
    fn first(now: Near<Pair, 3>, next: &mut Pair) {
        next.a = (now.b[[1, 0, 0]] - now.b[[0, -1, 0]]) as f32 + 0.5 * now.a[[0, 0, 0]];
    }

    #[stencil]
    fn second(now: Near<Pair, 3>, next: &mut Pair) {
        next.b = 0.25 * (now.b[[0, 0, 1]] + now.b[[-1, 0, 0]]) + f64::from(now.a[[0, 1, 0]]);
    }

    #[test]
    fn sweeps_take_in_what_is_asked_for_again_with_the_same_bits() {
        let extents = [7, 9, 70];
        let start = Volume::from_fn(extents, |[z, y, x]| {
            let n = (z * 31 + y * 17 + x * 7) as f64;
            Pair { a: (n * 0.3).sin() as f32, b: (n * 0.7).cos() * 2f64.powi(n as i32 % 30) }
        });
        let region = Region::whole(extents.into());
        let asked = [(Reduce::Dot, [1, 0]), (Reduce::Sum, [1, 1]), (Reduce::Least, [0, 0])];
        for (boundary, depth) in
            [(Boundary::Periodic, 1), (Boundary::Periodic, 3), (Boundary::Dirichlet(0.5), 2)]
        {
            let stencil = Stencil::sequence((first(), second())).boundary(boundary);
            let policy = CpuPolicy {
                temporal_depth: depth,
                tile_rows: 4,
                slab_planes: 2,
                ..CpuPolicy::default()
            };
            let pool = Arc::new(Pool::new(&[0, 0]).unwrap());
            let mut sweeps =
                CpuSweeps::new(&stencil, &start, policy, pool, Simd::detect()).unwrap();
            for (number, steps) in [1, 2, 5, 3].into_iter().enumerate() {
                let sweep =
                    Sweep { first_step: 0, steps, following: 0, region, keep_change: false };
                sweeps.sweep(&sweep).unwrap();
                for (what, fields) in asked {
                    let ahead = sweeps.ahead.has(&Asked::new(what, fields, region));
                    assert_eq!(ahead, number > 0, "{what:?} after {number} sweeps");
                    let found = sweeps.reduce(what, fields, &region).unwrap().value(what);
                    let mut bytes = [Vec::new(), Vec::new()];
                    for (field, bytes) in fields.into_iter().zip(&mut bytes) {
                        sweeps.read(&[(field, region)], bytes).unwrap();
                    }
                    let kinds = fields.map(|field| sweeps.cell().kind(field));
                    let mut expect = Reduction::default();
                    expect.take_bytes(what, kinds, [&bytes[0], &bytes[1]]);
                    assert_eq!(found.to_bits(), expect.value(what).to_bits(), "{what:?}");
                }
            }
            // Written cells are not those that were taken in, and what nobody asks for is not expected any more.
            let one = Region { low: [0; 3].into(), high: [1; 3].into() };
            sweeps.write(&[(1, one)], &1e9f64.to_ne_bytes()).unwrap();
            assert!(sweeps.reduce(Reduce::Greatest, [1; 2], &region).unwrap().extremes()[1] >= 1e9);
            let sweep = Sweep { first_step: 0, steps: 1, following: 0, region, keep_change: false };
            sweeps.sweep(&sweep).unwrap();
            sweeps.sweep(&sweep).unwrap();
            assert!(!sweeps.ahead.has(&Asked::new(Reduce::Sum, [1, 1], region)));
        }
    }
}
