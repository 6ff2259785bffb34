//! Lanes of a GPU and blocks of their kernels: what a search finds, next to every combination.

use std::time::Duration;

use serde::Serialize;
use warpweft::farm::{Inputs, Policy, Run, Target, Task, Tuned, Tuning};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft_apps::apsp::{Form, Random, ShortestPaths, random};
use warpweft_apps::mandelbrot::Mandelbrot;
use warpweft_apps::pricing::{contract, price};

use super::{GRAPH, Place};
use warpweft_terminal::output::{note, scaled};

/// What is swept; 0 is the kernel's own block, from the table or a search while tasks run.
const LANES: [usize; 6] = [1, 2, 3, 4, 6, 8];
const BLOCKS: [u32; 9] = [0, 64, 96, 128, 192, 256, 384, 512, 1024];
/// Seconds of a search.
const BUDGET: Duration = Duration::from_secs(10);
/// Vertices of the graph on which several kernels at the same time pay.
const FEW: u32 = 10_000;

/// One task on one GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Sweep {
    task: String,
    unit: &'static str,
    tasks: u64,
    /// Lanes, threads of a block, and tasks a second, the better of two.
    all: Vec<(usize, u32, f64)>,
    /// What the search found, and how many candidates it measured.
    found: (usize, u32),
    tried: usize,
    /// Tasks a second by it and by the best of all, medians of measurements in turns.
    rates: [f64; 2],
    /// Those of the best with one lane, of the sweep.
    one_lane: f64,
}

impl Sweep {
    fn best(&self) -> (usize, u32, f64) {
        let all = self.all.iter().copied();
        all.max_by(|a, b| a.2.total_cmp(&b.2)).unwrap_or((1, 0, 0.0))
    }

    pub fn text(&self) -> String {
        let Self { task, unit, found, tried, rates: [ours, most], one_lane, .. } = self;
        let (lanes, block, rate) = self.best();
        let mut text = format!(
            "{task}: found {} lanes, block {} in {tried} of {} candidates: {}{unit}, {:.3} of the best of all \
             ({lanes} lanes, block {block}: {}{unit}); {:.2} times one lane\n",
            found.0,
            found.1,
            self.all.len(),
            scaled(*ours),
            ours / most,
            scaled(*most),
            rate / one_lane,
        );
        for lanes in LANES {
            let row = self.all.iter().filter(|(l, ..)| *l == lanes);
            let row: Vec<_> =
                row.map(|(_, block, rate)| format!("{block}: {}", scaled(*rate))).collect();
            text.push_str(&format!("  {lanes} lanes  {}\n", row.join("  ")));
        }
        text
    }
}

/// A function of one task a thread, uneven tiles, and the paper's kernels on a small graph.
pub fn sweeps(place: &Place<'_>) -> Result<Vec<Sweep>> {
    let Some(machine) = place.with_one_gpu() else {
        note("no GPU: no kernels to sweep over");
        return Ok(Vec::new());
    };
    let options = Farm::of(price(2500));
    let mut sweeps = vec![sweep(
        "options",
        "options/s",
        &options,
        &|count| Inputs::by(count, contract),
        100_000,
        &machine,
    )?];
    let spec = Mandelbrot { size: [3840, 2160], centre: [-0.65, 0.0], width: 3.6, limit: 2000 };
    let tiles = Farm::of(spec.task());
    let count = spec.tiles();
    let inputs = |_: u64| (0..count).into();
    sweeps.push(sweep("mandelbrot", "tiles/s", &tiles, &inputs, u64::from(count), &machine)?);
    let graph = random(Random { vertices: FEW, ..GRAPH })?;
    let vertices = u64::from(FEW);
    let sources = |count: u64| Inputs::by(count, move |k| (k % vertices) as u32);
    for (form, name, count) in [
        (Form::Crauser, "crauser", 256),
        (Form::Batched, "batched", 20_000),
        (Form::Planes, "planes", 200_000),
    ] {
        let farm = Farm::of(ShortestPaths::reach(&graph).by(form));
        let name = format!("{name} on {FEW} vertices");
        sweeps.push(sweep(&name, "sources/s", &farm, &sources, count, &machine)?);
    }
    Ok(sweeps)
}

/// What a search finds, of which nothing is known.
fn searched<T: Task>(
    task: &str,
    farm: &Farm<T>,
    inputs: Inputs<'_, T::Input>,
    machine: &Machine,
) -> Result<Tuned> {
    note(&format!("{task}: a search"));
    // Found anew: nothing is read from the cache of an earlier one.
    let folder = std::env::temp_dir().join(format!("warpweft-bench-farm-{}", std::process::id()));
    let tuning =
        Tuning { of: task, start: Policy::default(), budget: BUDGET, folder: Some(folder.clone()) };
    let tuned = farm.tune(inputs, machine, &tuning);
    // A folder of the temporary ones: no harm if it stays.
    let _ = std::fs::remove_dir_all(folder);
    tuned
}

fn sweep<'i, T: Task>(
    task: &str,
    unit: &'static str,
    farm: &Farm<T>,
    inputs: &dyn Fn(u64) -> Inputs<'i, T::Input>,
    count: u64,
    machine: &Machine,
) -> Result<Sweep> {
    note(&format!("{task}: every number of lanes with every block"));
    let rate = |lanes: usize, block: u32, count: u64| {
        let policy = Policy { lanes, block, ..Policy::default() };
        let run = Run { target: Target::AllGpus, policy: Some(policy), ..Run::default() };
        let outcome = farm.run_into(inputs(count), machine, &run, &mut |_, _| Ok(()))?;
        Ok::<_, Error>(count as f64 / outcome.report.seconds)
    };
    let (mut all, mut best) = (Vec::new(), 0.0f64);
    for lanes in LANES {
        for block in BLOCKS {
            // One that does not fit is none. The first pays for the compiled kernel.
            let Ok(first) = rate(lanes, block, count) else { continue };
            best = best.max(first);
            // What is far from the best is not measured again.
            let second = if first > 0.8 * best { rate(lanes, block, count)? } else { first };
            best = best.max(second);
            all.push((lanes, block, first.max(second)));
        }
    }
    let tuned = searched(task, farm, inputs(count), machine)?;
    let one_lane =
        all.iter().filter(|(lanes, ..)| *lanes == 1).map(|(.., rate)| *rate).fold(0.0, f64::max);
    let found = (tuned.policy.lanes, tuned.policy.block);
    let mut sweep = Sweep {
        task: task.into(),
        unit,
        tasks: count,
        all,
        found,
        tried: tuned.trials.len(),
        rates: [0.0; 2],
        one_lane,
    };
    let (lanes, block, _) = sweep.best();
    let mut rates = [const { Vec::new() }; 2];
    for _ in 0..7 {
        rates[0].push(rate(found.0, found.1, count)?);
        rates[1].push(rate(lanes, block, count)?);
    }
    sweep.rates = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    });
    Ok(sweep)
}
