//! Candidates on several GPUs, a subdomain each: timed and checked by runs over ranks of this process.

use std::time::Duration;

use super::super::super::cuda;
use super::super::super::drive::{Distribution, Ranks};
use super::super::super::policy::{CudaKernel, CudaPolicy, Policy};
use super::super::super::reference::run_reference;
use super::super::super::run::{Run, Settings};
use super::super::super::spec::{Spec, Steps};
use super::super::ahead::{compile_ahead, fastest_alone_first};
use super::Search;
use super::trial::{Ran, Tried, steps_of_a_run};
use crate::reference::agreement::difference;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::Machine;
use warpweft_core::run::GpuList;
use warpweft_core::run::Target;
use warpweft_core::tune::{Axis, Budget, Found, Repeats, Space, exhaustive, measure};

/// Seconds that a measured run should last: the trials with which it begins are a small part.
const RUN: f64 = 0.1;
/// So many of the policies that are fastest on one GPU are also measured with exchanges half as often.
const DEEPER: usize = 2;

impl Search<'_> {
    /// The best policy on just these GPUs.
    pub(super) fn on_so_many(
        &mut self,
        machine: &Machine,
        gpus: GpuList,
        budget: Duration,
    ) -> Result<Option<(Policy, Found)>> {
        let (stencil, extents) = (self.stencil, self.volume.extents());
        let count = gpus.numbers().count();
        let ranks = Ranks { count, grid: None, depth: None };
        let Ok(distribution) = stencil.distribution(extents, &ranks) else {
            // Fewer cells than so many subdomains need.
            return Ok(None);
        };
        let region = distribution.partition.region(0);
        let subdomain = Axes::from_fn(region.rank(), |d| region.high[d] - region.low[d]);
        let of_list = |number| machine.gpus.iter().find(|gpu| gpu.ordinal == number);
        let Some(gpu) = gpus.numbers().next().and_then(of_list) else { return Ok(None) };
        let mut all = CudaPolicy::candidates(stencil, subdomain, (gpu.capability, gpu.sms));
        // A persistent kernel exchanges no halos while it runs, and packed cells are those of a whole volume.
        let whole = [CudaKernel::Resident, CudaKernel::Packed];
        all.retain(|policy| !whole.contains(&policy.kernel));
        let candidates = fastest_alone_first(all, &self.trials);
        if let Ok(arch) = gpu.device()?.arch() {
            let (threads, begin) = (machine.cpu.threads(), Budget::of(budget));
            compile_ahead((candidates.len(), 0), threads, begin, |n, checked| {
                let mut policy = candidates[n];
                policy.contraction &= !checked;
                let _ = cuda::compile_check(stencil, subdomain, &policy, &arch);
            });
        }
        let measured = self.with_depths(&candidates, &distribution);
        let axis = Axis { name: "candidate", values: (0..measured.len()).collect() };
        let space = Space::new(vec![axis], |_| true);
        let begin = Budget::of(budget);
        let found = exhaustive(&space, (begin, 0), &mut |values, best| {
            let (policy, depth) = measured[values[0]];
            let on = (machine, gpus, Ranks { count, grid: None, depth });
            let ran = self.over_ranks(policy, on, best, begin)?;
            Ok(self.note(Policy::Cuda(policy), count, ran))
        })?;
        Ok(found.map(|found| (Policy::Cuda(measured[found.values[0]].0), found)))
    }

    /// Each policy with steps between two halo exchanges: two time blocks, or one. The first [`DEEPER`] policies
    /// also with four, first of all. A run of a user searches the depth, but a measured one is over before
    /// the search is.
    fn with_depths(
        &self,
        candidates: &[CudaPolicy],
        distribution: &Distribution,
    ) -> Vec<(CudaPolicy, Option<usize>)> {
        let depth_of = |policy: &CudaPolicy, blocks: &[usize]| {
            let fused_steps = policy.temporal_depth as usize;
            let mut deeper = Distribution { fused_steps, ..distribution.clone() };
            self.stencil.deepen(&mut deeper);
            let depths = blocks.iter().map(|blocks| blocks * fused_steps);
            depths.filter(|_| fused_steps > 1).find(|&depth| depth <= deeper.depth)
        };
        let deepest = candidates.iter().take(DEEPER);
        let deepest = deepest.filter_map(|it| Some((*it, Some(depth_of(it, &[4])?))));
        deepest.chain(candidates.iter().map(|it| (*it, depth_of(it, &[2, 1])))).collect()
    }

    /// Measures a candidate on these GPUs, and checks it before it may beat `best`.
    fn over_ranks(
        &mut self,
        policy: CudaPolicy,
        on: (&Machine, GpuList, Ranks),
        best: f64,
        budget: Budget,
    ) -> Result<Tried> {
        let depth = u64::from(policy.temporal_depth.max(1));
        let mut volume = self.volume.clone();
        let (mut all_steps, mut all_seconds) = (0, 0.0);
        let free = Spec { until: None, ..self.stencil.clone() };
        let mut run = |steps: u64| {
            let seconds = advanced(&free, &mut volume, steps, policy, on)?;
            all_steps += steps;
            all_seconds += seconds;
            Ok(seconds / steps as f64)
        };
        let steps = match steps_of_a_run((depth, RUN), false, budget, &mut run) {
            Err(error @ (Error::Spec { .. } | Error::Memory { .. } | Error::Compile { .. })) => {
                return Ok(Err(error.to_string()));
            }
            steps => steps?,
        };
        let measured = measure(Repeats::default(), best, budget, || run(steps))?;
        drop(volume);
        self.untuned.get_or_insert(measured.median);
        if measured.median < best {
            let steps = 2 * depth.min(16) + 1;
            let (mut expect, mut found) = (self.corner.clone(), self.corner.clone());
            run_reference(&free, &mut expect, steps)?;
            // Contraction changes bits by design, so the check is of the same shape without.
            let exact = CudaPolicy { contraction: false, ..policy };
            // The corner may be too small for that depth.
            let (machine, gpus, ranks) = on;
            let on = (machine, gpus, Ranks { depth: None, ..ranks });
            if let Err(error) = advanced(&free, &mut found, steps, exact, on) {
                return Ok(Err(format!("it can't be checked: {error}")));
            }
            if difference(&found, &expect).is_some() {
                return Ok(Err("it does not agree with the reference".into()));
            }
        }
        Ok(Ok(Ran { measured, steps: all_steps, seconds: all_seconds }))
    }
}

/// Advances `volume` over these GPUs; the seconds that the steps took.
fn advanced(
    stencil: &Spec,
    volume: &mut RawVolume,
    steps: u64,
    policy: CudaPolicy,
    (machine, gpus, ranks): (&Machine, GpuList, Ranks),
) -> Result<f64> {
    let policy = Some(Policy::Cuda(policy));
    let settings = Settings::default().over(ranks);
    let run = Run { target: Target::Gpus(gpus), policy, settings, ..Run::default() };
    Ok(stencil.run_with(volume, Steps(steps), machine, &run)?.seconds)
}
