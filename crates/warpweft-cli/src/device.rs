//! From what was asked for to what the machine has.

use std::num::NonZero;

use warpweft::cluster::{Placement, placement};
use warpweft::farm;
use warpweft::machine::{Cpu, Machine};
use warpweft::prelude::*;
use warpweft::report::counted;
use warpweft::stencil::{GpuList, Target};
use warpweft::wavefront::CpuPolicy;
use warpweft::wavefront::traceback::Partition;
use warpweft_apps::align::MEMORY;

use crate::arguments::DeviceChoice;
use crate::output::note;
use crate::world;

/// The device that was asked for.
///
/// # Errors
/// A GPU that is not there, or that can't be used.
pub fn target(choice: DeviceChoice, machine: &Machine) -> Result<Target> {
    let there = |number: usize| machine.gpus.iter().any(|gpu| gpu.ordinal == number);
    match choice {
        DeviceChoice::Auto if machine.gpus.is_empty() => Ok(Target::Cpu),
        DeviceChoice::Auto => Ok(Target::Auto),
        DeviceChoice::Cpu => Ok(Target::Cpu),
        // Not all on the first: a rank takes one of them, in turn.
        DeviceChoice::Gpu(None) if world::net().is_some_and(|net| net.ranks() > 1) => {
            target(DeviceChoice::Gpus(None), machine)
        }
        DeviceChoice::Gpu(None) if there(0) => Ok(Target::Gpu(0)),
        DeviceChoice::Gpu(Some(number)) if there(number) => Ok(Target::Gpu(number)),
        DeviceChoice::CpuAndGpu(number) if there(number) => Ok(Target::CpuAndGpu(number)),
        DeviceChoice::Gpu(_) | DeviceChoice::CpuAndGpu(_) => Err(no_gpu(choice, machine)),
        DeviceChoice::Gpus(Some(list)) if list.numbers().all(there) => Ok(Target::Gpus(list)),
        DeviceChoice::Gpus(Some(_)) => Err(no_gpu(choice, machine)),
        DeviceChoice::Gpus(None) if machine.gpus.is_empty() => Err(no_gpu(choice, machine)),
        DeviceChoice::Gpus(None) => {
            let all: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
            GpuList::new(&all).map(Target::Gpus)
        }
    }
}

/// Where a farm runs; leaves of `machine` the GPUs that it may use, and of those and of the cores this process's own,
/// where `mpirun` started several: GPUs are dealt to the processes of their host.
///
/// # Errors
/// As [`target`]; as [`placement`].
pub fn for_farms(choice: DeviceChoice, machine: &mut Machine) -> Result<farm::Target> {
    let target = of_farms(choice, machine)?;
    if let Some(placement) = own_placement(machine)? {
        machine.cpu.cores = placement.cores;
        let mut number = 0..;
        machine.gpus.retain(|_| {
            number.next().is_some_and(|n: usize| n % placement.local_ranks == placement.local_rank)
        });
    }
    Ok(target)
}

/// This process's place on its host, if there are several.
fn own_placement(machine: &Machine) -> Result<Option<Placement>> {
    let Some(net) = world::net() else { return Ok(None) };
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    placement(net, host.trim(), &machine.cpu.cores).map(Some)
}

fn of_farms(choice: DeviceChoice, machine: &mut Machine) -> Result<farm::Target> {
    Ok(match target(choice, machine)? {
        Target::Cpu => farm::Target::Cpu,
        Target::Auto => farm::Target::Auto,
        Target::Gpu(number) => {
            machine.gpus.retain(|gpu| gpu.ordinal == number);
            farm::Target::Gpus
        }
        Target::CpuAndGpu(number) => {
            machine.gpus.retain(|gpu| gpu.ordinal == number);
            farm::Target::Auto
        }
        Target::Gpus(list) => {
            machine.gpus.retain(|gpu| list.numbers().any(|number| number == gpu.ordinal));
            farm::Target::Gpus
        }
    })
}

/// Leaves of `machine` the GPUs that a wavefront may share, none for the cores; and of those and of the
/// cores this process's own, where `mpirun` started several.
///
/// # Errors
/// As [`target`]; as [`placement`].
pub fn for_wavefronts(choice: DeviceChoice, machine: &mut Machine) -> Result<()> {
    match target(choice, machine)? {
        Target::Cpu => machine.gpus.clear(),
        Target::Auto => {}
        Target::Gpu(number) => machine.gpus.retain(|gpu| gpu.ordinal == number),
        Target::CpuAndGpu(_) => {
            let hint = "name the cores or GPUs: a wavefront goes at the pace of its slowest part";
            return Err(Error::spec(format!("--device {choice}"), hint));
        }
        Target::Gpus(list) => {
            let all = std::mem::take(&mut machine.gpus);
            let numbered = |number| all.iter().find(|gpu| gpu.ordinal == number).cloned();
            machine.gpus = list.numbers().filter_map(numbered).collect();
        }
    }
    let Some(placement) = own_placement(machine)? else { return Ok(()) };
    machine.cpu.cores = placement.cores;
    if !machine.gpus.is_empty() {
        let own = machine.gpus.swap_remove(placement.local_rank % machine.gpus.len());
        machine.gpus = vec![own];
    }
    Ok(())
}

/// Workers on the cores for a wavefront of `rows` rows: as many as were asked for, but none that neither has
/// a core nor tile-rows to compute.
pub fn workers(asked: Option<NonZero<usize>>, cpu: &Cpu, rows: usize) -> usize {
    note_crowd(asked, cpu);
    let cores = cpu.threads();
    let Some(asked) = asked.map(NonZero::get) else { return cores };
    let tiles = rows.div_ceil(CpuPolicy::for_domain(rows, asked).tile_rows);
    asked.min(tiles.max(cores))
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

fn no_gpu(choice: DeviceChoice, machine: &Machine) -> Error {
    // The machine's notes say what keeps a GPU from being used, and where it was found out.
    let why = machine.notes.iter().find_map(|what| what.strip_prefix("no GPU: "));
    let why = why.map(|why| why.split_once(" on this machine: ").map_or(why, |(_, why)| why));
    Error::Device {
        stage: format!("--device {choice}"),
        device: "this machine".into(),
        what: match (machine.gpus.len(), why) {
            (0, Some(why)) => format!("no GPU can be used ({why})"),
            (0, None) => "no GPU can be used".into(),
            (n, _) => format!("the GPUs are gpu:0 to gpu:{}", n - 1),
        },
        hint: "run with --device cpu, or see `warpweft info`".into(),
    }
}

/// Refuses what the machine can't hold, before any of it is filled: `cells` of `bytes` each.
///
/// # Errors
/// There is less memory.
pub fn need_memory<const D: usize>(cells: usize, bytes: u64, machine: &Machine) -> Result<()> {
    let needed = (cells as u64).saturating_mul(bytes);
    let available = machine.cpu.memory.available;
    if needed <= available {
        return Ok(());
    }
    let fits = (available as f64 / bytes as f64).powf(1.0 / D as f64);
    Err(Error::Memory {
        whose: "host".into(),
        needed,
        available,
        hint: format!("choose a --size up to about {}", fits as u64),
    })
}
