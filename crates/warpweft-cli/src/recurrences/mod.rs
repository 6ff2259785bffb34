//! Commands of wavefront applications: devices and common parts.

mod dtw;
mod laplace;
mod sat;
mod stacked;

use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;

use warpweft::element::Scalar;
use warpweft::grid::io::{Colours, middle_range};
use warpweft::prelude::*;
use warpweft::run::Target;
use warpweft::wavefront::{Run, RunExecutor};

pub use dtw::Dtw;
pub use laplace::Laplace;
pub use sat::Sat;

use crate::arguments::threads;
use crate::device::{Place, for_wavefronts, note_crowd};
use crate::plot::{self, Look};
use crate::run::check::choice::Checking;
use crate::run::files::{self, Format, Saved, Saving};
use crate::run::outcome::Outcome;
use crate::world;

/// Device and report.
#[derive(clap::Args)]
pub struct Options {
    /// Where to run: cpu, gpu, gpu:N, gpu:N,M,.., gpus, or auto for as many GPUs as make it faster.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Target,
    /// Threads on the CPU [default: one per core].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
    #[command(flatten)]
    checking: Checking,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    json: bool,
}

/// The output files of a command whose result is a plane.
#[derive(clap::Args)]
pub struct Files {
    /// Save the result: .npy, .vti (ParaView) or .png. May be repeated.
    #[arg(long, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Draw the result with axes and a colour bar [default file: the command's name.png].
    #[arg(long, value_name = "FILE.png", num_args = 0..=1)]
    plot: Option<Option<PathBuf>>,
}

/// The formats of the results in the order of their files, and the plot's file.
struct Planned {
    formats: Vec<Format>,
    plot: Option<PathBuf>,
}

impl Options {
    /// The executor for the chosen device.
    ///
    /// # Errors
    /// A GPU that does not exist.
    fn executor(&self) -> Result<RunExecutor<'static>> {
        let Place { machine, target, threads, .. } = for_wavefronts(self.device)?;
        if threads.is_some() {
            note_crowd(self.threads, &machine.cpu);
        }
        let run = Run { target, threads: self.threads.map(NonZero::get), ..Run::default() };
        RunExecutor::new(&machine, &run)
    }
}

impl Files {
    /// The files that `command` will write, checked for write access before any work is done.
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
        let mut saving = Saving::default();
        let look =
            || Ok(Look { field: 0, range: middle_range(plane, 0)?, colours: Colours::Viridis });
        for (path, format) in self.output.iter().zip(&planned.formats) {
            saving.add(path, move || files::write(path, *format, plane, &look));
        }
        if let Some(path) = &planned.plot {
            saving.add(path, move || look().and_then(|look| plot::save(path, title, plane, look)));
        }
        saving.save(Saved::default())
    }
}

/// Prints the outcome of a command.
fn finish(outcome: Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(outcome) => world::leave(outcome.report()),
        Err(error) => world::fail(&error),
    }
}
