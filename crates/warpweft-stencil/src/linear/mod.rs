//! Linear stencils whose sums may be regrouped, on request: all steps of a periodic volume at once, in Fourier space, or
//! several steps of separable weights in one pass over memory (`separable`). A step multiplies each Fourier mode by a number,
//! so `n` steps multiply it by the `n`th power of that: a run costs one pair of transforms, however many steps it has. Not:
//! the transforms themselves, which libraries do.

mod cores;
mod gpu;
mod separable;
mod symbol;
mod weights;

use std::time::Instant;

use self::gpu::Failed;
use self::separable::{Faces, Factors, Separable};
use self::symbol::Symbol;
use crate::run::Run;
use crate::spec::boundary::Boundary;
use crate::spec::{Spec, Steps};
use warpweft_core::cpu::Pool;
use warpweft_core::cuda::Precision;
use warpweft_core::element::ScalarKind;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{RawVolume, axis_name};
use warpweft_core::machine::Machine;
use warpweft_core::report::{Quantity, Report};
use warpweft_core::run::Devices;

const HELP: &str = "leave `regroup_sums` (`--linear` of the command) out: the steps are then taken one after another";

fn refused<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::spec(format!("regrouped sums {}", what.into()), HELP))
}

impl Spec {
    /// The symbol of a step over `extents`, if all were periodic.
    ///
    /// # Errors
    /// A stage is not linear, and why; what else needs single steps.
    fn symbol(&self, extents: &[usize]) -> Result<Symbol> {
        let dims = extents.len();
        if dims > 3 {
            return refused(format!("of a volume of {dims} axes: one to three are possible"));
        }
        let [field] = self.cell.fields() else {
            return refused(format!("of cells of {} fields: one is possible", self.cell.len()));
        };
        if !matches!(field.kind, ScalarKind::F32 | ScalarKind::F64) {
            return refused(format!("of cells of {}: they must be f32 or f64", field.kind.name()));
        }
        if self.until.is_some() || !self.points.sources.is_empty() || !self.points.probes.is_empty()
        {
            return refused("with a stop criterion, sources or probes, which need single steps");
        }
        let of_stage = |stage: &std::sync::Arc<dyn crate::Stage>| {
            weights::weights(&**stage).map_err(|why| {
                let what = format!("of `{}`, which is not linear: it {why}", stage.name());
                Error::spec(format!("regrouped sums {what}"), HELP)
            })
        };
        let stages = self.stages.iter().map(of_stage).collect::<Result<Vec<_>>>()?;
        Ok(Symbol::of(&stages, extents.to_vec()))
    }

    /// The same step as a product of weights along each axis, if it is one and its faces suit.
    fn separable(&self, symbol: &Symbol) -> Option<Separable> {
        let fields = self.cell.fields();
        let dims = symbol.extents.len();
        if fields.first()?.kind != ScalarKind::F64 || !matches!(dims, 2 | 3) {
            return None;
        }
        let faces = Faces::of(&self.boundaries, dims)?;
        // What lies beyond a fixed face does not take part in the first of several stages.
        if faces.fixed.contains(&true) && self.stages.len() > 1 {
            return None;
        }
        Separable::of(Factors::of(symbol)?, faces, &symbol.extents)
    }

    /// Refuses faces that are not periodic.
    fn check_periodic(&self, dims: usize) -> Result<()> {
        for axis in 0..dims {
            let other =
                self.boundaries.0[axis].into_iter().find(|face| *face != Boundary::Periodic);
            if let Some(face) = other {
                return refused(format!(
                    "with a face along {} that is {face}, not periodic (fixed faces of one value are possible for a stage of \
                     f64 with separable weights, in two or three dimensions)",
                    axis_name(axis, dims)
                ));
            }
        }
        Ok(())
    }

    /// The step of a volume of these extents.
    ///
    /// # Errors
    /// As [`Stencil::regroup_sums`](crate::Stencil::regroup_sums) says.
    fn linear(&self, extents: &[usize]) -> Result<Linear> {
        let symbol = self.symbol(extents)?;
        let separable = self.separable(&symbol);
        let periodic = self.check_periodic(extents.len());
        let linear = Linear { symbol, separable, periodic: periodic.is_ok() };
        match linear.separable {
            None => periodic.map(|()| linear),
            Some(_) => Ok(linear),
        }
    }

