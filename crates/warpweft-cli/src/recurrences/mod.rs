//! Commands of wavefront applications: where they run, and what they have in common.

mod dtw;
mod laplace;
mod sat;

use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;

use warpweft::element::Scalar;
use warpweft::grid::io::{Colours, middle_range};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::{Kept, WavefrontElement, WavefrontExecutor};

pub use dtw::Dtw;
pub use laplace::Laplace;
pub use sat::Sat;

use crate::arguments::{DeviceChoice, threads};
use crate::device::{for_wavefronts, workers};
use crate::plot::{self, Look};
use crate::run::files::{self, Format, Saved};
use crate::run::outcome::Outcome;
use crate::world;

/// Where to run and how to report.
#[derive(clap::Args)]
pub struct Options {
    /// Where to run: cpu, gpu, gpu:N, gpu:N,M,.., gpus, or auto for as many GPUs as make it faster.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
    /// Threads on the CPU [default: one a core].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    json: bool,
}

/// The files that a command with a plane for a result writes.
#[derive(clap::Args)]
pub struct Files {
    /// Save the result: .npy, .vti (ParaView) or .png. May be repeated.
    #[arg(long, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Draw the result with axes and a colour bar [default file: the command's name.png].
    #[arg(long, value_name = "FILE.png", num_args = 0..=1)]
    plot: Option<Option<PathBuf>>,
}

/// The results' formats in the order of their files, and where the plot goes.
struct Planned {
    formats: Vec<Format>,
    plot: Option<PathBuf>,
}

/// Runs wavefronts on the device that was asked for.
pub struct Chosen {
    machine: Machine,
    threads: Option<NonZero<usize>>,
}

impl Options {
    /// The machine with no other device than those asked for.
    ///
    /// # Errors
    /// A GPU that is not there.
    fn chosen(&self) -> Result<Chosen> {
        let mut machine = Machine::detect()?;
        for_wavefronts(self.device, &mut machine)?;
        Ok(Chosen { machine, threads: self.threads })
    }
}

impl<E: WavefrontElement> WavefrontExecutor<E> for Chosen {
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        let mut machine = self.machine.clone();
        if self.threads.is_some() {
            let threads = workers(self.threads, &machine.cpu, wavefront.extents()[0]);
            let cores = machine.cpu.cores.iter().copied().cycle();
            machine.cpu.cores = cores.take(threads.max(machine.cpu.cores.len())).collect();
            machine.cpu.quota = Some(threads as f64);
        }
        wavefront.run(&machine)
    }
}

impl Files {
    /// What `command` will write, each file found writable before any work is done.
    ///
    /// # Errors
    /// An ending that names no format, a file named twice, or a place that can't be written.
    fn prepare(&self, command: &str) -> Result<Planned> {
        let known = [Format::Npy, Format::Vti, Format::Png];
        let formats = self.output.iter().map(|path| Format::of(path, &known));
        let formats = formats.collect::<Result<_>>()?;
        let named = |path: &Option<PathBuf>| match path {
            Some(path) => path.clone(),
            None => PathBuf::from(format!("{command}.png")),
        };
        let plot = self.plot.as_ref().map(named);
        if let Some(plot) = &plot {
            Format::of(plot, &[Format::Png])?;
        }
        files::found_writable(self.output.iter().chain(&plot))?;
        Ok(Planned { formats, plot })
    }

    /// Writes `plane`.
    fn save<T: Scalar>(&self, planned: &Planned, title: &str, plane: &Volume<T, 2>) -> Saved {
        let mut saved = Saved::default();
        let look =
            || Ok(Look { field: 0, range: middle_range(plane, 0)?, colours: Colours::Viridis });
        for (path, format) in self.output.iter().zip(&planned.formats) {
            saved.add(path, files::write(path, *format, plane, look));
        }
        if let Some(path) = &planned.plot {
            saved.add(path, look().and_then(|look| plot::save(path, title, plane, look)));
        }
        saved
    }
}

/// Prints what a command came to.
fn finish(outcome: Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(outcome) => world::leave(outcome.report()),
        Err(error) => world::fail(&error),
    }
}
