//! One suite for every way to run a farm: the reference's outputs and failures, and every task once.

mod tasks;

use std::sync::atomic::Ordering;

pub use tasks::{Long, Numbered};

use super::inputs::Inputs;
use super::policy::{PackSize, Policy, Schedule};
use super::reference::reference;
use super::run::{Run, Target};
use super::spec::{Farm, OnFailure};
use super::unit::Grain;
use crate::element::Packed;
use crate::machine::Machine;

/// Numbers of tasks: none, fewer than units, multiples of nothing.
pub const SIZES: [u64; 5] = [0, 1, 31, 1000, 4099];

/// Every schedule with packs that fit and packs that don't.
pub fn policies() -> Vec<Policy> {
    let schedules = [Schedule::MasterWorker, Schedule::Eq1, Schedule::Eq2, Schedule::Single];
    let packs = [PackSize::Auto, PackSize::Tasks(1), PackSize::Tasks(7)];
    let all = schedules.into_iter().flat_map(|schedule| {
        packs.into_iter().map(move |pack| Policy { schedule, pack, ..Policy::default() })
    });
    all.filter(|policy| policy.check().is_ok()).collect()
}

/// What came of one kind of task.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// So many cases equal the reference.
    Passed(usize),
    /// The first case that differs or fails, in words.
    Failed(String),
}

/// Every kind of task over [`SIZES`] × [`policies`] on so many threads of `machine`, and on its GPUs if it has any.
pub fn suite(machine: &Machine, threads: usize) -> Vec<(&'static str, Outcome)> {
    let grain = Grain { of: 32, most: 96 };
    let mut all = vec![
        ("mixture of u64", over(machine, threads, || Numbered::new(tasks::mix))),
        ("a struct", over(machine, threads, || Numbered::new(tasks::found))),
        ("lists of any length", over(machine, threads, || Numbered::new(tasks::list))),
        ("uneven tasks", over(machine, threads, || Numbered::new(tasks::uneven))),
        ("tasks that fail", over(machine, threads, || Numbered::new(tasks::failing))),
        ("tasks that panic", over(machine, threads, || Numbered::new(tasks::panicking))),
        ("packs, backwards", over(machine, threads, || Numbered::new(tasks::list).packs(grain))),
        ("packs that fail", over(machine, threads, || Numbered::new(tasks::failing).packs(grain))),
    ];
    if !machine.gpus.is_empty() {
        let lists = || Numbered::new(tasks::list).lanes();
        let failing = || Numbered::new(tasks::failing).lanes();
        all.push(("lists on GPUs and cores", over(machine, threads, lists)));
        all.push(("lists on GPUs", over_at(Target::Gpus, machine, threads, lists)));
        all.push(("tasks that fail on GPUs", over_at(Target::Gpus, machine, threads, failing)));
    }
    all
}

fn over<O>(machine: &Machine, threads: usize, task: impl Fn() -> Numbered<O>) -> Outcome
where
    O: Packed + PartialEq + std::fmt::Debug,
{
    over_at(Target::Auto, machine, threads, task)
}

fn over_at<O>(
    target: Target,
    machine: &Machine,
    threads: usize,
    task: impl Fn() -> Numbered<O>,
) -> Outcome
where
    O: Packed + PartialEq + std::fmt::Debug,
{
    let mut cases = 0;
    for count in SIZES {
        for policy in policies() {
            let run = Run {
                target,
                policy,
                threads: Some(threads),
                on_failure: OnFailure::Skip,
                ..Run::default()
            };
            match conforms(task().over(count), count, machine, &run) {
                Ok(()) => cases += 1,
                Err(why) => {
                    return Outcome::Failed(format!(
                        "{count} tasks on {threads} threads, {target:?}, {policy:?}: {why}"
                    ));
                }
            }
        }
    }
    Outcome::Passed(cases)
}

/// Whether `count` tasks, run as `run` says, have the reference's outputs and failures, each once, and were
/// each run once.
///
/// # Errors
/// The first difference, in words.
pub fn conforms<O>(
    task: Numbered<O>,
    count: u64,
    machine: &Machine,
    run: &Run<'_>,
) -> Result<(), String>
where
    O: Packed + PartialEq + std::fmt::Debug,
{
    let expect = reference(&task, &Inputs::from(0..count));
    task.ran.iter().for_each(|ran| ran.store(0, Ordering::Relaxed));
    let farm = Farm::of(task);
    let mut found: Vec<Option<O>> = (0..count).map(|_| None).collect();
    let mut twice = None;
    let mut sink = |k: u64, output| {
        if found[k as usize].replace(output).is_some() {
            twice.get_or_insert(k);
        }
        Ok(())
    };
    let outcome =
        farm.run_into(0..count, machine, run, &mut sink).map_err(|error| error.to_string())?;
    if let Some(k) = twice {
        return Err(format!("task {k} was handed over twice"));
    }
    let mut failed = outcome.failed.into_iter().peekable();
    for (k, expect) in expect.into_iter().enumerate() {
        let ran = farm.task.ran[k].load(Ordering::Relaxed);
        if ran != 1 {
            return Err(format!("task {k} was run {ran} times"));
        }
        let why = failed.next_if(|failed| failed.task == k as u64).map(|failed| failed.what);
        let found = (found[k].take(), why);
        let right = match expect {
            Ok(output) => (Some(output), None),
            Err(why) => (None, Some(why)),
        };
        if found != right {
            return Err(format!("task {k}: expected {right:?}, found {found:?}"));
        }
    }
    let through: u64 = outcome.shares.iter().map(|share| share.tasks).sum();
    match failed.next() {
        Some(failed) => Err(format!("{failed:?} is of no task")),
        None if through != count => Err(format!("units say they did {through} tasks of {count}")),
        None => Ok(()),
    }
}
