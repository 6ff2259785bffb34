//! A stencil over ranks of this process, from spec to report: what a user calls.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::checkpoint::Opened;
use crate::drive::cut::distribution::Distribution;
use crate::drive::depth::search::Search;
use crate::drive::devices::alone::of_cores;
use crate::drive::rank_report::RankReport;
use crate::drive::ranks::count::{DEADLINE, Ranks};
use crate::drive::ranks::network::Asked;
use crate::drive::ranks::several::One;
use crate::drive::start::Start;
use crate::drive::task::{Task, on_cores, store_all};
use crate::drive::{deepest_feasible, fewest_dependences};
use crate::exchange::{Route, Routes};
use crate::model::Prediction;
use crate::model::ghost::{GhostModel, Kernel, Linear, Overlap, Staging};
use crate::plan::halo::footprints;
use crate::plan::partition::Partition;
use crate::policy::{CpuPolicy, Policy};
use crate::run::Run;
use crate::spec::{Spec, Steps};
use warpweft_core::cluster::{Launched, in_process};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, across};
use warpweft_core::machine::Machine;
use warpweft_core::report::{Quantity, Report, counted};
use warpweft_core::run::Target;

/// `grid`, if it has as many axes as the volume.
///
/// # Errors
/// It has another number of axes.
fn of_axes(grid: Axes<usize>, axes: usize) -> Result<Axes<usize>> {
    if grid.rank() == axes {
        return Ok(grid);
    }
    Err(Error::spec(
        format!("ranks on a grid of {} for a volume of {axes} axes", across(&grid)),
        "name a number of subdomains for each axis",
    ))
}

/// Ranks of one process: each is a thread with workers of its own, and few hosts have as many cores. Setting
/// up 1000 on two cores took 14 s.
const MOST: usize = 256;
/// Deepest zone a search may ask for.
pub(crate) const DEEPEST: usize = 16;
/// Time blocks between two halo exchanges at most, if these are more steps.
const BLOCKS: usize = 4;
/// Before anything is measured: a core's cells a second, and a swap between two threads.
pub(crate) const CELLS_A_SECOND: f64 = 1e9;
pub(crate) const SWAP: Linear = Linear { per_unit: 2e-10, fixed: 2e-5 };

impl Spec {
    /// Advances `volume` by `steps` steps on ranks of this process, each with cores of its own while
    /// there are enough, or on the GPUs that `run` names, which they take in turn: the bits of [`Spec::run_with`].
    ///
    /// # Errors
    /// As [`Spec::run_with`]; more than 256 ranks; cores and a GPU together; a grid of another number of parts; parts too
    /// small for the depth, with the deepest that fits. `volume` is then as it was.
    pub(crate) fn run_over_threads(
        &self,
        volume: &mut RawVolume,
        Steps(steps): Steps,
        machine: &Machine,
        ranks: &Ranks,
        run: &Run<'_>,
    ) -> Result<Report> {
        let begin = Instant::now();
        if ranks.count > MOST {
            return Err(Error::spec(
                format!("{} ranks in one process", ranks.count),
                format!("use {MOST} or fewer: one per core is best"),
            ));
        }
        if matches!(run.target, Target::AnyGpu | Target::Gpu(_) | Target::Gpus(_) | Target::AllGpus)
        {
            return self.run_over_gpus(volume, Steps(steps), machine, ranks, run);
        }
        let mut distribution = self.distribution(volume.extents(), ranks)?;
        let (bandwidth, disturbed) = of_cores(machine);
        distribution.begin_at(bandwidth.map(|all| all / ranks.count as f64), self.step_bytes());
        let (policy, cores) = self.cores_for(&distribution.partition, machine, run)?;
        let mut saved = self.open_checkpoint(volume, steps, run)?;
        let most = run.threads.unwrap_or_else(|| machine.cpu.threads());
        let build = on_cores(policy, &cores);
        let probed = Mutex::new(self.recorded_before(saved.as_mut()));
        let outcome = {
            let task = Task {
                stencil: self,
                distribution: &distribution,
                start: Start::of(volume, saved.as_ref().and_then(|saved| saved.from.as_ref())),
                first: saved.as_ref().map(Opened::first).unwrap_or_default(),
                steps,
                build: &build,
                saving: saved.as_ref().map(|saved| &saved.saver),
                trace: run.trace.as_deref(),
                rebalance: None,
                fused_steps: Policy::Cpu(policy).fused_steps(self.rank()),
                halos: Some(Route::Host),
                probed: &probed,
            };
            task.check(volume.extents())?;
            task.watched(run)
        };
        let reports = store_all(volume, &distribution, outcome?)?;
        let cores = cores.iter().map(Vec::len).sum::<usize>().min(most);
        let device = format!("{} ranks on {}", reports.len(), machine.cpu.label(cores));
        let first = saved.as_ref().map_or(0, |saved| saved.first().step);
        let policy = Policy::Cpu(policy);
        let mut report =
            self.reported(&distribution, &reports, first, policy, bandwidth, ranks.depth);
        report.devices = vec![device];
        report.setup_seconds = begin.elapsed().as_secs_f64() - report.seconds;
        report.probes = probed.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.notes.extend(saved.map(|saved| saved.notes).unwrap_or_default());
        report.notes.extend(disturbed);
        Ok(report)
    }

