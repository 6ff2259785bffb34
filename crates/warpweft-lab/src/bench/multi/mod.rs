//! Scaling over the GPUs of this machine: strong and weak, each against the best that one GPU does.

mod figure;
mod heat;
mod share;
mod table;
mod untuned;
mod weak;

use std::process::ExitCode;
use std::time::Duration;

use warpweft::machine::{Machine, Probe};
use warpweft::prelude::*;
use warpweft::stencil::{GpuList, Target, Trial, Tuned, Tuning};

use self::figure::{Figure, figure, figures_of};
use self::heat::plane_stencil;
pub use self::heat::{filled, space_stencil};
use self::share::share;
use self::table::table;
use self::untuned::{CASES_BY_DEFAULT, untuned};
use self::weak::weak;
use super::Options;
use super::extents::extents_of;
use super::kernels::named;
use super::peers;
use super::record::Record;
use warpweft_terminal::arguments::seconds;
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say};

/// Heat conduction over several GPUs.
#[derive(clap::Args)]
pub struct Several {
    /// Approximate limit on the search for the best policies of a case, in seconds; three times as
    /// much for large volumes.
    #[arg(long, value_name = "SECONDS", default_value_t = BUDGET, value_parser = seconds)]
    budget: u64,
    /// Divide every extent by this, for a quick run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    shrink: u32,
    /// Measure strong scaling of these cases only, as dimensions x cells, e.g. 3x128,2x4096; weak scaling
    /// too if 3x1024 is one of them.
    #[arg(long, value_name = "DxN[,DxN..]", value_delimiter = ',', value_parser = case)]
    only: Vec<(usize, usize)>,
    /// Measure weak scaling without tuning for these cases of `bench kernels` [default: three
    /// cases, or none with --only].
    #[arg(long, value_name = "NAME[,NAME..]", value_delimiter = ',', value_parser = named)]
    untuned: Vec<&'static str>,
    /// List every candidate that ran.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    options: Options,
}

/// Seconds for a case unless said otherwise.
const BUDGET: u64 = 12;
/// Cells above which a volume is large: seconds go by before a candidate is on the GPUs.
const LARGE: usize = 1 << 29;

/// Dimensions and cells along each, from small to large.
const CASES: [(usize, usize); 6] = [(3, 128), (3, 256), (2, 2048), (2, 4096), (3, 512), (3, 1024)];
/// The case of which each GPU has as many cells in weak scaling.
const WEAK: (usize, usize) = (3, 1024);

impl Several {
    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn command(&self) -> String {
        let mut command = String::from("warpweft bench multi");
        if self.budget != BUDGET {
            command.push_str(&format!(" --budget {}", self.budget));
        }
        if self.shrink != 1 {
            command.push_str(&format!(" --shrink {}", self.shrink));
        }
        if !self.only.is_empty() {
            let cases = self.only.iter().map(|(dims, size)| format!("{dims}x{size}"));
            command.push_str(&format!(" --only {}", cases.collect::<Vec<_>>().join(",")));
        }
        if !self.untuned.is_empty() {
            command.push_str(&format!(" --untuned {}", self.untuned.join(",")));
        }
        if self.all {
            command.push_str(" --all");
        }
        command + &self.options.command()
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let list = all_gpus("bench multi", &machine)?;
        let probe = limits(&machine)?;
        let mut figures = Vec::new();
        let only = |case: &(usize, usize)| self.only.is_empty() || self.only.contains(case);
        for (dims, size) in CASES.into_iter().filter(only) {
            let size = size / self.shrink as usize;
            note(&extents_of(dims, size));
            figures.extend(match dims {
                2 => self.strong(plane_stencil(), size, list, &machine, &probe)?,
                _ => self.strong(space_stencil(), size, list, &machine, &probe)?,
            });
        }
        if only(&WEAK) {
            note("weak scaling");
            figures.extend(weak(WEAK.1 / self.shrink as usize, &machine, &probe, &figures)?);
        }
        let by_default = self.untuned.is_empty() && self.only.is_empty();
        let cases = if by_default { &CASES_BY_DEFAULT[..] } else { &self.untuned };
        for name in cases {
            note(&format!("{name}, untuned"));
            figures.extend(untuned(name, self.shrink as usize, &machine)?);
        }
        let folder = self.options.peers.as_path();
        let peers = if folder.exists() && self.shrink == 1 && self.only.is_empty() {
            note("peers");
            peers::on_gpus(folder)?
        } else {
            note("no peers: they are not there, or sizes are not theirs");
            Vec::new()
        };
        let record = Record::new("multi", &self.command(), &machine, probe, &figures, &peers);
        record.conclude(&self.options, table(&figures, &peers))
    }

    fn strong<const D: usize>(
        &self,
        stencil: Stencil<f32, D>,
        size: usize,
        list: GpuList,
        machine: &Machine,
        probe: &Probe,
    ) -> Result<Vec<Figure>> {
        let volume = filled([size; D])?;
        let large = volume.len() >= LARGE;
        let budget = Duration::from_secs(self.budget * if large { 3 } else { 1 });
        let tuning = Tuning { target: Target::Gpus(list), budget, ..Tuning::default() };
        let Tuned { trials, notes, .. } = stencil.tune(&volume, machine, &tuning)?;
        notes.iter().for_each(|what| note(what));
        if self.all {
            let figure = |trial: &Trial| figure(trial, "strong", D, size, volume.len(), probe);
            return Ok(trials.iter().map(figure).collect());
        }
        let mut figures = figures_of(&trials, "strong", D, size, 1.0, probe);
        if let Some(best) = figures.first().filter(|figure| figure.gpus == 1) {
            let best = best.microseconds_a_step;
            figures.extend(share(
                &stencil,
                size,
                list.numbers().count(),
                best,
                budget / 2,
                machine,
                probe,
            )?);
        }
        Ok(figures)
    }
}

/// All GPUs of `machine`, for `bench`.
///
/// # Errors
/// Fewer than two.
pub fn all_gpus(bench: &str, machine: &Machine) -> Result<GpuList> {
    let all: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
    if all.len() < 2 {
        return Err(Error::Device {
            stage: bench.into(),
            device: "this machine".into(),
            what: format!("{} usable GPUs; scaling needs two", all.len()),
            hint: "run `warpweft bench stencil` for one, or see `warpweft info`".into(),
        });
    }
    GpuList::new(&all)
}

/// One of the cases by its name.
fn case(text: &str) -> Result<(usize, usize), String> {
    let known = || CASES.iter().map(|(dims, size)| format!("{dims}x{size}")).collect::<Vec<_>>();
    let found = CASES.into_iter().find(|(dims, size)| format!("{dims}x{size}") == text);
    found.ok_or_else(|| format!("no case '{text}'; {}", known().join(", ")))
}
