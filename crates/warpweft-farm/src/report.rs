//! What a farm did, worker by worker.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::spec::worker::Worker;
use warpweft_core::error::Error;
use warpweft_core::report::{Quantity, Report, counted};

/// What one worker did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Which.
    pub worker: Worker,
    /// Tasks whose result from this worker counted, because it delivered it first; failed ones included.
    pub tasks: u64,
    /// Tasks that it ran, but whose results another worker delivered first.
    #[serde(default)]
    pub superseded: u64,
    /// Number of chunks in which these tasks were delivered, or of pieces of chunks if outputs are large.
    pub chunks: u64,
    /// Seconds that they took.
    pub busy: f64,
    /// Seconds from the beginning of the farm to the end of its last chunk.
    #[serde(default)]
    pub ended: f64,
    /// The first of the last tasks that it handed over, and the one after them.
    #[serde(default)]
    pub last_tasks: [u64; 2],
    /// Why it is gone, if it is.
    pub lost: Option<String>,
}

impl Share {
    /// Of a worker that has done nothing.
    pub fn new(worker: Worker) -> Self {
        let (tasks, superseded, chunks, busy, ended) = Default::default();
        Self { worker, tasks, superseded, chunks, busy, ended, last_tasks: [0; 2], lost: None }
    }

    /// It ran so many `tasks` in so many `seconds`, of which some count.
    pub fn ran(&mut self, tasks: u64, count: u64, seconds: f64) {
        self.chunks += 1;
        self.tasks += count;
        self.superseded += tasks - count;
        self.busy += seconds;
    }
}

/// A task that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failed {
    /// Its number.
    pub task: u64,
    /// The worker that ran it.
    pub worker: Worker,
    /// Why, in at most [`WORDS`] bytes.
    pub what: String,
    /// Its input, as [`Task::describe`](crate::Task::describe) has it. `None`, too, if a function makes its input
    /// ([`Inputs::by`](crate::Inputs::by)) and tasks are run one by one: it is not made again.
    #[serde(default)]
    pub input: Option<String>,
    /// How often it ran.
    #[serde(default)]
    pub attempts: u32,
}

impl Failed {
    /// The error of a farm that this task ends.
    pub fn error(&self) -> Error {
        let Self { task, worker, what, input, .. } = self.clone();
        let what = input.map_or(what.clone(), |input| format!("{what} (its input: {input})"));
        Error::Task { task, worker: worker.to_string(), what }
    }
}

/// The largest number of failed tasks in the list, those with the lowest numbers; a journal has all of them.
pub const LISTED: usize = 10_000;
/// Bytes of a failure's reason that are kept.
pub const WORDS: usize = 1024;

/// Tasks that failed for good: how many, and a list of the first by number, so that ten million of them take no more
/// memory than ten thousand.
#[derive(Clone, Debug, Default)]
pub struct Failures {
    /// How many there are.
    pub count: u64,
    listed: BTreeMap<u64, Failed>,
}

impl Failures {
    /// Adds one.
    pub fn add(&mut self, failed: Failed) {
        self.count += 1;
        self.listed.insert(failed.task, failed);
        if self.listed.len() > LISTED {
            self.listed.pop_last();
        }
    }

    /// Those that are listed, by number.
    pub fn list(self) -> Vec<Failed> {
        self.listed.into_values().collect()
    }
}

/// The first bytes of a reason, whole characters.
pub fn shortened(what: &str) -> String {
    match what
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take_while(|end| *end <= WORDS)
        .last()
    {
        Some(end) if end < what.len() => format!("{}..", &what[..end]),
        _ => what.to_string(),
    }
}

/// How a farm went, as all of its ranks know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// Seconds of set-up and of work.
    pub seconds: [f64; 2],
    /// Tasks that an earlier run did.
    pub first: u64,
    /// Tasks that this one did.
    pub committed: u64,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// The devices that worked.
    pub devices: Vec<String>,
    /// Number of ranks.
    pub ranks: usize,
    /// What the user may want to know.
    pub notes: Vec<String>,
    /// By worker.
    pub shares: Vec<Share>,
    /// Tasks that failed.
    pub failures: u64,
    /// The first of them, by number.
    pub failed: Vec<Failed>,
    /// Tasks that were neither done nor failed.
    pub unreached: u64,
}

impl Ended {
    /// With the policy it had.
    pub fn outcome(self, policy: &Policy) -> Outcome {
        let Self { seconds: [setup_seconds, seconds], first, committed, shares, .. } = self;
        let (failures, failed, unreached) = (self.failures, self.failed, self.unreached);
        let mut policy = serde_json::to_value(policy).unwrap_or_default();
        if self.ranks > 1 {
            policy["ranks"] = self.ranks.into();
        }
        let report = Report {
            pattern: "farm",
            devices: self.devices,
            seconds,
            setup_seconds,
            rate: Quantity { value: committed as f64 / seconds.max(1e-9), unit: "tasks/s" },
            // Tasks are code, whose memory traffic is unknown.
            bytes: 0,
            roofline: None,
            roofline_fraction: None,
            temporal_depth: None,
            predicted_seconds: None,
            policy,
            done: first + committed,
            first,
            interrupted: self.interrupted,
            residual: None,
            tolerance: None,
            probes: Vec::new(),
            notes: self.notes,
        };
        Outcome { report, shares, failures, failed, unreached }
    }
}

/// How a farm went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Time, rate and policy.
    pub report: Report,
    /// What each worker did.
    pub shares: Vec<Share>,
    /// How many tasks failed.
    pub failures: u64,
    /// The tasks that failed, by number: the first [`LISTED`] of them.
    pub failed: Vec<Failed>,
    /// How many tasks were neither done nor failed: the run was interrupted, its deadline passed, or no worker was left.
    pub unreached: u64,
}

impl Outcome {
    /// The part of the workers' time in which none of their tasks ran: 1 − Σ busy / (workers · seconds). The
    /// overhead of TuCCompi's section 6.4, uneven ends included.
    pub fn overhead(&self) -> f64 {
        overhead(&self.shares, self.report.seconds)
    }
}

/// The report, and how many tasks failed.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)?;
        if self.unreached > 0 {
            write!(f, "\n{} not reached", counted(self.unreached, "task"))?;
        }
        let Some(Failed { task, what, .. }) = self.failed.first() else { return Ok(()) };
        write!(f, "\n{} failed, first task {task}: {what}", counted(self.failures, "task"))
    }
}

/// The same of a run of so many `seconds`.
pub fn overhead(shares: &[Share], seconds: f64) -> f64 {
    let busy: f64 = shares.iter().map(|share| share.busy).sum();
    let there = seconds * shares.len() as f64;
    if there > 0.0 { (1.0 - busy / there).max(0.0) } else { 0.0 }
}
