//! `warpweft verify`: every executor against the reference, on the devices present.

mod budget;
mod count;

use std::process::ExitCode;
use std::time::SystemTime;

use warpweft::Result;
use warpweft::channels::flow::{FlowCpuExecutor, FlowCpuPolicy, FlowGpuExecutor, FlowGpuPolicy};
use warpweft::channels::{self, StacksPolicy};
use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::machine::Machine;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::cuda::scan::ScanExecutor;
use warpweft::wavefront::cuda::tiles::TileExecutor;
use warpweft::wavefront::{CpuPolicy, CudaPolicy, Keep, Method, TilePolicy};
use warpweft_conformance::stencil::{
    Case, OnCores, OnGpu, OnSubdomains, Outcome, Subject, conformance_picked,
};
use warpweft_conformance::wavefront::{self as waves, KEEPS, Runs, suite_picked};
use warpweft_conformance::{Pick, farm};
use warpweft_conformance::{apps, channels as calls, flow};
use warpweft_terminal::output::{fail, say};

use budget::Budget;
use count::Count;

/// What most kernels are asked for: each is compiled for what it keeps.
const SOME: [Keep; 3] = [Keep::Best, Keep::Matrix, Keep::Sum];

/// Check every executor against the reference, bit for bit: a random sample of every suite, or all.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  warpweft verify                   a minute's sample, on the cores and on every GPU
  warpweft verify --seed 7          the cases in the order of seed 7, to repeat a run
  warpweft verify --all wavefront   every case of one pattern")]
pub struct Verify {
    /// Check only this pattern.
    pattern: Option<Pattern>,
    /// Run every case, however long it takes.
    #[arg(long, conflicts_with_all = ["seconds", "seed"])]
    all: bool,
    /// Seconds for which cases are run.
    #[arg(long, default_value_t = 60.0, value_parser = seconds)]
    seconds: f64,
    /// Seed of the order of the cases [default: another one in every run].
    #[arg(long)]
    seed: Option<u64>,
    /// Print the name of every case, not only of those that failed or were skipped.
    #[arg(long)]
    verbose: bool,
}

