//! From what was asked for to what the machine has.

use std::num::NonZero;

use warpweft::cluster::{Placement, placement};
use warpweft::farm::FarmPattern;
use warpweft::machine::{Cpu, Machine};
use warpweft::report::counted;
use warpweft::run::{Devices, GpuList, Pattern, Run, Target};
use warpweft::stencil;
use warpweft::wavefront::WavefrontPattern;
use warpweft::wavefront::traceback::Partition;
use warpweft::{Error, Result};
use warpweft_apps::align::MEMORY;

use crate::output::note;
use crate::world;

/// Where a stencil runs.
///
/// # Errors
/// A GPU that is not there, or that can't be used.
pub fn target(asked: Target, machine: &Machine) -> Result<stencil::Target> {
    let several = world::net().is_some_and(|net| net.ranks() > 1);
    // The same check, and the same words, as of all other patterns.
    let devices = devices::<FarmPattern>(asked, machine)?;
    let number = || devices.gpus.first().map_or(0, |gpu| gpu.ordinal);
    Ok(match asked {
        Target::Auto if machine.gpus.is_empty() => stencil::Target::Cpu,
        Target::Auto => stencil::Target::Auto,
        Target::Cpu => stencil::Target::Cpu,
        // Not all on the first: a rank takes one of them, in turn.
        Target::AnyGpu if !several => stencil::Target::Gpu(number()),
        Target::Gpu(number) => stencil::Target::Gpu(number),
        Target::CpuAndGpu(number) => stencil::Target::CpuAndGpu(number),
        Target::Gpus(list) => stencil::Target::Gpus(list),
        Target::AnyGpu | Target::AllGpus => {
            let all: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
            stencil::Target::Gpus(GpuList::new(&all)?)
        }
    })
}

/// What `target` is on `machine` for a pattern.
///
/// # Errors
/// As [`Run::devices`].
fn devices<P: Pattern>(target: Target, machine: &Machine) -> Result<Devices<'_>> {
    Run::<P> { target, ..Run::default() }.devices(machine)
}

/// This process's part of the machine, and where to run in it.
pub struct Place {
    /// With no GPUs but those to run on.
    pub machine: Machine,
    /// Where, in this machine.
    pub target: Target,
    /// Threads on the cores, were this the only process; none where they do none of the work.
    pub threads: Option<usize>,
    /// Whether any process runs on GPUs.
    pub on_gpus: bool,
}

/// What of `machine` is to run for `target`. Where `mpirun` started several processes, that is some of the cores and of
/// the GPUs, which are dealt to the processes of a host in turn: each takes `one`, which it may share, or as many as
/// come to it, perhaps none.
///
/// # Errors
/// As [`Run::devices`]; as [`placement`].
fn own_part<P: Pattern>(target: Target, machine: Machine, one: bool) -> Result<Place> {
    let asked = match target {
        // Not all on the first.
        Target::AnyGpu if world::net().is_some() => Target::AllGpus,
        target => target,
    };
    let Devices { threads, gpus, .. } = devices::<P>(asked, &machine)?;
    let gpus: Vec<_> = gpus.into_iter().cloned().collect();
    let on_gpus = !gpus.is_empty();
    let Some(Placement { local_rank, local_ranks, cores, .. }) = own_placement(&machine)? else {
        let machine = Machine { gpus, ..machine };
        return Ok(Place { machine, target, threads, on_gpus });
    };
    let target = match (threads, on_gpus) {
        (_, false) => Target::Cpu,
        (Some(_), true) if one => target,
        (Some(_), true) => Target::Auto,
        (None, true) => Target::AllGpus,
    };
    let gpus = match (one, gpus.len()) {
        (true, count @ 1..) => vec![gpus[local_rank % count].clone()],
        _ => gpus.into_iter().skip(local_rank).step_by(local_ranks).collect(),
    };
    let machine = Machine { cpu: Cpu { cores, ..machine.cpu }, gpus, ..machine };
    Ok(Place { machine, target, threads, on_gpus })
}

/// This process's place on its host, if there are several.
fn own_placement(machine: &Machine) -> Result<Option<Placement>> {
    let Some(net) = world::net() else { return Ok(None) };
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    placement(net, host.trim(), &machine.cpu.cores).map(Some)
}

/// Where a farm runs.
///
/// # Errors
/// A GPU that is not there; as [`placement`].
pub fn for_farms(target: Target) -> Result<Place> {
    own_part::<FarmPattern>(target, Machine::detect()?, false)
}

/// Where a wavefront runs.
///
/// # Errors
/// As [`for_farms`].
pub fn for_wavefronts(target: Target) -> Result<Place> {
    own_part::<WavefrontPattern>(target, Machine::detect()?, true)
}

/// What a search for a path keeps where there are several processes: alike in all, whatever memory each has,
/// since they cut the domain together.
pub fn cut(extents: [usize; 2], cell_bytes: usize) -> Option<Partition> {
    world::net().map(|_| Partition::within(MEMORY, extents, cell_bytes))
}

/// Tells who asked for more threads than run at once.
pub fn note_crowd(asked: Option<NonZero<usize>>, cpu: &Cpu) {
    let (cores, asked) = (cpu.threads(), asked.map_or(0, NonZero::get));
    if asked > cores {
        let there = counted(cores as u64, "core");
        note(&format!("--threads {asked} for {there}: further threads only take turns"));
    }
}

/// Refuses what the machine can't hold, before any of it is filled: `cells` of `bytes` each.
///
/// # Errors
/// There is less memory.
pub fn need_memory(dims: usize, cells: usize, bytes: u64, machine: &Machine) -> Result<()> {
    let needed = (cells as u64).saturating_mul(bytes);
    let available = machine.cpu.memory.available;
    if needed <= available {
        return Ok(());
    }
    let fits = (available as f64 / bytes as f64).powf(1.0 / dims as f64);
    Err(Error::Memory {
        whose: "host".into(),
        needed,
        available,
        hint: format!("choose a --size up to about {}", fits as u64),
    })
}
