//! The CUDA executor of sweeps. Not: how kernels of several steps come and take over (`fused::late`).

use std::time::Instant;

use super::adopted::Adopted;
use super::fold::Fold;
use super::fused::Fused;
use super::fused::arrivals::{Arrivals, Order};
use super::fused::contest::Contest;
use super::halo::{self, Halos};
use super::launch::boxes::{self, placed};
use super::launch::faces::Faces;
use super::launch::ghosts;
use super::launch::place::Placed;
use super::launch::queue::Queue;
use super::launch::reduce::Reducing;
use super::launch::residual::{self, Change};
use super::launch::turn::Turn;
use super::limits::check_device;
use super::memory::arrays::{Arrays, STEP, Unused};
use super::memory::layout::axes;
use super::parts::Parts;
use super::policy::kernels::{Kernels, Planned};
use super::resident::Resident;
use super::single::{compiled_step, kernel, wrap_of};
use super::tables::on_device;
use super::text::{StepText, grid, step_text};
use super::transfer::Transferring;
use crate::executor::History;
use crate::plan::cone::Cones;
use crate::spec::stage::StageList;
use crate::spec::total::Total;
use crate::{CudaPolicy, Region, Residual, Spec};
use warpweft_core::cuda::{Buffer, Device, Global, Kernel, Module, Options, Stream, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume};

/// Runs sweeps over a copy of a volume in the memory of one GPU.
///
/// A sweep of many steps costs less than as many sweeps: launches are replayed from a graph, and fused kernels
/// advance [`CudaPolicy::temporal_depth`] steps in a pass.
pub struct CudaSweeps {
    pub(super) stream: Stream,
    /// Its stages have their tables on the device.
    pub(super) stencil: Spec,
    /// The stages that it was made for.
    pub(super) given: StageList,
    /// Of single steps.
    pub(super) single: CudaPolicy,
    /// Whether ghosts are for several steps.
    pub(super) deep: bool,
    pub(super) arrays: Arrays,
    pub(super) text: StepText,
    /// Of each stage, one step a launch.
    pub(super) kernels: Vec<Kernel>,
    /// What writes the ghosts of faces that are functions, if there are any.
    pub(super) faces: Option<Faces>,
    /// What functions are told about their cells, if any asks.
    pub(super) place: Option<Placed>,
    /// Where an element function's fault is reported, if it can have one.
    fault: Option<Global>,
    /// The launches of one step from either state of the arrays.
    pub(super) step: Turn,
    /// The kernels of several steps that are there.
    pub(super) fused: Vec<Fused>,
    /// Which kernel takes the next sweep.
    pub(super) contest: Contest,
    /// Those that are being compiled.
    pub(super) arrivals: Option<Arrivals>,
    /// Seconds of sweeps so far, and what is compiled after some of them, on so many threads.
    pub(super) eventually: Option<(f64, Vec<Order>, usize)>,
    /// Whether anything was queued since the device was waited for.
    pub(super) busy: bool,
    /// The whole volume's last sweep, if it is still to be timed: its kernel, its steps, and when it began.
    pub(super) timing: Option<(usize, u64, Instant)>,
    pub(super) history: History,
    pub(super) cones: Cones,
    /// The launches of sweeps of parts.
    pub(super) parts: Parts,
    /// Which state the arrays are in.
    pub(super) state: usize,
    change: Option<Change>,
    /// Per field the state before the last step, where a step leaves it in neither array.
    pub(super) kept: Vec<Option<Buffer>>,
    pub(super) tools: Module,
    pub(super) notes: Vec<String>,
    /// The fields that no stage uses, as they were.
    pub(super) unused: Unused,
    /// What exchanges cells with other parts, once there are any.
    pub(super) halos: Option<Halos>,
    /// Other functions that it has computed by, and which it computes by now, if not by its own.
    pub(super) others: Vec<Adopted>,
    pub(super) by: Option<usize>,
    /// What reduces fields, once that was asked for.
    pub(super) reducing: Option<Reducing>,
    /// What reduces cells by functions of the user's, once that was asked for.
    pub(super) folds: Vec<Fold>,
    /// What brings fields from grids of another spacing, once that was asked for.
    pub(super) transferring: Option<Transferring>,
    /// Whether the boundary's ghosts have yet to follow cells written since they were renewed.
    pub(super) stale: bool,
    /// Whether sweeps may begin while a halo exchange is under way.
    pub(super) overlaps: bool,
}

