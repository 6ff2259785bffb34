//! What a rank computes on: cores of its host, or a GPU.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cpu::CpuSweeps;
use crate::cuda::{CudaSweeps, Kernels, Known};
use crate::drive::cut::distribution::Distribution;
use crate::drive::devices::alone::{gpu, of_cores, probe};
use crate::drive::devices::choice::{Choice, check_for_parts, fitted, fused_steps};
use crate::drive::subdomain::Build;
use crate::executor::SweepExecutor;
use crate::policy::Policy;
use crate::run::Run;
use crate::spec::Spec;
use crate::tune::tuning_cache::on_a_gpu;
use warpweft_core::cluster::{Placement, Transport, broadcast, gather};
use warpweft_core::cpu::Pool;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::Machine;
use warpweft_core::report::counted;
use warpweft_core::run::Target;
use warpweft_core::tune::TuningCache;

/// What a rank computes on.
pub(crate) struct Device<'a> {
    pub(crate) build: Box<Build<'a>>,
    pub(crate) label: String,
    pub(crate) policy: Policy,
    /// Whether tuning found the policy.
    pub(crate) tuned: bool,
    /// Steps fused in one pass over memory that swaps had better leave whole; 1 on the cores, which any number suits.
    pub(crate) fused_steps: usize,
    pub(crate) boundary_first: bool,
    /// Its share of the bytes a second that its memory moves, if that was measured.
    pub(crate) bandwidth: Option<f64>,
    pub(crate) notes: Vec<String>,
    /// Where it is on the bus of its host, if it is a GPU.
    pub(crate) bus: Option<[i32; 3]>,
}

impl Device<'_> {
    /// Counts the other ranks of `host` on the same GPU, if it is one: they share what its memory moves.
    pub(crate) fn share_with(&mut self, net: &dyn Transport, host: &str) -> Result<()> {
        if let Some(shared) = shared_gpus(net, host, self.bus)? {
            self.bandwidth = self.bandwidth.map(|all| all / shared.of_mine as f64);
            self.notes.extend(shared.note());
        }
        Ok(())
    }
}

