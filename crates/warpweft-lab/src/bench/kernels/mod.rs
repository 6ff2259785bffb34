//! Every kernel on stencils of every kind: what runs untuned, what tuning finds, and the best of each kernel.

pub(super) mod cases;
mod elements;
mod policies;
mod random;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use warpweft::grid::RawVolume;
use warpweft::machine::{Machine, Probe};
use warpweft::prelude::*;
use warpweft::stencil::{
    CudaKernel, CudaPolicy, Policy, Run, Spec, Steps, Target, Trial, Tuned, Tuning,
};

use self::cases::{CASES, Case};
use super::Options;
use super::extents::extents_of;
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
    /// Measure the shapes of fused steps that this file names in place of a search: on each line a case, cells a
    /// thread along x and y, warps, blocks a multiprocessor, planes ahead, and steps.
    #[arg(long, value_name = "FILE")]
    shapes: Option<PathBuf>,
    /// Measure this many random stencils instead of the cases; the fastest of a few candidates counts as tuned.
    #[arg(long, value_name = "N", conflicts_with_all = ["only", "shapes", "shrink", "budget"])]
    random: Option<usize>,
    /// Seed of the random stencils.
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "random")]
    seed: u64,
    #[command(flatten)]
    options: Options,
}

/// Seconds for a case unless said otherwise.
const BUDGET: u64 = 6;

/// Bytes a second that a GPU is taken to copy, to find how many steps a run has.
const COPY: f64 = 4e12;
/// Seconds that single steps would take of the two runs that are not tuned.
const FIRST: f64 = 8.0;
const SECOND: f64 = 4.0;

/// One case.
#[derive(Debug, Serialize)]
struct Figure {
    case: &'static str,
    dims: usize,
    size: usize,
    /// Cells a second of single steps.
    single: f64,
    /// Of a run that was not tuned, the second of its kind.
    untuned: f64,
    /// Of the first, which compiles while it takes single steps.
    first_run: f64,
    /// Seconds from the call to the first run's first step.
    first_setup: f64,
    /// What ran in the first run, and in the second.
    ran: [serde_json::Value; 2],
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

/// One of the cases by its name.
pub(super) fn named(text: &str) -> Result<&'static str, String> {
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
        let mut command = String::from("warpweft bench kernels");
        if self.budget != BUDGET {
            command.push_str(&format!(" --budget {}", self.budget));
        }
        if self.shrink != 1 {
            command.push_str(&format!(" --shrink {}", self.shrink));
        }
        if !self.only.is_empty() {
            command.push_str(&format!(" --only {}", self.only.join(",")));
        }
        if let Some(file) = &self.shapes {
            command.push_str(&format!(" --shapes {}", file.display()));
        }
        if let Some(count) = self.random {
            command.push_str(&format!(" --random {count} --seed {}", self.seed));
        }
        command + &self.options.command()
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let probe = limits(&machine)?;
        if let Some(file) = &self.shapes {
            let none: [(); 0] = [];
            let reached = policies::measure(file, &machine)?;
            let table: String = reached.iter().map(|it| policies::line(it) + "\n").collect();
            let record = Record::new("shapes", &self.command(), &machine, probe, &reached, &none);
            return record.conclude(&self.options, table);
        }
        if let Some(count) = self.random {
            return self.measure_random(count, &machine, &probe);
        }
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

    fn measure_random(&self, count: usize, machine: &Machine, probe: &Probe) -> Result<String> {
        let mut all = Vec::new();
        let record = |all: &[random::Reached]| {
            let none: [(); 0] = [];
            let name = format!("random-kernels-{}", self.seed);
            Record::new(&name, &self.command(), machine, probe.clone(), &all, &none)
        };
        random::measure(&random::draw(count, self.seed)?, machine, |reached| {
            all.push(reached);
            record(&all).so_far(&self.options)
        })?;
        record(&all).conclude(&self.options, random::table(&all))
    }

    fn figure(&self, case: &Case, machine: &Machine) -> Result<Figure> {
        let spec = case.spec()?;
        let size = case.size / self.shrink as usize;
        let volume = case.volume(&spec, size)?;
        let budget = Duration::from_secs(self.budget);
        let untuned = by_default(&spec, &volume, machine, [FIRST, SECOND])?;
        let found = tuned(&spec, &volume, machine, budget)?;
        let refused = found.refused.iter();
        Ok(Figure {
            case: case.name,
            dims: case.dims,
            size,
            single: found.untuned,
            untuned: untuned[1].rate.value,
            first_run: untuned[0].rate.value,
            first_setup: untuned[0].setup_seconds,
            ran: untuned.map(|report| report.policy["kernels"].clone()),
            tuned: found.rate,
            policy: found.policy,
            kernels: best_of_each(&found.trials, volume.len()),
            refused: refused.map(|it| format!("{:?}: {}", it.policy, it.reason)).collect(),
        })
    }
}

