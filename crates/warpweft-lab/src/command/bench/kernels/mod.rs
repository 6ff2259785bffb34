//! Every kernel on stencils of every kind: what runs untuned, what tuning finds, and the best of each kernel.

mod cases;
mod elements;

use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::{CudaKernel, CudaPolicy, Policy, Target, Trial, Tuning};

use self::cases::{CASES, Case};
use super::Options;
use super::multi::extents_of;
use super::record::Record;
use warpweft_terminal::arguments::seconds;
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say, scaled};

/// Stencils of every kind on the first GPU.
#[derive(clap::Args)]
pub struct Kernels {
    /// Approximate limit on the search for the best policy of a case, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = BUDGET, value_parser = seconds)]
    budget: u64,
    /// Divide every extent by this, for a quick run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    shrink: u32,
    /// Only these cases, e.g. star5-f32,life.
    #[arg(long, value_name = "NAME[,NAME..]", value_delimiter = ',', value_parser = named)]
    only: Vec<&'static str>,
    #[command(flatten)]
    options: Options,
}

/// Seconds for a case unless said otherwise.
const BUDGET: u64 = 6;

/// One case.
#[derive(Debug, Serialize)]
struct Figure {
    case: &'static str,
    dims: usize,
    size: usize,
    /// Cells a second of the policy that runs untuned.
    untuned: f64,
    /// Of the best.
    tuned: f64,
    policy: Policy,
    /// The best of each kernel.
    kernels: Vec<OfKernel>,
    /// Candidates that could not run or disagreed with the reference.
    refused: Vec<String>,
}

#[derive(Debug, Serialize)]
struct OfKernel {
    cells_per_second: f64,
    policy: CudaPolicy,
}

fn named(text: &str) -> Result<&'static str, String> {
    let known = || CASES.map(|case| case.name).join(", ");
    let found = CASES.iter().find(|case| case.name == text);
    found.map(|case| case.name).ok_or_else(|| format!("no case '{text}'; {}", known()))
}

impl Kernels {
    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn command(&self) -> String {
        let mut command = String::from("warpweft-lab bench kernels");
        if self.budget != BUDGET {
            command.push_str(&format!(" --budget {}", self.budget));
        }
        if self.shrink != 1 {
            command.push_str(&format!(" --shrink {}", self.shrink));
        }
        if !self.only.is_empty() {
            command.push_str(&format!(" --only {}", self.only.join(",")));
        }
        command + &self.options.command()
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let probe = limits(&machine)?;
        let mut figures: Vec<Figure> = Vec::new();
        let chosen = CASES.iter().filter(|it| self.only.is_empty() || self.only.contains(&it.name));
        let record = |figures: &[Figure]| {
            let none: [(); 0] = [];
            Record::new("kernels", &self.command(), &machine, probe.clone(), &figures, &none)
        };
        for case in chosen {
            note(case.name);
            figures.push(self.figure(case, &machine)?);
            record(&figures).so_far(&self.options)?;
        }
        record(&figures).conclude(&self.options, table(&figures))
    }

    fn figure(&self, case: &Case, machine: &Machine) -> Result<Figure> {
        let spec = case.spec()?;
        let size = case.size / self.shrink as usize;
        let volume = case.volume(&spec, size)?;
        let budget = Duration::from_secs(self.budget);
        // Searched anew, whatever earlier runs found.
        let folder = std::env::temp_dir().join(format!("warpweft-kernels-{}", std::process::id()));
        let tuning = Tuning {
            target: Target::AnyGpu,
            budget,
            folder: Some(folder.clone()),
            ..Tuning::default()
        };
        let found = spec.tune(&volume, machine, &tuning);
        // Nobody looks there again.
        let _ = std::fs::remove_dir_all(folder);
        let found = found?;
        let refused = found.refused.iter();
        Ok(Figure {
            case: case.name,
            dims: case.dims,
            size,
            untuned: found.untuned,
            tuned: found.rate,
            policy: found.policy,
            kernels: best_of_each(&found.trials, volume.len()),
            refused: refused.map(|it| format!("{:?}: {}", it.policy, it.reason)).collect(),
        })
    }
}

/// The fastest trial of every kernel, over `cells` cells.
fn best_of_each(trials: &[Trial], cells: usize) -> Vec<OfKernel> {
    let mut best: Vec<OfKernel> = Vec::new();
    for trial in trials {
        let Policy::Cuda(policy) = trial.policy else { continue };
        let rate = cells as f64 / trial.seconds;
        match best.iter_mut().find(|it| it.policy.kernel == policy.kernel) {
            Some(it) if it.cells_per_second >= rate => {}
            Some(it) => *it = OfKernel { cells_per_second: rate, policy },
            None => best.push(OfKernel { cells_per_second: rate, policy }),
        }
    }
    best.sort_by(|a, b| b.cells_per_second.total_cmp(&a.cells_per_second));
    best
}

fn table(figures: &[Figure]) -> String {
    let mut text = String::from("Cells a second on one GPU\n");
    for figure in figures {
        text.push_str(&format!(
            "{} {}: untuned {}, tuned {} ({:.2} of it untuned)\n",
            figure.case,
            extents_of(figure.dims, figure.size),
            scaled(figure.untuned),
            scaled(figure.tuned),
            figure.untuned / figure.tuned,
        ));
        for OfKernel { cells_per_second, policy } in &figure.kernels {
            let CudaPolicy { kernel, cells, warps, min_blocks, chunk, temporal_depth, .. } = policy;
            let kernel: &CudaKernel = kernel;
            text.push_str(&format!(
                "  {kernel:?}: {}cells/s, {temporal_depth} steps a pass, {cells:?} cells a thread, {warps} warps x {min_blocks}, chunk {chunk}\n",
                scaled(*cells_per_second)
            ));
        }
        for why in figure.refused.iter().filter(|why| why.contains("agree")) {
            text.push_str(&format!("  refused: {why}\n"));
        }
    }
    text
}
