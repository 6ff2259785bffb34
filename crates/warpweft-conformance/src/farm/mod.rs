//! One suite for every way to run a farm: the reference's outputs and failures, and every task once.

mod tasks;

use std::fmt::Debug;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use tasks::{Long, Numbered};

use super::Pick;
use warpweft::cluster::in_process_all;
use warpweft::element::Packed;
use warpweft::error::{Error, Result};
use warpweft::farm as report;
use warpweft::farm::Grain;
use warpweft::farm::Inputs;
use warpweft::farm::reference;
use warpweft::farm::{ChunkSize, Policy, Schedule};
use warpweft::farm::{Farm, OnFailure};
use warpweft::farm::{Run, Target};
use warpweft::machine::Machine;

/// Numbers of tasks: none, fewer than workers, multiples of nothing.
pub const SIZES: [u64; 5] = [0, 1, 31, 1000, 4099];

/// Every schedule with chunks that fit and chunks that don't.
pub fn policies() -> Vec<Policy> {
    let schedules = [Schedule::MasterWorker, Schedule::Eq1, Schedule::Eq2, Schedule::Single];
    let chunks = [ChunkSize::Auto, ChunkSize::Tasks(1), ChunkSize::Tasks(7)];
    let all = schedules.into_iter().flat_map(|schedule| {
        // With chunks of so many tasks, each is run once.
        let backups = |chunk| chunk == ChunkSize::Auto;
        chunks.into_iter().map(move |chunk| Policy {
            schedule,
            chunk,
            backups: backups(chunk),
            ..Policy::default()
        })
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

/// Where the suite is run.
#[derive(Clone, Copy)]
struct At<'a> {
    machine: &'a Machine,
    threads: usize,
    ranks: usize,
}

/// Every kind of task over [`SIZES`] × [`policies`] on so many threads of `machine`, and on its GPUs if it has any.
pub fn suite(machine: &Machine, threads: usize) -> Vec<(&'static str, Outcome)> {
    suite_at(At { machine, threads, ranks: 1 }, &mut Pick::all())
}

/// [`suite`] as far as its cases are picked.
pub fn suite_picked(
    machine: &Machine,
    threads: usize,
    pick: &mut Pick<'_>,
) -> Vec<(&'static str, Outcome)> {
    suite_at(At { machine, threads, ranks: 1 }, pick)
}

/// [`suite`] over so many ranks of this process, each with so many threads.
pub fn suite_over_ranks(
    machine: &Machine,
    threads: usize,
    ranks: usize,
) -> Vec<(&'static str, Outcome)> {
    suite_at(At { machine, threads, ranks }, &mut Pick::all())
}

fn suite_at(at: At<'_>, pick: &mut Pick<'_>) -> Vec<(&'static str, Outcome)> {
    let grain = Grain { of: 32, most: 96 };
    let mut all = vec![
        ("mixture of u64", over(at, || Numbered::new(tasks::mix), pick)),
        ("a struct", over(at, || Numbered::new(tasks::found), pick)),
        ("lists of any length", over(at, || Numbered::new(tasks::list), pick)),
        ("uneven tasks", over(at, || Numbered::new(tasks::uneven), pick)),
        ("tasks that fail", over(at, || Numbered::new(tasks::failing), pick)),
        ("tasks that panic", over(at, || Numbered::new(tasks::panicking), pick)),
        ("chunks, backwards", over(at, || Numbered::new(tasks::list).chunks(grain), pick)),
        ("chunks that fail", over(at, || Numbered::new(tasks::failing).chunks(grain), pick)),
    ];
    if !at.machine.gpus.is_empty() {
        let lists = || Numbered::new(tasks::list).lanes();
        let failing = || Numbered::new(tasks::failing).lanes();
        all.push(("lists on GPUs and cores", over(at, lists, pick)));
        all.push(("lists on GPUs", over_at(Target::AllGpus, at, lists, pick)));
        all.push(("tasks that fail on GPUs", over_at(Target::AllGpus, at, failing, pick)));
    }
    all
}

fn over<O>(at: At<'_>, task: impl Fn() -> Numbered<O>, pick: &mut Pick<'_>) -> Outcome
where
    O: Packed + PartialEq + Debug + Send,
{
    over_at(Target::Auto, at, task, pick)
}

fn over_at<O>(
    target: Target,
    at: At<'_>,
    task: impl Fn() -> Numbered<O>,
    pick: &mut Pick<'_>,
) -> Outcome
where
    O: Packed + PartialEq + Debug + Send,
{
    let At { machine, threads, ranks } = at;
    let (mut cases, mut failure) = (0, None);
    for count in SIZES {
        for policy in policies() {
            let run =
                Run { target, policy: Some(policy), threads: Some(threads), ..Run::default() };
            // The first failure ends a kind of task.
            if !pick.take() || failure.is_some() {
                continue;
            }
            match conforms(task().over(count), count, machine, ranks, &run) {
                Ok(()) => cases += 1,
                Err(why) => {
                    failure = Some(format!(
                        "{count} tasks on {threads} threads of {ranks} ranks, {target:?}, {policy:?}: {why}"
                    ));
                }
            }
        }
    }
    failure.map_or(Outcome::Passed(cases), Outcome::Failed)
}

/// Whether `count` tasks, run as `run` says, on so many ranks of this process where that is more than one, have the
/// reference's outputs and failures, each once, and were each run once.
///
/// # Errors
/// The first difference, in words.
pub fn conforms<O>(
    task: Numbered<O>,
    count: u64,
    machine: &Machine,
    ranks: usize,
    run: &Run<'_>,
) -> Result<(), String>
where
    O: Packed + PartialEq + Debug + Send,
{
    let expect = reference(&task, &Inputs::from(0..count));
    task.ran.iter().for_each(|ran| ran.store(0, Ordering::Relaxed));
    let farm = Farm::of(task).on_failure(OnFailure::Skip);
    let mut found: Vec<Option<O>> = (0..count).map(|_| None).collect();
    let mut twice = None;
    let mut sink = |k: u64, output| {
        if found[k as usize].replace(output).is_some() {
            twice.get_or_insert(k);
        }
        Ok(())
    };
    let outcome = match ranks {
        1 => farm.run_into(0..count, machine, run, &mut sink),
        ranks => over_ranks(&farm, count, machine, ranks, run, &mut sink),
    };
    let outcome = outcome.map_err(|error| error.to_string())?;
    if let Some(k) = twice {
        return Err(format!("task {k} was handed over twice"));
    }
    let mut failed = outcome.failed.into_iter().peekable();
    for (k, expect) in expect.into_iter().enumerate() {
        let ran = farm.task().ran[k].load(Ordering::Relaxed);
        let backups = run.policy.is_none_or(|policy| policy.backups);
        if ran != 1 && !(backups && ran == 2) {
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
        None if through != count => Err(format!("workers say they did {through} tasks of {count}")),
        None => Ok(()),
    }
}

/// A rank that says nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(600);

/// What ranks of this process come to, which all of them know alike.
fn over_ranks<O: Packed>(
    farm: &Farm<Numbered<O>>,
    count: u64,
    machine: &Machine,
    ranks: usize,
    run: &Run<'_>,
    sink: &mut (dyn FnMut(u64, O) -> Result<()> + Send),
) -> Result<report::Outcome> {
    let sink = Mutex::new(sink);
    let Run { target, policy, threads, .. } = *run;
    let outcomes = in_process_all(ranks, SILENCE, |net| {
        let run = Run { target, policy, threads, net: Some(net), ..Run::default() };
        match net.rank() {
            0 => {
                let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                farm.run_into(0..count, machine, &run, &mut **sink)
            }
            _ => farm.run_into(0..count, machine, &run, &mut |_, _| {
                Err(Error::spec("an output on a rank that keeps none", "report this"))
            }),
        }
    });
    let mut outcomes = outcomes.into_iter().collect::<Result<Vec<_>>>()?;
    let of_rank_0 = outcomes.swap_remove(0);
    // Seconds may lose their last digit on the way.
    let known = |outcome: &report::Outcome| {
        let shares = outcome.shares.iter().map(|share| (share.worker, share.tasks, share.chunks));
        (shares.collect::<Vec<_>>(), outcome.failed.clone())
    };
    match outcomes.iter().all(|other| known(other) == known(&of_rank_0)) {
        true => Ok(of_rank_0),
        false => Err(Error::spec("ranks that know of different ends", "report this")),
    }
}
