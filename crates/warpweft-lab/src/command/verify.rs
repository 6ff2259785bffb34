//! `warpweft verify`: every executor against the reference, on the devices present.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use warpweft::Result;
use warpweft::channels::{self, StacksPolicy};
use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::machine::Machine;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::cuda::scan::ScanExecutor;
use warpweft::wavefront::cuda::tiles::TileExecutor;
use warpweft::wavefront::{CpuPolicy, CudaPolicy, Keep, Method, TilePolicy};
use warpweft_lab::conformance::farm;
use warpweft_lab::conformance::stencil::{
    Case, OnCores, OnGpu, OnSubdomains, Outcome, Subject, conformance,
};
use warpweft_lab::conformance::wavefront::{self as waves, KEEPS, Runs, suite, suite_of};

use warpweft_terminal::output::{fail, say};
use warpweft_terminal::progress::Progress;

/// What most kernels are asked for: each is compiled for what it keeps.
const SOME: [Keep; 3] = [Keep::Best, Keep::Matrix, Keep::Sum];

/// Check every executor against the reference, bit for bit.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  warpweft verify            everything, on the cores and on every GPU
  warpweft verify wavefront")]
pub struct Verify {
    /// One pattern only.
    pattern: Option<Pattern>,
    /// Name every case, not only those that failed or were skipped.
    #[arg(long)]
    verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Pattern {
    Stencil,
    Wavefront,
    Farm,
    Channels,
}

/// Where there is no line that says how far it has come, one is printed as often.
const MINUTE: Duration = Duration::from_secs(60);

/// Cases by what came of them.
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
    progress: Progress,
    /// When a line was last printed for those who wait.
    told: Instant,
}

impl Verify {
    /// Runs the suites; the last line is the total.
    pub fn execute(&self) -> ExitCode {
        let machine = match Machine::detect() {
            Ok(machine) => machine,
            Err(error) => return fail(&error),
        };
        let progress = Progress::waiting("verify");
        let told = Instant::now();
        let mut count = Count { passed: 0, failed: 0, skipped: 0, progress, told };
        let wanted = |pattern| self.pattern.is_none_or(|asked| asked == pattern);
        if wanted(Pattern::Stencil) {
            self.stencil(&machine, &mut count);
        }
        if wanted(Pattern::Wavefront) {
            self.wavefront(&machine, &mut count);
        }
        if wanted(Pattern::Farm) {
            self.farm(&machine, &mut count);
        }
        if wanted(Pattern::Channels) {
            self.channels(&machine, &mut count);
        }
        count.progress.clear();
        let said = say(&format!(
            "{} passed, {} failed, {} skipped",
            count.passed, count.failed, count.skipped
        ));
        if count.failed > 0 { ExitCode::FAILURE } else { said }
    }

    fn stencil(&self, machine: &Machine, count: &mut Count) {
        let cores = machine.cpu.label(machine.cpu.threads());
        match OnCores::new(machine) {
            Ok(subject) => self.suite(&format!("stencil on {cores}"), &subject, count),
            Err(error) => count.one("stencil on the cores", &Outcome::Failed(error.to_string())),
        }
        if machine.gpus.is_empty() {
            let why = machine.notes.iter().find(|what| what.starts_with("no GPU"));
            let why = why.map_or("no GPU", String::as_str);
            count.one("stencil on GPUs", &Outcome::Skipped(why.into()));
        }
        for gpu in &machine.gpus {
            let name = format!("stencil on {}", gpu.label());
            // Without the compiler every case would fail for one and the same reason.
            match warpweft::cuda::compiler().and_then(|_| OnGpu::new(gpu)) {
                Ok(subject) => self.suite(&name, &subject, count),
                Err(error) => count.one(&name, &Outcome::Skipped(error.to_string())),
            }
        }
        if !machine.gpus.is_empty() {
            let name = format!("stencil on subdomains of {} GPUs", machine.gpus.len());
            match warpweft::cuda::compiler().and_then(|_| OnSubdomains::on_gpus(machine)) {
                Ok(subject) => self.suite(&name, &subject, count),
                Err(error) => count.one(&name, &Outcome::Skipped(error.to_string())),
            }
        }
    }

