//! A channel-flow graph on whatever the machine has. Not here: how it runs there (`cpu`, `cuda`).

use std::convert::Infallible;

use super::cpu::FlowCpuExecutor;
use super::cuda::FlowGpuExecutor;
use super::graph::FlowGraph;
use super::policy::{FlowCpuPolicy, FlowGpuPolicy, FlowPolicy};
use super::results::Results;
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::report::Report;
use warpweft_core::run::{Auto, Devices, Pattern, Suits, Watch};

/// How to run a graph, where the defaults will not do: [`warpweft_core::run::Run`] of graphs. They run on one device and
/// in one process; there is no checkpoint.
pub type Run<'a> = warpweft_core::run::Run<'a, FlowPattern>;

/// Channel-flow graphs, to [`Run`].
#[derive(Clone, Copy, Debug)]
pub enum FlowPattern {}

impl Pattern for FlowPattern {
    type Policy = FlowPolicy;
    type Checkpoint = Infallible;
    type Settings<'a> = ();
    const AUTO: Auto = Auto::FirstGpu;
    fn suits(policy: &FlowPolicy) -> Suits {
        match policy {
            FlowPolicy::Cpu(_) => Suits::Cores,
            FlowPolicy::Gpu(_) => Suits::Gpus,
        }
    }
}

impl FlowGraph {
    /// Consumes all items, those that kernels emit included.
    ///
    /// # Errors
    /// As [`FlowGraph::run_with`].
    pub fn run(&self, machine: &Machine) -> Result<(Results, Report)> {
        self.run_with(machine, &Run::default())
    }

    /// The same, run as `run` says.
    ///
    /// An interrupt or a deadline ends a run with [`Error::Interrupted`]: nothing is kept. Progress is reported in items
    /// that the host put into channels.
    ///
    /// # Errors
    /// As [`FlowGraph::check`]; more items than a kernel declares; items deeper than the levels; what a kernel panics
    /// for; channels in which nothing can fire; several devices or ranks; [`Error::Interrupted`].
    pub fn run_with(&self, machine: &Machine, run: &Run<'_>) -> Result<(Results, Report)> {
        if run.others().is_some() {
            let help = "run it in one process: graphs run on one device so far";
            return Err(Error::spec("a channel-flow graph over ranks", help));
        }
        let devices = run.devices(machine)?;
        let first: usize = self.channels.iter().map(|channel| channel.first.len()).sum();
        let mut watch = run.watch(first as u64, "first items");
        watch.check()?;
        let (results, mut report, notes) = match self.on(machine, &devices, run, &watch) {
            Ok((results, report)) => (results, report, devices.notes),
            Err(error) => {
                let devices = devices.instead(error, machine, run)?;
                // It begins anew.
                watch = run.watch(first as u64, "first items");
                let (results, report) = self.on(machine, &devices, run, &watch)?;
                (results, report, devices.notes)
            }
        };
        watch.ended()?;
        report.notes.extend(notes);
        Ok((results, report))
    }

    fn on(
        &self,
        machine: &Machine,
        devices: &Devices<'_>,
        run: &Run<'_>,
        watch: &Watch<'_>,
    ) -> Result<(Results, Report)> {
        let trace = run.trace.as_deref();
        match (devices.threads, &devices.gpus[..], run.policy) {
            (Some(threads), [], policy) => {
                let policy = match policy {
                    Some(FlowPolicy::Cpu(policy)) => policy,
                    _ => FlowCpuPolicy::default(),
                };
                FlowCpuExecutor::new(machine, threads, policy)?.run_watched(self, watch, trace)
            }
            (None, [gpu], policy) => {
                let policy = match policy {
                    Some(FlowPolicy::Gpu(policy)) => policy,
                    _ => FlowGpuPolicy::default(),
                };
                FlowGpuExecutor::new(&gpu.device()?, policy)?.run_watched(self, watch, trace)
            }
            _ => {
                let help = "name the cores or one GPU: graphs run on one device so far";
                Err(Error::spec(format!("a channel-flow graph on {}", run.target), help))
            }
        }
    }
}
