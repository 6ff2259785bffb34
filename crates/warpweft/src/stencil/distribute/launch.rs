//! A stencil over ranks of this process, from spec to report: what a user calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::super::ghost_model::{GhostModel, Kernel, Linear, Staging};
use super::super::halo::footprints;
use super::super::partition::Partition;
use super::super::policy::{CpuPolicy, Policy};
use super::super::run::{Run, Target};
use super::super::spec::{Stencil, Steps};
use super::rank::{RankReport, Watch};
use super::run::{Distribution, run_watched};
use super::search::Search;
use super::{deepest_feasible, fewest_dependences};
use crate::element::Fields;
use crate::error::{Error, Result, no_thread};
use crate::grid::Volume;
use crate::machine::Machine;
use crate::report::{Quantity, Report};

/// How many ranks, and how they are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks<const D: usize> {
    /// Number of ranks, 1 to 1024.
    pub count: usize,
    /// Parts along each axis; if `None`, what cuts fewest dependences.
    pub grid: Option<[usize; D]>,
    /// Steps between two swaps; if `None`, searched while the run goes on.
    pub depth: Option<usize>,
}

/// Ranks of one process: each is a thread with workers of its own, and hosts have fewer cores.
const MOST: usize = 1024;
/// Deepest zone a search may ask for.
const DEEPEST: usize = 16;
/// A rank that is alive but says nothing for this long is given up.
const DEADLINE: Duration = Duration::from_secs(600);
/// Between two looks at progress and interrupts.
const TICK: Duration = Duration::from_millis(50);
/// Before anything is measured: a core's cells a second, and a swap between two threads.
const CELLS_A_SECOND: f64 = 1e9;
const SWAP: Linear = Linear { per_unit: 2e-10, fixed: 2e-5 };