    /// As [`Spec::run_with`], with regrouped sums: all steps by one pair of Fourier transforms, or several in one pass.
    ///
    /// # Errors
    /// As [`Stencil::regroup_sums`](crate::Stencil::regroup_sums) says; the device's.
    pub(crate) fn run_regrouped(
        &self,
        volume: &mut RawVolume,
        Steps(asked): Steps,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<Report> {
        let begun = Instant::now();
        self.check_volume(volume)?;
        if run.settings.ranks.is_some() || run.net.is_some_and(|net| net.ranks() > 1) {
            return refused("over several ranks: they run on one device only");
        }
        if run.checkpoint.is_some() || run.policy.is_some() {
            return refused("with checkpoints or a policy, which have no meaning for them");
        }
        let devices = run.devices(machine)?;
        if devices.gpus.len() > 1 || (devices.threads.is_some() && !devices.gpus.is_empty()) {
            return refused(format!("on {}: one device does all of it", run.target));
        }
        let linear = self.linear(&volume.extents().iter().copied().collect::<Vec<_>>())?;
        // All steps or none.
        let steps = if run.stopped() { 0 } else { asked };
        let begin = Instant::now();
        let done = match steps {
            0 => Some(Advanced { label: machine.cpu.label(1), ..Advanced::default() }),
            _ => linear.advance(volume, steps, (machine, run), devices)?,
        };
        let Some(done) = done else {
            let single = Self { regrouped: false, ..self.clone() };
            let mut report = single.run_with(volume, Steps(steps), machine, run)?;
            report.notes.push(SINGLE.into());
            return Ok(report);
        };
        if let Some(trace) = &run.trace {
            trace.add(&done.label, "regrouped steps", begin);
        }
        if let Some(progress) = run.progress {
            progress(steps, asked);
        }
        let setup_seconds = begun.elapsed().as_secs_f64() - done.seconds;
        let bytes = volume.len() * self.cell.size(0);
        let report = done.report(steps, [volume.len() as u64, bytes as u64]);
        Ok(Report { setup_seconds, interrupted: steps < asked, ..report })
    }
}

/// The note of a run that could not regroup sums on its device.
const SINGLE: &str = "the run took single steps: with fixed faces, sums are regrouped only on a GPU of compute capability 9.0 or more";

/// A linear step, and how several may be taken at once.
struct Linear {
    symbol: Symbol,
    separable: Option<Separable>,
    periodic: bool,
}

/// What became of a volume.
#[derive(Default)]
struct Advanced {
    seconds: f64,
    label: String,
    notes: Vec<String>,
    /// Steps of a pass; all by transforms if `None`.
    depth: Option<u64>,
}

impl Advanced {
    /// Of `steps` steps of so many cells, of so many bytes.
    fn report(self, steps: u64, [cells, bytes]: [u64; 2]) -> Report {
        let Self { seconds, label, notes, depth } = self;
        Report {
            pattern: "stencil",
            devices: vec![label],
            seconds,
            setup_seconds: 0.0,
            rate: Quantity {
                value: cells as f64 * steps as f64 / seconds.max(1e-9),
                unit: "cells/s",
            },
            // By transforms a pass to the spectrum, one over it, one back.
            bytes: bytes * depth.map_or(6, |depth| 2 * steps.div_ceil(depth)),
            roofline: None,
            roofline_fraction: None,
            temporal_depth: (steps > 0).then_some(depth.unwrap_or(steps) as f64),
            predicted_seconds: None,
            policy: match depth {
                Some(depth) => serde_json::json!({ "separable": { "depth": depth } }),
                None => serde_json::json!({ "fourier": { "depth": steps } }),
            },
            done: steps,
            first: 0,
            interrupted: false,
            residual: None,
            tolerance: None,
            probes: Vec::new(),
            notes,
        }
    }
}

impl Linear {
    /// Advances the volume; `None` if the device has no way to do so.
    fn advance<'m>(
        &self,
        volume: &mut RawVolume,
        steps: u64,
        (machine, run): (&'m Machine, &Run<'_>),
        devices: Devices<'m>,
    ) -> Result<Option<Advanced>> {
        let Some(gpu) = devices.gpus.first() else {
            return self.on_cores(volume, steps, (machine, run), devices.notes);
        };
        let (symbol, mut depth) = (&self.symbol, None);
        let precision = match volume.cell_type().kind(0) {
            ScalarKind::F32 => Precision::Single,
            _ => Precision::Double,
        };
        let done = gpu.device().map_err(Failed::Whole).and_then(|device| {
            let cells = volume.field_bytes_mut(0);
            match &self.separable {
                Some(separable) if separable.suits(&device, steps)? => {
                    depth = Some(separable.depth() as u64);
                    separable::advance(&device, separable, steps, cells).map(Some)
                }
                _ if self.periodic => {
                    gpu::advance(&device, symbol, steps, (cells, precision)).map(Some)
                }
                _ => Ok(None),
            }
        });
        match done {
            Ok(seconds) => Ok(seconds.map(|seconds| Advanced {
                seconds,
                label: gpu.label(),
                notes: devices.notes,
                depth,
            })),
            Err(Failed::Partly(error)) => Err(error),
            Err(Failed::Whole(error)) => {
                let cores = devices.instead(error, machine, run)?;
                self.on_cores(volume, steps, (machine, run), cores.notes)
            }
        }
    }

    fn on_cores(
        &self,
        volume: &mut RawVolume,
        steps: u64,
        (machine, run): (&Machine, &Run<'_>),
        notes: Vec<String>,
    ) -> Result<Option<Advanced>> {
        if !self.periodic {
            return Ok(None);
        }
        let (seconds, label) = on_cores(&self.symbol, volume, steps, (machine, run))?;
        Ok(Some(Advanced { seconds, label, notes, depth: None }))
    }
}

fn on_cores(
    symbol: &Symbol,
    volume: &mut RawVolume,
    steps: u64,
    (machine, run): (&Machine, &Run<'_>),
) -> Result<(f64, String)> {
    let threads = run.threads.unwrap_or_else(|| machine.cpu.threads());
    let pool = Pool::over(&machine.cpu.cores, threads)?;
    let begin = Instant::now();
    // The result is brought in only after all rows of the volume were read.
    macro_rules! advance {
        ($scalar:ty) => {{
            let from = volume.field::<$scalar>(0).unwrap_or_default();
            let spectrum = cores::forward(&pool, symbol, &|n| f64::from(from[n]))?;
            let to = volume.field_mut::<$scalar>(0).unwrap_or_default();
            cores::finish(spectrum, symbol, steps, &mut |first, values| {
                let to = &mut to[first..first + values.len()];
                to.iter_mut().zip(values).for_each(|(to, value)| *to = *value as $scalar);
            })?;
        }};
    }
    match volume.cell_type().kind(0) {
        ScalarKind::F32 => advance!(f32),
        _ => advance!(f64),
    }
    Ok((begin.elapsed().as_secs_f64(), machine.cpu.label(threads)))
}
