//! What a step (or a time block of several) puts into a stream: kernels with their arguments.

use super::boxes::{step_box, whole};
use super::faces::{self, Faces, When};
use super::ghosts::{self, At, Beyond, EVERYWHERE, Which};
use super::place::Placed;
use super::queued::{Queued, element_argument};
use crate::cuda::memory::arrays::{Arrays, FUSED};
use crate::cuda::memory::layout::Layout;
use crate::cuda::temporal::{self, Clocks, FaceTable, FaceValues, TemporalShape, TimeBlock};
use crate::cuda::text::{FusedShape, Role, StageShape, StepText};
use crate::{CudaKernel, CudaPolicy, Region, Spec, Stage};
use warpweft_core::cuda::{Args, Kernel, Launch, Module};
use warpweft_core::error::Result;

/// A kernel of several steps, its policy and shape, and what functions of faces say.
pub(crate) type By<'a> = (&'a Kernel, &'a CudaPolicy, &'a FusedShape, Option<&'a FaceValues>);

/// What launches are made of.
pub(crate) struct Queue<'a> {
    pub stencil: &'a Spec,
    /// Of single steps.
    pub policy: &'a CudaPolicy,
    /// Whether ghosts are for several steps.
    pub deep: bool,
    pub text: &'a StepText,
    pub tools: &'a Module,
    pub arrays: &'a Arrays,
    pub faces: Option<&'a Faces>,
    pub place: Option<&'a Placed>,
    /// The address of the word of the first fault, or 0.
    pub fault: u64,
    /// The accumulator of what the last stage sums up.
    pub words: u64,
}

