//! Linear stencils over periodic volumes: all steps at once, in Fourier space, on request. A step multiplies each Fourier
//! mode by a number, so `n` steps multiply it by the `n`th power of that: a run costs one pair of transforms, however many
//! steps it has. Not: the transforms themselves, which libraries do.

mod cores;
mod gpu;
mod symbol;
mod weights;

use std::time::Instant;

use self::gpu::Failed;
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

const HELP: &str = "leave `regroup_sums` out: the steps are then taken one after another";

fn refused<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::spec(format!("regrouped sums {}", what.into()), HELP))
}

impl Spec {
    /// The symbol of a step over `extents`.
    ///
    /// # Errors
    /// A stage is not linear, and why; a boundary is not periodic; what else has no place in Fourier space.
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
        for axis in 0..dims {
            for face in self.boundaries.0[axis] {
                if face != Boundary::Periodic {
                    let name = axis_name(axis, dims);
                    return refused(format!(
                        "with a face along {name} that is {face}, not periodic"
                    ));
                }
            }
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

    /// As [`Spec::run_with`], all steps by one pair of Fourier transforms.
    ///
    /// # Errors
    /// As [`Stencil::regroup_sums`](crate::Stencil::regroup_sums) says; the device's.
    pub(crate) fn run_regrouped(
        &self,
        volume: &mut RawVolume,
        Steps(steps): Steps,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<Report> {
        let begun = Instant::now();
        self.check_volume(volume)?;
        if run.settings.ranks.is_some() || run.net.is_some_and(|net| net.ranks() > 1) {
            return refused("over several ranks: one device does all of it");
        }
        if run.checkpoint.is_some() || run.policy.is_some() {
            return refused("with checkpoints or a policy, which have no meaning in Fourier space");
        }
        let devices = run.devices(machine)?;
        if devices.gpus.len() > 1 || (devices.threads.is_some() && !devices.gpus.is_empty()) {
            return refused(format!("on {}: one device does all of it", run.target));
        }
        let extents = volume.extents();
        let symbol = self.symbol(&extents.iter().copied().collect::<Vec<_>>())?;
        // All steps or none.
        let (asked, steps) = (steps, if run.stopped() { 0 } else { steps });
        let begin = Instant::now();
        let (seconds, label, notes) = match steps {
            0 => (0.0, machine.cpu.label(1), Vec::new()),
            _ => advance(&symbol, volume, steps, (machine, run), devices)?,
        };
        if let Some(trace) = &run.trace {
            trace.add(&label, "Fourier transforms", begin);
        }
        let (cells, size) = (volume.len(), self.cell.size(0));
        if let Some(progress) = run.progress {
            progress(steps, asked);
        }
        Ok(Report {
            pattern: "stencil",
            devices: vec![label],
            seconds,
            setup_seconds: begun.elapsed().as_secs_f64() - seconds,
            rate: Quantity {
                value: cells as f64 * steps as f64 / seconds.max(1e-9),
                unit: "cells/s",
            },
            // A pass to the spectrum, one over it, one back.
            bytes: (6 * cells * size) as u64,
            roofline: None,
            roofline_fraction: None,
            temporal_depth: (steps > 0).then_some(steps as f64),
            predicted_seconds: None,
            policy: serde_json::json!({ "fourier": { "depth": steps } }),
            done: steps,
            first: 0,
            interrupted: steps < asked,
            residual: None,
            tolerance: None,
            probes: Vec::new(),
            notes,
        })
    }
}

/// Advances the volume; seconds, on what, and notes.
fn advance<'m>(
    symbol: &Symbol,
    volume: &mut RawVolume,
    steps: u64,
    (machine, run): (&'m Machine, &Run<'_>),
    devices: Devices<'m>,
) -> Result<(f64, String, Vec<String>)> {
    let Some(gpu) = devices.gpus.first() else {
        return on_cores(symbol, volume, steps, (machine, run), devices.notes);
    };
    let precision = match volume.cell_type().kind(0) {
        ScalarKind::F32 => Precision::Single,
        _ => Precision::Double,
    };
    let done = gpu.device().map_err(Failed::Whole).and_then(|device| {
        gpu::advance(&device, symbol, steps, (volume.field_bytes_mut(0), precision))
    });
    match done {
        Ok(seconds) => Ok((seconds, gpu.label(), devices.notes)),
        Err(Failed::Partly(error)) => Err(error),
        Err(Failed::Whole(error)) => {
            let cores = devices.instead(error, machine, run)?;
            on_cores(symbol, volume, steps, (machine, run), cores.notes)
        }
    }
}

fn on_cores(
    symbol: &Symbol,
    volume: &mut RawVolume,
    steps: u64,
    (machine, run): (&Machine, &Run<'_>),
    notes: Vec<String>,
) -> Result<(f64, String, Vec<String>)> {
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
    Ok((begin.elapsed().as_secs_f64(), machine.cpu.label(threads), notes))
}
