//! The launches of steps and trips of one slab between its neighbours, with all their arguments.

use super::super::cut;
use super::super::policy::{Layers, around};
use super::super::words::{Landing, WordLaunch};
use super::{Problem, Slab, StageLaunch};
use crate::cuda::boxes::whole;
use crate::cuda::queue::{Queued, element_argument};
use crate::cuda::text::{Role, StageShape};
use warpweft_core::cuda::{Args, Launch};
use warpweft_core::element::MAX_FIELDS;
use warpweft_core::error::Result;

impl Slab {
    /// Prepares the launches of a step from `state`, between `neighbours` below and above.
    pub(in super::super) fn wire<const D: usize>(
        &self,
        problem: &Problem<D>,
        neighbours: [Option<&Slab>; 2],
        state: usize,
    ) -> Result<Vec<StageLaunch>> {
        let Problem { stencil, policy, text, .. } = problem;
        let layout = &self.arrays.layout;
        let [gx, gy, gz] = policy.grid::<D>(layout);
        let queue = self.queue(problem);
        let early = self.early(problem)?;
        // Where trips exchange planes by flags, single steps don't.
        let edges = if text.trip.is_none() { self.edges(problem, neighbours)? } else { None };
        let mut now: Vec<usize> =
            (0..problem.stencil.cell.len()).map(|f| self.arrays.current(f, state)).collect();
        let mut queued = Vec::new();
        for (number, (stage, shape)) in stencil.stages.iter().zip(&text.stages).enumerate() {
            let mut args = Args::new();
            let mut next = now.clone();
            for (f, role) in shape.roles.iter().enumerate() {
                match role {
                    Role::Unused => {}
                    Role::Read | Role::InPlace => _ = args.value(self.cell(f, now[f])),
                    Role::Doubled => {
                        next[f] = 1 - now[f];
                        args.value(self.cell(f, now[f]));
                        args.value(self.cell(f, next[f]));
                    }
                }
            }
            queue.bring_planes(&mut args, shape, &now)?;
            for &f in &shape.sent {
                let bytes = (self.pitch() * self.arrays.size(f)) as u64;
                let [below, above] = neighbours;
                args.value(
                    below
                        .map_or(0, |slab| slab.cell(f, next[f]) + slab.planes.len() as u64 * bytes),
                );
                args.value(above.map_or(0, |slab| {
                    slab.cell(f, next[f]).wrapping_sub(self.planes.len() as u64 * bytes)
                }));
            }
            if let Some(edges) = &edges {
                args.blob(edges, 8);
            }
            args.blob(&layout.whole_box(), 8);
            element_argument(&mut args, &**stage);
            let kernel = self.module.kernel(&shape.kernel)?;
            if shape.shared > 0 {
                kernel.allow_shared(shape.shared as u32)?;
            }
            let blocks = [gx as u32, gy as u32, gz.min(65_535) as u32];
            let mut launch = Launch::new(blocks, [32, text.warps, 1]).shared(shape.shared as u32);
            launch.early = early && edges.is_some();
            let crossing = stage.writes().iter().filter(|&&f| stencil.crosses_cut(f));
            queued.push(StageLaunch {
                stage: Queued { kernel, launch, args },
                ghosts: queue
                    .renew(stage.writes(), &next)?
                    .into_iter()
                    .chain(queue.face(number, &next))
                    .collect(),
                sent: crossing.map(|&f| (f, next[f])).collect(),
            });
            now = next;
        }
        Ok(queued)
    }

    /// The planes that go to `neighbours`: those before the first and from the second on.
    fn sent<const D: usize>(
        &self,
        problem: &Problem<D>,
        neighbours: [Option<&Slab>; 2],
    ) -> [Option<usize>; 2] {
        let [below, above] = cut::reach(&problem.stencil, &problem.policy);
        // The neighbour below reads as far above itself as anybody does. Where there is no
        // neighbour nothing is sent, also not by a tile that reaches from cut to boundary.
        [neighbours[0].map(|_| above), neighbours[1].map(|_| self.planes.len() - below)]
    }

    /// `struct Edges`, where planes are exchanged by flags.
    fn edges<const D: usize>(
        &self,
        problem: &Problem<D>,
        neighbours: [Option<&Slab>; 2],
    ) -> Result<Option<Vec<u8>>> {
        let Some(flags) = &self.flags else { return Ok(None) };
        let at = |plane: usize| (plane * self.pitch()) as i64;
        let [low, high] = self.sent(problem, neighbours);
        let bounds = [low.map_or(0, at), high.map_or(i64::MAX, at)];
        let theirs = neighbours.map(|slab| slab.and_then(|slab| slab.flags.as_ref()));
        flags.argument(theirs, bounds).map(Some)
    }

