//! The one place where the device options become a run.

use std::num::NonZero;
use std::sync::Arc;

use warpweft::cluster::broadcast;
use warpweft::grid::{Axes, RawVolume, axis_name};
use warpweft::machine::{Gpu, Machine};
use warpweft::prelude::*;
use warpweft::report::{Report, counted};
use warpweft::stencil::cuda::device_bytes;
use warpweft::stencil::drive::{CompilingKernels, Ranks, a_gpu_each};
use warpweft::stencil::{Checkpoint, CudaPolicy, Policy, Run, Spec, Target};
use warpweft::trace::Trace;
use warpweft::tune::TuningCache;

use super::options::Options;
use crate::arguments::{PolicyChoice, RanksPolicy, as_size};
use crate::device::note_crowd;
use crate::interrupt;
use crate::limits;
use crate::output::note;
use crate::{place, world};

/// A machine that is detected and measured, and the user's options for it.
pub struct Host {
    /// The machine.
    pub machine: Machine,
    target: Target,
    /// Whether the cores do any of the work.
    cores: bool,
    /// The numbers of the GPUs that do.
    gpus: Vec<usize>,
    threads: Option<usize>,
    policy: Option<Policy>,
    ranks: Option<Spread>,
    checkpoint: Option<Checkpoint>,
}

/// The partition of a volume over ranks.
struct Spread {
    count: usize,
    /// Whether the number of ranks is the default, one for each GPU, and not given by the user.
    counted: bool,
    grid: Option<Vec<usize>>,
    depth: Option<usize>,
}

impl Spread {
    /// The ranks of the options and of the policy, which must agree; `None` for one rank.
    fn of(options: &Options) -> Result<Option<Self>> {
        let (asked, depth) = (options.ranks.map(NonZero::get), options.depth.map(NonZero::get));
        let grid = options.rank_grid.as_ref().map(|size| size.0.clone());
        let there = world::net().map(|net| net.ranks());
        if let (Some(asked), Some(there)) = (asked, there)
            && !asked.is_multiple_of(there)
        {
            return Err(Error::spec(
                format!("--ranks {asked} is not a multiple of the {there} processes"),
                format!(
                    "use {there} or a multiple of it, or leave --ranks out: one per GPU, at least one per process"
                ),
            ));
        }
        // A grid implies the number of ranks.
        let parts =
            grid.as_ref().map(|grid| grid.iter().fold(1, |all: usize, n| all.saturating_mul(*n)));
        let count = asked.or(parts).or(there).filter(|&count| count != 1 || there.is_some());
        let policy = match &options.policy {
            Some(PolicyChoice::Ranks(policy)) => policy,
            _ => match (count, depth) {
                (None, Some(depth)) => {
                    return Err(Error::spec(
                        format!("--depth {depth} with one rank, which exchanges no halos"),
                        "leave it out, or give --ranks",
                    ));
                }
                (None, None) => return Ok(None),
                (Some(count), depth) => {
                    let counted = !options.tells_ranks();
                    return Ok(Some(Self { count, counted, grid, depth }));
                }
            },
        };
        let (ranks, RanksPolicy { grid, depth: kept, .. }) = (policy.ranks(), policy);
        if let Some(there) = there.filter(|there| !ranks.is_multiple_of(*there)) {
            return Err(Error::spec(
                format!(
                    "--policy has {}, which {there} processes can't share evenly",
                    counted(ranks as u64, "rank")
                ),
                format!("start {ranks} processes, or change the policy"),
            ));
        }
        agree("--ranks", asked, ranks)?;
        if let Some(asked) = options.rank_grid.as_ref().filter(|asked| asked.0 != *grid) {
            return Err(Error::spec(
                format!("--rank-grid says {}, --policy {}", as_size(&asked.0), as_size(grid)),
                "leave --rank-grid out, or change the policy",
            ));
        }
        agree("--depth", depth, *kept)?;
        Ok(Some(Self {
            count: ranks,
            counted: false,
            grid: Some(grid.clone()),
            depth: Some(*kept),
        }))
    }
}

/// Refuses an option that contradicts the policy.
fn agree(option: &str, asked: Option<usize>, policy: usize) -> Result<()> {
    match asked {
        Some(asked) if asked != policy => Err(Error::spec(
            format!("{option} says {asked}, --policy {policy}"),
            format!("leave {option} out, or change the policy"),
        )),
        _ => Ok(()),
    }
}

/// The number of subdomains along each of `dims` axes.
fn parts_of(dims: usize, grid: &[usize]) -> Result<Axes<usize>> {
    let shown = as_size(grid);
    if grid.contains(&0) {
        let hint = "write 1 for axes that are not partitioned";
        return Err(Error::spec(format!("the rank grid {shown} has an extent of 0"), hint));
    }
    Axes::from_slice(grid).filter(|grid| grid.rank() == dims).ok_or_else(|| {
        let axes: Vec<_> = (0..dims).map(|axis| axis_name(axis, dims)).collect();
        let mut one = vec![1; dims];
        one[0] = grid.iter().fold(1, |all: usize, n| all.saturating_mul(*n));
        let there = if dims == 1 { "1 axis".into() } else { format!("{dims} axes") };
        Error::spec(
            format!("the rank grid {shown} does not fit {there}"),
            format!(
                "name the subdomains along {}, such as {}, with --rank-grid or in the policy",
                axes.join(", "),
                as_size(&one)
            ),
        )
    })
}

/// The policy of the device, or of each rank.
fn of_device(options: &Options) -> Option<Policy> {
    options.policy.as_ref().map(|choice| match choice {
        PolicyChoice::Device(policy) => *policy,
        PolicyChoice::Ranks(policy) => policy.rank,
    })
}

