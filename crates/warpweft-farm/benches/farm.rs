//! What farming tasks out costs: `cargo bench -p warpweft-farm [NAME]`.

use std::time::{Duration, Instant};

use warpweft::cluster::in_process_all;
use warpweft::farm::{self, Run, Target, on_cores};
use warpweft::prelude::*;

const ALL: [(&str, fn()); 4] = [
    ("cost_of_a_request_at_the_master", cost_of_a_request_at_the_master),
    ("least_task_that_is_worth_handing_out", least_task_that_is_worth_handing_out),
    ("what_handing_over_to_other_ranks_costs", what_handing_over_to_other_ranks_costs),
    ("rates_of_a_task_on_cores_and_gpus", rates_of_a_task_on_cores_and_gpus),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    for (name, run) in ALL {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            println!("== {name}");
            run();
        }
    }
}

fn machine() -> Machine {
    Machine::detect().unwrap()
}

/// Steps of Collatz' sequence from `n` to 1, at most `most`: as uneven as tasks get.
#[task]
fn collatz(mut n: u64, most: u32) -> u32 {
    let mut steps = 0;
    while n != 1 && steps < most {
        n = if n & 1 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

/// What a request and its result cost the master, by the number of workers: simulated ones, of two kinds and uneven
/// tasks, whose own events are part of the time.
fn cost_of_a_request_at_the_master() {
    for workers in [10, 1_000, 10_000] {
        let all: Vec<_> = farm::Worker::cores(0, workers).collect();
        let time = |worker: usize, range: std::ops::Range<u64>| {
            let odd = 1.0 + (range.start.wrapping_mul(0x9e37_79b9) >> 20 & 15) as f64 / 16.0;
            (range.end - range.start) as f64 * 1e-4 * odd * [1.0, 3.0][worker % 2]
        };
        let policy = farm::Policy { schedule: farm::Schedule::Single, ..farm::Policy::default() };
        let begin = Instant::now();
        let played =
            farm::simulate(1_000_000, &all, &|_| farm::Grain::ANY, &policy, &time).unwrap();
        let each = begin.elapsed().as_secs_f64() / played.chunks.len() as f64;
        println!(
            "{workers:6} workers: {:.2} us a request and its result, {} requests, simulated {:.2} s",
            1e6 * each,
            played.chunks.len(),
            played.seconds
        );
    }
}

/// How much of the cores' time tasks of some length get, against a plain loop on one core; the length at which
/// that is half is Task Bench's METG(50 %) (Slaughter et al., SC 2020).
fn least_task_that_is_worth_handing_out() {
    let spin = |k: u64, steps: u64| {
        (0..steps)
            .fold(k, |z, _| std::hint::black_box(z ^ (z >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    };
    let machine = machine();
    let threads = machine.cpu.threads();
    for (steps, count) in [
        (1, 20_000_000),
        (10, 10_000_000),
        (100, 4_000_000),
        (1_000, 400_000),
        (10_000, 40_000),
        (1_000_000, 1_000),
    ] {
        let best =
            |mut run: Box<dyn FnMut() -> f64 + '_>| (0..3).map(|_| run()).fold(f64::MAX, f64::min);
        let plain = best(Box::new(|| {
            let begin = std::time::Instant::now();
            let all: Vec<u64> = (0..count).map(|k| spin(k, steps)).collect();
            assert_eq!(std::hint::black_box(all).len() as u64, count);
            begin.elapsed().as_secs_f64()
        }));
        let mut overhead = 0.0;
        let farm = Farm::of(on_cores(|k: u64| Ok(spin(k, steps))));
        let mut outputs = vec![0; count as usize];
        let farmed = best(Box::new(|| {
            let mut sink = |k: u64, output| {
                outputs[k as usize] = output;
                Ok(())
            };
            let outcome = farm.run_into(0..count, &machine, &Run::default(), &mut sink).unwrap();
            overhead = outcome.overhead();
            outcome.report.seconds
        }));
        println!(
            "{count:9} tasks of {:9.1} ns: {:.3e} tasks/s on {threads} cores, {:.1} % of what one core's loop \
             promises, overhead {:.2} %",
            1e9 * plain / count as f64,
            count as f64 / farmed,
            100.0 * plain / (threads as f64 * farmed),
            100.0 * overhead
        );
    }
}

/// What other ranks cost: the same tasks on two workers of one rank, and of two.
fn what_handing_over_to_other_ranks_costs() {
    let machine = machine();
    for (micros, count) in [(20u64, 50_000u64), (100, 20_000), (1_000, 4_000), (10_000, 400)] {
        let farm = Farm::of(on_cores(move |k: u64| {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_micros(micros) {
                std::hint::spin_loop();
            }
            Ok(k)
        }));
        let ideal = micros as f64 * 1e-6 * count as f64 / 2.0;
        for ranks in [1, 2] {
            let outcomes = in_process_all(ranks, Duration::from_secs(600), |net| {
                let cores = &machine.cpu.cores;
                let mut own = machine.clone();
                own.cpu.cores = match ranks {
                    1 => cores[..cores.len().min(2)].to_vec(),
                    _ => vec![cores[net.rank() % cores.len()]],
                };
                let run = Run { threads: Some(2 / ranks), net: Some(net), ..Run::default() };
                farm.run_into(0..count, &own, &run, &mut |_, _| Ok(()))
            });
            let outcome = outcomes.into_iter().next().unwrap().unwrap();
            let chunks: u64 = outcome.shares.iter().map(|share| share.chunks).sum();
            println!(
                "{count:6} tasks of {micros:5} us, two workers of {ranks} ranks: {:.4} s, {:.2} % over the ideal, \
                 {chunks} chunks",
                outcome.report.seconds,
                100.0 * (outcome.report.seconds / ideal - 1.0),
            );
        }
    }
}

/// A second of tasks on one GPU and all cores.
fn rates_of_a_task_on_cores_and_gpus() {
    let machine = machine();
    let targets = match machine.gpus.is_empty() {
        true => vec![(Target::Cpu, 1 << 22)],
        false => vec![(Target::Cpu, 1 << 24), (Target::AllGpus, 1 << 28), (Target::Auto, 1 << 28)],
    };
    for (target, count) in targets {
        let run = Run { target, ..Run::default() };
        let mut longest = (0, 0);
        let mut sink = |k: u64, steps| {
            longest = longest.max((steps, k + 1));
            Ok(())
        };
        let inputs = farm::Inputs::by(count, |k| k + 1);
        let outcome = Farm::of(collatz(2000)).run_into(inputs, &machine, &run, &mut sink).unwrap();
        let farm::Outcome { report, shares, .. } = outcome;
        let lanes =
            shares.iter().filter(|share| matches!(share.worker.place, farm::Place::Lane { .. }));
        let on_lanes: u64 = lanes.map(|share| share.tasks).sum();
        println!(
            "collatz {target:?}: {:.3e} tasks/s, set-up {:.3} s, {:.3} s, {:.1} % on lanes, longest {longest:?}",
            report.rate.value,
            report.setup_seconds,
            report.seconds,
            100.0 * on_lanes as f64 / count as f64,
        );
    }
}
