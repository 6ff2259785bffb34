//! One device's slab of a volume: its arrays, kernels and launches. Not: who else has slabs.

use std::ops::Range;

use super::cut::{self, slowest};
use super::edges::Flags;
use super::policy::{Exchange, Layers, MultiCudaPolicy, around};
use super::words::{Landing, WordLaunch};
use crate::cuda::{
    Args, Buffer, Cubin, Device, Event, Extents, Global, Graph, Launch, Module, Rows, Stream,
};
use crate::element::MAX_FIELDS;
use crate::error::{Error, Result};
use crate::grid::RawVolume;
use crate::stencil::cuda::arrays::Arrays;
use crate::stencil::cuda::faces::Faces;
use crate::stencil::cuda::layout::{Layout, axes};
use crate::stencil::cuda::queue::{Queue, Queued, element_argument};
use crate::stencil::cuda::residual::Change;
use crate::stencil::cuda::text::{Role, StageShape, StepText, trip_grid};
use crate::stencil::{Residual, Spec};

/// Turns (steps or trips) of a captured graph: even, so that it ends in the arrays it began in. The
/// long one makes little of the gap between graphs, during which neighbours wait; the short one does
/// the rest.
const GRAPH_TURNS: [u64; 2] = [256, 16];
/// Graphs queued at once: bounds what is left to run after a failure, and the driver's queue.
const QUEUED: usize = 4;

/// How many graphs of each length make up `turns` turns, and the turns left after them.
fn split(turns: u64) -> [(u64, u64); 2] {
    let [long, short] = GRAPH_TURNS;
    let rest = turns % long;
    [(turns / long, rest), (rest / short, rest % short)]
}

/// What all slabs of a run share.
pub(super) struct Problem<const D: usize> {
    pub stencil: Spec<D>,
    pub extents: [usize; D],
    /// With 1 for the axes that the volume lacks.
    pub policy: MultiCudaPolicy,
    pub text: StepText,
    /// Planes of every slab.
    pub slabs: Vec<Range<usize>>,
}

impl<const D: usize> Problem<D> {
    /// The slabs below and above slab `part`, where there are any.
    pub fn neighbours(&self, part: usize) -> [Option<usize>; 2] {
        let parts = self.slabs.len();
        let [below, above] = cut::shared(&self.stencil, part, parts);
        [below.then(|| (part + parts - 1) % parts), above.then(|| (part + 1) % parts)]
    }
}

/// What a stage queues on one device.
#[derive(Debug)]
pub(super) struct StageLaunch {
    stage: Queued,
    ghosts: Vec<Queued>,
    /// Fields whose planes at a cut the stage changed, and the array they are in.
    pub sent: Vec<(usize, usize)>,
}

/// One slab on its device.
pub(super) struct Slab {
    pub stream: Stream,
    pub planes: Range<usize>,
    /// The slowest axis among (w, z, y, x).
    axis: usize,
    arrays: Arrays,
    module: Module,
    tools: Module,
    faces: Option<Faces>,
    fault: Option<Global>,
    pub flags: Option<Flags>,
    pub landing: Option<Landing>,
    /// The stages of a step from either state.
    pub steps: [Vec<StageLaunch>; 2],
    /// A trip of several steps from either state, where the policy has such.
    pub trips: Option<[Vec<StageLaunch>; 2]>,
    /// By state, then by length.
    graphs: [[Option<Graph>; 2]; 2],
    marks: Vec<Event>,
    change: Option<Change>,
    /// Per field the state before the last step, where a step leaves it in neither array.
    kept: Vec<Option<Buffer>>,
}

