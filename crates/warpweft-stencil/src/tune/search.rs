//! The search itself: which candidates there are on cores, one GPU and several, compiled ahead and tried.
//! Not here: how one is tried (`trial`).

mod several;
mod trial;

use std::sync::Arc;
use std::time::Duration;

use self::trial::{Ran, Tried};
use super::super::cpu::CpuSweeps;
use super::super::cuda;
use super::super::cuda::{CudaSweeps, Kernels, Known};
use super::super::drive::devices::alone::probe;
use super::super::drive::devices::gpus::Chosen;
use super::super::drive::devices::placement::Placement;
use super::super::policy::{CpuPolicy, CudaKernel, CudaPolicy, Policy};
use super::super::spec::Spec;
use super::ahead::compile_ahead;
use super::{Refused, Trial};
use warpweft_core::cpu::Pool;
use warpweft_core::cuda::{Device, Locked};
use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::{Gpu, Machine};
use warpweft_core::run::GpuList;
use warpweft_core::tune::{Axis, Budget, Found, Measured, Space, climb, exhaustive};

/// Cells along each axis of the volume on which a candidate must agree with the reference.
pub const CHECKED: usize = 24;
/// Cells along y in three dimensions: no tile of fused steps is taller.
const TALLEST: usize = 132;
/// Cells along y and x where cells may be packed: rows of whole words, and no fewer than steps are fused.
const PACKED: [usize; 2] = [67, 192];
/// Time for each kernel that an untuned run tries, even if the budget is spent.
const FAIR: Duration = Duration::from_millis(400);

/// A search under way.
pub(super) struct Search<'a> {
    stencil: &'a Spec,
    volume: &'a RawVolume,
    /// The same stencil on a corner of the volume, for checks.
    corner: RawVolume,
    /// Seconds a step of the first candidate.
    pub untuned: Option<f64>,
    pub refused: Vec<Refused>,
    pub trials: Vec<Trial>,
    /// Whether the last candidate that began to run failed on its device.
    failed: bool,
}

impl<'a> Search<'a> {
    /// Candidates are checked on volumes of `planes` planes or so across each of `axes`.
    pub fn new(
        stencil: &'a Spec,
        volume: &'a RawVolume,
        (planes, axes): (usize, &[usize]),
    ) -> Result<Self> {
        let dims = stencil.rank();
        let radius = stencil.radius();
        let packs = dims == 2 && stencil.packs(1).is_some();
        let extents = Axes::from_fn(dims, |d| {
            let least = radius[d][0].max(radius[d][1]) + 1;
            // Odd, so that tiles and vectors have remainders.
            let cells = if axes.contains(&d) { planes } else { CHECKED };
            let cells = if (dims, d) == (3, 1) { cells.max(TALLEST) } else { cells };
            let cells = match packs {
                true => cells.max(PACKED[d]).next_multiple_of([1, PACKED[1]][d]),
                false => cells + 2 * d + 1,
            };
            cells.max(least).min(volume.extents()[d])
        });
        let corner = volume.cut_out(Axes::filled(dims, 0), extents)?;
        let (refused, trials) = (Vec::new(), Vec::new());
        Ok(Self { stencil, volume, corner, untuned: None, refused, trials, failed: false })
    }

    /// The best policy on `most` threads.
    pub fn on_cores(
        &mut self,
        machine: &Machine,
        most: usize,
        budget: Budget,
    ) -> Result<Option<(Policy, Found)>> {
        let (stencil, extents) = (self.stencil, self.volume.extents());
        let start = stencil.default_on_cores(extents, machine, most);
        start.check()?;
        let pool = Arc::new(Pool::over(&machine.cpu.cores, CpuPolicy::workers(extents, most))?);
        let simd = machine.cpu.simd;
        let make = |policy: CpuPolicy, volume: &RawVolume| {
            CpuSweeps::new(stencil, volume, policy, pool.clone(), simd)
        };
        let space = start.space(stencil, extents);
        let found = climb(&space, &start.values(), budget, &mut |values, best| {
            let policy = CpuPolicy::with_values(values);
            let depth = policy.temporal_depth as u64;
            let ran = self.trial((depth, false), best, budget, |volume, _| make(policy, volume))?;
            Ok(self.ran(Policy::Cpu(policy), 1, ran).map(|ran| ran.measured))
        })?;
        Ok(found.map(|found| (Policy::Cpu(CpuPolicy::with_values(&found.values)), found)))
    }