impl Spec {
    /// What this rank computes on, of what its host has.
    pub(crate) fn device_of<'a>(
        &self,
        distribution: &Distribution,
        machine: &'a Machine,
        placement: &Placement,
        (run, steps): (&Run<'_>, u64),
    ) -> Result<Device<'a>> {
        run.check_threads()?;
        let quota = (machine.cpu.threads() / placement.sharers).max(1);
        let most = run.threads.unwrap_or(quota).min(placement.cores.len().max(1));
        let cores: Vec<usize> = placement.cores.iter().copied().take(most).collect();
        let region = distribution.partition.region(0);
        let part = Axes::from_fn(self.rank(), |d| region.high[d] - region.low[d]);
        let gpus: Vec<usize> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
        if let Some(number) = gpu_of(&gpus, placement, run)? {
            if distribution.partition.parts() > 1 {
                check_for_parts(run.policy)?;
            }
            let free = self.longest_swap(distribution.depth, run.checkpoint.map(|at| at.every));
            let sharers = placement.sharers.max(1);
            return self.device_on_gpu((part, free, steps), machine, (number, sharers), run);
        }
        let partition = &distribution.partition;
        let policy = self.policy_of_ranks(partition, machine, (cores.len(), run.policy))?;
        let label = machine.cpu.label(cores.len());
        let (bandwidth, disturbed) = of_cores(machine);
        let mut notes: Vec<_> = disturbed.into_iter().collect();
        let there = machine.cpu.threads();
        if placement.sharers > there {
            notes.push(format!(
                "{} ranks of this host share {}: further ranks only take turns",
                placement.sharers,
                counted(there as u64, "core")
            ));
        }
        let build = move |stencil: &Spec, volume: &RawVolume, _| {
            let pool = Arc::new(Pool::new(&cores)?);
            let sweeps = CpuSweeps::new(stencil, volume, policy, pool, machine.cpu.simd)?;
            Ok(Box::new(sweeps) as Box<dyn SweepExecutor>)
        };
        Ok(Device {
            build: Box::new(build),
            label,
            policy: Policy::Cpu(policy),
            tuned: false,
            fused_steps: 1,
            boundary_first: false,
            bandwidth: bandwidth.map(|all| all / placement.sharers as f64),
            notes,
            bus: None,
        })
    }

    /// The kernels of a part: as was tuned, or by the model.
    fn kernels_of_part(&self, part: Axes<usize>, choice: &Choice, of_run: &Known) -> Kernels {
        let mut kernels = match choice.tuned {
            true => Kernels::known(self, part, choice.policy, of_run),
            false => Kernels::modelled(self, part, of_run),
        };
        // Nobody measures the launches of parts one by one.
        kernels.fused.truncate(1);
        kernels
    }

    /// GPU `number`, for `steps` steps of parts of about these extents with at most so many between swaps, on a host
    /// with so many ranks.
    fn device_on_gpu<'a>(
        &self,
        (part, free, steps): (Axes<usize>, usize, u64),
        machine: &'a Machine,
        (number, sharers): (usize, usize),
        run: &Run<'_>,
    ) -> Result<Device<'a>> {
        let gpu = gpu(machine, number)?;
        let device = gpu.device()?;
        let bus = device.bus()?;
        let of_run = Known {
            device: (gpu.capability, gpu.sms),
            copy: None,
            cores: machine.cpu.threads() / sharers,
            steps,
            free: free as u64,
            whole: false,
        };
        let (kernels, tuned, note) = match run.policy {
            Some(Policy::Cuda(policy)) => (Kernels::of(&policy), false, None),
            Some(policy) => {
                return Err(Error::spec(
                    format!("the policy is for {}, but the rank runs on one GPU", policy.whose()),
                    "give the policy of one GPU, or none",
                ));
            }
            None => {
                let known = on_a_gpu(&TuningCache::user(), self, part, machine, &gpu.name);
                let choice = Choice::of(self, (part, gpu.capability), known, free);
                (self.kernels_of_part(part, &choice, &of_run), choice.tuned, choice.note)
            }
        };
        let policy = kernels.foremost();
        let named = run.policy.is_some();
        let build = move |stencil: &Spec, volume: &RawVolume, _| {
            let mut kernels = kernels.clone();
            for policy in kernels.fused.iter_mut().filter(|_| !named) {
                *policy = fitted(*policy, part, volume.extents());
            }
            if tuned {
                kernels.single = fitted(kernels.single, part, volume.extents());
            }
            let sweeps = CudaSweeps::with(stencil, volume, &kernels, &device)?;
            Ok(Box::new(sweeps) as Box<dyn SweepExecutor>)
        };
        let bandwidth = probe(machine).and_then(|probe| probe.gpu(number)?.bandwidth());
        Ok(Device {
            build: Box::new(build),
            label: gpu.label(),
            policy: Policy::Cuda(policy),
            tuned,
            fused_steps: fused_steps(&policy),
            boundary_first: true,
            bandwidth,
            notes: note.into_iter().collect(),
            bus: Some(bus),
        })
    }
}

/// The GPU of a rank: as the run says, otherwise ranks of one host take `gpus` in turn.
fn gpu_of(gpus: &[usize], placement: &Placement, run: &Run<'_>) -> Result<Option<usize>> {
    let turn = |of: &[usize]| (!of.is_empty()).then(|| of[placement.local_rank % of.len()]);
    Ok(match run.target {
        Target::Cpu => None,
        Target::Gpu(number) => Some(number),
        Target::Gpus(list) => turn(&list.numbers().collect::<Vec<_>>()),
        Target::CpuAndGpu(number) => {
            return Err(Error::spec(
                format!("a rank can't run on the cores and GPU {number} together"),
                "run one rank per GPU, or a single process on the cores and a GPU",
            ));
        }
        Target::Auto if matches!(run.policy, Some(Policy::Cpu(_))) => None,
        Target::Auto => turn(gpus),
        Target::AnyGpu | Target::AllGpus if gpus.is_empty() => {
            return Err(Error::Device {
                stage: "choosing a device".into(),
                device: "this machine".into(),
                what: "it has 0 GPUs".into(),
                hint: "run on the CPU, or see `warpweft info`".into(),
            });
        }
        Target::AnyGpu | Target::AllGpus => turn(gpus),
    })
}

