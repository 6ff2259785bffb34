//! Calls a second of fork-join tasks: Fibonacci numbers and queens, without cutoff, on the cores and a GPU, there also level by level; on the cores flat
//! loops and sorting too. The paper's experiments are in `figures`.

mod cases;
mod figures;
mod loops;
mod tables;
mod teams;
mod waiting;

use std::num::NonZero;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpweft::channels::cpu::CpuExecutor;
use warpweft::channels::cuda::{CudaExecutor, LevelsExecutor};
use warpweft::channels::{ChannelsExecutor, CpuPolicy, LevelsPolicy, Spawning, StacksPolicy};
use warpweft::machine::{Gpu, Machine};
use warpweft::prelude::*;
use warpweft_apps::{fib, queens, uts};

use self::cases::{CASES, CITED, ENOUGH, answer, gpu_only, t3l, tree};
use self::figures::Figure as Experiment;
use super::record::Record;
use super::stencil::Kind;
use super::{Options, peers};
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say, scaled, time};

/// Trees of calls.
#[derive(clap::Args)]
pub struct Trees {
    /// Only the cores, or only the GPU.
    #[arg(long, value_enum)]
    only: Option<Kind>,
    /// Threads on the cores [default: one per core].
    #[arg(long, value_name = "N", value_parser = warpweft_terminal::arguments::threads)]
    threads: Option<NonZero<usize>>,
    /// One of the paper's experiments on channel-flow graphs instead: 6, 15, 17, 18 or 19.
    #[arg(long, value_enum, value_name = "N")]
    figure: Option<Experiment>,
    /// One of the paper's tables instead, on the first GPU: 4 (lines of code) or 5 (share of time in the scheduler).
    #[arg(long, conflicts_with_all = ["figure", "only"], value_enum, value_name = "N")]
    table: Option<tables::Table>,
    /// Sorts, products of matrices or both by teams of lanes on the first GPU instead [both if not said].
    #[arg(long, conflicts_with_all = ["figure", "only", "table"], value_enum, value_name = "WHAT",
          num_args = 0..=1, default_missing_value = "both")]
    teams: Option<teams::What>,
    #[command(flatten)]
    options: Options,
}

/// One case on one device.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    app: &'static str,
    n: u32,
    device: String,
    calls: u64,
    /// The median, the fastest and the slowest, without making the executor and compiling.
    seconds: f64,
    range: [f64; 2],
    /// Seconds on the host before such a run, which finds the compiled kernel and its memory.
    setup: f64,
    /// On cores: the plain function on one of them, over as many as there are. On a GPU: how long its shared memory
    /// takes to move every call in and out of a stack once, and its value in.
    ideal: f64,
    notes: Vec<String>,
}

impl Figure {
    fn of(
        (app, n): (&'static str, u32),
        device: String,
        report: Report,
        (range, ideal): ([f64; 2], f64),
    ) -> Self {
        let (calls, seconds, setup) = (report.done, report.seconds, report.setup_seconds);
        Self { app, n, device, calls, seconds, range, setup, ideal, notes: report.notes }
    }

    /// Whether the peer does the same on the same kind of device.
    fn beside(&self, peer: &Peer, machine: &Machine) -> bool {
        let on_gpu = machine.gpus.iter().any(|gpu| gpu.label() == self.device);
        peer.app == self.app && peer.n == self.n && peer.cited == on_gpu
    }
}

/// One figure of a peer.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Peer {
    peer: String,
    app: String,
    n: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threads: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<u64>,
    seconds: f64,
    /// Published, not measured here.
    #[serde(default)]
    cited: bool,
    /// Its seconds over those of the figure next to it: of the cores, or of the GPU for what is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times_as_long: Option<f64>,
}