    fn wavefront(&self, machine: &Machine, count: &mut Count) {
        let threads = machine.cpu.threads();
        let policy = CpuPolicy { threads, tile_rows: 64, tile_columns: 100, cells_16_bit: true };
        say(&format!("wavefront on {}", machine.cpu.label(policy.threads)));
        let pool = Pool::new(&machine.cpu.cores[..policy.threads]);
        match pool
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|pool| CpuExecutor::new(pool, policy).map_err(|error| error.to_string()))
        {
            Ok(mut executor) => self.elements(suite(&mut executor), count),
            Err(why) => count.one("wavefront on the cores", &Outcome::Failed(why)),
        }
        if machine.gpus.is_empty() {
            count.one("wavefront on GPUs", &Outcome::Skipped("no GPU".into()));
        }
        for gpu in &machine.gpus {
            let name = format!("wavefront on {}", gpu.label());
            match warpweft::cuda::compiler().and_then(|_| gpu.device()) {
                Ok(device) => self.wavefront_on(&name, &device, count),
                Err(error) => count.one(&name, &Outcome::Skipped(error.to_string())),
            }
        }
    }

    fn farm(&self, machine: &Machine, count: &mut Count) {
        let threads = machine.cpu.threads();
        let gpus = machine.gpus.iter().map(|gpu| format!(" and {}", gpu.label()));
        say(&format!("farm on {}{}", machine.cpu.label(threads), gpus.collect::<String>()));
        if machine.gpus.is_empty() {
            count.one("farm on GPUs", &Outcome::Skipped("no GPU".into()));
        }
        for (name, outcome) in farm::suite(machine, threads) {
            match outcome {
                farm::Outcome::Failed(why) => count.one(name, &Outcome::Failed(why)),
                farm::Outcome::Passed(cases) => {
                    count.passed += cases;
                    count.tell(name);
                    if self.verbose {
                        say(&format!("  passed  {name}: {cases} cases"));
                    }
                }
            }
        }
    }

    fn channels(&self, machine: &Machine, count: &mut Count) {
        let threads = machine.cpu.threads();
        for threads in [threads, threads + 1] {
            let name = format!("channels on {}", machine.cpu.label(threads));
            let policy = channels::CpuPolicy::of(threads);
            self.calls(&name, channels::cpu::CpuExecutor::new(machine, policy), count);
        }
        if machine.gpus.is_empty() {
            count.one("channels on GPUs", &Outcome::Skipped("no GPU".into()));
        }
        for gpu in &machine.gpus {
            let usual = StacksPolicy::default();
            for (shape, policy) in
                [("", usual), (", one block", StacksPolicy { blocks: 1, ..usual })]
            {
                let name = format!("channels on {}{shape}", gpu.label());
                let device = warpweft::cuda::compiler().and_then(|_| gpu.device());
                match device {
                    Ok(device) => {
                        self.calls(
                            &name,
                            channels::cuda::CudaExecutor::new(&device, policy),
                            count,
                        );
                    }
                    Err(error) => count.one(&name, &Outcome::Skipped(error.to_string())),
                }
            }
        }
    }

    /// Every function's calls on `executor`.
    fn calls<X: warpweft_lab::conformance::channels::Subject>(
        &self,
        name: &str,
        executor: Result<X>,
        count: &mut Count,
    ) {
        let mut executor = match executor {
            Ok(executor) => executor,
            Err(error) => return count.one(name, &Outcome::Failed(error.to_string())),
        };
        say(name);
        for warpweft_lab::conformance::channels::Case { name, failure } in
            warpweft_lab::conformance::channels::suite(&mut executor)
        {
            if self.verbose && failure.is_none() {
                say(&format!("  passed  {name}"));
            }
            count.one(name, &failure.map_or(Outcome::Passed, Outcome::Failed));
            count.tell(name);
        }
    }

    /// Every kind of kernel: register strips, the five methods of tiles, scans.
    fn wavefront_on(&self, name: &str, device: &Device, count: &mut Count) {
        let small =
            CudaPolicy { rows: 4, columns: 2, chunk: 16, warps: 4, blocks: 1, packed_16x2: false };
        for policy in [None, Some(small)] {
            let shape =
                policy.map_or("of the default shape".into(), |policy| format!("{policy:?}"));
            let name = format!("{name} by register strips {shape}");
            let keeps: &[Keep] = if policy.is_none() { &SOME } else { &KEEPS };
            self.executor(&name, CudaExecutor::new(device, policy), keeps, count);
        }
        for method in Method::ALL {
            let policy = TilePolicy { method, height: 64, width: 64, blocks: 2 };
            let name = format!("{name} by tiles, {method:?}");
            self.executor(&name, TileExecutor::new(device, Some(policy)), &SOME, count);
        }
        let name = format!("{name} by scans");
        self.executor(&name, ScanExecutor::new(device, None), &[Keep::Matrix], count);
    }

    fn executor<X: Runs>(
        &self,
        name: &str,
        executor: Result<X>,
        keeps: &[Keep],
        count: &mut Count,
    ) {
        match executor {
            Ok(mut executor) => {
                say(name);
                self.elements(suite_of(&mut executor, keeps), count);
            }
            Err(error) => count.one(name, &Outcome::Skipped(error.to_string())),
        }
    }

    /// Counts each element's cases; one that differs ends its element.
    fn elements(&self, results: Vec<(&'static str, waves::Outcome)>, count: &mut Count) {
        for (name, result) in results {
            match result {
                waves::Outcome::Passed(cases) => {
                    count.passed += cases;
                    count.tell(name);
                    if self.verbose {
                        say(&format!("  passed  {name}: {cases} cases"));
                    }
                }
                waves::Outcome::Failed(why) => count.one(name, &Outcome::Failed(why)),
                waves::Outcome::Skipped(what) => {
                    count.one(name, &Outcome::Skipped(format!("the executor runs no {what}")));
                }
            }
        }
    }

    fn suite(&self, name: &str, subject: &impl Subject, count: &mut Count) {
        say(name);
        let mut told = |Case { name, outcome }: &Case| {
            if self.verbose && *outcome == Outcome::Passed {
                say(&format!("  passed  {name}"));
            }
            count.one(name, outcome);
            count.tell(name);
        };
        conformance(subject, &mut told);
        if let Err(error) = warpweft_lab::conformance::apps::conformance(subject, &mut told) {
            count.one("applications", &Outcome::Failed(error.to_string()));
        }
    }
}