    /// As [`Spec::run_over_threads`], on GPUs.
    fn run_over_gpus(
        &self,
        volume: &mut RawVolume,
        steps: Steps,
        machine: &Machine,
        ranks: &Ranks,
        run: &Run<'_>,
    ) -> Result<Report> {
        let begin = Instant::now();
        let found = {
            let asked = Asked { volume, hash: None, steps, machine, ranks };
            let all = |one: &One<'_>| in_process(ranks.count, DEADLINE, one);
            self.by_threads(&asked, run, ranks.count.max(1), all)?
        };
        let mut report = self.stored(volume, 0, found, |_| Ok(()))?;
        report.setup_seconds = begin.elapsed().as_secs_f64() - report.seconds;
        Ok(report)
    }

    /// What all ranks did, after the steps up to `first` that an earlier run did, next to the bytes a second
    /// that the memories of all of them move, if that is known. Devices, set-up and further notes are left
    /// to be filled in.
    pub(crate) fn reported(
        &self,
        distribution: &Distribution,
        reports: &[RankReport],
        first: u64,
        policy: Policy,
        bandwidth: Option<f64>,
        asked: Option<usize>,
    ) -> Report {
        let of_rank_0 = reports.first().copied().unwrap_or_default();
        let cells: usize = distribution.partition.extents().iter().product();
        let seconds = reports.iter().map(|report| report.seconds).fold(0.0, f64::max);
        let total = |value: fn(&RankReport) -> u64| reports.iter().map(value).sum::<u64>();
        let waiting: f64 = reports.iter().map(|report| report.waiting).sum();
        let steps = of_rank_0.steps - first;
        let rate = cells as f64 * steps as f64 / seconds.max(1e-9);
        let passes = of_rank_0.passes;
        let Prediction { bytes, bound, .. } = self.predict(cells, steps, passes, bandwidth, None);
        let mut notes: Vec<_> = Launched::unjoined().into_iter().collect();
        if bound.is_none() {
            notes.push("no roofline: memory bandwidth has not been measured on the hosts of all ranks; run `warpweft info --probe` there".into());
        }
        notes.extend(self.notes_of_ranks(reports, (first, seconds), asked));
        let routes =
            reports.iter().fold(Routes::default(), |all, report| all.joined(report.routes));
        let policy = serde_json::json!({
            "ranks": reports.len(),
            "grid": distribution.partition.parts_per_axis().to_vec(),
            "depth": of_rank_0.depth,
            "searched": distribution.search.is_some(),
            "halo_exchanges": of_rank_0.swaps,
            "overlapped_exchanges": reports.iter().map(|report| report.ahead).min().unwrap_or(0),
            "messages": total(|report| report.messages),
            "halo_bytes": total(|report| report.bytes),
            "halos_by": routes.to_string(),
            "waiting": waiting / (seconds * reports.len() as f64).max(1e-9),
            "rank": policy,
            "fused_from": of_rank_0.fused_from,
        });
        Report {
            pattern: "stencil",
            devices: Vec::new(),
            seconds,
            setup_seconds: 0.0,
            rate: Quantity { value: rate, unit: "cells/s" },
            bytes,
            roofline: bound.map(|value| Quantity { value, unit: "cells/s" }),
            roofline_fraction: bound.map(|bound| rate / bound),
            temporal_depth: (passes > 0).then(|| steps as f64 / passes as f64),
            predicted_seconds: None,
            policy,
            done: of_rank_0.steps,
            first,
            interrupted: of_rank_0.interrupted,
            residual: of_rank_0.residual,
            tolerance: self.until.map(|until| until.tolerance),
            probes: Vec::new(),
            notes,
        }
    }

    /// What the user should know of a run that took `seconds` after `first` steps: of its ghost zones, if `asked` for
    /// a depth, of its residuals, and of its sources and probes.
    fn notes_of_ranks(
        &self,
        reports: &[RankReport],
        (first, seconds): (u64, f64),
        asked: Option<usize>,
    ) -> Vec<String> {
        let of_rank_0 = reports.first().copied().unwrap_or_default();
        let steps = of_rank_0.steps - first;
        let cut_short = asked.and_then(|depth| self.cut_short(depth, &of_rank_0, steps));
        let mut notes: Vec<_> = cut_short.into_iter().collect();
        notes.extend(self.reducing(reports, seconds));
        notes.extend(self.note_of_nan(&of_rank_0));
        if !of_rank_0.interrupted {
            notes.extend(self.points.without_effect(first..of_rank_0.steps));
        }
        notes
    }

