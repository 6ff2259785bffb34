//! `warpweft channels`: fork-join tasks.

use std::num::NonZero;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;
use warpweft::Result;
use warpweft::channels::{Run, Spawning};
use warpweft::machine::Machine;
use warpweft::report::Report;
use warpweft::run::Target;
use warpweft_apps::{fib, queens};

use crate::arguments::threads;
use crate::device::note_crowd;
use crate::run::check::Check;
use crate::run::files::Saved;
use crate::run::outcome::{Answer, Outcome};
use crate::world;

/// Fork-join tasks: functions that spawn calls, as in Cilk.
#[derive(clap::Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  warpweft channels fib 40               331,160,281 calls; each spawns two
  warpweft channels queens 13            each call spawns one call per free square
  warpweft channels fib 35 --threads 1 --json"
)]
pub struct Channels {
    #[command(subcommand)]
    app: App,
}

#[derive(Subcommand)]
enum App {
    /// A Fibonacci number by recursion: fib(n) spawns fib(n - 1) and fib(n - 2).
    Fib(Fib),
    /// The number of solutions of the n-queens problem.
    Queens(Queens),
}

#[derive(clap::Args)]
#[command(
    after_help = "The result is compared with that of doubling, the number of calls with 2 fib(N + 1) - 1.

Examples:
  warpweft channels fib 40
  warpweft channels fib 40 --device cpu --threads 2"
)]
struct Fib {
    /// Index of the number, 0 to 93.
    n: u32,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
#[command(
    after_help = "For up to 18 columns the result is compared with a list of solutions (OEIS A000170).

Examples:
  warpweft channels queens 13
  warpweft channels queens 12 --json"
)]
struct Queens {
    /// Columns and rows of the board, 1 to 32.
    n: u32,
    #[command(flatten)]
    options: Options,
}

/// Device and report.
#[derive(clap::Args)]
struct Options {
    /// Where to run: cpu, gpu, gpu:N, or auto.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Target,
    /// Threads on the CPU [default: one per core].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
    /// Largest depth of the recursion [default: that of the problem].
    #[arg(long, value_name = "N")]
    levels: Option<u32>,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    json: bool,
}

impl Channels {
    /// Runs, checks and prints.
    pub fn execute(&self) -> ExitCode {
        let outcome = match &self.app {
            App::Fib(fib) => fib.outcome(),
            App::Queens(queens) => queens.outcome(),
        };
        match outcome {
            Ok(outcome) => world::leave(outcome.report()),
            Err(error) => world::fail(&error),
        }
    }
}

impl Fib {
    fn outcome(&self) -> Result<Outcome> {
        let n = self.n;
        let (found, report) = self.options.run(fib::channels(n)?)?;
        let expect = (fib::plain(n), fib::calls(n));
        let check = alike("doubling", found, expect.0);
        let check = match report.done == expect.1 {
            true => check,
            false => Check::failed(format!("{} calls were run of {}", report.done, expect.1)),
        };
        let settings = vec![("n", json!(n))];
        Ok(self.options.outcome(
            "fib",
            format!("F({n})"),
            settings,
            ("value", found),
            report,
            check,
        ))
    }
}

impl Queens {
    fn outcome(&self) -> Result<Outcome> {
        let n = self.n;
        let (found, report) = self.options.run(queens::channels(n)?)?;
        let check = match queens::SOLUTIONS.get(n as usize - 1) {
            Some(&expect) => alike("list of solutions (OEIS A000170)", found, expect),
            None => Check::none(format!("the list ends at {}", queens::SOLUTIONS.len())),
        };
        let (title, settings) = (format!("{n} on {n} x {n} squares"), vec![("n", json!(n))]);
        Ok(self.options.outcome("queens", title, settings, ("solutions", found), report, check))
    }
}

/// Whether `found` equals `expect` exactly.
fn alike(reference: &str, found: u64, expect: u64) -> Check {
    // A large difference may lose digits as a float, but a difference of 0 is exact.
    Check::made(reference, found.abs_diff(expect) as f64, 0.0)
}

impl Options {
    fn run<C: Spawning>(
        &self,
        channels: warpweft::channels::Channels<C>,
    ) -> Result<(C::Output, Report)> {
        let channels = match self.levels {
            Some(levels) => channels.levels(levels),
            None => channels,
        };
        channels.check()?;
        let machine = Machine::detect()?;
        let target = match self.device {
            // Threads are threads on cores.
            Target::Auto if self.threads.is_some() => Target::Cpu,
            target => target,
        };
        let run = Run { target, threads: self.threads.map(NonZero::get), ..Run::default() };
        if run.devices(&machine)?.threads.is_some() {
            note_crowd(self.threads, &machine.cpu);
        }
        channels.run_with(&machine, &run)
    }

    fn outcome(
        &self,
        app: &'static str,
        title: String,
        settings: Answer,
        (name, value): (&'static str, u64),
        report: Report,
        check: Check,
    ) -> Outcome {
        let mut settings = settings;
        settings.push(("levels", json!(self.levels)));
        let answer = vec![(name, json!(value)), ("calls", json!(report.done))];
        Outcome {
            app,
            title,
            settings,
            report,
            answer,
            check,
            lines: Vec::new(),
            saved: Saved::default(),
            json: self.json,
            interrupted: None,
        }
    }
}