/// Where a cell of one field is.
pub(super) enum Place<'a> {
    /// So many bytes from the start of its arrays.
    Device(usize),
    /// Its bytes, as no stage uses the field; `None` outside.
    Host(Option<&'a mut [u8]>),
}

impl CudaSweeps {
    /// Compiles the kernels of `policy` for `device` (or takes them from the cache) and copies `volume` there.
    ///
    /// # Errors
    /// As [`Spec::check`]; a policy that no kernel can have or this device can't run;
    /// [`Error::Memory`] with the bytes needed and free; the compiler's and the driver's.
    pub fn new(
        stencil: &Spec,
        volume: &RawVolume,
        policy: &CudaPolicy,
        device: &Device,
    ) -> Result<Self> {
        Self::with(stencil, volume, &Kernels::of(policy), device)
    }

    /// As [`CudaSweeps::new`], with kernels of several steps that may come while single steps are taken.
    ///
    /// # Errors
    /// As [`CudaSweeps::new`]. A kernel that comes later and fails is a note.
    pub fn with(
        stencil: &Spec,
        volume: &RawVolume,
        kernels: &Kernels,
        device: &Device,
    ) -> Result<Self> {
        stencil.check_volume(volume)?;
        let extents = volume.extents();
        let kernels = &kernels.for_cells(stencil, volume)?;
        let planned = kernels.planned(stencil, extents, device.memory()?.0)?;
        let fused = planned.fused.clone();
        let stream = Stream::new(device)?;
        let given = stencil.stages.clone();
        let mut stencil = stencil.clone();
        stencil.stages = on_device(&given, &stream)?;
        let mut sweeps = Self::single_steps(&stencil, volume, planned, stream)?;
        sweeps.given = given;
        sweeps.contest = Contest::new(kernels.least);
        sweeps.order(extents, &fused, kernels.compile)?;
        if stencil.until.is_some() {
            sweeps.prepare_change()?;
        }
        Ok(sweeps)
    }

    /// An executor that takes single steps, with room for other kernels.
    fn single_steps(
        stencil: &Spec,
        volume: &RawVolume,
        Planned { single, fused, layout, fuses, note }: Planned,
        stream: Stream,
    ) -> Result<Self> {
        let device = stream.device();
        let strided = check_device(&single, grid(&layout, &single), device)?;
        let text = step_text(stencil, &single, strided);
        let ([module, tools], mut notes) = modules(stencil, &single, &text, device)?;
        notes.extend(note);
        let fault = if text.unit.faults() { Some(module.global("ww_fault")?) } else { None };
        let mut arrays = Arrays::new(stencil, layout, fuses, &stream)?;
        let deep = fused.iter().any(|policy| policy.temporal_depth > 1);
        if !fuses && !deep {
            arrays.wrap = wrap_of(stencil, &single, &arrays.layout);
        }
        let faces = Faces::new(stencil, &module, &stream)?;
        let place = Placed::new(stencil, &module, &arrays.layout)?;
        let queue = Queue {
            stencil,
            policy: &single,
            deep,
            text: &text,
            tools: &tools,
            arrays: &arrays,
            faces: faces.as_ref(),
            place: place.as_ref(),
        };
        let mut of_stages = Vec::new();
        for stage in &text.stages {
            of_stages.push(kernel(&module, &stage.kernel, stage.shared)?);
        }
        let whole = boxes::whole(&arrays.layout);
        let step = Turn::new(STEP, |state| queue.step(&of_stages, state, |_| whole))?;
        let unused = bring_in(volume, &queue, &stream)?;
        Ok(Self {
            stream,
            stencil: stencil.clone(),
            given: Vec::new(),
            single,
            deep,
            arrays,
            text,
            kernels: of_stages,
            faces,
            place,
            fault,
            step,
            fused: Vec::new(),
            contest: Contest::new(f64::INFINITY),
            arrivals: None,
            eventually: None,
            busy: false,
            timing: None,
            history: History::default(),
            cones: Cones::new(stencil, volume.extents()),
            parts: Parts::default(),
            state: 0,
            change: None,
            kept: stencil.cell.fields().iter().map(|_| None).collect(),
            tools,
            notes,
            unused,
            halos: None,
            stale: false,
            overlaps: false,
            others: Vec::new(),
            by: None,
            reducing: None,
            folds: Vec::new(),
            transferring: None,
        })
    }