impl<S: Fields, const D: usize> Stencil<S, D> {
    /// Advances `volume` by `steps` steps on ranks of this process, each with cores of its own while
    /// there are enough: the bits of [`Stencil::run`].
    ///
    /// # Errors
    /// As [`Stencil::run`]; ranks on a GPU; a grid of another number of parts; parts too small for
    /// the depth, with the deepest that fits. `volume` is then as it was.
    pub fn run_over_ranks(
        &self,
        volume: &mut Volume<S, D>,
        Steps(steps): Steps,
        machine: &Machine,
        ranks: &Ranks<D>,
        run: &Run<'_>,
    ) -> Result<Report> {
        let begin = Instant::now();
        let distribution = self.distribution(volume.extents(), ranks)?;
        let (policy, cores) = self.cores_for(&distribution.partition, machine, run)?;
        let most = run.threads.unwrap_or_else(|| machine.cpu.threads());
        let done = AtomicU64::new(0);
        let cells = volume.len();
        let tick = TICK.as_secs_f64() * CELLS_A_SECOND * cores.len() as f64 / cells as f64;
        let (stop, every) = (run.interrupt, (tick as u64).max(1));
        let watch = Watch { done: &done, stop, every, trace: run.trace.as_deref() };
        // A user's progress function stays on the user's thread.
        let outcome = std::thread::scope(|scope| {
            let all = || {
                let (deadline, watch) = (DEADLINE, &watch);
                run_watched(self, volume, steps, &distribution, policy, &cores, deadline, watch)
            };
            let named = std::thread::Builder::new().name("ranks".into());
            let ranks = named.spawn_scoped(scope, all);
            let ranks = ranks.map_err(|error| no_thread("starting ranks", &error))?;
            while !ranks.is_finished() {
                if let Some(progress) = run.progress {
                    progress(done.load(Ordering::Relaxed), steps);
                }
                // Short runs end in less than a tick.
                std::thread::sleep(TICK.min(begin.elapsed() / 8 + Duration::from_micros(50)));
            }
            ranks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let reports = outcome?;
        let first = reports.first().copied().unwrap_or_default();
        let whole = begin.elapsed().as_secs_f64();
        let seconds = reports.iter().map(|report| report.seconds).fold(0.0, f64::max);
        let total = |value: fn(&RankReport) -> u64| reports.iter().map(value).sum::<u64>();
        let policy = serde_json::json!({
            "ranks": reports.len(),
            "grid": distribution.partition.parts_per_axis().to_vec(),
            "depth": first.depth,
            "searched": distribution.search.is_some(),
            "swaps": first.swaps,
            "messages": total(|report| report.messages),
            "halo_bytes": total(|report| report.bytes),
            "waiting": reports.iter().map(|r| r.waiting).sum::<f64>() / (seconds * reports.len() as f64).max(1e-9),
            "rank": Policy::Cpu(policy),
        });
        let bytes = self.predict(cells, first.steps, 1, None, None).bytes;
        Ok(Report {
            pattern: "stencil",
            devices: vec![format!(
                "{} ranks on {}",
                reports.len(),
                machine.cpu.label(cores.iter().map(Vec::len).sum::<usize>().min(most))
            )],
            seconds,
            setup_seconds: whole - seconds,
            rate: Quantity {
                value: cells as f64 * first.steps as f64 / seconds.max(1e-9),
                unit: "cells/s",
            },
            bytes,
            bound: None,
            fraction: None,
            predicted_seconds: None,
            policy,
            done: first.steps,
            interrupted: first.interrupted,
            residual: first.residual,
            probes: Vec::new(),
            notes: Vec::new(),
        })
    }

    fn distribution(&self, extents: [usize; D], ranks: &Ranks<D>) -> Result<Distribution<D>> {
        self.check(extents)?;
        let (stages, boundaries) = (footprints(&self.stages), self.boundaries);
        let product =
            |grid: [usize; D]| grid.iter().fold(1, |all: usize, &n| all.saturating_mul(n));
        let parts = ranks.grid.map_or(ranks.count, product);
        if ranks.count > MOST {
            return Err(Error::spec(
                format!("{} ranks in one process", ranks.count),
                format!("use {MOST} or fewer: one a core is best"),
            ));
        }
        if ranks.count == 0 || parts != ranks.count {
            return Err(Error::spec(
                format!("{} ranks on a grid of {parts} parts", ranks.count),
                "use at least 1 rank, and a grid of as many parts",
            ));
        }
        let grid = match ranks.grid {
            Some(grid) => grid,
            None => fewest_dependences(extents, ranks.count, &boundaries, &stages, S::FIELDS)?,
        };
        let partition = Partition::grid(extents, grid, &boundaries)?;
        let fields = S::FIELDS.len();
        let deepest = deepest_feasible(&partition, &boundaries, &stages, fields, DEEPEST).max(1);
        let rates = GhostModel {
            compute: Linear { per_unit: 1.0 / CELLS_A_SECOND, fixed: 0.0 },
            network: SWAP,
            host_link: Linear::default(),
            kernel: Kernel::Whole,
            staging: Staging::None,
            overlap: false,
        };
        let search = (ranks.depth.is_none() && deepest > 1).then_some(Search::Guided(rates));
        let depth = ranks.depth.unwrap_or(deepest);
        Ok(Distribution { partition, depth, search, boundary_first: false })
    }

    /// The policy of a rank and each rank's cores.
    fn cores_for(
        &self,
        partition: &Partition<D>,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<(CpuPolicy, Vec<Vec<usize>>)> {
        if let Target::Gpu(_) | Target::Gpus(_) = run.target {
            return Err(Error::spec(
                format!("{} ranks of this process on {:?}", partition.parts(), run.target),
                "run them on the cores, or one rank on the GPU",
            ));
        }
        let threads = run.threads.unwrap_or_else(|| machine.cpu.threads());
        let each = (threads / partition.parts()).max(1);
        let mut next = machine.cpu.cores.iter().copied().cycle();
        let cores = (0..partition.parts()).map(|_| next.by_ref().take(each).collect()).collect();
        let policy = match run.policy {
            Some(Policy::Cpu(policy)) => policy,
            Some(policy) => {
                return Err(Error::spec(
                    format!("policy {policy:?} for ranks on the cores"),
                    "give the policy of the cores, or none",
                ));
            }
            None => {
                let region = partition.region(0);
                let part = std::array::from_fn(|d| region.high[d] - region.low[d]);
                self.default_on_cores(part, machine, each)
            }
        };
        Ok((policy, cores))
    }
}