impl Trees {
    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn command(&self) -> String {
        let only = match self.only {
            Some(Kind::Cpu) => " --only cpu",
            Some(Kind::Gpu) => " --only gpu",
            None => "",
        };
        let figure =
            self.figure.map_or_else(String::new, |it| format!(" --figure {}", it.number()));
        let table = self.table.map_or_else(String::new, |it| format!(" --table {}", it.number()));
        let teams = self.teams.map_or_else(String::new, |what| format!(" --teams{}", what.said()));
        let threads = self.threads.map_or_else(String::new, |it| format!(" --threads {it}"));
        let options = self.options.command();
        format!("warpweft bench channels{only}{threads}{figure}{table}{teams}{options}")
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        if let Some(figure) = self.figure {
            return self.experiment(figure, &machine);
        }
        if let Some(table) = self.table {
            return self.table(table, &machine);
        }
        if let Some(what) = self.teams {
            return self.teams(what, &machine);
        }
        let gpu = machine.gpus.first().filter(|_| self.only != Some(Kind::Cpu));
        if gpu.is_none() && self.only != Some(Kind::Cpu) {
            if self.only == Some(Kind::Gpu) {
                let hint = "see `warpweft info`";
                return Err(Error::spec("--only gpu where there is no GPU", hint));
            }
            note("no GPU: its cases are left out");
        }
        let probe = limits(&machine)?;
        let (mut figures, mut found) = (Vec::new(), Vec::new());
        for (app, n) in CASES {
            if self.only != Some(Kind::Gpu) && !gpu_only(app, n) {
                note(&format!("{app} {n} on the cores"));
                let threads = self.on_threads(&machine);
                let executor = CpuExecutor::new(&machine, threads, CpuPolicy::default())?;
                figures.push(self.one(app, n, On::Cores(executor, threads))?);
                if app != "uts" {
                    found.extend(rayon(&self.options, app, n, threads)?);
                }
            }
            if let Some(gpu) = gpu {
                note(&format!("{app} {n} on {}", gpu.label()));
                figures.push(self.one(app, n, on_gpu(app, gpu)?)?);
            }
        }
        if self.only != Some(Kind::Gpu) {
            self.loops(&machine, &mut figures, &mut found)?;
        }
        if gpu.is_some() {
            found.extend(CITED.map(cited));
        }
        for peer in &mut found {
            peer.times_as_long = figures
                .iter()
                .find(|it| it.beside(peer, &machine))
                .map(|it| peer.seconds / it.seconds);
        }
        let threads = self.threads.map_or_else(String::new, |it| format!("-{it}-threads"));
        let name = format!("channels{threads}");
        let record = Record::new(&name, &self.command(), &machine, probe, &figures, &found);
        record.conclude(&self.options, table(&figures, &found, &machine))
    }

    fn on_threads(&self, machine: &Machine) -> usize {
        self.threads.map_or_else(|| machine.cpu.threads(), NonZero::get)
    }

    /// Programs of teams of lanes.
    fn teams(&self, what: teams::What, machine: &Machine) -> Result<String> {
        let probe = limits(machine)?;
        let record = |rows: &[teams::Row]| {
            let probe = probe.clone();
            Record::new("channels-teams", &self.command(), machine, probe, &rows, &[(); 0])
        };
        let so_far = |rows: &[teams::Row]| record(rows).so_far(&self.options);
        let rows = teams::measure(what, machine, self.options.repeats, so_far)?;
        record(&rows).conclude(&self.options, teams::table(&rows))
    }

    /// One of the paper's experiments.
    fn experiment(&self, figure: Experiment, machine: &Machine) -> Result<String> {
        let (rows, title) = figures::measure(figure, machine, (self.only, &self.options))?;
        let (name, probe) = (format!("channels-figure-{}", figure.number()), limits(machine)?);
        let record = Record::new(&name, &self.command(), machine, probe, &rows, &[(); 0]);
        record.conclude(&self.options, figures::table(title, &rows))
    }

    /// One of the paper's tables.
    fn table(&self, table: tables::Table, machine: &Machine) -> Result<String> {
        let rows = tables::measure(table, machine, &self.options)?;
        let (name, probe) = (format!("channels-table-{}", table.number()), limits(machine)?);
        let record = Record::new(&name, &self.command(), machine, probe, &rows, &[(); 0]);
        record.conclude(&self.options, rows.text())
    }

