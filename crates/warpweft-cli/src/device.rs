//! From what was asked for to what the machine has.

use warpweft::machine::{Machine, Probe, probe};
use warpweft::prelude::*;
use warpweft::stencil::{GpuList, Target};

use crate::arguments::DeviceChoice;
use crate::output::note;

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
        DeviceChoice::Gpu(number) if there(number) => Ok(Target::Gpu(number)),
        DeviceChoice::Gpu(number) => Err(no_gpu(number, machine)),
        DeviceChoice::Gpus(Some(list)) => match list.numbers().find(|&number| !there(number)) {
            Some(missing) => Err(no_gpu(missing, machine)),
            None => Ok(Target::Gpus(list)),
        },
        DeviceChoice::Gpus(None) if machine.gpus.is_empty() => Err(no_gpu(0, machine)),
        DeviceChoice::Gpus(None) => {
            let all: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
            GpuList::new(&all).map(Target::Gpus)
        }
    }
}

fn no_gpu(number: usize, machine: &Machine) -> Error {
    let there = match machine.gpus.len() {
        0 => "there is no GPU that can be used".to_string(),
        n => format!("the GPUs are gpu:0 to gpu:{}", n - 1),
    };
    // The machine's notes say what keeps a GPU from being used.
    let why = machine.notes.iter().find(|what| what.starts_with("no GPU"));
    Error::Device {
        stage: "choosing a device".into(),
        device: format!("gpu:{number}"),
        what: why.map_or(there.clone(), |why| format!("{there} ({why})")),
        remedy: "run with --device cpu, or see `warpweft info`".into(),
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
        remedy: format!("choose a --size up to about {}", fits as u64),
    })
}

/// The machine's measured limits, from the cache folder; else measured and kept there.
///
/// # Errors
/// As [`probe`]. A folder that can't be read or written is noted.
pub fn limits(machine: &Machine) -> Result<Probe> {
    let folder = warpweft::cuda::folder();
    let mut notes = Vec::new();
    let known = folder.as_ref().and_then(|folder| Probe::load(machine, folder, &mut notes));
    notes.iter().for_each(|what| note(what));
    if let Some(known) = known {
        return Ok(known);
    }
    note("measuring this machine's limits, once");
    let measured = probe(machine)?;
    measured.notes.iter().for_each(|what| note(what));
    if let Some(Err(error)) = folder.map(|folder| measured.save(machine, &folder)) {
        note(&error.to_string());
    }
    Ok(measured)
}