    /// Registers a thread of the kernel in use, and bytes of local memory: above 0 it spills registers, and another
    /// policy is likely faster.
    pub fn registers(&self) -> (u32, u32) {
        let used = self.fused_now().map(|fused| std::slice::from_ref(&fused.kernel));
        let used = used.unwrap_or(&self.kernels).iter().map(|kernel| kernel.attributes());
        used.fold((0, 0), |all, it| (all.0.max(it.registers), all.1.max(it.local_bytes)))
    }

    /// What compiling wants to tell the user, e.g. that a damaged kernel was compiled anew.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The policy in use, with 1 for the axes that the volume lacks.
    pub fn policy(&self) -> &CudaPolicy {
        self.fused_now().map_or(&self.single, |fused| &fused.policy)
    }

    /// The queue that sweeps go into, to time them by events.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn prepare_change(&mut self) -> Result<()> {
        if self.change.is_some() {
            return Ok(());
        }
        self.kept = self.arrays.copies(&self.stencil, &self.stream)?;
        self.change = Some(Change::new(&self.stream, &self.tools, &self.arrays.layout)?);
        Ok(())
    }

    /// What the last step changed in the cells of `region`.
    pub(super) fn measure_change(&self, kind: Residual, region: &Region) -> Result<Total> {
        let Some(change) = &self.change else {
            return Err(Error::spec(
                "a residual of a step whose change was not kept",
                "announce the step with `Sweep::keep_change`",
            ));
        };
        change.clear(&self.stream)?;
        let (low, extents) = placed(region);
        let first: usize = (0..4).map(|d| low[d] * self.arrays.layout.strides[d]).sum();
        for f in self.stencil.written_fields() {
            let current = self.arrays.current(f, self.state);
            let before = match &self.kept[f] {
                Some(kept) => kept,
                None => &self.arrays.of(f)[1 - current],
            };
            let pair = [before, self.arrays.now(f, self.state)];
            let offset = (first * self.stencil.cell.size(f)) as u64;
            let pair = pair.map(|array| self.arrays.cell(f, array) + offset);
            // SAFETY: both are the region's first cell in arrays of this field in this layout.
            unsafe { change.add(&self.stream, kind, self.stencil.cell.kind(f), pair, extents)? };
        }
        let total = change.total(&self.stream)?;
        self.check_fault()?;
        Ok(total)
    }

    pub(super) fn extents(&self) -> Axes<usize> {
        let dims = self.stencil.rank();
        let mut extents = Axes::filled(dims, 0);
        for (axis, n) in axes(dims).into_iter().zip(self.arrays.layout.extents) {
            if let Some(axis) = axis {
                extents[axis] = n;
            }
        }
        extents
    }

    /// Where a cell of a field is held.
    pub(super) fn place(&mut self, field: usize, at: &Axes<usize>) -> Place<'_> {
        let size = self.stencil.cell.size(field);
        if let Some((_, bytes)) = self.unused.iter_mut().find(|(f, _)| *f == field) {
            let axes = axes(at.rank()).into_iter().zip(self.arrays.layout.extents);
            let index = axes.fold(0, |i, (axis, n)| i * n + axis.map_or(0, |axis| at[axis]));
            return Place::Host(bytes.get_mut(index * size..(index + 1) * size));
        }
        let strides = axes(at.rank()).into_iter().zip(self.arrays.layout.strides);
        let inside: usize =
            strides.map(|(axis, stride)| axis.map_or(0, |axis| at[axis] * stride)).sum();
        Place::Device((self.arrays.layout.origin + inside) * size)
    }

    /// All cells.
    pub(super) fn whole(&self) -> Region {
        boxes::whole(&self.arrays.layout)
    }

    pub(super) fn queue(&self) -> Queue<'_> {
        let Self { stencil, single, deep, text, tools, arrays, faces, place, .. } = self;
        let (policy, deep) = (single, *deep);
        let (faces, place) = (faces.as_ref(), place.as_ref());
        Queue { stencil, policy, deep, text, tools, arrays, faces, place }
    }

    /// Brings the ghosts of function faces to the present state, which is that after `steps` steps.
    pub(super) fn face(&mut self, steps: u64) -> Result<()> {
        let Some(faces) = self.faces.as_ref().filter(|faces| faces.done != Some(steps)) else {
            return Ok(());
        };
        faces.set(&self.stream, steps)?;
        if let Some(queued) = self.queue().all_faces(Some(steps), self.state) {
            // SAFETY: the arrays live as long as `self`, and dropping one waits for the device.
            unsafe { queued.launch(&self.stream)? };
        }
        Ok(())
    }

    /// Reports a fault of an element function, after all work queued so far.
    pub(super) fn check_fault(&self) -> Result<()> {
        self.check_others()?;
        let Some(fault) = &self.fault else {
            self.stream.synchronize()?;
            return self.fused.iter().filter_map(Fused::resident).try_for_each(Resident::check);
        };
        match fault.read::<u32>(&self.stream)? {
            0 => Ok(()),
            code => Err(self.text.unit.fault(code, self.stream.device().label())),
        }
    }
}

