//! Queueing what was wired: stages, graphs of many turns, and copies of neighbours' planes.

use super::{Slab, StageLaunch};
use crate::cuda::layout::Layout;
use crate::cuda::queue::Queued;
use warpweft_core::error::Result;

/// Turns (steps or trips) of a captured graph: even, so that it ends in the arrays it began in. The
/// long one makes little of the gap between graphs, during which neighbours wait; the short one does
/// the rest.
const GRAPH_TURNS: [u64; 2] = [256, 16];
/// Graphs queued at once: bounds what is left to run after a failure, and the driver's queue.
pub(super) const QUEUED: usize = 4;

/// How many graphs of each length make up `turns` turns, and the turns left after them.
fn split(turns: u64) -> [(u64, u64); 2] {
    let [long, short] = GRAPH_TURNS;
    let rest = turns % long;
    [(turns / long, rest), (rest / short, rest % short)]
}

impl Slab {
    pub(super) fn launch(&self, queued: &Queued) -> Result<()> {
        // SAFETY: arguments point to arrays and flags of this slab and its neighbours, which live as
        // long as the executor that has them all and waits for all devices before it drops any.
        unsafe { queued.launch(&self.stream) }
    }

    /// Queues a stage and the renewal of ghosts after it.
    pub(in super::super) fn stage(&self, queued: &StageLaunch) -> Result<()> {
        self.launch(&queued.stage)?;
        queued.ghosts.iter().try_for_each(|ghosts| self.launch(ghosts))
    }

    /// The launches of one turn from `state`: a trip, where the policy has such, or a step.
    fn turn(&self, state: usize) -> &[StageLaunch] {
        &self.trips.as_ref().unwrap_or(&self.steps)[state]
    }

    /// Captures the graphs that [`Slab::run`] needs for `turns` turns from `state`, each of which
    /// changes the state `flips` times.
    pub(in super::super) fn prepare(
        &mut self,
        turns: u64,
        state: usize,
        flips: usize,
    ) -> Result<()> {
        for (n, (graphs, _)) in split(turns).into_iter().enumerate() {
            if graphs > 0 && self.graphs[state][n].is_none() {
                let turns = 0..GRAPH_TURNS[n] as usize;
                let mut queued = turns.flat_map(|n| self.turn((state + n * flips) % 2));
                let graph =
                    self.stream.capture(|_| queued.try_for_each(|queued| self.stage(queued)))?;
                self.graphs[state][n] = Some(graph);
            }
        }
        Ok(())
    }

    /// Queues `turns` turns from `state`, by prepared graphs as far as they go.
    pub(in super::super) fn run(&mut self, turns: u64, state: usize, flips: usize) -> Result<()> {
        let mut left = turns;
        let mut marked = 0;
        for (n, (graphs, rest)) in split(turns).into_iter().enumerate() {
            let Some(graph) = &mut self.graphs[state][n] else { continue };
            for _ in 0..graphs {
                let mark = &self.marks[marked % QUEUED];
                if marked >= QUEUED {
                    mark.synchronize()?;
                }
                graph.launch(&self.stream)?;
                self.stream.record(mark)?;
                marked += 1;
            }
            left = rest;
        }
        (0..left as usize)
            .flat_map(|n| self.turn((state + n * flips) % 2))
            .try_for_each(|queued| self.stage(queued))
    }

    /// Queues copies of the neighbours' planes at the cuts into this slab's ghost zones.
    pub(in super::super) fn pull(
        &self,
        neighbours: [Option<&Slab>; 2],
        sent: &[(usize, usize)],
    ) -> Result<()> {
        let depth = self.arrays.layout.ghosts[self.axis];
        for &(f, array) in sent {
            let planes = |slab: &Slab| slab.planes.len() as isize;
            let ends = [
                (neighbours[0], -(depth[0] as isize), depth[0]),
                (neighbours[1], self.planes.len() as isize, depth[1]),
            ];
            for (side, (slab, to, count)) in ends.into_iter().enumerate() {
                let Some(slab) = slab.filter(|_| count > 0) else { continue };
                let from = if side == 0 { planes(slab) - count as isize } else { 0 };
                let (to, bytes) = self.whole_planes(f, to, count);
                let (from, _) = slab.whole_planes(f, from, count);
                let arrays = (&self.arrays.of(f)[array], &slab.arrays.of(f)[array]);
                self.stream.copy(arrays.0, to, arrays.1, from, bytes)?;
            }
        }
        Ok(())
    }

    /// The bytes of `count` planes of field `f` from `first` on, with the ghosts of other axes.
    fn whole_planes(&self, f: usize, first: isize, count: usize) -> (usize, usize) {
        let Layout { ghosts, strides, origin, west, .. } = &self.arrays.layout;
        let below = west + (self.axis + 1..3).map(|d| ghosts[d][0] * strides[d]).sum::<usize>();
        let start = (origin - below) as isize + first * self.pitch() as isize;
        let size = self.arrays.size(f);
        (start as usize * size, self.pitch() * count * size)
    }

    /// Every field in use and its current array in `state`.
    pub(in super::super) fn used(&self, state: usize) -> Vec<(usize, usize)> {
        self.arrays.fields().map(|f| (f, self.arrays.current(f, state))).collect()
    }
}