    /// Prepares the launches of a trip of several steps from `state`, if the policy has such.
    pub(in super::super) fn wire_trip<const D: usize>(
        &self,
        problem: &Problem<D>,
        neighbours: [Option<&Slab>; 2],
        state: usize,
    ) -> Result<Option<Vec<StageLaunch>>> {
        if let (Some(landing), Some(shape)) = (&self.landing, &problem.text.words) {
            return self.wire_words(problem, neighbours, state, landing, shape).map(Some);
        }
        let Some(shape) = &problem.text.trip else { return Ok(None) };
        let kernel = self.module.kernel("ww_trip")?;
        kernel.allow_shared(shape.shared as u32)?;
        let edges = self.edges(problem, neighbours)?;
        let cut = edges.map(|edges| [self.cut_trip(problem, neighbours, 1 - state), edges]);
        let flagged = cut.is_some();
        let queue = self.queue(problem);
        let queued = queue.trip((&kernel, shape), state, &whole(&self.arrays.layout), cut)?;
        let mut queued = queued.into_iter();
        let Some(mut stage) = queued.next() else { return Ok(None) };
        stage.launch.early = flagged && self.early(problem)?;
        Ok(Some(vec![StageLaunch { stage, ghosts: queued.collect(), sent: vec![(0, 1 - state)] }]))
    }

    /// Prepares the launches of a trip from `state` that exchanges planes in words: a step each.
    fn wire_words<const D: usize>(
        &self,
        problem: &Problem<D>,
        neighbours: [Option<&Slab>; 2],
        state: usize,
        landing: &Landing,
        shape: &StageShape,
    ) -> Result<Vec<StageLaunch>> {
        let Problem { stencil, policy, text, .. } = problem;
        let stage = &*stencil.stages[0];
        let kernel = self.module.kernel(&shape.kernel)?;
        let theirs = neighbours.map(|slab| slab.and_then(|slab| slab.landing.as_ref()));
        let early = self.early(problem)?;
        let radius = stencil.radius()[0];
        let shared = self.arrays.layout.shared[self.axis];
        let [below, above] = cut::reach(stencil, policy);
        let depth = policy.steps_a_turn() as usize;
        let mut queued = Vec::new();
        for n in 0..depth {
            let mut args = Args::new();
            let now = (state + n) % 2;
            for (f, role) in shape.roles.iter().enumerate() {
                let array = self.arrays.current(f, now);
                match role {
                    Role::Unused => {}
                    Role::Read | Role::InPlace => _ = args.value(self.cell(f, array)),
                    Role::Doubled => {
                        args.value(self.cell(f, array));
                        args.value(self.cell(f, 1 - array));
                    }
                }
            }
            // Ghost planes are advanced as far as the launches after this one need them.
            let more =
                [0, 1].map(|side| if shared[side] { radius[side] * (depth - 1 - n) } else { 0 });
            let mut widened = self.arrays.layout;
            widened.extents[self.axis] += more[0] + more[1];
            let grid = policy.grid::<D>(&widened);
            let tile = cut::tile_depth::<D>(&policy.cuda);
            let layers = Layers::of(widened.extents[self.axis], tile, below.max(above), shared);
            let groups = (grid[2] / layers.all.max(1)).max(1);
            let launch = WordLaunch { first: n == 0, last: n + 1 == depth, layers, groups };
            args.blob(&landing.argument(theirs, self.planes.len(), launch)?, 8);
            args.blob(&self.arrays.layout.widened_box(self.axis, more), 8);
            element_argument(&mut args, stage);
            let grid = grid.map(|blocks| blocks as u32);
            let mut launch = Launch::new(grid, [32, text.warps, 1]);
            launch.early = early;
            let crossing = shape.sent.iter().map(|&f| (f, 1 - self.arrays.current(f, now)));
            queued.push(StageLaunch {
                stage: Queued { kernel: kernel.clone(), launch, args },
                ghosts: self
                    .queue(problem)
                    .renew(stage.writes(), &[1 - now; MAX_FIELDS])?
                    .into_iter()
                    .chain(self.queue(problem).face(0, &[1 - now; MAX_FIELDS]))
                    .collect(),
                sent: crossing.collect(),
            });
        }
        Ok(queued)
    }

    /// What `struct CutTrip` has beside `struct Trip`, for a trip into `array`.
    fn cut_trip<const D: usize>(
        &self,
        problem: &Problem<D>,
        neighbours: [Option<&Slab>; 2],
        array: usize,
    ) -> Vec<u8> {
        let size = self.arrays.size(0) as i64;
        let elements = |from: u64, to: u64| to.wrapping_sub(from) as i64 / size;
        let here = self.cell(0, array);
        let to = [(0, 1), (1, -1)].map(|(side, sign): (usize, i64)| {
            let Some(slab) = neighbours[side] else { return 0 };
            // Plane 0 here is the one after the last below; the last here is the one before plane 0
            // above.
            let planes = if side == 0 { slab.planes.len() } else { self.planes.len() };
            elements(here, slab.cell(0, array)) + sign * (planes * self.pitch()) as i64
        });
        let [low, high] = self.sent(problem, neighbours);
        let ends = [low.unwrap_or(0) as i32, high.map_or(i32::MAX, |plane| plane as i32)];
        let around = around(&problem.stencil);
        let around = [i32::from(around[0]) + 2 * i32::from(around[1]), 0];
        let mut bytes: Vec<u8> = to.into_iter().flat_map(i64::to_ne_bytes).collect();
        bytes.extend(ends.into_iter().chain(around).flat_map(i32::to_ne_bytes));
        bytes
    }

    /// Whether launches may start while the ones before them end.
    fn early<const D: usize>(&self, problem: &Problem<D>) -> Result<bool> {
        Ok(problem.policy.early && self.stream.device().capability()? >= (9, 0))
    }
}
