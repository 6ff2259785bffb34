//! Applications that are farms of functions with `#[task]`: their common options, and how they run.

pub mod mandelbrot;
pub mod pricing;
pub mod tune;
pub mod workers;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use warpweft::farm::{self, Inputs, KernelTable, Policy, Run, Schedule, Settings};
use warpweft::machine::Gpu;
use warpweft::prelude::*;
use warpweft::report::counted;
use warpweft::run::Target;
use warpweft::trace::Trace;

use self::workers::workers;
use crate::arguments::{threads, whole};
use crate::device::{Place, for_farms, note_crowd};
use crate::output::note;
use crate::progress::Progress;
use crate::run::check::Check;
use crate::run::check::choice::Checking;
use crate::run::files::{Saved, Saving, Write, ending, found_writable};
use crate::run::outcome::{Answer, Outcome};
use crate::{interrupt, place, world};

/// Which worker gets which tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ScheduleChoice {
    /// A worker that requests work gets a chunk, sized by its speed and the remaining tasks.
    Master,
    /// Every node gets the same number, divided evenly among its cores and GPU lanes.
    Eq1,
    /// Every core and lane gets the same number.
    Eq2,
    /// A worker that requests work gets one task.
    Single,
}

impl ScheduleChoice {
    /// As a policy has it.
    pub fn schedule(self) -> Schedule {
        match self {
            Self::Master => Schedule::MasterWorker,
            Self::Eq1 => Schedule::Eq1,
            Self::Eq2 => Schedule::Eq2,
            Self::Single => Schedule::Single,
        }
    }
}

/// Devices, schedule and report.
#[derive(clap::Args)]
pub struct FarmOptions {
    /// How tasks are distributed to workers.
    #[arg(long, value_name = "SCHEDULE", value_enum, default_value = "master")]
    schedule: ScheduleChoice,
    /// Where to run: cpu, gpu, gpu:N, gpu:N,M,.., gpus, cpu+gpu, cpu+gpu:N or auto, which is all GPUs and the cores.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Target,
    /// Number of chunks that each GPU works on at the same time, 1 to 8 [default: 2].
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    lanes: Option<usize>,
    /// Threads on the CPU [default: one per core].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
    /// Save a timeline of chunks, requests and idle time that Perfetto (ui.perfetto.dev) opens.
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    checking: Checking,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    json: bool,
}

/// What is run, in words.
struct About {
    app: &'static str,
    title: String,
    settings: Answer,
    /// One task.
    task: &'static str,
    /// Several, and the unit of their rate.
    tasks: [&'static str; 2],
}

/// What a farm came to.
struct Farmed<O> {
    outputs: Vec<Option<O>>,
    outcome: farm::Outcome,
    trace: Option<Arc<Trace>>,
}

impl FarmOptions {
    /// Checks that the files can be written, before anything is computed.
    fn check<'a>(&'a self, files: impl Iterator<Item = &'a PathBuf> + Clone) -> Result<()> {
        if !place::speaks() {
            return Ok(());
        }
        if let Some(path) = &self.trace {
            ending(path, &["json"])?;
        }
        found_writable(files.chain(&self.trace))
    }

    fn policy(&self) -> Result<Policy> {
        let own = Policy::default();
        let lanes = self.lanes.unwrap_or(own.lanes);
        let policy = Policy { schedule: self.schedule.schedule(), lanes, ..own };
        policy.check().map(|()| policy)
    }

    /// Runs `farm`; `None` on ranks that don't have the outputs.
    fn run<T: Task>(
        &self,
        farm: &Farm<T>,
        inputs: Inputs<'_, T::Input>,
        about: &About,
    ) -> Result<Option<Farmed<T::Output>>> {
        let policy = self.policy()?;
        // Cores have no use for it, but a wrong one is an error everywhere.
        KernelTable::of_user()?;
        let Place { machine, target, threads: cores, .. } = for_farms(self.device)?;
        if cores.is_some() {
            note_crowd(self.threads, &machine.cpu);
        }
        let trace = self.trace.as_ref().filter(|_| place::speaks()).map(|_| Arc::new(Trace::new()));
        let progress = Progress::over(about.app, inputs.count(), about.tasks);
        let told = |done: u64, _| progress.at(done);
        // Each kind of GPU its own, unless options say it.
        let by_gpu = |gpu: &Gpu| match self.lanes {
            None => farm::tuned_on(about.app, gpu),
            Some(_) => None,
        };
        let run = Run {
            target,
            policy: Some(policy),
            threads: self.threads.map(NonZero::get),
            progress: Some(&told),
            interrupt: Some(interrupt::flag()),
            trace: trace.clone(),
            net: world::net(),
            settings: Settings { by_gpu: Some(&by_gpu), ..Settings::default() },
            ..Run::default()
        };
        // From here on there is something to save.
        interrupt::listen();
        let ran = farm.run_with(inputs, &machine, &run);
        progress.clear();
        let (outputs, outcome) = ran?;
        if !place::speaks() {
            return Ok(None);
        }
        outcome.report.notes.iter().for_each(|what| note(what));
        Ok(Some(Farmed { outputs, outcome, trace }))
    }

    /// Writes the result of a run to its file by `write`, and the timeline.
    fn save<'a>(
        &'a self,
        result: Option<(&'a Path, Write<'a>)>,
        trace: Option<&'a Trace>,
    ) -> Saved {
        let mut saving = Saving::default();
        if let (Some(path), Some(trace)) = (&self.trace, trace) {
            saving.add(path, || trace.save(path));
        }
        if let Some((path, write)) = result {
            saving.add(path, write);
        }
        saving.save(Saved::default())
    }

    /// The report.
    fn outcome(
        &self,
        about: About,
        answer: Answer,
        check: Check,
        saved: Saved,
        farmed: farm::Outcome,
    ) -> Outcome {
        let interrupted = farmed.report.interrupted;
        let (mut farmed, mut answer) = (farmed, answer);
        farmed.report.rate.unit = about.tasks[1];
        answer.push(("overhead_percent", json!(100.0 * farmed.overhead())));
        answer.push(("workers", json!(farmed.shares)));
        Outcome {
            app: about.app,
            title: about.title,
            settings: about.settings,
            lines: vec![("workers", workers(&farmed, about.task))],
            interrupted: interrupted.then(|| counted(farmed.report.done, about.task)),
            report: farmed.report,
            answer,
            check,
            saved,
            json: self.json,
        }
    }
}
