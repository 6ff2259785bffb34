//! A run on several GPUs of this process: how many of those that were named take part, and their ranks.
//! Not here: how ranks exchange halos (`exchange`, `cuda::peers`).

use serde::{Deserialize, Serialize};

use crate::drive::devices::alone::{gpu, probe};
use crate::drive::ranks::launch::Ranks;
use crate::policy::Policy;
use crate::run::Run;
use crate::spec::{Spec, Steps};
use crate::tuning_cache::{key, label, on_gpus as tuned_on_gpus, usable};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::{Gpu, Machine, Probe};
use warpweft_core::report::Report;
use warpweft_core::run::GpuList;
use warpweft_core::run::Target;
use warpweft_core::tune::TuningCache;

/// What tuning chose for a list of GPUs: how many of them, and the policy of each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Chosen {
    /// The GPUs, in the order of their subdomains.
    pub gpus: GpuList,
    /// How the stencil runs on each.
    pub policy: Policy,
}

/// The GPUs of a run.
struct Team {
    gpus: GpuList,
    policy: Option<Policy>,
    /// Cells a second that tuning measured.
    known_rate: Option<f64>,
    notes: Vec<String>,
}

impl Spec {
    /// Advances `volume` on these GPUs, a rank of this process each, or on fewer where more are predicted, or were
    /// measured, to gain too little.
    ///
    /// # Errors
    /// As [`Spec::run_with`].
    pub(crate) fn run_on_gpus(
        &self,
        volume: &mut RawVolume,
        steps: Steps,
        machine: &Machine,
        gpus: &[&Gpu],
        run: &Run<'_>,
    ) -> Result<Report> {
        let numbers: Vec<_> = gpus.iter().map(|gpu| gpu.ordinal).collect();
        let list = GpuList::new(&numbers)?;
        let Team { gpus, policy, known_rate, notes } =
            self.team(volume.extents(), machine, list, run)?;
        let numbers: Vec<usize> = gpus.numbers().collect();
        let (target, trace) = (Target::Gpus(gpus), run.trace.clone());
        let mut report = match numbers[..] {
            [one] => {
                let run = Run { target: Target::Gpu(one), policy, trace, ..*run };
                self.run_with(volume, steps, machine, &run)?
            }
            _ => {
                let ranks = Ranks { count: numbers.len(), grid: None, depth: None };
                let run = Run { target, policy, trace, ..*run };
                self.run_over_threads(volume, steps, machine, &ranks, &run)?
            }
        };
        if let Some(rate) = known_rate {
            let work = volume.len() as f64 * (report.done - report.first) as f64;
            report.predicted_seconds = Some(work / rate);
        }
        report.notes.extend(notes);
        Ok(report)
    }

    /// Which GPUs of `list` take part, and by which policy.
    fn team(
        &self,
        extents: Axes<usize>,
        machine: &Machine,
        list: GpuList,
        run: &Run<'_>,
    ) -> Result<Team> {
        let of_list = |list: GpuList| {
            list.numbers().map(|number| gpu(machine, number)).collect::<Result<Vec<&Gpu>>>()
        };
        let all = of_list(list)?;
        let mut team = Team { gpus: list, policy: run.policy, known_rate: None, notes: Vec::new() };
        if run.policy.is_some() || all.len() == 1 {
            return Ok(team);
        }
        let (cache, key) = (TuningCache::user(), key(self, extents, machine, &label(&all)));
        let check = |chosen: &Chosen| match chosen.policy {
            // Of a subdomain it is checked once its extents are known.
            Policy::Cuda(policy) if chosen.gpus.numbers().count() == 1 => {
                policy.check(self, extents)
            }
            Policy::Cuda(_) => of_list(chosen.gpus).map(drop),
            Policy::Cpu(_) => Err(Error::spec("a policy of the cores for GPUs", "tune anew")),
        };
        let known = tuned_on_gpus(&cache, &key, self);
        let why = match usable(known, &mut team.notes, check) {
            Some(Chosen { gpus, policy }) => {
                (team.gpus, team.policy) = (gpus, Some(policy));
                team.known_rate = cache.get(&key).map(|entry| entry.rate);
                "which was fastest when tuned"
            }
            None => {
                let bytes = (self.step_bytes() * extents.iter().product::<usize>()) as f64;
                let count = worthwhile(all.len(), bytes, probe(machine).as_ref());
                let first: Vec<usize> = list.numbers().take(count).collect();
                team.gpus = GpuList::new(&first)?;
                "as more are predicted to save little; tuning finds out"
            }
        };
        let (used, all) = (team.gpus.numbers().count(), all.len());
        if used < all {
            team.notes.push(match used {
                1 => format!("one GPU of {all} is used, {why}"),
                _ => format!("{used} GPUs of {all} are used, {why}"),
            });
        }
        Ok(team)
    }
}

/// What is taken for a GPU's copies, an empty launch in a graph and a flag between GPUs where nothing was
/// measured: of the order of an H200's.
const UNMEASURED: [f64; 3] = [3e12, 1e-6, 1.5e-6];
/// More GPUs must be predicted faster by this factor: tuning measures, this guesses.
const WORTH: f64 = 1.25;

/// How many of `all` GPUs an untuned run should take: so many that every further doubling is predicted to
/// pay. A step of n GPUs takes its share of the cells at the rate of memory, a launch, and a flag to the
/// neighbours and one back, which small subdomains hide nothing of.
fn worthwhile(all: usize, step_bytes: f64, probe: Option<&Probe>) -> usize {
    let gpus = || probe.into_iter().flat_map(|probe| &probe.gpus);
    let bandwidth = gpus().filter_map(|gpu| gpu.bandwidth()).reduce(f64::min);
    let launch = gpus().filter_map(|gpu| gpu.graph_launch).reduce(f64::max);
    let hops = probe.into_iter().flat_map(|probe| &probe.pairs).filter_map(|pair| pair.hop);
    let hop = hops.reduce(f64::max).unwrap_or(UNMEASURED[2]);
    let memory = step_bytes / bandwidth.unwrap_or(UNMEASURED[0]);
    let launch = launch.unwrap_or(UNMEASURED[1]);
    let seconds = |count: usize| {
        let exchange = if count > 1 { 2.0 * hop } else { 0.0 };
        memory / count as f64 + launch + exchange
    };
    let counts = (1..=all).filter(|&n| n == all || n.is_power_of_two());
    counts.fold(1, |best, n| if seconds(n) * WORTH < seconds(best) { n } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_volumes_take_one_gpu_and_large_ones_all() {
        // Without measured rates: 128³ cells of eight bytes a step are too few, 256³ are enough.
        let of_cells = |n: usize| worthwhile(4, 8.0 * n.pow(3) as f64, None);
        assert_eq!([64, 128, 256, 512].map(of_cells), [1, 1, 4, 4]);
    }
}
