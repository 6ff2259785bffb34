//! The CUDA executor of sweeps: its state. The other files of this folder are what it does. Not: what launches are made of
//! (`launch`, `text`).

mod adopt;
mod clock;
mod exchange;
mod executor;
mod fold;
mod late;
mod parts;
mod reduced;
mod start;
mod stay;
mod summed;
mod transfer;

use std::time::Instant;

use self::clock::Clock;
pub(in crate::cuda) use self::late::orders;
pub(in crate::cuda) use self::start::tools_image;
use crate::cuda::adopted::Adopted;
use crate::cuda::fold::Fold;
use crate::cuda::fused::Fused;
use crate::cuda::fused::arrivals::{Arrivals, Order};
use crate::cuda::fused::contest::Contest;
use crate::cuda::halo::Halos;
use crate::cuda::launch::boxes::{self, placed};
use crate::cuda::launch::faces::Faces;
use crate::cuda::launch::place::Placed;
use crate::cuda::launch::queue::Queue;
use crate::cuda::launch::reduce::Reducing;
use crate::cuda::launch::residual::Change;
use crate::cuda::launch::turn::Turn;
use crate::cuda::launches::Parts;
use crate::cuda::memory::arrays::{Arrays, Unused};
use crate::cuda::memory::layout::axes;
use crate::cuda::resident::Resident;
use crate::cuda::summing::Summing;
use crate::cuda::text::StepText;
use crate::cuda::transfer::Transferring;
use crate::executor::History;
use crate::plan::cone::Cones;
use crate::spec::reduction::ahead::Ahead;
use crate::spec::reduction::scalar::SessionScalar;
use crate::spec::stage::StageList;
use crate::spec::total::Total;
use crate::{CudaPolicy, Region, Residual, Spec};
use warpweft_core::cuda::{Buffer, Global, Kernel, Module, Stream};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::Axes;

/// Runs sweeps over a copy of a volume in the memory of one GPU.
///
/// A sweep of many steps costs less than as many sweeps: launches are replayed from a graph, and fused kernels
/// advance [`CudaPolicy::temporal_depth`] steps in a pass.
pub struct CudaSweeps {
    pub(in crate::cuda) stream: Stream,
    /// Its stages have their tables on the device.
    pub(in crate::cuda) stencil: Spec,
    /// The stages that it was made for.
    pub(in crate::cuda) given: StageList,
    /// Of single steps.
    pub(in crate::cuda) single: CudaPolicy,
    /// Whether ghosts are for several steps.
    pub(in crate::cuda) deep: bool,
    pub(in crate::cuda) arrays: Arrays,
    pub(in crate::cuda) text: StepText,
    /// Of each stage, one step a launch.
    pub(in crate::cuda) kernels: Vec<Kernel>,
    /// What writes the ghosts of faces that are functions, if there are any.
    pub(in crate::cuda) faces: Option<Faces>,
    /// What functions are told about their cells, if any asks.
    pub(in crate::cuda) place: Option<Placed>,
    /// Where an element function's fault is reported, if it can have one.
    fault: Option<Global>,
    /// The launches of one step from either state of the arrays.
    pub(in crate::cuda) step: Turn,
    /// The kernels of several steps that are there.
    pub(in crate::cuda) fused: Vec<Fused>,
    /// Which kernel takes the next sweep.
    pub(in crate::cuda) contest: Contest,
    /// Those that are being compiled.
    pub(in crate::cuda) arrivals: Option<Arrivals>,
    /// Seconds of sweeps so far, and what is compiled after some of them, on so many threads.
    pub(in crate::cuda) eventually: Option<(f64, Vec<Order>, usize)>,
    /// Whether anything was queued since the device was waited for.
    pub(in crate::cuda) busy: bool,
    /// The whole volume's last sweep, if it is still to be timed: its kernel, its steps, and when it began.
    pub(in crate::cuda) timing: Option<(usize, u64, Instant)>,
    /// What times queued sweeps for a session.
    clock: Clock,
    pub(in crate::cuda) history: History,
    pub(in crate::cuda) cones: Cones,
    /// The launches of sweeps of parts.
    pub(in crate::cuda) parts: Parts,
    /// Which state the arrays are in.
    pub(in crate::cuda) state: usize,
    change: Option<Change>,
    /// Per field the state before the last step, where a step leaves it in neither array.
    pub(in crate::cuda) kept: Vec<Option<Buffer>>,
    pub(in crate::cuda) tools: Module,
    pub(in crate::cuda) notes: Vec<String>,
    /// The fields that no stage uses, as they were.
    pub(in crate::cuda) unused: Unused,
    /// What exchanges cells with other parts, once there are any.
    pub(in crate::cuda) halos: Option<Halos>,
    /// Other functions that it has computed by, and which it computes by now, if not by its own.
    pub(in crate::cuda) others: Vec<Adopted>,
    pub(in crate::cuda) by: Option<usize>,
    /// What reduces fields, once that was asked for.
    pub(in crate::cuda) reducing: Option<Reducing>,
    /// Reductions that are expected after sweeps.
    pub(in crate::cuda) ahead: Ahead<SessionScalar>,
    /// The kernels of its own stages that take them in.
    pub(in crate::cuda) summing: Summing,
    /// What reduces cells by functions of the user's, once that was asked for.
    pub(in crate::cuda) folds: Vec<Fold>,
    /// What brings fields from grids of another spacing, once that was asked for.
    pub(in crate::cuda) transferring: Option<Transferring>,
    /// Whether the boundary's ghosts have yet to follow cells written since they were renewed.
    pub(in crate::cuda) stale: bool,
    /// Whether sweeps may begin while a halo exchange is under way.
    pub(in crate::cuda) overlaps: bool,
}

/// Where a cell of one field is.
pub(in crate::cuda) enum Place<'a> {
    /// So many bytes from the start of its arrays.
    Device(usize),
    /// Its bytes, as no stage uses the field; `None` outside.
    Host(Option<&'a mut [u8]>),
}

impl CudaSweeps {
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

    pub(in crate::cuda) fn prepare_change(&mut self) -> Result<()> {
        if self.change.is_some() {
            return Ok(());
        }
        self.kept = self.arrays.copies(&self.stencil, &self.stream)?;
        self.change = Some(Change::new(&self.stream, &self.tools, &self.arrays.layout)?);
        Ok(())
    }

    /// What the last step changed in the cells of `region`.
    pub(in crate::cuda) fn measure_change(&self, kind: Residual, region: &Region) -> Result<Total> {
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

    pub(in crate::cuda) fn extents(&self) -> Axes<usize> {
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
    pub(in crate::cuda) fn place(&mut self, field: usize, at: &Axes<usize>) -> Place<'_> {
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
    pub(in crate::cuda) fn whole(&self) -> Region {
        boxes::whole(&self.arrays.layout)
    }

    pub(in crate::cuda) fn queue(&self) -> Queue<'_> {
        let Self { stencil, single, deep, text, tools, arrays, faces, place, .. } = self;
        let (policy, deep) = (single, *deep);
        let (faces, place) = (faces.as_ref(), place.as_ref());
        let fault = self.fault.as_ref().map_or(0, Global::address);
        Queue { stencil, policy, deep, text, tools, arrays, faces, place, fault, words: 0 }
    }

    /// Brings the ghosts of function faces to the present state, which is that after `steps` steps.
    pub(in crate::cuda) fn face(&mut self, steps: u64) -> Result<()> {
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
    pub(in crate::cuda) fn check_fault(&self) -> Result<()> {
        self.check_others()?;
        self.check_folds()?;
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
