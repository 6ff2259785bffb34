//! Running blocks of levels on all workers.

use std::sync::{Mutex, PoisonError};

use super::CpuSweeps;
use super::arrays::Outcome;
use super::ghosts::Box4;
use super::layout::{M, X, Y, Z, canonical};
use super::levels::{Block, Level};
use super::log::Log;
use super::measure::ahead::Taking;
use super::slab::Slab;
use crate::plan::cone::Cone;
use crate::spec::functions::Times;
use crate::spec::reduction::Reduction;
use crate::{Region, Sweep};
use warpweft_core::cpu::Worker;
use warpweft_core::error::Result;

impl CpuSweeps {
    /// Advances the cells of `cone` by the steps of `sweep`.
    pub(super) fn advance(&mut self, sweep: &Sweep, cone: &Cone) -> Result<()> {
        let stages = self.stages.len();
        let asked = self.ahead.expected(&self.stages, &sweep.region);
        let taken = Mutex::new(vec![Reduction::default(); asked.len()]);
        // No count of steps overflows this.
        let mut left = u128::from(sweep.steps) * stages as u128;
        let (mut first, mut step) = (0, sweep.first_step);
        // Blocks of one pass over the pool; more would only make the list longer.
        while left > 0 {
            let mut blocks = Vec::new();
            while left > 0 && blocks.len() < 64 {
                let began = step;
                let count = self.depth.min(usize::try_from(left).unwrap_or(usize::MAX));
                let within = |l: usize| {
                    let done = (step - sweep.first_step) as usize + (first + l) / stages;
                    boxed(cone.at(done, (first + l) % stages))
                };
                let block = self.shape.block(first, count, self.present, within);
                self.present = block.levels.iter().fold(self.present, |p, level| p ^ level.flips);
                step += ((first + count) / stages) as u64;
                first = (first + count) % stages;
                left -= count as u128;
                blocks.push((block, self.published, began));
                self.published += blocks[blocks.len() - 1].0.waves + 1;
            }
            let tiles = blocks.iter().map(|(block, ..)| block.tiles.len()).max().unwrap_or(0);
            self.progress.resize_with(self.progress.len().max(tiles), Default::default);
            let this = &*self;
            let asked = if left == 0 { &asked[..] } else { &[] };
            let outcome = this.pool.run(|worker| {
                let mut taking = Taking::new(asked);
                let last = blocks.len() - 1;
                for (at, (block, base, step)) in blocks.iter().enumerate() {
                    let taking = (at == last && !asked.is_empty()).then_some(&mut taking);
                    this.block(worker, block, (*base, *step), taking)?;
                    if at < last {
                        this.wait_for_all(worker)?;
                    }
                }
                taking.merge_into(&taken);
                Ok(())
            });
            outcome.map_err(|panic| self.fault(panic))?;
        }
        if sweep.steps > 0 {
            let taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
            self.ahead.came(asked.into_iter().zip(taken));
        }
        Ok(())
    }

    /// Waits until all workers are done with a block.
    fn wait_for_all(&self, worker: &Worker<'_>) -> Outcome {
        let mut log = Log::new(self.trace.as_deref(), worker.index);
        let from = log.now();
        self.barrier.wait(worker.abort)?;
        log.waited(from);
        Ok(())
    }