    /// The cases for the cores only.
    fn loops(
        &self,
        machine: &Machine,
        figures: &mut Vec<Figure>,
        found: &mut Vec<Peer>,
    ) -> Result<()> {
        let threads = self.on_threads(machine);
        let leaves = loops::LEAVES.map(|(count, _)| ("leaves", count));
        for (app, n) in leaves.into_iter().chain([("sort", loops::SORTED)]) {
            note(&format!("{app} {n} on the cores"));
            let Measured { reports, ideal } =
                loops::measure((machine, threads), app, n, self.options.repeats)?;
            let (report, range) = median(reports);
            figures.push(Figure::of((app, n), cores(threads), report, (range, ideal)));
            found.extend(rayon(&self.options, app, n, threads)?);
        }
        Ok(())
    }

    fn one(&self, app: &'static str, n: u32, on: On<'_>) -> Result<Figure> {
        match app.trim_end_matches("-levels") {
            "fib" => self.figure(app, n, &fib::channels(n)?, || fib::fib(n), on),
            "uts" => {
                let root = uts::root(tree(n).seed);
                let calls = Channels::of(uts::geometric::call(root, n)).levels(n + 1).children(100);
                self.figure(app, n, &calls, || uts::geometric(root, n), on)
            }
            "uts-t3l" => {
                let uts::Search::Binomial(calls, _) = t3l().search() else {
                    return Err(Error::spec("T3L is no binomial tree", "report this as a bug"));
                };
                self.figure(app, n, &calls, || answer(app, n), on)
            }
            "path-waiting" => {
                let calls = Channels::of(waiting::path::call(n)).levels(n + 1);
                self.figure(app, n, &calls, || answer(app, n), on)
            }
            "fib-waiting" => {
                let calls = Channels::of(waiting::fib::call(n)).levels(n + 1);
                self.figure(app, n, &calls, || fib::plain(n), on)
            }
            "queens-waiting" => {
                let calls = waiting::queens::call(u32::MAX >> (u32::BITS - n), 0, 0, 0);
                let plain = || answer(app, n);
                self.figure(app, n, &Channels::of(calls).levels(n + 1), plain, on)
            }
            _ => {
                let all = u32::MAX >> (u32::BITS - n);
                let plain = || queens::queens(all, 0, 0, 0);
                self.figure(app, n, &queens::channels(n)?, plain, on)
            }
        }
    }

    /// The median of the repeats, each checked; on a GPU after one that pays for the compiled kernel.
    fn figure<C: Spawning<Output = u64>>(
        &self,
        app: &'static str,
        n: u32,
        calls: &Channels<C>,
        plain: impl Fn() -> u64,
        mut on: On<'_>,
    ) -> Result<Figure> {
        let expect = answer(app, n);
        let mut run = || {
            let (values, report) = match &mut on {
                On::Cores(executor, _) => executor.run(calls)?,
                On::Gpu(executor, _) => executor.run(calls)?,
                On::Levels(executor, _) => executor.run(calls)?,
            };
            let found: u64 = values.iter().sum();
            if found != expect {
                let what = format!("{app} {n}: {found} instead of {expect}");
                return Err(Error::spec(what, "report this as a bug"));
            }
            Ok(report)
        };
        let mut reports = vec![run()?];
        while reports.len() <= self.options.repeats as usize
            && reports.iter().map(|report| report.seconds).sum::<f64>() < ENOUGH
        {
            reports.push(run()?);
        }
        let (report, range) = median(reports);
        let (device, ideal) = match &on {
            On::Cores(_, threads) => {
                let begin = Instant::now();
                std::hint::black_box(plain());
                (cores(*threads), begin.elapsed().as_secs_f64() / *threads as f64)
            }
            On::Gpu(_, gpu) | On::Levels(_, gpu) => {
                let bytes = 2 * (4 + size_of::<C>().next_multiple_of(4)) + size_of::<u64>();
                let rate = f64::from(gpu.sms) * 128.0 * gpu.clock;
                (gpu.label(), report.done as f64 * bytes as f64 / rate)
            }
        };
        Ok(Figure::of((app, n), device, report, (range, ideal)))
    }
}

/// The reports of a case, the first of which pays for what is made once; and the seconds that could be hoped for.
struct Measured {
    reports: Vec<Report>,
    ideal: f64,
}

/// The report of the median time without the first, and the least and greatest time.
fn median(mut reports: Vec<Report>) -> (Report, [f64; 2]) {
    if reports.len() > 1 {
        reports.remove(0);
    }
    reports.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let range = [reports[0].seconds, reports[reports.len() - 1].seconds];
    (reports.swap_remove(reports.len() / 2), range)
}