/// A time that can be waited for.
fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("use a number of seconds from 0 to 1000000, or --all".into()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Pattern {
    Stencil,
    Wavefront,
    Farm,
    Channels,
}

/// What a stencil's suite is to others, which are shorter.
const STENCIL: f64 = 3.0;

impl Verify {
    /// Runs the suites; the last line is the total.
    pub fn execute(&self) -> ExitCode {
        let machine = match Machine::detect() {
            Ok(machine) => machine,
            Err(error) => return fail(&error),
        };
        let wanted = |pattern| self.pattern.is_none_or(|asked| asked == pattern);
        let weights = Pattern::ALL.into_iter().filter(|&pattern| wanted(pattern));
        let weight = weights.map(|pattern| pattern.weight(machine.gpus.len())).sum();
        let mut run = Verification {
            verbose: self.verbose,
            budget: match self.all {
                true => Budget::all(),
                false => Budget::sample(self.seconds, self.seed.unwrap_or_else(any), weight),
            },
            count: Count::new(),
        };
        if wanted(Pattern::Stencil) {
            run.stencil(&machine);
        }
        if wanted(Pattern::Wavefront) {
            run.wavefront(&machine);
        }
        if wanted(Pattern::Farm) {
            run.farm(&machine);
        }
        if wanted(Pattern::Channels) {
            run.channels(&machine);
        }
        let count = run.count;
        count.clear();
        let said = say(&format!(
            "{} passed, {} failed, {} skipped",
            count.passed, count.failed, count.skipped
        ));
        if count.failed > 0 { ExitCode::FAILURE } else { said }
    }
}

/// A seed that nobody chose, short enough to be typed.
fn any() -> u64 {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    now.as_millis() as u64 % 1_000_000
}

impl Pattern {
    const ALL: [Self; 4] = [Self::Stencil, Self::Wavefront, Self::Farm, Self::Channels];

    /// The weight of its suites on the cores and on so many GPUs.
    fn weight(self, gpus: usize) -> f64 {
        match self {
            Self::Stencil => STENCIL * (1 + gpus + gpus.min(1)) as f64,
            Self::Wavefront => (1 + gpus * (3 + Method::ALL.len())) as f64,
            Self::Farm => 1.0,
            Self::Channels => (3 + 3 * gpus) as f64,
        }
    }
}

/// The suites as they are run.
struct Verification {
    verbose: bool,
    budget: Budget,
    count: Count,
}

impl Verification {
    fn stencil(&mut self, machine: &Machine) {
        let cores = machine.cpu.label(machine.cpu.threads());
        match OnCores::new(machine) {
            Ok(subject) => self.suite(&format!("stencil on {cores}"), &subject),
            Err(error) => self.fails("stencil on the cores", STENCIL, error.to_string()),
        }
        if machine.gpus.is_empty() {
            let why = machine.notes.iter().find(|what| what.starts_with("no GPU"));
            let why = why.map_or("no GPU", String::as_str);
            self.skips("stencil on GPUs", 0.0, why.into());
        }
        for gpu in &machine.gpus {
            let name = format!("stencil on {}", gpu.label());
            // Without the compiler every case would fail for one and the same reason.
            match warpweft::cuda::compiler().and_then(|_| OnGpu::new(gpu)) {
                Ok(subject) => self.suite(&name, &subject),
                Err(error) => self.skips(&name, STENCIL, error.to_string()),
            }
        }
        if !machine.gpus.is_empty() {
            let name = format!("stencil on subdomains of {} GPUs", machine.gpus.len());
            match warpweft::cuda::compiler().and_then(|_| OnSubdomains::on_gpus(machine)) {
                Ok(subject) => self.suite(&name, &subject),
                Err(error) => self.skips(&name, STENCIL, error.to_string()),
            }
        }
    }

    fn wavefront(&mut self, machine: &Machine) {
        let threads = machine.cpu.threads();
        let policy = CpuPolicy { tile_rows: 64, tile_columns: 100, cells_16_bit: true };
        let name = format!("wavefront on {}", machine.cpu.label(threads));
        let pool = Pool::new(&machine.cpu.cores[..threads]);
        match pool
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|pool| CpuExecutor::new(pool, policy).map_err(|error| error.to_string()))
        {
            Ok(mut executor) => self.elements(&name, &mut executor, &KEEPS),
            Err(why) => self.fails("wavefront on the cores", 1.0, why),
        }
        if machine.gpus.is_empty() {
            self.skips("wavefront on GPUs", 0.0, "no GPU".into());
        }
        for gpu in &machine.gpus {
            let name = format!("wavefront on {}", gpu.label());
            match warpweft::cuda::compiler().and_then(|_| gpu.device()) {
                Ok(device) => self.wavefront_on(&name, &device),
                Err(error) => {
                    let weight = Pattern::Wavefront.weight(1) - 1.0;
                    self.skips(&name, weight, error.to_string());
                }
            }
        }
    }

    fn farm(&mut self, machine: &Machine) {
        let threads = machine.cpu.threads();
        let gpus = machine.gpus.iter().map(|gpu| format!(" and {}", gpu.label()));
        let place = format!("farm on {}{}", machine.cpu.label(threads), gpus.collect::<String>());
        if machine.gpus.is_empty() {
            self.skips("farm on GPUs", 0.0, "no GPU".into());
        }
        let verbose = self.verbose;
        self.budget.run(&place, 1.0, &mut self.count, |pick, count| {
            for (name, outcome) in farm::suite_picked(machine, threads, pick) {
                match outcome {
                    farm::Outcome::Failed(why) => count.one(name, &Outcome::Failed(why)),
                    farm::Outcome::Passed(cases) => passed(name, cases, verbose, count),
                }
            }
        });
    }

    fn channels(&mut self, machine: &Machine) {
        let threads = machine.cpu.threads();
        for threads in [threads, threads + 1] {
            let name = format!("channels on {}", machine.cpu.label(threads));
            match channels::cpu::CpuExecutor::new(machine, threads, Default::default()) {
                Ok(executor) => self.calls(&name, executor),
                Err(error) => self.fails(&name, 1.0, error.to_string()),
            }
        }
        self.flow(machine);
        if machine.gpus.is_empty() {
            self.skips("channels on GPUs", 0.0, "no GPU".into());
        }
        for gpu in &machine.gpus {
            let usual = StacksPolicy::default();
            for (shape, policy) in
                [("", usual), (", one block", StacksPolicy { blocks: 1, ..usual })]
            {
                let name = format!("channels on {}{shape}", gpu.label());
                match warpweft::cuda::compiler().and_then(|_| gpu.device()) {
                    Ok(device) => match channels::cuda::CudaExecutor::new(&device, policy) {
                        Ok(executor) => self.calls(&name, executor),
                        Err(error) => self.fails(&name, 1.0, error.to_string()),
                    },
                    Err(error) => self.skips(&name, 1.0, error.to_string()),
                }
            }
        }
    }

    /// Every function's calls on `executor`.
    fn calls(&mut self, name: &str, mut executor: impl calls::Subject) {
        self.cases(name, &mut |pick| calls::suite_picked(&mut executor, pick));
    }

    /// Channel-flow graphs on cores and GPUs.
    fn flow(&mut self, machine: &Machine) {
        let threads = machine.cpu.threads();
        let name = format!("channel-flow graphs on {}", machine.cpu.label(threads));
        match FlowCpuExecutor::new(machine, threads, FlowCpuPolicy::default()) {
            Ok(mut executor) => {
                self.cases(&name, &mut |pick| flow::suite_picked(&mut executor, pick));
            }
            Err(error) => self.fails(&name, 1.0, error.to_string()),
        }
        for gpu in &machine.gpus {
            let name = format!("channel-flow graphs on {}", gpu.label());
            let opened = || {
                warpweft::cuda::compiler()?;
                FlowGpuExecutor::new(&gpu.device()?, FlowGpuPolicy::default())
            };
            match opened() {
                Ok(mut executor) => {
                    self.cases(&name, &mut |pick| flow::suite_picked(&mut executor, pick));
                }
                Err(error) => self.skips(&name, 1.0, error.to_string()),
            }
        }
    }

    /// The cases of a suite.
    fn cases(&mut self, name: &str, run: &mut dyn FnMut(&mut Pick<'_>) -> Vec<calls::Case>) {
        let verbose = self.verbose;
        self.budget.run(name, 1.0, &mut self.count, |pick, count| {
            for calls::Case { name, failure } in run(pick) {
                if verbose && failure.is_none() {
                    say(&format!("  passed  {name}"));
                }
                count.one(name, &failure.map_or(Outcome::Passed, Outcome::Failed));
                count.tell(name);
            }
        });
    }

    /// Every kind of kernel: register strips, the five methods of tiles, scans.
    fn wavefront_on(&mut self, name: &str, device: &Device) {
        let small =
            CudaPolicy { rows: 4, columns: 2, chunk: 16, warps: 4, blocks: 1, packed_16x2: false };
        for policy in [None, Some(small)] {
            let shape =
                policy.map_or("of the default shape".into(), |policy| format!("{policy:?}"));
            let name = format!("{name} by register strips {shape}");
            let keeps: &[Keep] = if policy.is_none() { &SOME } else { &KEEPS };
            self.executor(&name, CudaExecutor::new(device, policy), keeps);
        }
        for method in Method::ALL {
            let policy = TilePolicy { method, height: 64, width: 64, blocks: 2 };
            let name = format!("{name} by tiles, {method:?}");
            self.executor(&name, TileExecutor::new(device, Some(policy)), &SOME);
        }
        let name = format!("{name} by scans");
        self.executor(&name, ScanExecutor::new(device, None), &[Keep::Matrix]);
    }

    fn executor<X: Runs>(&mut self, name: &str, executor: Result<X>, keeps: &[Keep]) {
        match executor {
            Ok(mut executor) => self.elements(name, &mut executor, keeps),
            Err(error) => self.skips(name, 1.0, error.to_string()),
        }
    }

    /// Counts each element's cases; one that differs ends its element.
    fn elements(&mut self, name: &str, executor: &mut dyn Runs, keeps: &[Keep]) {
        let verbose = self.verbose;
        self.budget.run(name, 1.0, &mut self.count, |pick, count| {
            for (name, result) in suite_picked(executor, keeps, pick) {
                match result {
                    waves::Outcome::Passed(cases) => passed(name, cases, verbose, count),
                    waves::Outcome::Failed(why) => count.one(name, &Outcome::Failed(why)),
                    // Once, when its cases are counted.
                    waves::Outcome::Skipped(what) if pick.counts() => {
                        let why = format!("the executor runs no {what}");
                        count.one(name, &Outcome::Skipped(why));
                    }
                    waves::Outcome::Skipped(_) => {}
                }
            }
        });
    }

    fn suite(&mut self, name: &str, subject: &impl Subject) {
        let verbose = self.verbose;
        self.budget.run(name, STENCIL, &mut self.count, |pick, count| {
            let mut heard = |Case { name, outcome }: &Case| {
                if verbose && *outcome == Outcome::Passed {
                    say(&format!("  passed  {name}"));
                }
                count.one(name, outcome);
                count.tell(name);
            };
            conformance_picked(subject, pick, &mut heard);
            if let Err(error) = apps::conformance_picked(subject, pick, &mut heard) {
                count.one("applications", &Outcome::Failed(error.to_string()));
            }
        });
    }

    /// A suite that can't be run here.
    fn skips(&mut self, name: &str, weight: f64, why: String) {
        self.budget.skip(weight);
        self.count.one(name, &Outcome::Skipped(why));
    }

    /// A suite that should run here and does not.
    fn fails(&mut self, name: &str, weight: f64, why: String) {
        self.budget.skip(weight);
        self.count.one(name, &Outcome::Failed(why));
    }
}

/// Counts so many cases of one kind that passed.
fn passed(name: &str, cases: usize, verbose: bool, count: &mut Count) {
    if cases == 0 {
        return;
    }
    count.passed += cases;
    count.tell(name);
    if verbose {
        say(&format!("  passed  {name}: {cases} cases"));
    }
}
