//! `warpweft tune channels`: how the lanes of a GPU, or threads, share the calls of a function fastest.

use std::fmt::Write;
use std::num::NonZero;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use warpweft::channels::flow::{FlowGraph, FlowTuned};
use warpweft::channels::{Channels, Spawning, Tuned, Tuning};
use warpweft::machine::Machine;
use warpweft::run::Target;
use warpweft::{Error, Result};
use warpweft_apps::paths::Paths;
use warpweft_apps::uts::{Search, Tree};
use warpweft_apps::{fib, quadrature, queens};

use crate::arguments::{seconds, threads};
use crate::output::{complain, fail, note, say, scaled};
use crate::progress::Progress;

/// Widths of channels that are tried; the first is what a run takes that is told none.
const WIDTHS: [usize; 6] = [65_536, 256, 1024, 4096, 16_384, 262_144];

/// Tune how lanes or threads share the calls of a spawning function.
#[derive(clap::Args)]
#[command(
    after_help = "Later runs of the same function on the same kind of device use the policy that is found, whatever \
their arguments are.

For paths, a channel-flow graph, the width of the channels and how they are served are searched for and shown: \
`warpweft run paths --capacity` takes the width.

Examples:
  warpweft tune channels fib 40
  warpweft tune channels queens 15 --device gpu --budget 30
  warpweft tune channels paths 64"
)]
pub struct Tune {
    /// The application whose calls are tuned.
    #[arg(value_enum)]
    app: App,
    /// For fib the index of the number [default: 40], for queens the columns of the board
    /// [default: 15], for paths the rays per pixel [default: 4].
    n: Option<u32>,
    /// Where to run: cpu, gpu, gpu:N, or auto.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Target,
    /// Threads on the CPU [default: one per core].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
    /// Approximate limit on the time of the search, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = seconds)]
    budget: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Applications of spawning functions.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum App {
    /// A Fibonacci number.
    Fib,
    /// Solutions of the n-queens problem.
    Queens,
    /// The nodes of the tree T1L.
    Uts,
    /// The integral of two sharp peaks.
    Quadrature,
    /// A picture by a path tracer, with a channel for each material.
    Paths,
}

impl Tune {
    /// Searches, keeps and reports.
    pub fn execute(&self) -> ExitCode {
        if let App::Paths = self.app {
            return match self.graph() {
                Ok(tuned) => say(&self.graph_shown(&tuned)),
                Err(error) => fail(&error),
            };
        }
        match self.tuned() {
            Ok(tuned) => {
                let said = say(&self.shown(&tuned));
                match &tuned.failure {
                    None => said,
                    Some(failure) => {
                        complain(&format!("the policy is not kept: {failure}"));
                        ExitCode::FAILURE
                    }
                }
            }
            Err(error) => fail(&error),
        }
    }

    fn tuned(&self) -> Result<Tuned> {
        match (self.app, self.n) {
            (App::Fib, n) => self.search(&fib::channels(n.unwrap_or(40))?),
            (App::Queens, n) => self.search(&queens::channels(n.unwrap_or(15))?),
            (App::Quadrature, None) => self.search(&quadrature::channels(1e-12)?),
            (App::Uts, None) => match Tree::named("T1L")?.search() {
                Search::Geometric(calls) => self.search(&calls),
                Search::Binomial(calls, _) => self.search(&calls),
            },
            (app, _) => {
                let what = format!("{} of {}", name(app), self.n.unwrap_or(0));
                Err(Error::spec(what, "leave the number out: only fib, queens and paths take one"))
            }
        }
    }

    fn search<C: Spawning>(&self, channels: &Channels<C>) -> Result<Tuned> {
        let (machine, tuning) = (Machine::detect()?, self.tuning());
        let progress = Progress::waiting("tuning");
        let tuned = channels.tune(&machine, &tuning);
        progress.clear();
        let tuned = tuned?;
        tuned.notes.iter().for_each(|what| note(what));
        Ok(tuned)
    }

    fn tuning(&self) -> Tuning {
        Tuning {
            target: self.device,
            threads: self.threads.map(NonZero::get),
            budget: Duration::from_secs(self.budget),
            folder: None,
        }
    }

    /// The path tracer, whose channels have the same width.
    fn graph(&self) -> Result<FlowTuned> {
        let machine = Machine::detect()?;
        let samples = self.n.unwrap_or(4);
        let paths = |capacity| {
            let paths = Paths { size: [480, 270], samples, bounces: 24, capacity, furnace: false };
            Ok(paths.graph()?.0)
        };
        let progress = Progress::waiting("tuning");
        let tuned = FlowGraph::tune(&machine, &self.tuning(), &WIDTHS, paths);
        progress.clear();
        tuned
    }

    fn graph_shown(&self, tuned: &FlowTuned) -> String {
        let FlowTuned { width, policy, rate, untuned, measured, trials, complete } = tuned;
        if self.json {
            let object = json!({
                "app": name(self.app), "n": self.n, "width": width, "policy": policy,
                "measured": measured, "rate": {"value": rate, "unit": "items/s"},
                "untuned": {"value": untuned, "unit": "items/s"},
                "trials": trials, "complete": complete,
            });
            return object.to_string();
        }
        let end = if *complete { "the search ended" } else { "the budget was spent" };
        format!(
            "{}: {}items/s, {:.2} times the {}items/s of channels of {}\n  tried    {} widths and policies until {end}\n  \
             width    {width}\n  policy   {}",
            name(self.app),
            scaled(*rate),
            rate / untuned,
            scaled(*untuned),
            WIDTHS[0],
            trials.len(),
            serde_json::to_string(policy).unwrap_or_default(),
        )
    }

    fn shown(&self, tuned: &Tuned) -> String {
        let Tuned { policy, rate, untuned, measured, trials, complete, kept, .. } = tuned;
        if self.json {
            let object = json!({
                "app": name(self.app), "n": self.n, "policy": policy, "measured": measured,
                "rate": {"value": rate, "unit": "calls/s"},
                "untuned": {"value": untuned, "unit": "calls/s"},
                "trials": trials, "complete": complete, "kept": kept,
            });
            return object.to_string();
        }
        let end = if *complete { "the search ended" } else { "the budget was spent" };
        let kept = match kept {
            true => "kept for later runs of this function on such a device",
            false => "not kept: later runs can't use it",
        };
        let mut text = format!(
            "{}: {}calls/s, {:.2} times the {}calls/s of the untuned policy\n",
            name(self.app),
            scaled(*rate),
            rate / untuned,
            scaled(*untuned),
        );
        let policy = serde_json::to_string(policy).unwrap_or_default();
        // Writing to a string can't fail.
        let _ = writeln!(text, "  tried    {} policies until {end}", trials.len());
        for trial in trials.iter().filter(|trial| trial.refused.is_some()) {
            let why = trial.refused.as_deref().unwrap_or_default();
            let _ = writeln!(text, "  refused  {why}");
        }
        let _ = write!(text, "  policy   {policy}\n  {kept}");
        text
    }
}

fn name(app: App) -> &'static str {
    match app {
        App::Fib => "fib",
        App::Queens => "queens",
        App::Uts => "uts",
        App::Quadrature => "quadrature",
        App::Paths => "paths",
    }
}
