//! What scheduling costs: requests at the master, short tasks on the cores, equal ranks, workers of unknown speed, the end.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warpweft::cluster::in_process_all;
use warpweft::farm::{
    self, ChunkExecutor, ChunkOutputs, Grain, Policy, Run, Schedule, Target, Worker, is_cancelled,
    on_cores,
};
use warpweft::prelude::*;

use super::{Line, Place};
use warpweft_terminal::output::note;

/// All of them.
pub fn measured(place: &Place<'_>) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for workers in [10, 1_000, 10_000] {
        note(&format!("requests of {workers} simulated workers"));
        let each = (0..place.repeats).map(|_| request(workers)).collect::<Result<_>>()?;
        lines.push(Line::median(
            format!("a request and its result, {workers} workers"),
            each,
            "us",
        ));
    }
    note("tasks of 100 us on the cores");
    let threads = place.machine.cpu.threads();
    let over = (0..place.repeats).map(|_| short_tasks(place)).collect::<Result<_>>()?;
    lines.push(Line::median(format!("overhead of tasks of 100 us on {threads} cores"), over, "%"));
    note("single tasks on three equal ranks");
    let uneven = (0..place.repeats).map(|_| equal_ranks(place)).collect::<Result<_>>()?;
    lines.push(Line::median("single over three equal ranks, farthest from even", uneven, "%"));
    note("a worker of 1 ms a task and two of 100 s");
    let seconds = (0..place.repeats).map(|_| two_speeds(place)).collect::<Result<_>>()?;
    lines.push(Line::median("1,000 tasks, a worker of 1 ms and two of 100 s", seconds, "s"));
    Ok(lines)
}

/// Microseconds of a request and its result at the master, the events of simulated workers counted.
fn request(workers: usize) -> Result<f64> {
    let all: Vec<_> = Worker::cores(0, workers).collect();
    let time = |worker: usize, range: Range<u64>| {
        let odd = 1.0 + (range.start.wrapping_mul(0x9e37_79b9) >> 20 & 15) as f64 / 16.0;
        (range.end - range.start) as f64 * 1e-4 * odd * [1.0, 3.0][worker % 2]
    };
    let policy = Policy { schedule: Schedule::Single, ..Policy::default() };
    let begin = Instant::now();
    let played = farm::simulate(1_000_000, &all, &|_| Grain::ANY, &policy, &time)?;
    Ok(1e6 * begin.elapsed().as_secs_f64() / played.chunks.len() as f64)
}

/// How much longer than its tasks a farm of a second and a half takes, in percent.
fn short_tasks(place: &Place<'_>) -> Result<f64> {
    let threads = place.machine.cpu.threads() as u64;
    let count = 15_000 * threads;
    let farm = Farm::of(on_cores(|k: u64| {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_micros(100) {
            std::hint::spin_loop();
        }
        Ok(k)
    }));
    let run = Run { target: Target::Cpu, ..Run::default() };
    let outcome = farm.run_into(0..count, place.machine, &run, &mut |_, _| Ok(()))?;
    let ideal = 1e-4 * count as f64 / threads as f64;
    Ok(100.0 * (outcome.report.seconds / ideal - 1.0))
}

/// How far the number of tasks of some rank is from a third of all, in percent of that. The tasks sleep, so that ranks are
/// equal on any number of cores.
fn equal_ranks(place: &Place<'_>) -> Result<f64> {
    const TASKS: u64 = 3000;
    let farm = Farm::of(on_cores(|k: u64| {
        std::thread::sleep(Duration::from_millis(1));
        Ok(k)
    }));
    let policy = Policy { schedule: Schedule::Single, ..Policy::default() };
    let outcomes = in_process_all(3, Duration::from_secs(600), |net| {
        let run = Run { policy: Some(policy), threads: Some(1), net: Some(net), ..Run::default() };
        farm.run_into(0..TASKS, place.machine, &run, &mut |_, _| Ok(()))
    });
    let none = || Error::spec("three ranks without an outcome", "report this as a bug");
    let outcome = outcomes.into_iter().next().ok_or_else(none)??;
    let even = TASKS as f64 / 3.0;
    let apart = outcome.shares.iter().map(|share| (share.tasks as f64 / even - 1.0).abs());
    Ok(100.0 * apart.fold(0.0, f64::max))
}

/// Sleeps: one worker for a millisecond a task, all others for 100 s, unless nobody waits for them.
struct TwoSpeeds {
    taken: AtomicBool,
}

struct Sleeper {
    each: Duration,
}

impl Task for TwoSpeeds {
    type Input = u64;
    type Output = u64;

    fn on_core(&self, k: u64) -> Result<u64, Failure> {
        Ok(k)
    }

    fn on_core_chunks(&self) -> Option<Box<dyn ChunkExecutor<Self> + '_>> {
        let slow = self.taken.swap(true, Ordering::Relaxed);
        let each = if slow { Duration::from_secs(100) } else { Duration::from_millis(1) };
        Some(Box::new(Sleeper { each }))
    }
}

impl ChunkExecutor<TwoSpeeds> for Sleeper {
    fn run(&mut self, inputs: &[u64], outputs: &mut ChunkOutputs<'_, TwoSpeeds>) -> Result<()> {
        for (k, input) in inputs.iter().enumerate() {
            let end = Instant::now() + self.each;
            while let Some(left) = end.checked_duration_since(Instant::now()) {
                if is_cancelled() {
                    break;
                }
                match self.each < Duration::from_secs(1) {
                    // Exact, which a sleep is not.
                    true => std::hint::spin_loop(),
                    false => std::thread::sleep(left.min(Duration::from_millis(5))),
                }
            }
            outputs.done(k, input);
        }
        Ok(())
    }
}

fn two_speeds(place: &Place<'_>) -> Result<f64> {
    let farm = Farm::of(TwoSpeeds { taken: AtomicBool::new(false) });
    let run = Run { target: Target::Cpu, threads: Some(3), ..Run::default() };
    let outcome = farm.run_into(0..1000u64, place.machine, &run, &mut |_, _| Ok(()))?;
    Ok(outcome.report.seconds)
}