/// A run with a progress display that the user may interrupt.
pub struct Watch<'a> {
    /// Called with the steps done and the total.
    pub progress: &'a dyn Fn(u64, u64),
    /// Where to record a timeline.
    pub trace: Option<Arc<Trace>>,
}

impl Host {
    /// Detects the machine, and measures its limits unless that was done before.
    ///
    /// # Errors
    /// The machine can't be used at all; contradicting options.
    pub fn ready(options: &Options) -> Result<Self> {
        let (mut ranks, policy) = (Spread::of(options)?, of_device(options));
        let machine = Machine::detect()?;
        let target = options.grid.device;
        let devices = Run { target, ..Run::default() }.devices(&machine)?;
        let cores = devices.threads.is_some();
        let gpus: Vec<_> = devices.gpus.iter().map(|gpu| gpu.ordinal).collect();
        if place::speaks() {
            limits(&machine)?;
        }
        // An error of another process would end process 0 while it measures, before it can report the error.
        if let Some(net) = world::net() {
            broadcast(net, Vec::new())?;
            if let Some(spread) = ranks.as_mut().filter(|spread| spread.counted) {
                spread.count =
                    a_gpu_each(net, &machine, &Run { target, policy, ..Run::default() })?;
            }
        }
        if cores {
            note_crowd(options.grid.threads, &machine.cpu);
        }
        if let Some(what) = TuningCache::user().note() {
            note(what);
        }
        Ok(Self {
            machine,
            target,
            cores,
            gpus,
            threads: options.grid.threads.map(Into::into),
            policy,
            ranks,
            checkpoint: options.checkpoint.as_ref().map(|directory| Checkpoint {
                directory: directory.clone(),
                every: options.checkpoint_every.get(),
                resume: options.resume,
            }),
        })
    }

    /// How many times the volume must fit into host memory; with `until`, including the state before a step,
    /// to compute its change.
    pub fn copies(&self, until: bool) -> u64 {
        // A GPU keeps that in its own memory; ranks have it twice.
        let change = match (self.ranks.is_some(), self.gpus.is_empty()) {
            _ if !until => 0,
            (true, _) => 2,
            (false, true) => 1,
            (false, false) => 0,
        };
        let run = match world::net() {
            // Each process has the initial state, and its own part three times.
            Some(net) => 1 + 3u64.div_ceil(net.ranks() as u64),
            // The cores work on two padded copies.
            None if self.gpus.is_empty() || self.ranks.is_some() => 3,
            // The state, the initial state, and twice the cores' part.
            None if self.cores => 4,
            None => 1,
        };
        run + change
    }

    /// Refuses what the requested GPU can't hold, before any of it is filled.
    ///
    /// # Errors
    /// Not enough free memory; a policy that no kernel supports.
    pub fn need_device_memory(&self, stencil: &Spec, extents: Axes<usize>) -> Result<()> {
        // Where the choice is the pattern's, too little memory is a reason for the cores.
        let alone = self.ranks.is_none() && !self.cores && self.target.names_gpus();
        let number = match self.gpus[..] {
            [number] if alone => number,
            _ => return Ok(()),
        };
        let named = |gpu: &&Gpu| gpu.ordinal == number;
        let Some(gpu) = self.machine.gpus.iter().find(named) else { return Ok(()) };
        let policy = match self.policy {
            Some(Policy::Cuda(policy)) => policy,
            _ => CudaPolicy::default_for(stencil, extents, gpu.capability),
        };
        let (needed, available) = (device_bytes(stencil, extents, &policy)?, gpu.memory_free()?);
        if needed <= available {
            return Ok(());
        }
        Err(Error::Memory {
            whose: gpu.label(),
            needed,
            available,
            hint: "choose a smaller --size, or run on the CPU".into(),
        })
    }

    /// Begins to prepare the GPU for [`Host::execute`], while the caller makes the volume.
    pub fn compile_ahead(
        &self,
        stencil: &Spec,
        extents: Axes<usize>,
        steps: u64,
    ) -> Option<CompilingKernels> {
        if self.ranks.is_some() {
            return None;
        }
        let run = Run { target: self.target, policy: self.policy, ..Run::default() };
        stencil.compile_ahead(extents, steps, &self.machine, &run)
    }

    /// Advances `volume` by `steps` steps.
    ///
    /// # Errors
    /// See [`Spec::run_with`].
    pub fn execute(
        &self,
        stencil: &Spec,
        volume: &mut RawVolume,
        steps: u64,
        watched: Option<Watch<'_>>,
    ) -> Result<Report> {
        let mut run = Run {
            target: self.target,
            policy: self.policy,
            threads: self.threads,
            ..Run::default()
        };
        if let Some(watch) = watched {
            run.progress = Some(watch.progress);
            run.trace = watch.trace;
            run.interrupt = Some(interrupt::flag());
            run.checkpoint = self.checkpoint.as_ref();
        }
        if let Some(Spread { count, counted, grid, depth }) = &self.ranks {
            let grid = grid.as_ref().map(|grid| parts_of(volume.rank(), grid)).transpose()?;
            let mut ranks = Ranks { count: *count, grid, depth: *depth };
            if let Some(net) = world::net() {
                if *counted {
                    ranks.count = stencil.ranks_that_fit(volume.extents(), net.ranks(), *count);
                }
                return stencil.run_with(
                    volume,
                    Steps(steps),
                    &self.machine,
                    &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
                );
            }
            return stencil.run_with(
                volume,
                Steps(steps),
                &self.machine,
                &Run { settings: run.settings.over(ranks), ..run.clone() },
            );
        }
        stencil.run_with(volume, Steps(steps), &self.machine, &run)
    }
}