    /// The best policy on one GPU, whose candidates so many threads compile ahead; one compiles
    /// them as they are tried, within the budget. The kernels that an untuned run tries are measured whatever the
    /// budget, so the result is never slower than that run.
    pub fn on_gpu(
        &mut self,
        gpu: &Gpu,
        budget: Duration,
        threads: usize,
    ) -> Result<Option<(Policy, Found)>> {
        let stencil = self.stencil;
        let device: Device = gpu.device()?;
        let extents = self.volume.extents();
        let known = Known {
            device: (gpu.capability, gpu.sms),
            copy: None,
            cores: threads,
            steps: u64::MAX - 1,
            free: u64::MAX,
            whole: true,
        };
        let mut candidates = Kernels::modelled(stencil, extents, &known).all();
        let first = candidates.len();
        for policy in CudaPolicy::candidates(stencil, extents, known.device) {
            if !candidates.contains(&policy) {
                candidates.push(policy);
            }
        }
        let mut begin = Budget::of(budget);
        let _locked = self.locked(&device)?;
        if threads > 1 {
            let arch = device.arch()?;
            compile_ahead((candidates.len(), first), threads, begin, |n, checked| {
                let mut policy = candidates[n];
                policy.contraction &= !checked;
                let _ = cuda::compile_check(stencil, extents, &policy, &arch);
            });
            begin = Budget::of(budget);
        }
        let axis = Axis { name: "candidate", values: (0..candidates.len()).collect() };
        let space = Space::new(vec![axis], |_| true);
        let found = exhaustive(&space, (begin, first), &mut |values, best| {
            let policy = candidates[values[0]];
            let begin = if values[0] < first { begin.at_least(FAIR) } else { begin };
            let depth = u64::from(policy.temporal_depth);
            let small = policy.kernel == CudaKernel::Resident;
            let ran = self.trial((depth, small), best, begin, |volume, checked| {
                // Contraction changes bits by design, so the check is of the same shape without.
                let contraction = policy.contraction && !checked;
                CudaSweeps::new(stencil, volume, &CudaPolicy { contraction, ..policy }, &device)
            })?;
            Ok(self.note(Policy::Cuda(policy), 1, ran))
        })?;
        Ok(found.map(|found| (Policy::Cuda(candidates[found.values[0]]), found)))
    }

    /// The volume's pages locked for as long as candidates bring it in, if that is much.
    fn locked(&self, device: &Device) -> Result<Locked<'a>> {
        let (volume, fields) = (self.volume, 0..self.stencil.cell.len());
        Locked::of(device, fields.map(|field| volume.field_bytes(field)))
    }

    /// What a candidate's runs came to; else keeps why there were none.
    fn ran(&mut self, policy: Policy, devices: usize, ran: Tried) -> Option<Ran> {
        ran.map_err(|reason| self.refused.push(Refused { policy, devices, reason })).ok()
    }

    /// Keeps a trial, whether it ran or not; what it measured.
    fn note(&mut self, policy: Policy, devices: usize, ran: Tried) -> Option<Measured> {
        let Ran { measured, steps, seconds } = self.ran(policy, devices, ran)?;
        let ran = (steps, seconds);
        self.trials.push(Trial { policy, devices, seconds: measured.median, ran });
        Some(measured)
    }

    /// The best of all numbers of GPUs of `list`, each number with its share of the budget; one GPU
    /// among them, so that several are never taken for being slower. As many as fewer by less than
    /// a hundredth are not taken either: idle ones are free for others.
    pub fn on_gpus(
        &mut self,
        machine: &Machine,
        list: GpuList,
        budget: Duration,
    ) -> Result<Option<(Chosen, Found)>> {
        let gpu = |number| machine.gpus.iter().find(|gpu| gpu.ordinal == number);
        let named: Vec<_> = list.numbers().filter_map(gpu).collect();
        let placement = Placement::new(self.stencil, self.volume.extents(), &named, probe(machine));
        let all = named.len();
        let counts: Vec<usize> = (1..=all).filter(|&n| n == all || n.is_power_of_two()).collect();
        let mut best: Option<(Chosen, Found)> = None;
        let mut tried = 0;
        let mut complete = true;
        for &count in &counts {
            let share = budget / counts.len() as u32;
            let gpus = GpuList::new(&placement.of(count))?;
            let found = match count {
                1 => {
                    let number = gpus.numbers().next().unwrap_or(0);
                    let gpu = machine.gpus.iter().find(|gpu| gpu.ordinal == number);
                    let threads = machine.cpu.threads();
                    gpu.map(|gpu| self.on_gpu(gpu, share, threads)).transpose()?.flatten()
                }
                _ => self.on_so_many(machine, gpus, share)?,
            };
            let Some((policy, found)) = found else { continue };
            tried += found.tried;
            complete &= found.complete;
            let beaten = best.as_ref().map_or(f64::INFINITY, |(_, best)| best.measured.median);
            if found.measured.median < 0.99 * beaten {
                best = Some((Chosen { gpus, policy }, found));
            }
        }
        Ok(best.map(|(chosen, found)| (chosen, Found { tried, complete, ..found })))
    }
}
