//! One device's slab of a volume: its arrays, kernels and launches. Not: who else has slabs.

mod change;
mod kernels;
mod run;
mod stay;
mod wire;

use std::ops::Range;

use super::cut::{self, slowest};
use super::edges::Flags;
use super::policy::{Exchange, Layers, MultiCudaPolicy, around, reads_corners, tile};
use super::words::Landing;
use crate::Spec;
use crate::cuda::arrays::{Arrays, Unused};
use crate::cuda::faces::Faces;
use crate::cuda::layout::{Layout, axes};
use crate::cuda::queue::{Queue, Queued};
use crate::cuda::resident::Resident;
use crate::cuda::residual::Change;
use crate::cuda::text::StepText;
use warpweft_core::cuda::{
    Buffer, Cubin, Device, Event, Extents, Global, Graph, Module, Rows, Stream,
};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::RawVolume;

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
    /// The tiles that stay on the device's multiprocessors, where the policy has such.
    pub resident: Option<Resident>,
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
        let flags = (policy.exchange == Exchange::Flags && text.resident.is_none()).then(|| {
            let meet = text.trip.is_some() || reads_corners(stencil);
            let around = if meet { around(stencil) } else { [false; 2] };
            let around = i32::from(around[0]) + 2 * i32::from(around[1]);
            let layers = |part: usize| Self::layers(problem, part);
            let [below, above] = problem.neighbours(part);
            let senders = [
                below.map_or(0, |below| layers(below).edge[1]),
                above.map_or(0, |above| layers(above).edge[0]),
            ];
            let grid = policy.flagged_grid::<D>(&layout, text.trip.as_ref());
            let rows = match text.trip {
                Some(_) => grid[1],
                None => layout.extents[2].div_ceil(tile::<D>(&policy.cuda)[1]),
            };
            Flags::new(&stream, layers(part), senders, grid, (rows, around))
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
        let mut slab = Self {
            faces,
            planes,
            axis: slowest::<D>(),
            arrays,
            module,
            tools,
            fault,
            flags: flags.transpose()?,
            landing: landing.transpose()?,
            resident: None,
            steps: [Vec::new(), Vec::new()],
            trips: None,
            graphs: Default::default(),
            marks: (0..run::QUEUED).map(|_| Event::new(device)).collect::<Result<_>>()?,
            change: None,
            kept: problem.stencil.cell.fields().iter().map(|_| None).collect(),
            stream,
        };
        if stencil.until.is_some() {
            slab.prepare_change(problem)?;
        }
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

    /// Waits for the device, then reports a fault of an element function.
    pub fn finish<const D: usize>(&self, problem: &Problem<D>) -> Result<()> {
        let Some(fault) = &self.fault else { return self.stream.synchronize() };
        match fault.read::<u32>(&self.stream)? {
            0 => Ok(()),
            code => Err(problem.text.unit.fault(code, self.stream.device().label())),
        }
    }

    /// The fields that no slab has arrays of.
    pub fn unused<const D: usize>(&self, volume: &RawVolume<D>) -> Unused {
        self.arrays.unused(volume)
    }

    /// Copies the planes of all fields in use into the whole volume's arrays, since the volume need not be
    /// the one that was copied in.
    pub fn store<const D: usize>(
        &self,
        problem: &Problem<D>,
        state: usize,
        volume: &mut RawVolume<D>,
    ) -> Result<()> {
        let cells = volume.len();
        let bytes = volume.base_mut();
        for f in self.arrays.fields() {
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
}