impl std::fmt::Debug for CudaSweeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let extents = self.arrays.layout.extents;
        write!(f, "CudaSweeps of {extents:?} on {:?}", self.stream.device())
    }
}

/// Copies `volume` into the first arrays, and gives ghosts their values; the fields that no stage uses.
fn bring_in(volume: &RawVolume, queue: &Queue<'_>, stream: &Stream) -> Result<Unused> {
    queue.arrays.upload(stream, volume)?;
    for queued in queue.first_ghosts()? {
        // SAFETY: the arrays outlive the wait below.
        unsafe { queued.launch(stream)? };
    }
    stream.synchronize()?;
    Ok(queue.arrays.unused(volume))
}

/// The step's module and that of the tools that every stencil shares, and what compiling wants to say.
fn modules(
    stencil: &Spec,
    policy: &CudaPolicy,
    text: &StepText,
    device: &Device,
) -> Result<([Module; 2], Vec<String>)> {
    let (module, mut notes) = compiled_step(stencil, policy, text, device)?;
    let arch = device.arch()?;
    let tools = compile(&tools_text(), "ghosts and residuals", &arch, &Options::default())?;
    notes.extend(tools.notes.iter().cloned());
    let tools = Module::load(device, &tools)?;
    Ok(([module, tools], notes))
}

/// The text of the kernels that every stencil shares.
pub(super) fn tools_text() -> String {
    let prelude = Unit::new().source();
    [prelude.as_str(), ghosts::TEXT, residual::TEXT, halo::TEXT]
        .concat()
        .replace("#pragma once\n", "")
}
