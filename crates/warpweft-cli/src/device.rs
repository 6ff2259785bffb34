//! From the device options to the devices of the machine.

use std::num::NonZero;

use warpweft::cluster::{Placement, placement};
use warpweft::farm::FarmPattern;
use warpweft::machine::{Cpu, Machine};
use warpweft::report::counted;
use warpweft::run::{Devices, Pattern, Run, Target};
use warpweft::wavefront::WavefrontPattern;
use warpweft::wavefront::traceback::Partition;
use warpweft::{Error, Result};
use warpweft_apps::align::MEMORY;

use crate::output::note;
use crate::world;

/// The devices of `machine` that `target` means for a pattern.
///
/// # Errors
/// See [`Run::devices`].
fn devices<P: Pattern>(target: Target, machine: &Machine) -> Result<Devices<'_>> {
    Run::<P> { target, ..Run::default() }.devices(machine)
}

/// This process's part of the machine, and its target in it.
pub struct Place {
    /// The machine, with only the GPUs to run on.
    pub machine: Machine,
    /// The target in this machine.
    pub target: Target,
    /// Number of threads on the cores if this were the only process; `None` if the cores do none of the work.
    pub threads: Option<usize>,
    /// Whether any process runs on GPUs.
    pub on_gpus: bool,
}

/// This process's part of `machine` for `target`. If `mpirun` started several processes, it is some of the
/// cores and of the GPUs. The GPUs of a host are dealt to its processes in turn: with `one`, each process
/// gets one, which it may share; otherwise as many as its turn gives, perhaps none.
///
/// # Errors
/// See [`Run::devices`] and [`placement`].
fn own_part<P: Pattern>(target: Target, machine: Machine, one: bool) -> Result<Place> {
    let asked = match target {
        // With several processes, not all on the first GPU.
        Target::AnyGpu if world::net().is_some() => Target::AllGpus,
        target => target,
    };
    let Devices { threads, gpus, .. } = devices::<P>(asked, &machine)?;
    let gpus: Vec<_> = gpus.into_iter().cloned().collect();
    let on_gpus = !gpus.is_empty();
    let Some(Placement { local_rank, local_ranks, sharers, cores, .. }) = own_placement(&machine)?
    else {
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
    let quota = machine.cpu.quota.map(|quota| quota / sharers as f64);
    let machine = Machine { cpu: Cpu { cores, quota, ..machine.cpu }, gpus, ..machine };
    Ok(Place { machine, target, threads, on_gpus })
}

/// This process's placement on its host, if there are several processes.
fn own_placement(machine: &Machine) -> Result<Option<Placement>> {
    let Some(net) = world::net() else { return Ok(None) };
    placement(net, &machine.cpu.cores).map(Some)
}

/// Where a farm runs.
///
/// # Errors
/// A GPU that does not exist; see [`placement`].
pub fn for_farms(target: Target) -> Result<Place> {
    own_part::<FarmPattern>(target, Machine::detect()?, false)
}

/// Where a wavefront runs.
///
/// # Errors
/// See [`for_farms`].
pub fn for_wavefronts(target: Target) -> Result<Place> {
    own_part::<WavefrontPattern>(target, Machine::detect()?, true)
}

/// The partition for a search of a path over several processes. It is the same in all of them, whatever
/// memory each has, because they divide the table together.
pub fn cut(extents: [usize; 2], cell_bytes: usize) -> Option<Partition> {
    world::net().map(|_| Partition::within(MEMORY, extents, cell_bytes))
}

/// Notes that more threads were requested than run at once.
pub fn note_crowd(asked: Option<NonZero<usize>>, cpu: &Cpu) {
    let (cores, asked) = (cpu.threads(), asked.map_or(0, NonZero::get));
    if asked > cores {
        let there = counted(cores as u64, "core");
        note(&format!("--threads {asked} on {there}: more threads than cores make nothing faster"));
    }
}

/// Refuses a volume of `cells` cells of `bytes` bytes that does not fit into memory, before any of it is
/// filled.
///
/// # Errors
/// There is not enough memory.
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