    /// One worker's part of a block that begins after `step` steps. What its last level writes is taken in.
    fn block(
        &self,
        worker: &Worker<'_>,
        block: &Block,
        (base, step): (usize, u64),
        mut taking: Option<&mut Taking<'_>>,
    ) -> Outcome {
        let mut log = Log::new(self.trace.as_deref(), worker.index);
        if self.ghosts.any_deep() {
            let from = log.now();
            for &f in &self.written {
                let array = self.arrays.array(f, block.levels[0].present);
                // SAFETY: no worker is computing; planes are dealt round.
                unsafe {
                    self.ghosts.fill(array, block.fill, |z| z % worker.count == worker.index);
                }
            }
            self.barrier.wait(worker.abort)?;
            log.end(from, || "ghosts".into());
        }
        for tile in (worker.index..block.tiles.len()).step_by(worker.count) {
            let mut seen = 0;
            let begin = log.now();
            for wave in 0..block.waves {
                let due = base + wave + 1;
                // Levels of one block depend on one another; a lone level on nothing.
                if tile > 0 && seen < due && block.levels.len() > 1 {
                    let from = log.now();
                    seen = self.progress[tile - 1].wait_for(due, worker.abort)?;
                    log.waited(from);
                }
                for (l, level) in block.levels.iter().enumerate() {
                    if let Some(cells) = block.cells(l, wave, tile) {
                        self.level(worker, level, cells, step + level.step);
                        if let Some(taking) =
                            taking.as_mut().filter(|_| l + 1 == block.levels.len())
                        {
                            self.take_box(taking, level, cells);
                        }
                    }
                }
                self.progress[tile].publish(due);
            }
            log.end(begin, || format!("tile {tile}, {} levels", block.levels.len()));
        }
        Ok(())
    }

    /// Computes the cells `done` of a level, in the step after `step` steps, and refreshes the ghosts
    /// that follow them.
    fn level(&self, worker: &Worker<'_>, level: &Level, done: Box4, step: u64) {
        let layout = &self.arrays.layout;
        let stage = &self.stages[level.stage];
        self.at_stage[worker.index].publish(level.stage);
        let next = level.present ^ level.flips;
        let axes = canonical(self.extents.rank());
        // No longer than the row: half as much again must not overflow.
        let row = (done[X][1] - done[X][0]) as usize;
        let chunk = self.policy.tile_cells.clamp(1, row.max(1)) as isize;
        let (place, last) = (&self.place, self.extents.rank() - 1);
        let most = Slab::along(place.period[last], done[X].map(|x| place.begin[last] + x as i64));
        let mut x = done[X][0];
        while x < done[X][1] {
            // A last piece shorter than half a chunk joins the one before.
            let rest = done[X][1] - x;
            let cells = if rest < chunk + chunk / 2 { rest } else { chunk }.min(most);
            let first = layout.index([done[Z][0], done[Y][0], done[M][0], x]);
            let count = |axis: usize| (done[axis][1] - done[axis][0]) as usize;
            let slab = Slab {
                source: self.arrays.at(level.present, first).map(<*mut u8>::cast_const),
                target: self.arrays.at(next, first),
                strides: axes.map(|axis| layout.strides[axis]),
                counts: [count(Z), count(Y), count(M), cells as usize],
                steps: [layout.strides[Z], layout.strides[Y], layout.strides[M]],
                at: place.begin.zip(axes).map(|(begin, axis)| {
                    let first = if axis == X { x } else { done[axis][0] };
                    begin + first as i64
                }),
                period: place.period,
                step,
                unroll_and_jam: Slab::planes(place.period[0], self.policy.unroll_and_jam),
                simd: self.simd,
            };
            // SAFETY: the box and all taps lie in the padded arrays; `levels` shows that no other
            // worker touches the box now, nor writes what the taps read; arrays differ for the
            // fields that flip and `simd` was clamped to what the machine has.
            unsafe { stage.slab(&slab) };
            x += cells;
        }
        for &f in stage.writes() {
            // SAFETY: the followers belong to this tile as the cells do.
            unsafe { self.ghosts.refresh(self.arrays.array(f, next), done) };
        }
        if !self.faces.is_empty() {
            let written = stage.writes().iter().fold(0, |bits, field| bits | 1 << field);
            let Times { now, next: later, .. } = self.faces.times(level.stage + 1);
            let values = [(step, written & now), (step + 1, written & later)];
            // SAFETY: as above.
            unsafe { self.faces.write(&self.arrays.at(next, 0), done, values) };
        }
    }
}

/// `region` along the canonical axes.
fn boxed(region: Region) -> Box4 {
    let mut cells = [[0, 1]; 4];
    for (d, axis) in canonical(region.rank()).into_iter().enumerate() {
        cells[axis] = [region.low[d], region.high[d]].map(|n| n as isize);
    }
    cells
}
