//! TuCCompi's Figures 14 to 16 on the cores and GPUs of this machine: its three policies, with and without tuned blocks and
//! concurrent kernels. `warpweft model farm` simulates them on the paper's clusters.

use std::time::Duration;

use serde::Serialize;
use warpweft::farm::{Inputs, Outcome, Policy, Run, Schedule, Target, Tuning};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft_apps::apsp::{Form, Graph, Random, ShortestPaths, random};

use super::{GRAPH, Place};
use warpweft_terminal::output::note;

const SCHEDULES: [(&str, Schedule); 3] =
    [("EQ1", Schedule::Eq1), ("EQ2", Schedule::Eq2), ("MS", Schedule::MasterWorker)];
/// Sources of Figures 14 and 15, and of Figure 16.
const SOURCES: u64 = 1024;
const SEVERAL: [u64; 3] = [1024, 2048, 4096];
/// Sources of the cores and a GPU whose idle time at the end counts: some seconds.
const LONG: u64 = 16_384;
/// The paper's graph is divided by this: a core and a GPU are then about as far apart as in the paper.
const SMALLER: u32 = 8;
/// What the CUDA guide recommends, as the paper's runs without a tuning layer have it.
const RECOMMENDED: Policy = Policy {
    schedule: Schedule::MasterWorker,
    chunk: farm::ChunkSize::Auto,
    seconds: 0.25,
    lanes: 1,
    block: 256,
    backups: true,
};

use warpweft::farm;

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    scenario: String,
    schedule: &'static str,
    tuned: bool,
    tasks: u64,
    seconds: f64,
    /// The part of the workers' time in which none of their tasks ran, and the part between a worker's last task and the end.
    idle: f64,
    idle_at_end: f64,
    /// Tasks of all cores, and of all lanes.
    shares: [u64; 2],
}

/// All of them; the kernels are those of the paper's case study, `crauser`.
pub fn measured(place: &Place<'_>) -> Result<Vec<Case>> {
    let graph = random(Random { vertices: GRAPH.vertices / SMALLER / place.shrink, ..GRAPH })?;
    let machine = place.machine;
    let tuned = tuned(&graph, machine)?;
    let mut scenarios = vec![("cores".to_string(), Target::Cpu, machine.clone())];
    if let Some(one) = place.with_one_gpu() {
        scenarios.push(("one GPU".into(), Target::AllGpus, one.clone()));
        scenarios.push(("cores and one GPU".into(), Target::Auto, one));
    }
    if machine.gpus.len() > 1 {
        let count = machine.gpus.len();
        scenarios.push((format!("{count} GPUs"), Target::AllGpus, machine.clone()));
        scenarios.push((format!("cores and {count} GPUs"), Target::Auto, machine.clone()));
    }
    let mut cases = Vec::new();
    for (scenario, target, machine) in &scenarios {
        note(&format!("{scenario}: EQ1, EQ2, MS"));
        for (name, schedule) in SCHEDULES {
            let policy = Policy { schedule, ..tuned };
            let run = (scenario.as_str(), *target, policy);
            cases.push(case(&graph, machine, run, name, true, SOURCES)?);
        }
    }
    let Some(one) = place.with_one_gpu() else { return Ok(cases) };
    for tasks in SEVERAL {
        note(&format!("{tasks} sources on one GPU, with and without tuning"));
        for (policy, is_tuned) in [(RECOMMENDED, false), (tuned, true)] {
            let run = ("one GPU", Target::AllGpus, policy);
            cases.push(case(&graph, &one, run, "MS", is_tuned, tasks)?);
        }
    }
    note("cores and one GPU for some seconds");
    let run = ("cores and one GPU", Target::Auto, tuned);
    cases.push(case(&graph, &one, run, "MS", true, LONG)?);
    Ok(cases)
}

/// Blocks and concurrent kernels for this graph: what the search finds, or the defaults without a GPU.
fn tuned(graph: &Graph, machine: &Machine) -> Result<Policy> {
    if machine.gpus.is_empty() {
        return Ok(Policy::default());
    }
    note("tuning");
    let folder = std::env::temp_dir().join(format!("warpweft-bench-farm-{}", std::process::id()));
    let tuning = Tuning {
        of: "experiments",
        start: Policy { lanes: 4, ..Policy::default() },
        budget: Duration::from_secs(10),
        folder: Some(folder.clone()),
    };
    let farm = Farm::of(ShortestPaths::reach(graph).by(Form::Crauser));
    let tuned = farm.tune(sources(graph, 192), machine, &tuning);
    // As in the sweeps.
    let _ = std::fs::remove_dir_all(folder);
    Ok(tuned?.policy)
}

fn sources(graph: &Graph, count: u64) -> Inputs<'static, u32> {
    let vertices = u64::from(graph.vertices());
    Inputs::by(count, move |k| (k.wrapping_mul(0x9e37_79b9) % vertices) as u32)
}

fn case(
    graph: &Graph,
    machine: &Machine,
    (scenario, target, policy): (&str, Target, Policy),
    schedule: &'static str,
    tuned: bool,
    tasks: u64,
) -> Result<Case> {
    let farm = Farm::of(ShortestPaths::reach(graph).by(Form::Crauser));
    let run = Run { target, policy: Some(policy), ..Run::default() };
    let outcome = farm.run_into(sources(graph, tasks), machine, &run, &mut |_, _| Ok(()))?;
    let seconds = outcome.report.seconds;
    let of = |is_core: bool| {
        let kind = outcome
            .shares
            .iter()
            .filter(|share| matches!(share.worker.place, farm::Place::Core(_)) == is_core);
        kind.map(|share| share.tasks).sum()
    };
    Ok(Case {
        scenario: scenario.into(),
        schedule,
        tuned,
        tasks,
        seconds,
        idle: outcome.overhead(),
        idle_at_end: idle_at_end(&outcome),
        shares: [of(true), of(false)],
    })
}

/// The part of the workers' time after their last tasks. Those that had no task are not counted: they were told to leave the
/// host to others.
fn idle_at_end(outcome: &Outcome) -> f64 {
    let worked: Vec<_> = outcome.shares.iter().filter(|share| share.chunks > 0).collect();
    let last = worked.iter().map(|share| share.ended).fold(0.0, f64::max);
    let idle: f64 = worked.iter().map(|share| last - share.ended).sum();
    idle / (last * worked.len() as f64).max(f64::MIN_POSITIVE)
}

/// As `warpweft model farm` prints them.
pub fn table(cases: &[Case]) -> String {
    let mut text = String::new();
    for case in cases {
        let Case { scenario, schedule, tuned, tasks, seconds, idle, idle_at_end, shares } = case;
        let tuned = if *tuned { "tuned, concurrent" } else { "recommended" };
        text.push_str(&format!(
            "  {scenario:<20} {schedule:<4} {tuned:<18} {tasks:>6} sources {seconds:>8.3} s, idle {:.2} %, at the \
             end {:.2} %, {} on cores, {} on lanes\n",
            100.0 * idle,
            100.0 * idle_at_end,
            shares[0],
            shares[1],
        ));
    }
    text
}