impl Count {
    /// How far it has come, for those who wait.
    fn tell(&mut self, last: &str) {
        let far = format!("{} passed, the last {last}", self.passed);
        if let (true, Some(line)) = (self.progress.is_hidden(), self.overdue(MINUTE, &far)) {
            say(&line);
        }
        self.progress.tell(far);
    }

    /// A line that says so if none has been printed for so long.
    fn overdue(&mut self, after: Duration, far: &str) -> Option<String> {
        let overdue = self.told.elapsed() >= after;
        overdue.then(|| {
            self.told = Instant::now();
            format!("  so far {far}")
        })
    }

    /// Counts a case and names it unless it passed.
    fn one(&mut self, name: &str, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(why) => {
                self.failed += 1;
                say(&format!("  FAILED  {name}: {why}"));
            }
            Outcome::Skipped(why) => {
                self.skipped += 1;
                say(&format!("  skipped {name}: {why}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_when_it_is_time_and_not_before() {
        let (progress, told) = (Progress::waiting("verify"), Instant::now());
        let mut count = Count { passed: 7, failed: 0, skipped: 0, progress, told };
        assert_eq!(count.overdue(MINUTE, "7 passed"), None);
        assert_eq!(count.overdue(Duration::ZERO, "7 passed").unwrap(), "  so far 7 passed");
        // Its time starts anew.
        assert_eq!(count.overdue(MINUTE, "7 passed"), None);
    }
}