impl Slab {
    /// Allocates slab `part` on `device` and copies its planes of `volume` there.
    pub fn new<const D: usize>(
        problem: &Problem<D>,
        part: usize,
        volume: &RawVolume<D>,
        device: &Device,
        [step, tools]: [&Cubin; 2],
    ) -> Result<Self> {
        let Problem { stencil, extents, policy, text, slabs, .. } = problem;
        let planes = slabs[part].clone();
        let layout = cut::layout(stencil, policy, *extents, &planes, [part, slabs.len()])?;
        let (module, tools) = (Module::load(device, step)?, Module::load(device, tools)?);
        let fault = if text.unit.faults() { Some(module.global("ww_fault")?) } else { None };
        let stream = Stream::new(device)?;
        let flags = (policy.exchange == Exchange::Flags).then(|| {
            let around = if text.trip.is_some() { around(stencil) } else { [false; 2] };
            let around = i32::from(around[0]) + 2 * i32::from(around[1]);
            let layers = |part: usize| Self::layers(problem, part);
            let [below, above] = problem.neighbours(part);
            let senders = [
                below.map_or(0, |below| layers(below).edge[1]),
                above.map_or(0, |above| layers(above).edge[0]),
            ];
            let grid = policy.flagged_grid::<D>(&layout, text.trip.as_ref());
            Flags::new(&stream, layers(part), senders, grid, around)
        });
        let landing = text.words.as_ref().map(|shape| {
            let deep = cut::reach(stencil, policy);
            let neighbours = problem.neighbours(part);
            let deep = [0, 1].map(|side| neighbours[side].map_or(0, |_| deep[side]));
            let size = shape.sent.first().map_or(4, |&f| problem.stencil.cell.size(f));
            let words = layout.strides[slowest::<D>()] * size / 4;
            let [gx, gy, gz] = policy.grid::<D>(&layout);
            let Layers { all, edge } = Self::layers(problem, part);
            // With the ghost planes that a first launch advances there may be a layer more a side.
            let tiles = (edge[0] + edge[1] + 2) * gx * gy * (gz / all.max(1)).max(1);
            Landing::new(&stream, deep, words, tiles)
        });
        let arrays = Arrays::new(stencil, layout, &stream)?;
        let faces = Faces::new(stencil, &module, &stream)?;
        let slab = Self {
            faces,
            planes,
            axis: slowest::<D>(),
            arrays,
            module,
            tools,
            fault,
            flags: flags.transpose()?,
            landing: landing.transpose()?,
            steps: [Vec::new(), Vec::new()],
            trips: None,
            graphs: Default::default(),
            marks: (0..QUEUED).map(|_| Event::new(device)).collect::<Result<_>>()?,
            change: None,
            kept: problem.stencil.cell.fields().iter().map(|_| None).collect(),
            stream,
        };
        slab.load(problem, volume)?;
        Ok(slab)
    }

    /// Layers of tiles of slab `part`.
    pub fn layers<const D: usize>(problem: &Problem<D>, part: usize) -> Layers {
        let [below, above] = cut::reach(&problem.stencil, &problem.policy);
        let shared = cut::shared(&problem.stencil, part, problem.slabs.len());
        let tile = cut::tile_depth::<D>(&problem.policy.cuda);
        Layers::of(problem.slabs[part].len(), tile, below.max(above), shared)
    }

    /// The address of cell (0, 0, 0, 0) in an array of field `f`.
    fn cell(&self, f: usize, array: usize) -> u64 {
        self.arrays.cell(f, &self.arrays.of(f)[array])
    }

    /// Elements from a plane to the next.
    fn pitch(&self) -> usize {
        self.arrays.layout.strides[self.axis]
    }