/// Runs as a user makes them who has not tuned, which single steps would take so many seconds for: the first compiles what
/// is not in the cache, later ones find their kernels there.
fn by_default(
    spec: &Spec,
    volume: &RawVolume,
    machine: &Machine,
    [first, second]: [f64; 2],
) -> Result<[Report; 2]> {
    let run = |seconds: f64| {
        let steps = seconds * COPY / (volume.len() * spec.step_bytes()) as f64;
        untuned(spec, volume, machine, steps)
    };
    Ok([run(first)?, run(second)?])
}

/// A run of about so many steps that is not tuned.
fn untuned(spec: &Spec, volume: &RawVolume, machine: &Machine, steps: f64) -> Result<Report> {
    let run = Run { target: Target::AnyGpu, ..Run::default() };
    spec.run_with(&mut volume.clone(), Steps(steps.ceil() as u64), machine, &run)
}

/// What a search finds, anew, whatever earlier runs found.
fn tuned(spec: &Spec, volume: &RawVolume, machine: &Machine, budget: Duration) -> Result<Tuned> {
    let folder = std::env::temp_dir().join(format!("warpweft-kernels-{}", std::process::id()));
    let tuning = Tuning {
        target: Target::AnyGpu,
        budget,
        folder: Some(folder.clone()),
        ..Tuning::default()
    };
    let found = spec.tune(volume, machine, &tuning);
    // Nobody looks there again.
    let _ = std::fs::remove_dir_all(folder);
    found
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
            "{} {}: single {}, untuned {} (first run {}, {:.2} s to its first step), tuned {} ({:.2} of it untuned)\n",
            figure.case,
            extents_of(figure.dims, figure.size),
            scaled(figure.single),
            scaled(figure.untuned),
            scaled(figure.first_run),
            figure.first_setup,
            scaled(figure.tuned),
            figure.untuned / figure.tuned,
        ));
        text.push_str(&format!("  ran {} then {}\n", figure.ran[0], figure.ran[1]));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Shapes (cells along x and y, warps, blocks, steps) that came within a tenth of the fastest of their case on one
    /// H200 (`bench kernels --shapes`).
    const FAST: [(&str, &[[u32; 5]]); 8] = [
        ("star5-f32", &[[8, 1, 4, 4, 20], [8, 1, 4, 3, 24], [8, 1, 4, 4, 12]]),
        ("star5-f64", &[[8, 1, 4, 2, 20], [8, 1, 4, 3, 12]]),
        ("box9-f32", &[[8, 1, 4, 4, 8], [8, 1, 4, 3, 12]]),
        ("gray-scott", &[[8, 1, 4, 3, 12], [8, 1, 4, 4, 8], [8, 1, 4, 3, 8], [4, 1, 4, 4, 12]]),
        ("life", &[[8, 1, 4, 4, 8], [8, 1, 4, 4, 12], [8, 1, 4, 3, 16]]),
        ("acoustic", &[[4, 1, 4, 3, 16], [4, 1, 4, 4, 16], [4, 1, 4, 4, 12]]),
        ("star7-f32", &[[4, 3, 12, 1, 4], [4, 2, 16, 1, 4], [2, 6, 12, 1, 4], [4, 4, 8, 1, 4]]),
        ("star7-f64", &[[2, 3, 12, 1, 4], [2, 4, 8, 1, 4], [2, 2, 16, 1, 4]]),
    ];

    #[test]
    fn the_first_shapes_of_the_model_hold_one_that_was_measured_to_be_fast() {
        for (name, fast) in FAST {
            let case = CASES.iter().find(|case| case.name == name).unwrap();
            let spec = case.spec().unwrap();
            let all = CudaPolicy::candidates(&spec, case.extents(), ((9, 0), 132));
            let fused = all.iter().filter(|policy| policy.kernel == CudaKernel::Temporal);
            let shape = |policy: &CudaPolicy| {
                let CudaPolicy { cells: [vx, vy, _], warps, min_blocks, temporal_depth, .. } =
                    *policy;
                [vx, vy, warps, min_blocks, temporal_depth]
            };
            let first: Vec<_> = fused.map(shape).take(4).collect();
            println!("{name}: {first:?}");
            assert!(first.iter().any(|shape| fast.contains(shape)), "{name}: {first:?}");
        }
    }
}
