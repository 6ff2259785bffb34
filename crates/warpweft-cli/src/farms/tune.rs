//! `warpweft tune farm`, and what `tune apsp` shares with it: what the table says of a task's kernels, and what is faster.

use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use warpweft::farm::{
    Characterisation, Family, Inputs, KernelTable, Policy, Setting, TaskFunction, Tuned, Tuning,
};
use warpweft::machine::{Gpu, Machine};
use warpweft::prelude::*;
use warpweft::run::Target;
use warpweft_apps::mandelbrot::{Mandelbrot, tile};
use warpweft_apps::pricing::{contract, price};

use crate::arguments::seconds;
use crate::device::for_farms;
use crate::output::{complain, fail, note, say, scaled};
use crate::progress::Progress;

/// Tune the lanes of GPUs and their blocks for a farm of a function.
#[derive(clap::Args)]
#[command(
    after_help = "The four characteristics of a kernel select a row of a table, and the GPU's architecture a column. The search starts from \
this entry (the prior). To change the table, print it with --print-table, edit the copy, and set WARPWEFT_KERNEL_TABLE to its path.

Examples:
  warpweft tune farm options
  warpweft tune farm mandelbrot --device gpu:0 --budget 30
  warpweft tune farm --print-table > kernels.toml"
)]
pub struct Tune {
    /// The application to tune.
    #[arg(value_enum, required_unless_present = "print_table")]
    app: Option<App>,
    /// Which GPUs: gpu, gpu:N, gpu:N,M,.. or gpus.
    #[arg(long, value_name = "DEVICE", default_value = "gpu")]
    device: Target,
    /// Approximate seconds for the search on each kind of GPU.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = seconds)]
    budget: u64,
    /// Print the table (the one that WARPWEFT_KERNEL_TABLE names, if it is set) and exit.
    #[arg(long)]
    print_table: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Applications that are farms of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum App {
    /// The Mandelbrot set in tiles.
    Mandelbrot,
    /// Call options by Monte Carlo.
    Options,
}

impl Tune {
    /// Searches, keeps and reports.
    pub fn execute(&self) -> ExitCode {
        if self.print_table {
            return match KernelTable::text_of_user() {
                Ok(text) => say(text.trim_end()),
                Err(error) => fail(&error),
            };
        }
        match self.found() {
            Ok(found) => reported(&found, self.json),
            Err(error) => fail(&error),
        }
    }

    fn found(&self) -> Result<Vec<Found>> {
        let machine = for_farms(self.device)?.machine;
        if self.app == Some(App::Options) {
            let farm = Farm::of(price(2500));
            let inputs = || Inputs::by(2_000_000, contract);
            return self.search(("options", "options/s", words(&farm)), &farm, &inputs, &machine);
        }
        let spec = Mandelbrot { size: [3840, 2160], centre: [-0.65, 0.0], width: 3.6, limit: 2000 };
        let farm: Farm<tile> = Farm::of(spec.task());
        let inputs = || (0..spec.tiles()).into();
        self.search(("mandelbrot", "tiles/s", words(&farm)), &farm, &inputs, &machine)
    }

    fn search<T: Task>(
        &self,
        (app, unit, words): (&'static str, &'static str, Characterisation),
        farm: &Farm<T>,
        inputs: &dyn Fn() -> Inputs<'static, T::Input>,
        machine: &Machine,
    ) -> Result<Vec<Found>> {
        let about = About { app, of: app, unit, words };
        let budget = Duration::from_secs(self.budget);
        searched(&about, machine, budget, |machine, tuning| farm.tune(inputs(), machine, tuning))
    }
}

/// What characterises the kernel of a function.
fn words<E: TaskFunction>(_: &Farm<E>) -> Characterisation {
    E::WORDS
}

/// What is tuned.
pub struct About<'a> {
    /// The application.
    pub app: &'static str,
    /// What results are kept under.
    pub of: &'a str,
    /// Of its rate.
    pub unit: &'static str,
    /// What characterises its kernels.
    pub words: Characterisation,
}

/// What was found for one kind of GPU.
pub struct Found {
    app: &'static str,
    unit: &'static str,
    gpu: Gpu,
    words: Characterisation,
    /// The row that applies.
    row: Characterisation,
    prior: Setting,
    tuned: Tuned,
}

