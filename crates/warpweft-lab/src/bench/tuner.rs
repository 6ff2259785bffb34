//! How well the depth of ghost zones is found: PARTANS' table II on simulated machines and on the GPUs
//! that are there, and the model's prediction next to measured steps.

mod samples;

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use warpweft::machine::{Machine, Probe};
use warpweft::prelude::*;
use warpweft::stencil::drive::search::{
    Assessment, DepthSearch, Dichotomic, Exhaustive, Guided, HillClimbing, assess_measured,
};
use warpweft::stencil::drive::{Ranks, footprints_of};
use warpweft::stencil::ghost_model::{
    GhostModel, Kernel, Linear, Overlap, Sample, Staging, Traced, refine,
};
use warpweft::stencil::{
    Boundaries, CudaKernel, CudaPolicy, GpuList, Partition, Policy, Run, Target,
};
use warpweft::tune::median;
use warpweft_apps::heat::{self, Conducts};

use super::Options;
use super::extents::extents_of;
use super::record::Record;
use crate::model::{SEARCHES, table_two};
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say};

/// Searches for the depth of ghost zones.
#[derive(clap::Args)]
pub struct Tuners {
    /// Only simulate, even if there are GPUs.
    #[arg(long)]
    simulate: bool,
    /// Only measure heat conduction at a few depths, on the GPUs or, if there are fewer than two, by
    /// ranks on the cores, and write the runs to FILE for `warpweft model stencil --measured`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["simulate", "save", "json"])]
    samples: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

/// Machines that are simulated.
const MACHINES: [&str; 4] = ["x79", "p67-nat", "p67-nf", "h200"];
/// Factors by which the model-guided search's prior is off.
const PRIORS: [f64; 2] = [1.0, 4.0];
/// Deepest ghost zone on real GPUs, in steps.
const DEEPEST: usize = 8;
/// Depths from which the probe's rates are refined before the model predicts all others.
const PROBED: [usize; 3] = [1, 3, 8];
/// Orders in space and cells along each axis of volumes that are predicted.
const PREDICTED: [(usize, usize); 6] = [(2, 128), (4, 128), (6, 128), (2, 256), (4, 256), (6, 256)];
/// All faces.
const WALL: Boundary = Boundary::Dirichlet(0.0);
/// Seconds that a measured run should last.
const RUN: f64 = 0.01;

/// How the searches did on one machine, on average.
#[derive(Debug, Serialize)]
struct Simulated {
    machine: &'static str,
    prior_error: f64,
    cases: usize,
    search: &'static str,
    during_percent: f64,
    after_percent: f64,
    steps: f64,
}

/// Heat conduction on the GPUs at one depth after another.
#[derive(Debug, Serialize)]
struct Real {
    dims: usize,
    order: usize,
    size: usize,
    gpus: usize,
    /// Microseconds a step at depth 1, 2, …: medians.
    measured: Vec<f64>,
    /// The same as predicted by the probe's rates, refined by some of them.
    predicted: Vec<f64>,
    /// Median of |predicted − measured| / measured over the depths that were not fitted to, percent.
    median_error_percent: f64,
    /// Exhaustive, hill climbing, dichotomic, model-guided from the probe's rates.
    searches: Vec<Assessment>,
}

#[derive(Debug, Serialize)]
struct Figures {
    simulated: Vec<Simulated>,
    real: Vec<Real>,
}

impl Tuners {
    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn command(&self) -> String {
        let simulate = if self.simulate { " --simulate" } else { "" };
        format!("warpweft bench tuner{simulate}{}", self.options.command())
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        if let Some(path) = &self.samples {
            return samples::write(path, &machine);
        }
        let probe = limits(&machine)?;
        let mut simulated = Vec::new();
        for machine in MACHINES {
            for prior_error in PRIORS {
                simulated.extend(simulate(machine, prior_error)?);
            }
        }
        let mut real = Vec::new();
        if machine.gpus.len() < 2 || self.simulate {
            note("simulated machines only: measuring takes two GPUs");
        } else {
            for (order, size) in PREDICTED {
                note(&format!("order {order}, {size}^3"));
                real.push(measure::<3>(order, size, &machine, &probe)?);
            }
            for size in [2048, 4096] {
                note(&format!("order 2, {size}^2"));
                real.push(measure::<2>(2, size, &machine, &probe)?);
            }
        }
        let figures = Figures { simulated, real };
        let none: [(); 0] = [];
        let record = Record::new("tuner", &self.command(), &machine, probe, &figures, &none);
        record.conclude(&self.options, table(&figures))
    }
}

/// Every search over PARTANS' applications and sizes on a simulated machine.
fn simulate(machine: &'static str, prior_error: f64) -> Result<Vec<Simulated>> {
    let cases = table_two(machine, prior_error)?;
    let mean = |value: &dyn Fn(&Assessment) -> f64, search: usize| {
        cases.iter().map(|of| value(&of[search])).sum::<f64>() / cases.len() as f64
    };
    let searches = SEARCHES.iter().enumerate().map(|(n, &search)| Simulated {
        machine,
        prior_error,
        cases: cases.len(),
        search,
        during_percent: 100.0 * mean(&|a| a.during, n),
        after_percent: 100.0 * mean(&|a| a.after, n),
        steps: mean(&|a| a.steps as f64, n),
    });
    Ok(searches.collect())
}

/// All depths on the GPUs, a fit to some of them, and the searches let loose on what was measured.
fn measure<const D: usize>(
    order: usize,
    size: usize,
    machine: &Machine,
    probe: &Probe,
) -> Result<Real>
where
    f32: Conducts<D>,
{
    let rate = 0.5 * heat::stable_rate(order, D)?;
    let stencil = heat::stencil::<f32, D>(order, rate)?.boundary(WALL);
    let volume = start::<D>(size)?;
    let runs = (1..=DEEPEST)
        .map(|depth| at_depth(&stencil, &volume, depth, machine))
        .collect::<Result<Vec<_>>>()?;
    let medians: Vec<f64> = runs.iter().map(|runs| median(runs)).collect();
    let mut grid = [1; D];
    grid[0] = machine.gpus.len();
    let partition = Partition::grid([size; D], grid, &Boundaries::all(D, WALL))?;
    let stages = footprints_of(&stencil);
    let part =
        Traced::new(&partition, &stages, <f32 as warpweft::element::Fields>::FIELDS, DEEPEST);
    let sample = |&depth: &usize| Sample { part: part.clone(), depth, seconds: medians[depth - 1] };
    let samples: Vec<_> = PROBED.iter().map(sample).collect();
    let prior = prior(probe, stencil.step_bytes() as f64);
    let fitted = refine(&prior, &samples);
    let predicted: Vec<f64> =
        (1..=DEEPEST).map(|depth| fitted.model.predict(&part, depth).seconds).collect();
    let others = (1..=DEEPEST).filter(|depth| !PROBED.contains(depth));
    let errors: Vec<f64> =
        others.map(|depth| (predicted[depth - 1] / medians[depth - 1] - 1.0).abs()).collect();
    let mut searches: [Box<dyn DepthSearch>; 4] = [
        Box::new(Exhaustive::new(DEEPEST)),
        Box::new(HillClimbing::new(DEEPEST)),
        Box::new(Dichotomic::new(DEEPEST)),
        Box::new(Guided::new(prior, part.clone(), DEEPEST)),
    ];
    let searches =
        searches.iter_mut().map(|search| assess_measured(search.as_mut(), &runs)).collect();
    let micros = |seconds: Vec<f64>| seconds.into_iter().map(|it| 1e6 * it).collect();
    Ok(Real {
        dims: D,
        order,
        size,
        gpus: machine.gpus.len(),
        median_error_percent: 100.0 * median(&errors),
        measured: micros(medians),
        predicted: micros(predicted),
        searches,
    })
}

/// What is conducted.
fn start<const D: usize>(size: usize) -> Result<Volume<f32, D>> {
    Volume::try_from_fn([size; D], |at| (at[D - 1] % 7) as f32)
}

/// The model's rates as far as the probe knows them, before anything is run.
fn prior(probe: &Probe, step_bytes: f64) -> GhostModel {
    let gpu = probe.gpus.first();
    let bandwidth = gpu.and_then(|gpu| gpu.bandwidth()).unwrap_or(1e12);
    let launch = gpu.and_then(|gpu| gpu.graph_launch).unwrap_or(1e-6);
    let pairs = || probe.pairs.iter();
    let copy = pairs().filter_map(|pair| pair.copy).reduce(f64::min).unwrap_or(1e11);
    let hop = pairs().filter_map(|pair| pair.hop).reduce(f64::max).unwrap_or(2e-6);
    GhostModel {
        compute: Linear { per_unit: step_bytes / bandwidth, fixed: launch },
        network: Linear { per_unit: 1.0 / copy, fixed: hop },
        host_link: Linear::default(),
        kernel: Kernel::ShrinkingLaunches,
        staging: Staging::None,
        overlap: Overlap::LastStep,
    }
}

/// Seconds a step of several runs with ghost zones for `depth` steps.
fn at_depth<const D: usize>(
    stencil: &Stencil<f32, D>,
    volume: &Volume<f32, D>,
    depth: usize,
    machine: &Machine,
) -> Result<Vec<f64>> {
    let cuda = CudaPolicy {
        kernel: CudaKernel::Direct,
        cells: [4, if D == 3 { 2 } else { 1 }, 1],
        warps: 8,
        min_blocks: 3,
        chunk: 0,
        prefetch: 0,
        temporal_depth: 1,
        phases: 0,
        contraction: true,
    };
    let numbers: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
    let target = Target::Gpus(GpuList::new(&numbers)?);
    let mut grid = [1; D];
    grid[0] = numbers.len();
    let ranks = Ranks { count: numbers.len(), grid: Some(grid.into()), depth: Some(depth) };
    let guess = 3e-6 + volume.len() as f64 / (3e11 * numbers.len() as f64);
    let steps = ((RUN / guess) as u64).next_multiple_of(256 * depth as u64);
    let mut volume = volume.clone();
    let mut runs = Vec::new();
    for _ in 0..7 {
        let run = Run { target, policy: Some(Policy::Cuda(cuda)), ..Run::default() };
        let report = stencil.run_with(
            &mut volume,
            Steps(steps),
            machine,
            &Run { settings: run.settings.over(ranks), ..run.clone() },
        )?;
        runs.push(report.seconds / steps as f64);
    }
    // The first wakes the devices.
    runs.remove(0);
    Ok(runs)
}

fn table(figures: &Figures) -> String {
    let mut text = String::from(
        "Searches for the depth of ghost zones: % of the best depth's speed during and after, steps until converged\n",
    );
    let mut last = None;
    for of in &figures.simulated {
        if last != Some((of.machine, of.prior_error)) {
            let cases = of.cases;
            let off = of.prior_error;
            text.push_str(&format!("  {}, {cases} cases, prior off by {off}\n", of.machine));
            last = Some((of.machine, of.prior_error));
        }
        text.push_str(&format!(
            "    {:<14} {:>6.2} {:>6.2} {:>8.0}\n",
            of.search, of.during_percent, of.after_percent, of.steps
        ));
    }
    for of in &figures.real {
        let size = extents_of(of.dims, of.size);
        text.push_str(&format!(
            "  {size}, order {}, {} GPUs: us a step measured (predicted) over R\n   ",
            of.order, of.gpus
        ));
        for (measured, predicted) in of.measured.iter().zip(&of.predicted) {
            text.push_str(&format!(" {measured:.2} ({predicted:.2})"));
        }
        text.push_str(&format!("; median error {:.1} %\n", of.median_error_percent));
        for (search, a) in SEARCHES.iter().zip(&of.searches) {
            let (during, after) = (100.0 * a.during, 100.0 * a.after);
            let steps = a.steps;
            text.push_str(&format!("    {search:<14} {during:>6.2} {after:>6.2} {steps:>8}\n"));
        }
    }
    let errors: Vec<f64> = figures.real.iter().map(|of| of.median_error_percent).collect();
    if !errors.is_empty() {
        text.push_str(&format!("  predicted against measured: median {:.1} %\n", median(&errors)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guided_search_beats_the_dichotomic_on_simulated_machines() {
        let found = simulate("p67-nat", 1.0).unwrap();
        let names: Vec<_> = found.iter().map(|of| of.search).collect();
        assert_eq!(names, SEARCHES);
        assert!(found[3].after_percent >= 98.0 && found[3].steps < found[2].steps, "{found:?}");
        let shown = table(&Figures { simulated: found, real: Vec::new() });
        assert!(shown.contains("model-guided"), "{shown}");
    }
}
