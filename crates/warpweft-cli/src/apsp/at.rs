//! The devices of `apsp`, and the form of the search.

use std::num::NonZero;

use clap::ValueEnum;
use warpweft::machine::Machine;
use warpweft::run::Target;
use warpweft::{Error, Result};
use warpweft_apps::apsp::Form;

use crate::device::{Place, for_farms, note_crowd};

/// The algorithm of the search from a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormChoice {
    /// What suits the graph and the device.
    Auto,
    /// One source at a time, on the cores.
    Dial,
    /// Many sources at once on GPUs, by sweeps over all vertices; any weights.
    Batched,
    /// Many sources at once on GPUs, by planes of bits; weights from 1 to 255.
    Planes,
    /// One source at a time on GPUs, by the algorithm of Crauser: for comparison.
    Crauser,
}

/// The devices and the form.
pub struct At {
    pub machine: Machine,
    pub target: Target,
    /// On the cores.
    pub threads: usize,
    pub form: Form,
}

impl At {
    /// The devices and the form of the options.
    ///
    /// # Errors
    /// A GPU that does not exist or can't be used; a form for other devices.
    pub fn of(device: Target, form: FormChoice, threads: Option<NonZero<usize>>) -> Result<Self> {
        let Place { machine, target, threads: of_cores, on_gpus } = for_farms(device)?;
        let form = match form {
            FormChoice::Dial if of_cores.is_none() => {
                let what = format!("--form dial on --device {device}");
                return Err(Error::spec(
                    what,
                    "dial runs on cores: choose another form, or --device cpu",
                ));
            }
            FormChoice::Batched | FormChoice::Planes | FormChoice::Crauser if !on_gpus => {
                let name = form.to_possible_value().map(|value| value.get_name().to_string());
                let what = format!("--form {} without a GPU", name.unwrap_or_default());
                return Err(Error::spec(what, "leave --form out, or choose a GPU with --device"));
            }
            FormChoice::Auto => Form::Auto,
            FormChoice::Dial => Form::Dial,
            FormChoice::Batched => Form::Batched,
            FormChoice::Planes => Form::Planes,
            FormChoice::Crauser => Form::Crauser,
        };
        let threads = match of_cores {
            None => 0,
            Some(_) => {
                note_crowd(threads, &machine.cpu);
                threads.map_or_else(|| machine.cpu.threads(), NonZero::get)
            }
        };
        Ok(Self { machine, target, threads, form })
    }

    /// Whether GPUs are among it.
    pub fn on_gpus(&self) -> bool {
        self.form != Form::Dial && !self.machine.gpus.is_empty()
    }

    /// Number of rows of distances in progress at once: one a thread, 32 a lane.
    pub fn at_once(&self, lanes: usize) -> usize {
        let gpus = if self.on_gpus() { self.machine.gpus.len() } else { 0 };
        self.threads + 32 * lanes * gpus
    }

    /// The devices in words.
    pub fn label(&self) -> String {
        let cores = (self.threads > 0).then(|| self.machine.cpu.label(self.threads));
        let gpus = self.machine.gpus.iter().filter(|_| self.on_gpus());
        let all: Vec<_> = cores.into_iter().chain(gpus.map(|gpu| gpu.label())).collect();
        all.join(" and ")
    }
}
