//! A run on several GPUs of this process: how many of those that were named take part, and their ranks.
//! Not here: how ranks exchange halos (`exchange`, `cuda::peers`).

use serde::{Deserialize, Serialize};

use crate::drive::devices::alone::{gpu, probe};
use crate::drive::devices::choice::refusal;
use crate::drive::devices::placement::Placement;
use crate::drive::ranks::count::Ranks;
use crate::policy::{CudaPolicy, Policy};
use crate::run::Run;
use crate::spec::{Spec, Steps};
use crate::tune::tuning_cache::{key, label, on_gpus as tuned_on_gpus, usable};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, across};
use warpweft_core::machine::{Gpu, Machine};
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
                let mut report = self.run_over_threads(volume, steps, machine, &ranks, &run)?;
                if known_rate.is_some() {
                    report.policy["tuned"] = true.into();
                }
                report
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
        let placement = Placement::new(self, extents, &all, probe(machine));
        let placed = GpuList::new(&placement.of(all.len()))?;
        let mut team =
            Team { gpus: placed, policy: run.policy, known_rate: None, notes: Vec::new() };
        if run.policy.is_some() || all.len() == 1 {
            return Ok(team);
        }
        let (cache, key) = (TuningCache::user(), key(self, extents, machine, &label(&all)));
        let check = |chosen: &Chosen| match chosen.policy {
            Policy::Cuda(policy) => {
                let gpus = of_list(chosen.gpus)?;
                self.check_on_each(extents, (gpus.len(), policy), run)
            }
            Policy::Cpu(_) => {
                Err(Error::spec("the tuned policy for GPUs is one for cores", "tune again"))
            }
        };
        let known = tuned_on_gpus(&cache, &key);
        let why = match usable(known, &mut team.notes, check) {
            Some(Chosen { gpus, policy }) => {
                (team.gpus, team.policy) = (gpus, Some(policy));
                team.known_rate = cache.get(&key).map(|entry| entry.rate);
                "which was fastest when tuned"
            }
            None => {
                team.gpus = GpuList::new(&placement.worthwhile())?;
                "because the model predicts that more would be hardly faster; `tune` measures it"
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

    /// Whether so many GPUs can compute a subdomain each by `policy`, which tuning found.
    ///
    /// # Errors
    /// Why they can't.
    fn check_on_each(
        &self,
        extents: Axes<usize>,
        (count, policy): (usize, CudaPolicy),
        run: &Run<'_>,
    ) -> Result<()> {
        if count == 1 {
            return policy.check(self, extents);
        }
        let ranks = Ranks { count, grid: None, depth: None };
        let distribution = self.distribution(extents, &ranks)?;
        let region = distribution.partition.region(0);
        let part = Axes::from_fn(self.rank(), |d| region.high[d] - region.low[d]);
        let free = self.longest_swap(distribution.depth, run.checkpoint.map(|at| at.every));
        match refusal(self, part, &policy, free) {
            Some(why) => Err(Error::spec(
                format!("{policy:?} for subdomains of {}: {why}", across(&part)),
                "tune anew",
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{Near, stencil};
    use crate::{CudaKernel, Stencil};

    #[stencil]
    fn mean(u: Near<f32, 3>) -> f32 {
        let across = u[[0, -1, 0]] + u[[0, 1, 0]] + u[[0, 0, -1]] + u[[0, 0, 1]];
        0.125 * (u[[-1, 0, 0]] + u[[1, 0, 0]] + across)
    }

    #[test]
    fn a_tuned_policy_is_checked_against_the_subdomains_that_it_is_for() {
        let stencil = Stencil::of(mean());
        let extents: Axes<usize> = [4096, 32, 32].into();
        let of = |kernel, temporal_depth| {
            let policy = CudaPolicy::default_for(&stencil, extents, (9, 0));
            let shape = CudaPolicy { cells: [4, 2, 1], warps: 16, prefetch: 2, ..policy };
            CudaPolicy { kernel, temporal_depth, chunk: 16, ..shape }
        };
        let check = |count, policy| {
            let found = stencil.check_on_each(extents, (count, policy), &Run::default());
            found.map_err(|error| error.to_string())
        };
        let direct = of(CudaKernel::Direct, 1);
        assert_eq!([check(1, direct), check(4, direct)], [Ok(()), Ok(())]);
        // Each of 524,288 GPUs has eight cells, two along each axis, which are ghost zones for two steps at most.
        let fused = of(CudaKernel::Temporal, 3);
        assert_eq!(check(4, fused), Ok(()));
        let told = check(524_288, fused).unwrap_err();
        assert!(told.contains("subdomains of 2 x 2 x 2: it takes 3 fused steps"), "{told}");
        let told = check(2, of(CudaKernel::Resident, 2)).unwrap_err();
        assert!(told.contains("persistent kernel can't exchange halos"), "{told}");
        assert!(check(4_194_305, direct).is_err(), "more GPUs than cells");
    }
}
