//! Table 5: which share of their time warps spend in the user's functions, in the scheduler and without work. Measured by
//! kernels with clocks; the usual ones have none.

use serde::Serialize;
use warpweft::channels::flow::cuda::FlowGpuExecutor;
use warpweft::channels::flow::{FlowGpuPolicy, FlowGraph};
use warpweft::channels::{Policy, Run, Spawning, StacksPolicy, TimeShares};
use warpweft::memory::filled;
use warpweft::prelude::*;
use warpweft::run::Target;
use warpweft_apps::knapsack::Knapsack;
use warpweft_apps::sort_radix::{self, table_words};
use warpweft_apps::strassen::signs_of_rows;
use warpweft_apps::strassen_teams::{multiplied, rows};
use warpweft_apps::{fib, queens, uts};
use warpweft_terminal::output::{note, time};

use super::super::cases::tree;
use super::super::teams::scrambled;
use super::super::{figures, waiting};
use super::{On, repeated};
use crate::bench::Options;

/// One program.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    what: String,
    device: String,
    /// The median without clocks, and with them.
    seconds: f64,
    timed_seconds: f64,
    shares: TimeShares,
}

struct Bench<'b> {
    on: On<'b>,
    options: &'b Options,
}

pub fn measure(on: On<'_>, options: &Options) -> Result<Vec<Row>> {
    let bench = Bench { on, options };
    let n = 16;
    let board = waiting::queens::call(u32::MAX >> (u32::BITS - n), 0, 0, 0);
    let geometric = uts::geometric::call(uts::root(tree(13).seed), 13);
    let (graph, _) = Knapsack::new(100, 1)?.graph();
    Ok(vec![
        bench.calls("fib 40, a sum", &fib::channels(40)?)?,
        bench.calls("queens 16, a sum", &queens::channels(n)?)?,
        bench.calls("UTS T1L, a sum", &Channels::of(geometric))?,
        bench.calls("fib 40, calls wait", &Channels::of(waiting::fib::call(40)))?,
        bench.calls("queens 16, calls wait", &Channels::of(board))?,
        bench.sort(10_000_000)?,
        bench.product(4096, 2048)?,
        bench.graph("fib 34, channels", &figures::fibonacci(34, 16384))?,
        bench.graph("knapsack, channels", &graph)?,
        bench.graph("tasks of about 50 us, a channel", &figures::tasks(1 << 19, 1000))?,
    ])
}

impl Bench<'_> {
    /// The medians of runs without clocks and with them.
    fn row(&self, what: &str, mut run: impl FnMut(bool) -> Result<Report>) -> Result<Row> {
        note(what);
        let mut median = |timed| {
            let mut reports = repeated(self.options, || run(timed))?;
            Ok::<_, Error>(reports.swap_remove(reports.len() / 2))
        };
        let (usual, timed) = (median(false)?, median(true)?);
        let shares = TimeShares::of_report(&timed).ok_or_else(|| {
            Error::spec(format!("{what}: no shares of time were measured"), "report this as a bug")
        })?;
        let (what, device) = (what.into(), self.on.1.label());
        Ok(Row { what, device, seconds: usual.seconds, timed_seconds: timed.seconds, shares })
    }

    fn run(&self, warps: u32, timed: bool) -> Run<'static> {
        let policy = StacksPolicy { warps, timed, ..StacksPolicy::default() };
        let target = Target::Gpu(self.on.1.ordinal);
        Run { target, policy: Some(Policy::Stacks(policy)), ..Run::default() }
    }

    fn calls<C: Spawning>(&self, what: &str, calls: &Channels<C>) -> Result<Row> {
        self.row(what, |timed| Ok(calls.run_with(self.on.0, &self.run(0, timed))?.1))
    }

    fn sort(&self, count: usize) -> Result<Row> {
        let keys: Vec<u32> = filled((0..count).map(|k| scrambled(k as u32)), "sort fewer")?;
        let mut table = vec![0; table_words(count, u32::BITS as usize)];
        self.row("radix sort, teams", |timed| {
            let (mut sorted, mut other) = (keys.clone(), vec![0; count]);
            let run = self.run(0, timed);
            sort_radix::sorted(&mut sorted, &mut other, &mut table, self.on.0, &run)
        })
    }

    fn product(&self, n: usize, leaf: usize) -> Result<Row> {
        let of = |seed| signs_of_rows::<f32>(n, rows(n), seed);
        let (a, b) = (of(1)?, of(2)?);
        self.row("Strassen's product, teams", |timed| {
            Ok(multiplied([&a, &b], leaf, self.on.0, &self.run(16, timed))?.1)
        })
    }

    fn graph(&self, what: &str, graph: &FlowGraph) -> Result<Row> {
        let device = self.on.1.device()?;
        self.row(what, |timed| {
            let policy = FlowGpuPolicy { timed, ..FlowGpuPolicy::default() };
            Ok(FlowGpuExecutor::new(&device, policy)?.run(graph)?.1)
        })
    }
}

pub fn text(rows: &[Row]) -> String {
    let mut text =
        String::from("Table 5: warps' time in functions, in the scheduler and without work\n");
    for Row { what, seconds, timed_seconds, shares, .. } in rows {
        let TimeShares { functions, scheduling, waiting } = shares;
        let [functions, scheduling, waiting] =
            [functions, scheduling, waiting].map(|share| 100.0 * share);
        text.push_str(&format!(
            "  {what:<26} {functions:>5.1} % {scheduling:>5.1} % {waiting:>5.1} %  {} (with clocks {})\n",
            time(*seconds),
            time(*timed_seconds),
        ));
    }
    text
}