/// Searches on each kind of GPU of `machine` by itself, from what the table says.
///
/// # Errors
/// No GPU; a table that can't be read; those of the search.
pub fn searched(
    about: &About<'_>,
    machine: &Machine,
    budget: Duration,
    mut tune: impl FnMut(&Machine, &Tuning<'_>) -> Result<Tuned>,
) -> Result<Vec<Found>> {
    if machine.gpus.is_empty() {
        let hint = "name gpu, gpu:N or gpus: what is tuned are the lanes of GPUs";
        return Err(Error::spec("tuning a farm without a GPU", hint));
    }
    let table = KernelTable::of_user()?;
    let mut all: Vec<Found> = Vec::new();
    for gpu in &machine.gpus {
        if all.iter().any(|found| found.gpu.name == gpu.name) {
            continue;
        }
        let (row, prior) = table.setting(&about.words, Family::of(gpu.capability));
        let gpus = machine.gpus.iter().filter(|other| other.name == gpu.name).cloned().collect();
        let machine = Machine { gpus, ..machine.clone() };
        let start = Policy { lanes: prior.concurrent, block: prior.block, ..Policy::default() };
        let tuning = Tuning { of: about.of, start, budget, folder: None };
        let waiting = Progress::waiting("tuning");
        let tuned = tune(&machine, &tuning);
        waiting.clear();
        let tuned = tuned?;
        tuned.notes.iter().for_each(|what| note(what));
        let (app, unit, words) = (about.app, about.unit, about.words);
        all.push(Found { app, unit, gpu: gpu.clone(), words, row, prior, tuned });
    }
    Ok(all)
}

/// Prints what was found; results that can't be kept are a failure.
pub fn reported(all: &[Found], json: bool) -> ExitCode {
    let text = match json {
        true => match all {
            [one] => one.to_json().to_string(),
            all => Value::from(all.iter().map(Found::to_json).collect::<Vec<_>>()).to_string(),
        },
        false => all.iter().map(Found::to_text).collect::<Vec<_>>().join("\n"),
    };
    let said = say(&text);
    let failures: Vec<_> = all.iter().filter_map(|found| found.tuned.failure.as_ref()).collect();
    failures.iter().for_each(|why| complain(&format!("the policy is not kept: {why}")));
    if failures.is_empty() { said } else { ExitCode::FAILURE }
}

/// Lanes and block in words.
fn shape(lanes: usize, block: u32) -> String {
    let block = if block == 0 { "own block".into() } else { format!("{block} threads") };
    let lanes = if lanes == 1 { "1 lane".into() } else { format!("{lanes} lanes") };
    format!("{lanes}, {block}")
}

impl Found {
    fn to_json(&self) -> Value {
        let Tuned { policy, rate, untuned, measured, trials, complete, kept, .. } = &self.tuned;
        let trials: Vec<_> = trials
            .iter()
            .map(|(lanes, block, told)| match told {
                Ok(rate) => json!({"lanes": lanes, "block": block, "rate": rate}),
                Err(why) => json!({"lanes": lanes, "block": block, "refused": why}),
            })
            .collect();
        json!({
            "app": self.app, "gpu": self.gpu.name, "family": Family::of(self.gpu.capability),
            "words": self.words, "row": self.row, "prior": self.prior, "policy": policy,
            "rate": {"value": rate, "unit": self.unit}, "untuned": {"value": untuned, "unit": self.unit},
            "measured": measured, "trials": trials, "complete": complete, "kept": kept,
        })
    }

    fn to_text(&self) -> String {
        let Tuned { policy, rate, untuned, trials, complete, kept, .. } = &self.tuned;
        let Setting { block, shared, concurrent, evidence } = &self.prior;
        let rated = |rate: f64| format!("{}{}", scaled(rate), self.unit);
        let mut text =
            format!("{} on {}, {}\n", self.app, self.gpu.name, Family::of(self.gpu.capability));
        let mut line = |name: &str, value: String| {
            // Writing to a string can't fail.
            let _ = writeln!(text, "  {name:<8} {value}");
        };
        line("words", self.words.to_string());
        let shared =
            shared.map_or_else(String::new, |percent| format!(", {percent} % shared memory"));
        line(
            "table",
            format!("row {}: {block} threads{shared}, {concurrent} at the same time", self.row),
        );
        line("evidence", evidence.clone());
        line("prior", format!("{}: {}", shape(*concurrent, *block), rated(*untuned)));
        let gain = rate / untuned;
        let best = shape(policy.lanes, policy.block);
        line("optimum", format!("{best}: {}, {gain:.2} times the prior", rated(*rate)));
        for (lanes, block, told) in trials {
            let told = match told {
                Ok(rate) => rated(*rate),
                Err(why) => format!("refused: {why}"),
            };
            line("trial", format!("{:<20} {told}", shape(*lanes, *block)));
        }
        let end = if *complete { "the search ended" } else { "the budget was spent" };
        let kept = if *kept { "kept for such GPUs" } else { "not kept: later runs can't use it" };
        line("kept", format!("{} tried until {end}; the optimum is {kept}", trials.len()));
        text.trim_end().to_string()
    }
}
