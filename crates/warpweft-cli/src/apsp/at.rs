//! Where `apsp` runs, and by which form.

use std::num::NonZero;

use warpweft::farm::Target;
use warpweft::prelude::*;
use warpweft_apps::apsp::Form;

use crate::arguments::DeviceChoice;
use crate::device::{for_farms, note_crowd};

/// How sources are searched from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FormChoice {
    /// What suits graph and device.
    Auto,
    /// One at a time, on the cores.
    Dial,
    /// On GPUs, many at once by sweeps over all vertices: any weights.
    Batched,
    /// On GPUs, many at once by planes of bits: weights from 1 to 255.
    Planes,
}

/// Where to run.
pub struct At {
    pub machine: Machine,
    pub target: Target,
    /// On the cores.
    pub threads: usize,
    pub form: Form,
}

impl At {
    /// What was asked for.
    ///
    /// # Errors
    /// A GPU that is not there or can't be used; a form for other devices than these.
    pub fn of(
        device: DeviceChoice,
        form: FormChoice,
        threads: Option<NonZero<usize>>,
    ) -> Result<Self> {
        let mut machine = Machine::detect()?;
        let target = for_farms(device, &mut machine)?;
        let form = match (form, target) {
            (FormChoice::Dial, Target::Gpus) => {
                let what = format!("--form dial on --device {device}");
                return Err(Error::spec(
                    what,
                    "it is the cores' form: take another, or name the cpu",
                ));
            }
            (FormChoice::Batched | FormChoice::Planes, Target::Cpu) => {
                let what = "forms for GPUs, and none is to be used";
                return Err(Error::spec(what, "leave --form out, or name a GPU by --device"));
            }
            (FormChoice::Auto, _) => Form::Auto,
            (FormChoice::Dial, _) => Form::Dial,
            (FormChoice::Batched, _) => Form::Batched,
            (FormChoice::Planes, _) => Form::Planes,
        };
        let threads = match target {
            Target::Gpus => 0,
            _ => {
                note_crowd(threads, &machine.cpu);
                threads.map_or_else(|| machine.cpu.threads(), NonZero::get)
            }
        };
        Ok(Self { machine, target, threads, form })
    }

    /// Whether GPUs are among it.
    pub fn on_gpus(&self) -> bool {
        self.target != Target::Cpu && self.form != Form::Dial && !self.machine.gpus.is_empty()
    }

    /// Rows of distances that are searched at once: one a thread, 32 a lane.
    pub fn at_once(&self, lanes: usize) -> usize {
        let gpus = if self.on_gpus() { self.machine.gpus.len() } else { 0 };
        self.threads + 32 * lanes * gpus
    }

    /// What it is, in words.
    pub fn label(&self) -> String {
        let cores = (self.threads > 0).then(|| self.machine.cpu.label(self.threads));
        let gpus = self.machine.gpus.iter().filter(|_| self.on_gpus());
        let all: Vec<_> = cores.into_iter().chain(gpus.map(|gpu| gpu.label())).collect();
        all.join(" and ")
    }
}