impl Queue<'_> {
    /// The launches of one step that begins in `state`, of stage number n over `region(n)`.
    pub fn step(
        &self,
        kernels: &[Kernel],
        state: usize,
        region: impl Fn(usize) -> Region,
    ) -> Result<Vec<Queued>> {
        let now = (0..self.stencil.cell.len()).map(|f| self.arrays.current(f, state)).collect();
        self.step_from(kernels, now, region).map(|(queued, _)| queued)
    }

    /// As [`Queue::step`], from the arrays `now`; also the arrays that it ends in.
    pub fn step_from(
        &self,
        kernels: &[Kernel],
        mut now: Vec<usize>,
        region: impl Fn(usize) -> Region,
    ) -> Result<(Vec<Queued>, Vec<usize>)> {
        let mut queued = Vec::new();
        let stages = self.stencil.stages.iter().zip(&self.text.stages).zip(kernels);
        for (number, ((stage, shape), kernel)) in stages.enumerate() {
            queued.push(self.stage(&**stage, shape, kernel, &now, &region(number))?);
            for (f, role) in shape.roles.iter().enumerate() {
                if *role == Role::Doubled {
                    now[f] = 1 - now[f];
                }
            }
            queued.extend(self.renew(stage.writes(), &now)?);
            queued.extend(self.face(number, &now));
        }
        queued.extend(self.place.and_then(Placed::tick));
        Ok((queued, now))
    }

    /// The launch of a step's one stage from `state` over `region` alone; ghosts are not renewed.
    pub fn part(&self, kernel: &Kernel, state: usize, region: &Region) -> Result<Option<Queued>> {
        let ([stage], [shape]) = (&self.stencil.stages[..], &self.text.stages[..]) else {
            return Ok(None);
        };
        let now: Vec<usize> =
            (0..self.stencil.cell.len()).map(|f| self.arrays.current(f, state)).collect();
        self.stage(&**stage, shape, kernel, &now, region).map(Some)
    }

    /// The launch of a stage that reads the arrays `now`, over `region`.
    fn stage(
        &self,
        stage: &dyn Stage,
        shape: &StageShape,
        kernel: &Kernel,
        now: &[usize],
        region: &Region,
    ) -> Result<Queued> {
        let mut args = Args::new();
        for (f, role) in shape.roles.iter().enumerate() {
            let array = |which: usize| self.arrays.cell(f, &self.arrays.of(f)[which]);
            match role {
                Role::Unused => {}
                Role::Read | Role::InPlace => _ = args.value(array(now[f])),
                Role::Doubled => {
                    args.value(array(now[f]));
                    args.value(array(1 - now[f]));
                }
            }
        }
        self.bring_planes(&mut args, shape, now)?;
        let layout = &self.arrays.layout;
        let (blocks, [low, high]) = step_box(layout, (self.policy, shape.start), region);
        args.blob(&layout.box_of([low, high], self.arrays.wrap), 8);
        element_argument(&mut args, stage);
        for (_, number) in stage.taken() {
            args.value(number.address());
        }
        if shape.summand.is_some() {
            args.value(self.words);
        }
        let launch = Launch::new(blocks, [32, self.text.warps, 1]).shared(shape.shared as u32);
        Ok(Queued { kernel: kernel.clone(), launch, args })
    }

    /// Adds what the copy engine needs to bring planes from the arrays `now`, where it does.
    pub fn bring_planes(&self, args: &mut Args, shape: &StageShape, now: &[usize]) -> Result<()> {
        for &(f, tile) in &shape.ringed {
            let dims = self.stencil.rank().max(3);
            args.tensor_map(&self.arrays.tensor_map(f, now[f], tile, dims)?);
        }
        if self.policy.kernel == CudaKernel::Planes {
            let Layout { ghosts, west, .. } = &self.arrays.layout;
            let below = ghosts.map(|depth| depth[0] as i32);
            // Coordinates (w, z, y, x) of cell (0, 0, 0, 0).
            args.value([below[0], below[1], below[2], *west as i32]);
        }
        Ok(())
    }

    /// Blocks along the grid's three axes for a pass of several steps over all cells.
    pub fn fused_grid(&self, (policy, shape): (&CudaPolicy, &FusedShape)) -> [usize; 3] {
        let layout = &self.arrays.layout;
        match shape {
            FusedShape::Temporal(shape) => {
                let all = whole(layout);
                TimeBlock::new(layout, shape, policy, &all).blocks.map(|n| n as usize)
            }
            FusedShape::Resident(_) => [0; 3],
        }
    }

    /// The launches of a pass of several steps that begins in `state`, after which the cells of `region`
    /// are right.
    pub fn fused(&self, by: By<'_>, state: usize, region: &Region) -> Result<Vec<Queued>> {
        let after = state ^ by.2.change();
        let now: Vec<_> =
            (0..self.stencil.cell.len()).map(|f| self.arrays.current(f, after)).collect();
        let mut queued = self.fused_part(by, state, region)?;
        queued.extend(self.renew(&self.stencil.written_fields(), &now)?);
        Ok(queued)
    }

    /// Those of them that leave ghosts as they are.
    ///
    /// # Errors
    /// As the driver's.
    pub fn fused_part(&self, by: By<'_>, state: usize, region: &Region) -> Result<Vec<Queued>> {
        let (kernel, policy, shape, values) = by;
        Ok(match shape {
            FusedShape::Temporal(shape) => {
                self.time_block((kernel, policy, shape), values, state, region)
            }
            FusedShape::Resident(_) => Vec::new(),
        })
    }

    /// The launch of fused steps of any stencil, after that of what functions of faces say.
    fn time_block(
        &self,
        (kernel, policy, shape): (&Kernel, &CudaPolicy, &TemporalShape),
        values: Option<&FaceValues>,
        state: usize,
        region: &Region,
    ) -> Vec<Queued> {
        let layout = &self.arrays.layout;
        let block = TimeBlock::new(layout, shape, policy, region);
        let arrays = |f: usize| {
            [state, state ^ FUSED].map(|state| self.arrays.cell(f, self.arrays.now(f, state)))
        };
        let clocks = Clocks {
            faces: self.faces.map_or(0, |faces| faces.clock.address()),
            place: self.place.map_or(0, Placed::clock),
            fault: self.fault,
        };
        let table = values.map(|values| values.table.bytes(values.address()));
        let table = table.unwrap_or_else(|| FaceTable::default().bytes(0));
        let frame = temporal::frame(self.stencil, layout, region, (clocks, &table));
        let mut queued: Vec<_> =
            values.iter().map(|values| values.ask(self.stencil, &frame)).collect();
        let given = temporal::Given { arrays: &arrays, block: block.bytes(), frame };
        let list = temporal::parameters(self.stencil, shape);
        let args = temporal::arguments(self.stencil, &list, &given);
        let launch = Launch::new(block.blocks, [32, policy.warps, 1]).shared(shape.shared as u32);
        queued.push(Queued { kernel: kernel.clone(), launch, args });
        queued
    }

    /// The launch that renews the ghosts of those of `fields` that are read next to a cell, in the
    /// arrays `now`.
    pub fn renew(&self, fields: &[usize], now: &[usize]) -> Result<Option<Queued>> {
        self.renew_in(&self.arrays.layout, fields, now)
    }

    /// As [`Queue::renew`], in a layout that may share more faces than the arrays' own.
    pub fn renew_in(
        &self,
        layout: &Layout,
        fields: &[usize],
        now: &[usize],
    ) -> Result<Option<Queued>> {
        // Fused steps compute beyond open faces, on all fields.
        let fused = self.arrays.fused;
        // A field that no function touches has no arrays.
        let held = fields.iter().copied().filter(|&f| !self.arrays.of(f).is_empty());
        let haloed: Vec<_> = held.filter(|&f| fused || self.beside(f, 1)).collect();
        // Stars need no edges and corners, but several steps of a star do.
        let corners = self.deep || haloed.iter().any(|&f| self.beside(f, 2));
        let which = if corners { Which::All } else { Which::Faces };
        let at: Vec<_> = haloed.iter().map(|&f| (f, self.arrays.of(f)[now[f]].address())).collect();
        // So do all fields beyond all faces, of several steps.
        let all = self.stencil.stages.iter().chain(&self.stencil.others);
        let mut beyond = if fused || self.deep { EVERYWHERE } else { ghosts::beyond(all) };
        if self.arrays.wrap > 0 {
            beyond[3] = [0; 2];
        }
        self.ghosts(layout, (which, &beyond), &at)
    }

    /// Whether field `f` is read off the cell along that many axes at once, or more.
    fn beside(&self, f: usize, axes: usize) -> bool {
        let all = self.stencil.stages.iter().chain(&self.stencil.others);
        let mut taps = all.flat_map(|stage| stage.taps());
        taps.any(|tap| tap.field == f && tap.offset.iter().filter(|&&o| o != 0).count() >= axes)
    }

    /// The launch that brings the ghosts of function faces from what stage number `stage` wrote, in the
    /// arrays `now`, to the next one; it counts the step if that was the last.
    pub fn face(&self, stage: usize, now: &[usize]) -> Option<Queued> {
        let stages = &self.stencil.stages;
        let written = stages[stage].writes().iter().fold(0, |bits, field| bits | 1 << field);
        let times = self.stencil.times(stage + 1);
        let fields = [written & times.now, written & times.next];
        self.faces_of(When { steps: None, fields, tick: stage + 1 == stages.len() }, now)
    }

    /// The launch that gives those of function faces their values of `steps` steps, in the arrays that
    /// are current in `state`; of step 0 for the fields that no stage writes, if there are none.
    pub fn all_faces(&self, steps: Option<u64>, state: usize) -> Option<Queued> {
        let times = self.stencil.times(0);
        let fields = [if steps.is_some() { times.now } else { times.never }, 0];
        let now: Vec<_> =
            (0..self.stencil.cell.len()).map(|f| self.arrays.current(f, state)).collect();
        self.faces_of(When { steps: steps.or(Some(0)), fields, tick: false }, &now)
    }

    /// The launch that gives those of function faces their values of the steps that are counted, in the arrays that are
    /// current in `state`: passes of several steps count them and leave ghosts as they are.
    pub fn faces_now(&self, state: usize) -> Option<Queued> {
        let now: Vec<_> =
            (0..self.stencil.cell.len()).map(|f| self.arrays.current(f, state)).collect();
        let fields = [self.stencil.times(0).now, 0];
        self.faces_of(When { steps: None, fields, tick: false }, &now)
    }

    fn faces_of(&self, mut when: When, now: &[usize]) -> Option<Queued> {
        let faces = self.faces?;
        let read = (0..self.stencil.cell.len()).filter(|&f| self.beside(f, 1));
        let read = read.fold(0, |bits, f| bits | 1u32 << f);
        when.fields = when.fields.map(|fields| fields & read);
        if when.fields == [0; 2] && !when.tick {
            return None;
        }
        let address = |f: usize| Some(self.arrays.cell(f, self.arrays.of(f).get(*now.get(f)?)?));
        let fields = std::array::from_fn(|f| {
            if f < self.stencil.cell.len() { address(f).unwrap_or(0) } else { 0 }
        });
        let clock = (faces.clock.address(), when);
        let (launch, args) = faces::launch(self.stencil, &self.arrays.layout, clock, fields)?;
        Some(Queued { kernel: faces.kernel.clone(), launch, args })
    }

    /// The launch that writes `which` ghosts of the arrays `at`, where they are read beyond the faces.
    fn ghosts(
        &self,
        layout: &Layout,
        which: (Which, &Beyond),
        at: &[At],
    ) -> Result<Option<Queued>> {
        let boundaries = &self.stencil.boundaries;
        let made = ghosts::launch(layout, (self.stencil.cell, boundaries), which, at);
        made.map(|(launch, args)| {
            Ok(Queued { kernel: self.tools.kernel("ww_ghosts")?, launch, args })
        })
        .transpose()
    }

    /// What gives every ghost of the first state its value, and fixed ones of both.
    pub fn first_ghosts(&self) -> Result<Vec<Queued>> {
        let mut queued = Vec::new();
        let fields: Vec<_> = self.arrays.fields().collect();
        for which in 0..2 {
            let arrays = fields.iter().filter_map(|&f| Some((f, self.arrays.of(f).get(which)?)));
            let at: Vec<_> = arrays.map(|(f, array)| (f, array.address())).collect();
            queued.extend(self.ghosts(&self.arrays.layout, (Which::Fixed, &EVERYWHERE), &at)?);
        }
        queued.extend(self.renew(&fields, &vec![0; self.stencil.cell.len()])?);
        queued.extend(self.all_faces(None, 0));
        Ok(queued)
    }
}
