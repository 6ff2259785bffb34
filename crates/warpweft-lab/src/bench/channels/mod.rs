//! Calls a second of fork-join tasks: Fibonacci numbers and queens, without cutoff, on the cores and a GPU, there also level by level; on the cores flat
//! loops and sorting too. The paper's experiments are in `figures`.

mod cases;
mod figures;
mod graphs;
mod loops;
mod rayon;
mod tables;
mod teams;
mod waiting;

use std::num::NonZero;
use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;
use warpweft::channels::cpu::CpuExecutor;
use warpweft::channels::cuda::{CudaExecutor, LevelsExecutor};
use warpweft::channels::{ChannelsExecutor, CpuPolicy, LevelsPolicy, Spawning, StacksPolicy};
use warpweft::machine::{Gpu, Machine};
use warpweft::prelude::*;
use warpweft_apps::{fib, queens, uts};

use self::cases::{CASES, CITED, ENOUGH, answer, fits, gpu_only, t3l, tree};
use self::figures::Figure as Experiment;
use self::rayon::{Peer, cited, rayon};
use super::Options;
use super::record::Record;
use super::stencil::Kind;
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
    /// Random channel-flow graphs on the first GPU instead, so many, each compared with the reference.
    #[arg(long, conflicts_with_all = ["figure", "only", "table", "teams"], value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    graphs: Option<u64>,
    /// The first shape of such graphs; each is another kernel.
    #[arg(long, requires = "graphs", value_name = "N", default_value_t = 1)]
    first_shape: u64,
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
        let graphs = self.graphs.map_or_else(String::new, |count| {
            format!(" --graphs {count} --first-shape {}", self.first_shape)
        });
        let options = self.options.command();
        format!("warpweft bench channels{only}{threads}{figure}{table}{teams}{graphs}{options}")
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
        if let Some(count) = self.graphs {
            return self.graphs(count, &machine);
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
        let threads = self.on_threads(&machine);
        for (app, n) in CASES {
            if self.only != Some(Kind::Gpu) && !gpu_only(app, n) && fits(app, n, threads) {
                note(&format!("{app} {n} on the cores"));
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

    /// Random graphs: a failure is in the record and an error.
    fn graphs(&self, count: u64, machine: &Machine) -> Result<String> {
        let rows = graphs::measure(machine, count, self.first_shape)?;
        let probe = limits(machine)?;
        let record =
            Record::new("channels-graphs", &self.command(), machine, probe, &rows, &[(); 0]);
        let text = record.conclude(&self.options, graphs::table(&rows))?;
        match rows.iter().find_map(|row| row.failure.clone()) {
            Some(failure) => Err(Error::spec(failure, "report this as a bug")),
            None => Ok(text),
        }
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
        let sorts = loops::sorted(threads).iter().map(|&keys| ("sort", keys));
        for (app, n) in leaves.into_iter().chain(sorts) {
            note(&format!("{app} {n} on the cores"));
            let Measured { reports, ideal } =
                loops::measure((machine, threads), app, n, self.options.repeats)?;
            let (report, range) = median(reports);
            figures.push(Figure::of((app, n), cores(threads), report, (range, ideal)));
            found.extend(rayon(&self.options, app, n, threads)?);
            if app == "sort" {
                // rayon's own sort does the same.
                let own = rayon(&self.options, "par_sort", n, threads)?;
                found.extend(own.into_iter().map(|peer| Peer {
                    peer: "rayon's par_sort_unstable".into(),
                    app: app.into(),
                    ..peer
                }));
            }
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

fn cores(threads: usize) -> String {
    format!("{threads} threads")
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