    pub(crate) fn distribution(&self, extents: Axes<usize>, ranks: &Ranks) -> Result<Distribution> {
        self.check(extents)?;
        let (stages, boundaries) = (footprints(&self.stages), self.boundaries);
        let product =
            |grid: Axes<usize>| grid.iter().fold(1, |all: usize, &n| all.saturating_mul(n));
        let named = ranks.grid.map(|grid| of_axes(grid, extents.rank())).transpose()?;
        let parts = named.map_or(ranks.count, product);
        if let Some(grid) = named.filter(|grid| grid.contains(&0)) {
            return Err(Error::spec(
                format!("ranks on a grid of {}", across(&grid)),
                "write 1 for axes that are not to be partitioned",
            ));
        }
        if ranks.count == 0 {
            return Err(Error::spec("0 ranks", "use at least 1"));
        }
        if let Some(grid) = named.filter(|_| parts != ranks.count) {
            let shown = across(&grid);
            let counted = |n: usize, what| match n {
                usize::MAX => format!("more {what}s than can be counted"),
                n => counted(n as u64, what),
            };
            let [there, needed] = [ranks.count, parts].map(|n| counted(n, "rank"));
            let whole = counted(parts, "subdomain");
            let start =
                if parts == usize::MAX { String::new() } else { format!("start {needed}, or ") };
            return Err(Error::spec(
                format!("{there}, but the grid {shown} has {whole}, one for each rank"),
                format!("{start}name a grid whose numbers multiply to {}", ranks.count),
            ));
        }
        let grid = match named {
            Some(grid) => grid,
            None => {
                fewest_dependences(extents, ranks.count, &boundaries, &stages, self.cell.fields())?
            }
        };
        let partition = Partition::grid(extents, grid, &boundaries)?;
        let fields = self.cell.len();
        // A residual ends a swap's steps, and a zone that is never used up is computed all the same.
        let useful = self.longest_swap(DEEPEST, None);
        let deepest = deepest_feasible(&partition, &boundaries, &stages, fields, useful).max(1);
        let rates = GhostModel {
            compute: Linear { per_unit: 1.0 / CELLS_A_SECOND, fixed: 0.0 },
            network: SWAP,
            host_link: Linear::default(),
            kernel: Kernel::ShrinkingLaunches,
            staging: Staging::None,
            overlap: Overlap::None,
        };
        let search = (ranks.depth.is_none() && deepest > 1).then_some(Search::Guided(rates));
        let depth = ranks.depth.unwrap_or(deepest);
        Ok(Distribution { partition, depth, search, fused_steps: 1, boundary_first: false })
    }

    /// Lets a search go as deep as some time blocks of the ranks.
    pub(crate) fn deepen(&self, distribution: &mut Distribution) {
        if distribution.search.is_some() && distribution.fused_steps > 1 {
            let useful = self.longest_swap(DEEPEST.max(BLOCKS * distribution.fused_steps), None);
            let (stages, fields) = (footprints(&self.stages), self.cell.len());
            let (partition, boundaries) = (&distribution.partition, &self.boundaries);
            let deepest = deepest_feasible(partition, boundaries, &stages, fields, useful);
            distribution.depth = distribution.depth.max(deepest);
        }
    }

    /// The policy of a rank and each rank's cores.
    fn cores_for(
        &self,
        partition: &Partition,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<(CpuPolicy, Vec<Vec<usize>>)> {
        if let Target::CpuAndGpu(number) = run.target {
            return Err(Error::spec(
                format!(
                    "{} ranks can't run on the cores and GPU {number} together",
                    partition.parts()
                ),
                "run the ranks on the cores or on GPUs, or request no ranks",
            ));
        }
        run.check_threads()?;
        let threads = run.threads.unwrap_or_else(|| machine.cpu.threads());
        let each = (threads / partition.parts()).max(1);
        let mut next = machine.cpu.cores.iter().copied().cycle();
        let cores = (0..partition.parts()).map(|_| next.by_ref().take(each).collect()).collect();
        let policy = self.policy_of_ranks(partition, machine, (each, run.policy))?;
        Ok((policy, cores))
    }

    /// The policy of ranks with so many cores each: the one asked for, or the untuned one for a part.
    ///
    /// # Errors
    /// A policy of GPUs.
    pub(crate) fn policy_of_ranks(
        &self,
        partition: &Partition,
        machine: &Machine,
        (cores, asked): (usize, Option<Policy>),
    ) -> Result<CpuPolicy> {
        let dims = partition.rank();
        match asked {
            None => {
                let region = partition.region(0);
                let part = Axes::from_fn(dims, |d| region.high[d] - region.low[d]);
                Ok(self.default_on_cores(part, machine, cores))
            }
            Some(Policy::Cpu(policy)) => Ok(policy),
            Some(policy) => Err(Error::spec(
                format!("a policy of {} for ranks on the cores", policy.whose()),
                "give the policy of the cores, or none",
            )),
        }
    }
}
