//! A short probe of this machine that `warpweft model stencil --measured` can be fitted to: heat
//! conduction at a few depths of ghost zones, on all GPUs or by ranks on the cores.

use std::path::Path;

use warpweft::grid::io::{check_writable, write_whole};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::report::counted;
use warpweft::stencil::drive::Ranks;
use warpweft::stencil::ghost_model::Kernel;
use warpweft::tune::median;
use warpweft_apps::heat;

use super::{RUN, WALL, at_depth, start};
use crate::model::Measured;
use warpweft_terminal::output::note;

const ORDER: usize = 2;
const DEPTHS: [usize; 5] = [1, 2, 3, 5, 8];
/// Cells along each axis, on the cores and on GPUs.
const SIZES: [[usize; 3]; 2] = [[48, 80, 128], [128, 192, 256]];
/// Ranks on the cores, which share them; each part holds the deepest zone.
const RANKS: [usize; 2] = [2, 4];

/// Measures, and writes the runs to `path`.
///
/// # Errors
/// A file that can't be written, found out first; a fault of a device.
pub fn write(path: &Path, machine: &Machine) -> Result<String> {
    check_writable(path)?;
    let on_cores = machine.gpus.len() < 2;
    let parts = match on_cores {
        true => machine.cpu.threads().clamp(RANKS[0], RANKS[1]),
        false => machine.gpus.len(),
    };
    let what = counted(parts as u64, if on_cores { "rank" } else { "GPU" });
    let rate = 0.5 * heat::stable_rate(ORDER, 3)?;
    let stencil = heat::stencil::<f32, 3>(ORDER, rate)?.boundary(WALL);
    let mut runs = Vec::new();
    for size in SIZES[usize::from(!on_cores)] {
        note(&format!("{size}^3 on {what}"));
        let mut volume = start::<3>(size)?;
        for depth in DEPTHS {
            let seconds = match on_cores {
                true => by_ranks(&stencil, &mut volume, depth, parts, machine)?,
                false => median(&at_depth(&stencil, &volume, depth, machine)?),
            };
            let (extents, grid) = (vec![size; 3], vec![parts, 1, 1]);
            let kernel = Kernel::ShrinkingLaunches;
            runs.push(Measured { extents, grid, depth, seconds, periodic: false, kernel });
        }
    }
    write_whole(path, |to| Ok(serde_json::to_writer(to, &runs)?))?;
    let (count, path) = (runs.len(), path.display());
    Ok(format!(
        "{count} runs of heat, order {ORDER}, on {what}: {path}\nfit a model to them: warpweft model stencil --measured {path}"
    ))
}

/// Seconds a step: the median of three runs that each last a while.
fn by_ranks(
    stencil: &Stencil<f32, 3>,
    volume: &mut Volume<f32, 3>,
    depth: usize,
    count: usize,
    machine: &Machine,
) -> Result<f64> {
    let ranks = Ranks { count, grid: Some([count, 1, 1].into()), depth: Some(depth) };
    let run = Run { target: Target::Cpu, ..Run::default() };
    let mut steps = 4 * depth as u64;
    let mut seconds = |steps: u64| -> Result<f64> {
        Ok(stencil
            .run_with(
                volume,
                Steps(steps),
                machine,
                &Run { settings: run.settings.over(ranks), ..run.clone() },
            )?
            .seconds)
    };
    while seconds(steps)? < RUN {
        steps *= 2;
    }
    let runs = [seconds(steps)?, seconds(steps)?, seconds(steps)?];
    Ok(median(&runs) / steps as f64)
}
