//! What every app of `warpweft channels` can be told: device, timeline and report.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use warpweft::channels::flow::{self, FlowGraph, Results};
use warpweft::channels::{Borrowing, Call, Channels, Policy, Run, Spawning};
use warpweft::error::{Error, Result};
use warpweft::machine::Machine;
use warpweft::report::Report;
use warpweft::run::Target;
use warpweft::trace::Trace;

use crate::arguments::threads;
use crate::device::note_crowd;
use crate::interrupt;
use crate::output::note;
use crate::run::check::Check;
use crate::run::check::choice::Checking;
use crate::run::files::{self, Saved};
use crate::run::outcome::{Answer, Outcome};

/// Device and report.
#[derive(clap::Args)]
pub struct Options {
    /// Where to run: cpu, gpu, gpu:N, or auto.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Target,
    /// Threads on the CPU [default: one per core].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
    /// End the run with an error after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    deadline: Option<Duration>,
    /// Record a timeline of what each worker runs, which Perfetto opens.
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    pub checking: Checking,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    json: bool,
}

/// Seconds, maybe with decimals; at most a year.
/// A duration from its seconds.
pub fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text.trim().parse().ok().filter(|seconds| *seconds > 0.0 && *seconds <= 3.2e7);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "write seconds, above 0".into())
}

/// How a device runs calls.
#[derive(clap::Args)]
pub struct By {
    /// How to run the calls, as --json prints it; '{"executor": "levels"}' runs them level by level on a GPU.
    #[arg(long, value_name = "JSON", value_parser = policy)]
    policy: Option<Policy>,
}

fn policy(text: &str) -> std::result::Result<Policy, String> {
    let told = |error| format!("{error}; give the `policy` that --json prints");
    let given: Value = serde_json::from_str(text).map_err(told)?;
    let policy = Policy::deserialize(&given).map_err(told)?;
    let known = serde_json::to_value(policy).map_err(told)?;
    let mut keys = given.as_object().into_iter().flat_map(|object| object.keys());
    match keys.find(|key| known.get(key.as_str()).is_none()) {
        Some(key) => Err(format!("this executor has no key `{key}`; it has {known}")),
        None => Ok(policy),
    }
}

/// How deep calls may spawn.
#[derive(clap::Args)]
pub struct Depth {
    /// Largest depth of the recursion [default: that of the problem].
    #[arg(long, value_name = "N")]
    pub levels: Option<u32>,
}

impl Depth {
    /// `calls` with as many levels.
    pub fn of<C: Spawning>(&self, calls: Channels<C>) -> Channels<C> {
        match self.levels {
            Some(levels) => calls.levels(levels),
            None => calls,
        }
    }
}

/// A run's values and its timeline.
pub struct Ran<V> {
    pub values: V,
    pub report: Report,
    trace: Option<Arc<Trace>>,
}

impl<V> Ran<V> {
    /// Without what calls that write into slices give.
    pub fn without_values(self) -> Ran<()> {
        Ran { values: (), report: self.report, trace: self.trace }
    }
}

impl Options {
    /// Runs `channels`.
    pub fn run<C: Spawning>(&self, channels: &Channels<C>) -> Result<Ran<Vec<C::Output>>> {
        self.run_tree(channels, &By { policy: None })
    }

    /// Runs `channels` by a policy, if one is named.
    pub fn run_tree<C: Spawning>(
        &self,
        channels: &Channels<C>,
        by: &By,
    ) -> Result<Ran<Vec<C::Output>>> {
        channels.check()?;
        self.run_by(|machine, run| {
            let run = Run { policy: by.policy, ..run.clone() };
            channels.run_all_with(machine, &run)
        })
    }

    /// Runs `channels`, which are for the cores only.
    pub fn run_on_cores<C: Call>(&self, channels: Channels<C>) -> Result<Ran<Vec<C::Output>>> {
        channels.check()?;
        let (machine, trace) = self.begin(Target::Cpu)?;
        let run = Run {
            target: self.device,
            threads: self.threads.map(NonZero::get),
            interrupt: Some(interrupt::flag()),
            deadline: self.deadline.map(|seconds| Instant::now() + seconds),
            trace: trace.clone(),
            ..Run::default()
        };
        let (values, report) = self.noted(channels.run_on_cores(&machine, &run))?;
        Ok(Ran { values, report, trace })
    }

