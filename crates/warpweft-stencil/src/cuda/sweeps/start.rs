//! How an executor begins: its kernels are compiled, and the volume is copied to the device.

use std::panic::resume_unwind;
use std::thread::Builder;

use super::CudaSweeps;
use super::clock::Clock;
use crate::cuda::fused::contest::Contest;
use crate::cuda::halo;
use crate::cuda::launch::faces::Faces;
use crate::cuda::launch::ghosts;
use crate::cuda::launch::place::Placed;
use crate::cuda::launch::residual;
use crate::cuda::launch::turn::Turn;
use crate::cuda::launches::Parts;
use crate::cuda::limits::check_device;
use crate::cuda::memory::arrays::{Arrays, STEP, Unused};
use crate::cuda::policy::kernels::{Kernels, Planned};
use crate::cuda::single::{compiled_step, kernel, wrap_of};
use crate::cuda::summing::Summing;
use crate::cuda::sums::DIGIT;
use crate::cuda::tables::on_device;
use crate::cuda::text::{StepText, grid, step_text};
use crate::executor::History;
use crate::plan::cone::Cones;
use crate::spec::reduction::ahead::Ahead;
use crate::{CudaPolicy, Spec};
use warpweft_core::cuda::{Cubin, Device, Module, Options, Stream, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume};

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
        let mut sweeps = Self::single_steps(&stencil, extents, planned, stream)?;
        sweeps.given = given;
        sweeps.contest = Contest::new(kernels.least);
        // Threads compile while the cells are copied.
        sweeps.order(extents, &fused, kernels.compile)?;
        sweeps.bring_in(volume)?;
        if stencil.until.is_some() {
            sweeps.prepare_change()?;
        }
        Ok(sweeps)
    }

    /// An executor that takes single steps, with room for other kernels; its cells are not there yet.
    fn single_steps(
        stencil: &Spec,
        extents: Axes<usize>,
        Planned { single, fused, layout, fuses, note }: Planned,
        stream: Stream,
    ) -> Result<Self> {
        let device = stream.device();
        let strided = check_device(&single, grid(&layout, &single), device)?;
        let text = step_text(stencil, &single, strided);
        let ([module, tools], mut notes) = modules(stencil, &single, &text, device)?;
        notes.extend(note);
        let mut arrays = Arrays::new(stencil, layout, fuses, &stream)?;
        let deep = fused.iter().any(|policy| policy.temporal_depth > 1);
        if !fuses && !deep {
            arrays.wrap = wrap_of(stencil, &single, &arrays.layout);
        }
        let kernels = text.stages.iter().map(|stage| kernel(&module, &stage.kernel, stage.shared));
        Ok(Self {
            stencil: stencil.clone(),
            given: Vec::new(),
            single,
            deep,
            kernels: kernels.collect::<Result<_>>()?,
            faces: Faces::new(stencil, &module, &stream)?,
            place: Placed::new(stencil, &module, &arrays.layout)?,
            fault: if text.unit.faults() { Some(module.global("ww_fault")?) } else { None },
            arrays,
            text,
            stream,
            step: Turn::new(STEP, |_| Ok(Vec::new()))?,
            fused: Vec::new(),
            contest: Contest::new(f64::INFINITY),
            arrivals: None,
            eventually: None,
            busy: false,
            timing: None,
            clock: Clock::default(),
            history: History::default(),
            cones: Cones::new(stencil, extents),
            parts: Parts::default(),
            state: 0,
            change: None,
            kept: stencil.cell.fields().iter().map(|_| None).collect(),
            tools,
            notes,
            unused: Unused::default(),
            halos: None,
            stale: false,
            overlaps: false,
            others: Vec::new(),
            by: None,
            reducing: None,
            ahead: Ahead::default(),
            summing: Summing::default(),
            folds: Vec::new(),
            transferring: None,
        })
    }

    /// Copies `volume` into the first arrays, gives ghosts their values, and makes the launches of a step.
    fn bring_in(&mut self, volume: &RawVolume) -> Result<()> {
        let (queue, whole) = (self.queue(), self.whole());
        let step = Turn::new(STEP, |state| queue.step(&self.kernels, state, |_| whole))?;
        self.arrays.upload(&self.stream, volume)?;
        for queued in queue.first_ghosts()? {
            // SAFETY: the arrays outlive the wait below.
            unsafe { queued.launch(&self.stream)? };
        }
        self.stream.synchronize()?;
        self.unused = self.arrays.unused(volume);
        self.step = step;
        Ok(())
    }
}

/// The step's module and that of the tools that every stencil shares, and what compiling wants to say.
fn modules(
    stencil: &Spec,
    policy: &CudaPolicy,
    text: &StepText,
    device: &Device,
) -> Result<([Module; 2], Vec<String>)> {
    let arch = device.arch()?;
    let tools = || tools_image(&arch);
    // At the same time: with no kernel in the cache, either takes some tenths of a second.
    let (step, tools) = std::thread::scope(|scope| {
        let thread = Builder::new().name("compiler".into()).spawn_scoped(scope, tools);
        let step = compiled_step(stencil, policy, text, device);
        let tools = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => tools(),
        };
        (step, tools)
    });
    let ((module, mut notes), tools) = (step?, tools?);
    notes.extend(tools.notes.iter().cloned());
    let tools = Module::load(device, &tools)?;
    Ok(([module, tools], notes))
}

/// The kernels that every stencil shares, compiled for `arch`.
pub(in crate::cuda) fn tools_image(arch: &str) -> Result<Cubin> {
    let prelude = Unit::new().source();
    let text = [prelude.as_str(), ghosts::TEXT, DIGIT, residual::TEXT, halo::TEXT]
        .concat()
        .replace("#pragma once\n", "");
    compile(&text, "ghosts and residuals", arch, &Options::default())
}