    /// Prepares the launches of a step from `state`, between `neighbours` below and above.
    pub fn wire<const D: usize>(
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
            queue.bring_planes(&mut args, shape, &now)?;
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
    pub fn wire_trip<const D: usize>(
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
        let grid = trip_grid::<D>(&self.arrays.layout, &problem.policy.cuda, shape);
        let grid = grid.map(|blocks| blocks as u32);
        let edges = self.edges(problem, neighbours)?;
        let cut = edges.map(|edges| [self.cut_trip(problem, neighbours, 1 - state), edges]);
        let flagged = cut.is_some();
        let queued = self.queue(problem).trip(&kernel, grid, shape.shared, state, cut)?;
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

    fn queue<'a, const D: usize>(&'a self, problem: &'a Problem<D>) -> Queue<'a, D> {
        Queue {
            stencil: &problem.stencil,
            policy: &problem.policy.cuda,
            text: &problem.text,
            tools: &self.tools,
            arrays: &self.arrays,
            faces: self.faces.as_ref(),
        }
    }

    /// `count` planes of field `f` from `first` on, which may be ghosts.
    fn rows(&self, f: usize, first: isize, count: usize) -> (Extents, Rows) {
        let size = self.arrays.size(f);
        let (mut extents, mut rows) = self.arrays.layout.interior(size);
        extents[3 - self.axis] = count;
        let bytes = first * (self.pitch() * size) as isize;
        rows.offset = rows.offset.wrapping_add_signed(bytes);
        (extents, rows)
    }

    /// Copies planes in, those of the ghost zones at cuts too, and gives all other ghosts their
    /// first values.
    fn load<const D: usize>(&self, problem: &Problem<D>, volume: &RawVolume<D>) -> Result<()> {
        let all = problem.extents[0];
        let layout = &self.arrays.layout;
        let (shared, depth) = (layout.shared[self.axis], layout.ghosts[self.axis]);
        for f in self.arrays.fields() {
            let bytes = volume.field_bytes(f);
            let plane = bytes.len() / all;
            let upload = |to: isize, from: usize, count: usize| {
                let (extents, rows) = self.rows(f, to, count);
                let from = &bytes[from * plane..(from + count) * plane];
                let dense = Rows::dense(extents);
                self.stream.upload_box(extents, (&self.arrays.of(f)[0], rows), (from, dense))
            };
            upload(0, self.planes.start, self.planes.len())?;
            for k in 1..=if shared[0] { depth[0] } else { 0 } {
                upload(-(k as isize), (self.planes.start + all - k) % all, 1)?;
            }
            for k in 0..if shared[1] { depth[1] } else { 0 } {
                upload((self.planes.len() + k) as isize, (self.planes.end + k) % all, 1)?;
            }
        }
        self.queue(problem).first_ghosts()?.iter().try_for_each(|queued| self.launch(queued))
    }

    /// Brings the ghosts of function faces to the present state, which is that after `steps` steps.
    pub fn face<const D: usize>(
        &self,
        problem: &Problem<D>,
        (steps, state): (u64, usize),
    ) -> Result<()> {
        let Some(faces) = &self.faces else { return Ok(()) };
        faces.set(&self.stream, steps)?;
        self.queue(problem).all_faces(Some(steps), state).map_or(Ok(()), |it| self.launch(&it))
    }

    /// Renews the boundary's ghosts that follow cells written since they were, in `state`.
    pub fn renew<const D: usize>(&self, problem: &Problem<D>, state: usize) -> Result<()> {
        let now: Vec<_> =
            (0..problem.stencil.cell.len()).map(|f| self.arrays.current(f, state)).collect();
        let written = problem.stencil.written_fields();
        let queued = self.queue(problem).renew(&written, &now)?;
        queued.map_or(Ok(()), |queued| self.launch(&queued))
    }

    /// The array of field `f` that is current in `state`, and where the volume's cell `at`, one of this
    /// slab's, is in it, in bytes.
    ///
    /// # Errors
    /// A field that no stage uses has no array.
    pub fn place<const D: usize>(
        &self,
        f: usize,
        state: usize,
        mut at: [usize; D],
    ) -> Result<(&Buffer, usize)> {
        if self.arrays.of(f).is_empty() {
            return Err(Error::spec(
                format!("field {f}, which no stage uses, over several GPUs"),
                "leave it out, or run on one GPU",
            ));
        }
        at[0] -= self.planes.start;
        let Layout { origin, strides, .. } = self.arrays.layout;
        let along = axes::<D>().into_iter().zip(strides);
        let inside: usize =
            along.map(|(axis, stride)| axis.map_or(0, |axis| at[axis] * stride)).sum();
        Ok((self.arrays.now(f, state), (origin + inside) * self.arrays.size(f)))
    }

    fn launch(&self, queued: &Queued) -> Result<()> {
        // SAFETY: arguments point to arrays and flags of this slab and its neighbours, which live as
        // long as the executor that has them all and waits for all devices before it drops any.
        unsafe { queued.launch(&self.stream) }
    }

    /// Queues a stage and the renewal of ghosts after it.
    pub fn stage(&self, queued: &StageLaunch) -> Result<()> {
        self.launch(&queued.stage)?;
        queued.ghosts.iter().try_for_each(|ghosts| self.launch(ghosts))
    }

    /// The launches of one turn from `state`: a trip, where the policy has such, or a step.
    fn turn(&self, state: usize) -> &[StageLaunch] {
        &self.trips.as_ref().unwrap_or(&self.steps)[state]
    }

    /// Captures the graphs that [`Slab::run`] needs for `turns` turns from `state`, each of which
    /// changes the state `flips` times.
    pub fn prepare(&mut self, turns: u64, state: usize, flips: usize) -> Result<()> {
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
    pub fn run(&mut self, turns: u64, state: usize, flips: usize) -> Result<()> {
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
    pub fn pull(&self, neighbours: [Option<&Slab>; 2], sent: &[(usize, usize)]) -> Result<()> {
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
    pub fn used(&self, state: usize) -> Vec<(usize, usize)> {
        self.arrays.fields().map(|f| (f, self.arrays.current(f, state))).collect()
    }

    /// Whether a step leaves the state before it in the other array of field `f`.
    fn survives<const D: usize>(&self, problem: &Problem<D>, f: usize) -> bool {
        let stages = &problem.stencil.stages;
        let written = stages.iter().filter(|stage| stage.writes().contains(&f)).count();
        written == 1 && self.arrays.flips(f)
    }

    /// Keeps what [`Slab::changes`] needs of `state`, before the step.
    pub fn keep<const D: usize>(&mut self, problem: &Problem<D>, state: usize) -> Result<()> {
        if self.change.is_none() {
            self.change = Some(Change::new(&self.stream, &self.tools, &self.arrays.layout)?);
        }
        for f in problem.stencil.written_fields() {
            if self.survives(problem, f) {
                continue;
            }
            let now = self.arrays.now(f, state);
            if self.kept[f].is_none() {
                self.kept[f] = Some(Buffer::new(self.stream.device(), now.bytes())?);
            }
            if let Some(kept) = &self.kept[f] {
                self.stream.copy(kept, 0, now, 0, kept.bytes())?;
            }
        }
        Ok(())
    }

    /// A total a plane of the change that the step to `state` made to field `f`.
    pub fn changes(&self, kind: Residual, f: usize, state: usize) -> Result<Vec<f64>> {
        let Some(change) = &self.change else {
            return Err(Error::spec(
                "a residual of a step whose change was not kept",
                "announce the step with `Sweep::keep_change`",
            ));
        };
        let current = self.arrays.current(f, state);
        let before = match &self.kept[f] {
            Some(kept) => self.arrays.cell(f, kept),
            None => self.cell(f, 1 - current),
        };
        let pair = [before, self.cell(f, current)];
        // SAFETY: both are cells (0, 0, 0, 0) of arrays of this field in this layout.
        unsafe { change.planes(&self.stream, kind, self.arrays.kind_of(f), pair, self.axis) }
    }

    /// Waits for the device, then reports a fault of an element function.
    pub fn finish<const D: usize>(&self, problem: &Problem<D>) -> Result<()> {
        let Some(fault) = &self.fault else { return self.stream.synchronize() };
        match fault.read::<u32>(&self.stream)? {
            0 => Ok(()),
            code => Err(problem.text.unit.fault(code, self.stream.device().label())),
        }
    }

    /// Copies the planes of the written fields into the whole volume's arrays.
    pub fn store<const D: usize>(
        &self,
        problem: &Problem<D>,
        state: usize,
        volume: &mut RawVolume<D>,
    ) -> Result<()> {
        let cells = volume.len();
        let bytes = volume.base_mut();
        for f in problem.stencil.written_fields() {
            let plane = cells / problem.extents[0] * self.arrays.size(f);
            let (extents, rows) = self.rows(f, 0, self.planes.len());
            let from = (self.arrays.now(f, state), rows);
            // SAFETY: the slab's planes of the volume's array of this field, which is borrowed
            // exclusively.
            let to = unsafe {
                let start = bytes[f].add(self.planes.start * plane);
                std::slice::from_raw_parts_mut(start, self.planes.len() * plane)
            };
            self.stream.download_box(extents, from, (to, Rows::dense(extents)))?;
        }
        Ok(())
    }

    /// Blocks at cuts, and how many blocks of the kernels the device can hold.
    pub fn residency<const D: usize>(
        &self,
        problem: &Problem<D>,
        part: usize,
    ) -> Result<[usize; 2]> {
        let Layers { all, edge } = Self::layers(problem, part);
        let trip = problem.text.trip.as_ref();
        let [gx, gy, gz] = problem.policy.flagged_grid::<D>(&self.arrays.layout, trip);
        let mut fewest = u32::MAX;
        let stages = problem.text.stages.iter();
        let stages = stages.map(|shape| (&*shape.kernel, problem.text.warps, shape.shared));
        let trips = trip.map(|trip| ("ww_trip", problem.policy.cuda.warps, trip.shared));
        let words = problem.text.words.as_ref();
        let words = words.map(|shape| (&*shape.kernel, problem.text.warps, 0));
        for (name, warps, shared) in stages.chain(trips).chain(words) {
            let kernel = self.module.kernel(name)?;
            if shared > 0 {
                kernel.allow_shared(shared as u32)?;
            }
            fewest = fewest.min(kernel.blocks_per_sm(32 * warps, shared as u32)?);
        }
        let resident = fewest as usize * self.stream.device().sms()? as usize;
        Ok([(edge[0] + edge[1]) * gx * gy * (gz / all.max(1)).max(1), resident])
    }

    /// Registers and bytes of local memory a thread, the most of all kernels.
    pub fn footprint<const D: usize>(&self, problem: &Problem<D>) -> Result<[u32; 2]> {
        let mut most = [0; 2];
        let stages = problem.text.stages.iter().map(|shape| &*shape.kernel);
        let words = problem.text.words.as_ref().map(|shape| &*shape.kernel);
        for name in stages.chain(problem.text.trip.map(|_| "ww_trip")).chain(words) {
            let attributes = self.module.kernel(name)?.attributes();
            most = [most[0].max(attributes.registers), most[1].max(attributes.local_bytes)];
        }
        Ok(most)
    }
}