/// Where a case runs.
enum On<'g> {
    Cores(CpuExecutor, usize),
    Gpu(CudaExecutor, &'g Gpu),
    Levels(LevelsExecutor, &'g Gpu),
}

/// By the stacks of lanes, or level by level.
fn on_gpu<'g>(app: &str, gpu: &'g Gpu) -> Result<On<'g>> {
    let device = gpu.device()?;
    Ok(match app.strip_suffix("-levels") {
        Some(_) => On::Levels(LevelsExecutor::new(&device, LevelsPolicy::default())?, gpu),
        None => On::Gpu(CudaExecutor::new(&device, StacksPolicy::default())?, gpu),
    })
}

/// A time that the paper of GTaP gives.
fn cited((app, n, seconds): (&str, u32, f64)) -> Peer {
    Peer {
        peer: "GTaP on a GH200".into(),
        app: app.into(),
        n,
        threads: None,
        value: None,
        seconds,
        cited: true,
        times_as_long: None,
    }
}

fn cores(threads: usize) -> String {
    format!("{threads} threads")
}

/// The same by rayon, where its program is built or cargo builds it.
fn rayon(options: &Options, app: &str, n: u32, threads: usize) -> Result<Vec<Peer>> {
    let folder = options.peers.join("channels_rayon");
    let program = folder.join("target/release/channels_rayon");
    if !program.exists() && !peers::built(&folder) {
        note(&format!("no peer: {} can't be built", folder.display()));
        return Ok(Vec::new());
    }
    let repeats = if n > 13 && app == "queens" { 1 } else { options.repeats };
    let arguments = [app.to_string(), n.to_string(), threads.to_string(), repeats.to_string()];
    let found = peers::run(Command::new(&program).args(arguments), &program)?;
    found.into_iter().map(|peer| checked(peer, answer(app, n), &program)).collect()
}

/// The peer's figure, if it gives what is right.
fn checked(peer: Peer, expect: u64, program: &Path) -> Result<Peer> {
    if peer.value == Some(expect) {
        return Ok(peer);
    }
    let what = match peer.value {
        Some(value) => format!("{} {} gave {value} instead of {expect}", peer.app, peer.n),
        None => format!("{} {} told no `value`", peer.app, peer.n),
    };
    Err(Error::file(program, what, "build the other program again; its figure is wrong"))
}

/// A line a figure, with the peers of its kind of device below it.
fn table(figures: &[Figure], peers: &[Peer], machine: &Machine) -> String {
    let mut text = String::from("Fork-join tasks, without cutoff\n");
    for figure in figures {
        let Figure { app, n, device, calls, seconds, range, setup, ideal, .. } = figure;
        text.push_str(&format!(
            "  {app:<6} {n}  {device:<24} {:>9} ({} to {}), {}calls/s, {:.2} of the ideal {}, set-up {}\n",
            time(*seconds),
            time(range[0]),
            time(range[1]),
            scaled(*calls as f64 / seconds),
            ideal / seconds,
            time(*ideal),
            time(*setup),
        ));
        for peer in peers.iter().filter(|peer| figure.beside(peer, machine)) {
            text.push_str(&format!(
                "             {:<24} {:>9}{}: {:.2} times as long\n",
                peer.peer,
                time(peer.seconds),
                if peer.cited { ", as published" } else { "" },
                peer.times_as_long.unwrap_or(f64::NAN),
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_wrong_or_silent_is_refused() {
        let peer = |value| {
            let text =
                format!(r#"{{"peer": "rayon", "app": "fib", "n": 30, {value} "seconds": 1}}"#);
            let peer: Peer = serde_json::from_str(&text).unwrap();
            checked(peer, answer("fib", 30), "p".as_ref())
        };
        assert_eq!(peer(r#""value": 832040,"#).unwrap().value, Some(832_040));
        let wrong = peer(r#""value": 832041,"#).unwrap_err().to_string();
        assert!(wrong.contains("fib 30 gave 832041 instead of 832040"), "{wrong}");
        assert!(peer("").unwrap_err().to_string().contains("told no `value`"));
        assert_eq!(answer("queens", 8), 92);
    }
}
