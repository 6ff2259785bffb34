//! A search for the width of a graph's channels, and for how many items a firing takes or how many warps run it. Each candidate
//! runs the graph. Nothing is kept: widths are the program's own numbers.

use serde::Serialize;

use super::graph::FlowGraph;
use super::policy::{FlowCpuPolicy, FlowGpuPolicy, FlowPolicy};
use super::run::Run;
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::run::Tuning;
use warpweft_core::tune::{Axis, Budget, Measured, Repeats, Space, climb, measure};

/// A width and a policy that ran, or why they did not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowTrial {
    /// Given to the function that makes the graph.
    pub width: usize,
    /// How the graph ran.
    pub policy: FlowPolicy,
    /// Seconds: the median of its runs.
    pub seconds: Option<f64>,
    /// Why it did not run.
    pub refused: Option<String>,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTuned {
    /// The best width.
    pub width: usize,
    /// The best policy for it.
    pub policy: FlowPolicy,
    /// The times of its runs, in seconds.
    pub measured: Measured,
    /// Items per second.
    pub rate: f64,
    /// Items per second with the first width and the policy that is used without a search.
    pub untuned: f64,
    /// All candidates, as they were tried.
    pub trials: Vec<FlowTrial>,
    /// Whether the search ended before the budget was used up.
    pub complete: bool,
}

impl FlowGraph {
    /// Searches for the fastest width of channels and the fastest policy, beginning at the first of `widths`. `graph`
    /// makes a graph with channels of the given width; all graphs must consume the same number of items.
    ///
    /// ```
    /// use std::time::Duration;
    /// use warpweft::channels::Tuning;
    /// use warpweft::channels::flow::{FlowGraph, Out, Shared, channel_kernel};
    /// use warpweft::prelude::*;
    ///
    /// #[channel_kernel]
    /// fn fib(n: u32, calls: &mut Out<u32, 2>, result: &Shared<u64>) {
    ///     if n <= 2 {
    ///         result.add(0, 1);
    ///     } else {
    ///         calls.emit(n - 1);
    ///         calls.emit(n - 2);
    ///     }
    /// }
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let graph = |width| {
    ///     let mut graph = FlowGraph::new();
    ///     let calls = graph.channel_stack("calls", width, 16);
    ///     let result = graph.buffer([0u64]);
    ///     graph.connect(calls, fib(calls, result));
    ///     graph.put(calls, [16]);
    ///     Ok(graph)
    /// };
    /// let tuning = Tuning { budget: Duration::from_millis(200), ..Tuning::default() };
    /// let tuned = FlowGraph::tune(&Machine::detect()?, &tuning, &[64, 1024, 16384], graph)?;
    /// assert!([64, 1024, 16384].contains(&tuned.width) && tuned.rate >= tuned.untuned);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`FlowGraph::run_with`] for the first width; no widths; no candidate ran.
    pub fn tune(
        machine: &Machine,
        tuning: &Tuning,
        widths: &[usize],
        graph: impl Fn(usize) -> Result<Self>,
    ) -> Result<FlowTuned> {
        let &Tuning { target, threads, budget, .. } = tuning;
        let Some(&first) = widths.first() else {
            return Err(Error::spec("no widths to try", "name at least one"));
        };
        let run = Run { target, threads, ..Run::default() };
        let on_gpu = !run.devices(machine)?.gpus.is_empty();
        let (axes, start) = axes(on_gpu, widths);
        let mut items = None;
        let mut seconds = |width: usize, policy: FlowPolicy| {
            let run = Run { policy: Some(policy), ..run.clone() };
            let (_, report) = graph(width)?.run_with(machine, &run)?;
            match *items.get_or_insert(report.done) == report.done {
                true => Ok(report.seconds),
                false => {
                    let what = format!("{} items with channels of {width}", report.done);
                    Err(Error::spec(what, "make graphs that consume the same number of items"))
                }
            }
        };
        // What is slow at first, such as compiling, is done then.
        seconds(first, policy(on_gpu, &start))?;
        let (budget, mut trials) = (Budget::of(budget), Vec::new());
        let mut trial = |values: &[usize], best: f64| {
            let (width, policy) = (values[0], policy(on_gpu, values));
            let measured = measure(Repeats::default(), best, budget, || seconds(width, policy));
            let refused = measured.as_ref().err().map(ToString::to_string);
            let seconds = measured.as_ref().ok().map(|measured| measured.median);
            trials.push(FlowTrial { width, policy, seconds, refused });
            // One that does not run is none, and no more.
            Ok(measured.ok())
        };
        let found = climb(&Space::new(axes, |_| true), &start, budget, &mut trial)?;
        let found = found.ok_or_else(|| {
            let why = trials.iter().find_map(|trial| trial.refused.clone()).unwrap_or_default();
            Error::spec(format!("no candidate ran: {why}"), "run the graph without tuning first")
        })?;
        let per_second = |seconds: f64| items.unwrap_or(0) as f64 / seconds.max(1e-9);
        let rate = per_second(found.measured.median);
        Ok(FlowTuned {
            width: found.values[0],
            policy: policy(on_gpu, &found.values),
            measured: found.measured,
            rate,
            untuned: trials.first().and_then(|trial| trial.seconds).map_or(rate, per_second),
            trials,
            complete: found.complete,
        })
    }
}

/// Width first; then the batch on cores, or warps of an SM and whether they keep items. And where the search begins.
fn axes(on_gpu: bool, widths: &[usize]) -> (Vec<Axis>, Vec<usize>) {
    let mut ordered = widths.to_vec();
    ordered.sort_unstable();
    ordered.dedup();
    let width = Axis { name: "width", values: ordered };
    if on_gpu {
        let usual = FlowGpuPolicy::default();
        let warps = Axis { name: "warps", values: vec![4, 8, 16, 24, 32] };
        let private = Axis { name: "private", values: vec![0, 1] };
        return (
            vec![width, warps, private],
            vec![widths[0], usual.warps as usize, usize::from(usual.private)],
        );
    }
    let batch = Axis { name: "batch", values: vec![1, 8, 16, 32, 64, 128, 256, 1024] };
    (vec![width, batch], vec![widths[0], FlowCpuPolicy::default().batch])
}

/// The policy at a place of the axes.
fn policy(on_gpu: bool, values: &[usize]) -> FlowPolicy {
    match on_gpu {
        true => FlowPolicy::Gpu(FlowGpuPolicy {
            warps: values[1] as u32,
            private: values[2] == 1,
            ..FlowGpuPolicy::default()
        }),
        false => FlowPolicy::Cpu(FlowCpuPolicy { batch: values[1] }),
    }
}