/// How the ranks of one host share its GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedGpus {
    /// Ranks of the host on GPUs.
    ranks: usize,
    /// Different GPUs that they are on.
    gpus: usize,
    /// Ranks on this rank's GPU.
    pub(crate) of_mine: usize,
}

impl SharedGpus {
    pub(crate) fn note(&self) -> Option<String> {
        let Self { ranks, gpus, .. } = *self;
        let shared = if gpus == 1 { "one GPU".into() } else { format!("{gpus} GPUs") };
        (ranks > gpus)
            .then(|| format!("{ranks} ranks of this host share {shared}: one a GPU is best"))
    }
}

/// That, for ranks that are on GPUs. By their addresses on the bus: a launcher may let every rank see its
/// own GPU alone, which is number 0 for each.
pub(crate) fn shared_gpus(
    net: &dyn Transport,
    host: &str,
    bus: Option<[i32; 3]>,
) -> Result<Option<SharedGpus>> {
    let mine = bus.map_or_else(String::new, |bus| format!("{host}\n{bus:?}"));
    let all = gather(net, mine.clone().into_bytes())?;
    let all = broadcast(net, all.join(&0))?;
    let all = String::from_utf8_lossy(&all);
    let of_host = |who: &&str| who.rsplit_once('\n').is_some_and(|(of, _)| of == host);
    let here: Vec<&str> = all.split('\0').filter(of_host).collect();
    let gpus = here.iter().collect::<BTreeSet<_>>().len();
    let of_mine = here.iter().filter(|gpu| **gpu == mine).count();
    Ok((of_mine > 0).then_some(SharedGpus { ranks: here.len(), gpus, of_mine }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use warpweft_core::cluster::in_process;
    use warpweft_core::run::GpuList;

    #[test]
    fn ranks_of_a_host_take_gpus_in_turn() {
        let of = |target, policy| -> Vec<Option<usize>> {
            let run = Run { target, policy, ..Run::default() };
            let placement = |local_rank| Placement {
                local_rank,
                local_ranks: 5,
                sharers: 1,
                part: 0,
                cores: vec![0],
            };
            (0..5).map(|rank| gpu_of(&[0, 1, 3], &placement(rank), &run).unwrap()).collect()
        };
        assert_eq!(of(Target::Auto, None), [0, 1, 3, 0, 1].map(Some));
        let list = GpuList::new(&[3, 1]).unwrap();
        assert_eq!(of(Target::Gpus(list), None), [3, 1, 3, 1, 3].map(Some));
        assert_eq!(of(Target::Gpu(1), None), [Some(1); 5]);
        assert_eq!(of(Target::Cpu, None), [None; 5]);
        let run = Run { target: Target::CpuAndGpu(0), ..Run::default() };
        let placement =
            Placement { local_rank: 0, local_ranks: 1, sharers: 1, part: 0, cores: vec![0] };
        assert!(gpu_of(&[0], &placement, &run).unwrap_err().to_string().contains("GPU 0 together"));
    }

    #[test]
    fn gpus_that_ranks_share_are_counted_by_their_address_on_the_bus() {
        // What each rank of two hosts is on, though all call it number 0.
        let gpus = [("a", 1), ("a", 2), ("b", 1), ("a", 3), ("b", 1), ("a", 1), ("c", 0)];
        let found = in_process(gpus.len(), Duration::from_secs(60), |net| {
            let (host, bus) = gpus[net.rank()];
            shared_gpus(net, host, (bus > 0).then_some([0, bus, 0]))
        });
        let shared = |ranks, gpus, of_mine| Some(SharedGpus { ranks, gpus, of_mine });
        let (a, b) = (shared(4, 3, 1), shared(2, 1, 2));
        let twice = shared(4, 3, 2);
        assert_eq!(found.unwrap(), [twice, a, b, a, b, twice, None]);
        let note = |shared: Option<SharedGpus>| shared.unwrap().note().unwrap_or_default();
        assert!(note(a).contains("4 ranks of this host share 3 GPUs"));
        assert!(note(b).contains("2 ranks of this host share one GPU"));
        assert_eq!(note(shared(4, 4, 1)), "");
    }
}