    /// Runs `channels`, which take slices, on the target that is named; on a GPU, if there is one, where none is.
    pub fn run_borrowing<C: Borrowing>(
        &self,
        channels: Channels<C>,
    ) -> Result<Ran<Vec<C::Output>>> {
        channels.check()?;
        self.run_by(|machine, run| channels.run_borrowing(machine, run))
    }

    /// What `runs` makes of the machine and the options.
    pub fn run_by<V>(
        &self,
        runs: impl FnOnce(&Machine, &Run<'_>) -> Result<(V, Report)>,
    ) -> Result<Ran<V>> {
        let (machine, trace) = self.begin(self.target())?;
        let run = Run {
            target: self.target(),
            threads: self.threads.map(NonZero::get),
            interrupt: Some(interrupt::flag()),
            deadline: self.deadline.map(|seconds| Instant::now() + seconds),
            trace: trace.clone(),
            ..Run::default()
        };
        let (values, report) = self.noted(runs(&machine, &run))?;
        Ok(Ran { values, report, trace })
    }

    /// Whether a GPU is named.
    pub fn names_gpu(&self) -> bool {
        self.device.names_gpus()
    }

    /// Runs `graph`.
    pub fn run_graph(&self, graph: &FlowGraph) -> Result<Ran<Results>> {
        let (machine, trace) = self.begin(self.target())?;
        let run = flow::Run {
            target: self.target(),
            threads: self.threads.map(NonZero::get),
            interrupt: Some(interrupt::flag()),
            deadline: self.deadline.map(|seconds| Instant::now() + seconds),
            trace: trace.clone(),
            ..flow::Run::default()
        };
        let (values, report) = self.noted(graph.run_with(&machine, &run))?;
        Ok(Ran { values, report, trace })
    }

    /// What a run gave, after a note if its deadline ended it.
    fn noted<V>(&self, ran: Result<V>) -> Result<V> {
        if let (Err(Error::Interrupted { .. }), Some(deadline)) = (&ran, self.deadline)
            && !interrupt::flag().load(Ordering::Relaxed)
        {
            let seconds = deadline.as_secs_f64();
            note(&format!(
                "the deadline of {seconds} s passed; give it more time, or take a smaller problem"
            ));
        }
        ran
    }

    fn target(&self) -> Target {
        match self.device {
            // Threads are threads on cores.
            Target::Auto if self.threads.is_some() => Target::Cpu,
            target => target,
        }
    }

    fn begin(&self, target: Target) -> Result<(Machine, Option<Arc<Trace>>)> {
        files::found_writable(self.trace.iter())?;
        interrupt::listen();
        let machine = Machine::detect()?;
        if target == Target::Cpu || (target == Target::Auto && machine.gpus.is_empty()) {
            note_crowd(self.threads, &machine.cpu);
        }
        Ok((machine, self.trace.as_ref().map(|_| Arc::new(Trace::new()))))
    }

    /// The outcome of a run, the timeline saved.
    pub fn outcome<V>(&self, app: &'static str, title: String, ran: Ran<V>, said: Said) -> Outcome {
        let Said { settings, mut answer, check } = said;
        let mut saved = Saved::default();
        if let (Some(path), Some(trace)) = (&self.trace, ran.trace) {
            saved.add(path, trace.save(Path::new(path)));
        }
        if ran.report.rate.unit == "calls/s" {
            answer.push(("calls", json!(ran.report.done)));
        }
        Outcome {
            app,
            title,
            settings,
            report: ran.report,
            answer,
            check,
            lines: Vec::new(),
            saved,
            json: self.json,
            interrupted: None,
        }
    }
}

/// What an app says of a run.
pub struct Said {
    pub settings: Answer,
    pub answer: Answer,
    pub check: Check,
}

/// Whether `found` equals `expect` exactly.
pub fn alike(reference: &str, found: u64, expect: u64) -> Check {
    // A large difference may lose digits as a float, but a difference of 0 is exact.
    Check::made(reference, found.abs_diff(expect) as f64, 0.0)
}
