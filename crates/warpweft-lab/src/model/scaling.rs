//! One row of a scaling study: a workload on so many devices, predicted and simulated.

use serde::Serialize;
use warpweft::cluster::{Jitter, Transfer, Tree};
use warpweft::grid::{across, check_extents};
use warpweft::report::counted;
use warpweft::stencil::drive::search::{DepthSearch, Guided};
use warpweft::stencil::drive::{Simulation, deepest_feasible};
use warpweft::stencil::ghost_model::{
    GhostModel, Kernel, Linear, Overlap, Prediction, Sample, Staging, Traced, refine,
};
use warpweft::stencil::{Boundaries, Boundary, Face, Partition};
use warpweft::{Error, Result};

use super::workload::Workload;
use warpweft_terminal::arguments::as_size;
use warpweft_terminal::output::scaled;

/// Devices of the largest simulation.
pub const MOST: usize = 1 << 16;
/// Deepest ghost zone considered.
pub const DEEPEST: usize = 64;
/// Swaps simulated for one number.
const SWAPS: usize = 30;

/// How the devices work together.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// What the devices are called, and what one is.
    pub name: &'static str,
    pub unit: &'static str,
    /// Bytes of one device's memory.
    pub memory: f64,
    /// Rates of one device.
    pub device: Linear,
    /// Steps between halo exchanges, or the model's choice.
    pub depth: Option<usize>,
    /// Whether rims are computed first.
    pub boundary_first: bool,
    /// Standard deviation of the logarithm of every duration.
    pub jitter: f64,
    /// Seed of the noise.
    pub seed: u64,
}

/// One row.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Devices.
    pub devices: usize,
    /// Device of each part.
    pub placement: Vec<usize>,
    /// Parts along each axis, slowest first.
    pub grid: Vec<usize>,
    /// Cells of the whole volume.
    pub cells: f64,
    /// Steps between halo exchanges.
    pub depth: usize,
    /// Seconds a step, predicted by the fitted model.
    pub predicted: Prediction,
    /// Seconds a step, simulated with noise.
    pub simulated: f64,
    /// Seconds a step that one device would take for the whole volume.
    pub alone: f64,
}

impl Row {
    /// Times as fast as one device on the whole volume.
    pub fn speedup(&self) -> f64 {
        self.alone / self.simulated
    }

    /// The speed-up for each device.
    pub fn efficiency(&self) -> f64 {
        self.speedup() / self.devices as f64
    }
}

/// `work` on `extents` cells, periodic, cut into `grid` parts on the devices `placement` of `network`.
///
/// # Errors
/// More cells than memory can address, or a part than a device's holds; parts too small for the depth
/// asked for, or for any.
pub fn row<const D: usize>(
    work: &Workload<D>,
    extents: [usize; D],
    grid: [usize; D],
    network: &Tree,
    placement: &[usize],
    how: &How,
) -> Result<Row> {
    let (partition, feasible) = cut(work, extents, grid, how)?;
    let simulation = Simulation {
        partition: &partition,
        stages: &work.stages,
        fields: &work.fields,
        device: how.device,
        network,
        placement,
        boundary_first: how.boundary_first,
    };
    let part = Traced::new(&partition, &work.stages, &work.fields, feasible);
    let mut samples = Vec::new();
    // The short probe that the model is fitted by: a few depths, as many halo exchanges as a search takes.
    let mut probe = Jitter::new(how.seed, how.jitter);
    let mut search = Guided::new(prior(&simulation), part.clone(), feasible);
    while let Some(trial) = search.next() {
        let seconds = simulation.cycle(trial.depth).run(trial.swaps, &mut probe).seconds;
        samples.push(Sample { part: part.clone(), depth: trial.depth, seconds });
        search.record(seconds);
    }
    // One device exchanges nothing: every depth is the same but for rounding.
    let found = if partition.parts() == 1 { 1 } else { search.best() };
    let depth = how.depth.unwrap_or(found);
    let model = refine(&prior(&simulation), &samples).model;
    let mut jitter = Jitter::new(how.seed.wrapping_add(1), how.jitter);
    Ok(Row {
        devices: partition.parts(),
        placement: placement.to_vec(),
        grid: grid.to_vec(),
        cells: extents.iter().product::<usize>() as f64,
        depth,
        predicted: model.predict(&part, depth),
        simulated: simulation.cycle(depth).run(SWAPS, &mut jitter).seconds,
        alone: simulation.alone(),
    })
}

/// The cut of `extents` cells, and the deepest ghost zone that it allows.
///
/// # Errors
/// As [`row`].
pub fn cut<const D: usize>(
    work: &Workload<D>,
    extents: [usize; D],
    grid: [usize; D],
    how: &How,
) -> Result<(Partition, usize)> {
    check_extents(extents.into())?;
    let boundaries = Boundaries::all(D, Boundary::Periodic);
    let partition = Partition::grid(extents, grid, &boundaries).map_err(|error| match error {
        // What there are parts of here are nodes.
        Error::Spec { what, .. } => Error::spec(
            what,
            format!("use fewer {}s (--nodes, --gpus) or a larger --size", how.unit),
        ),
        other => other,
    })?;
    let part = (0..D).map(|axis| extents[axis].div_ceil(grid[axis]) as f64).product::<f64>();
    let needed = part * work.cell_bytes() as f64;
    if needed > how.memory {
        return Err(Error::spec(
            format!(
                "{} over {} cells on {} needs {}B of memory a {}, one {} has {}B",
                work.name,
                as_size(&extents),
                counted(partition.parts() as u64, how.unit),
                scaled(needed),
                how.unit,
                how.name,
                scaled(how.memory)
            ),
            format!("use more {}s (--nodes, --gpus) or a smaller --size", how.unit),
        ));
    }
    let feasible =
        deepest_feasible(&partition, &boundaries, &work.stages, work.fields.len(), DEEPEST);
    let wanted = how.depth.unwrap_or(1);
    if wanted > feasible || wanted == 0 {
        return Err(Error::spec(
            format!("R = {wanted} on {} subdomains of {}", across(&grid), across(&extents)),
            format!("the largest feasible R is {feasible}; use fewer nodes or a larger size"),
        ));
    }
    Ok((partition, feasible))
}

/// Rates as an offline probe finds them: of the device alone, and of the network when every part
/// sends every neighbour a message at once, small ones and large ones.
pub fn prior(simulation: &Simulation<'_>) -> GhostModel {
    let partition = simulation.partition;
    let phase = |axis: usize, bytes: f64| {
        let parts = 0..partition.parts();
        let transfers: Vec<Transfer> = parts
            .flat_map(|to| [Face::Low, Face::High].map(|face| (to, face)))
            .filter_map(|(to, face)| Some((partition.neighbour(to, axis, face)?, to)))
            .map(|(from, to)| {
                let [from, to] = [from, to].map(|part| simulation.placement[part]);
                Transfer { from, to, bytes }
            })
            .collect();
        let times = simulation.network.times(&transfers, &mut Jitter::new(0, 0.0));
        times.into_iter().fold(0.0, f64::max)
    };
    let phases = (0..partition.rank()).filter(|&axis| partition.is_cut(axis)).count() as f64;
    let swap = |bytes: f64| (0..partition.rank()).map(|axis| phase(axis, bytes)).sum::<f64>();
    let (small, large) = (swap(1e3), swap(1e8));
    // A part receives two such messages a phase.
    let per_unit = (large - small) / (1e8 - 1e3) / (2.0 * phases).max(1.0);
    let stages = simulation.stages.len() as f64;
    let device = simulation.device;
    GhostModel {
        compute: Linear { per_unit: device.per_unit, fixed: device.fixed * stages },
        // A part without neighbours has no network; rates must still be positive to be fitted.
        network: Linear { per_unit: per_unit.max(1e-15), fixed: small.max(1e-9) },
        host_link: Linear::default(),
        kernel: Kernel::ShrinkingLaunches,
        staging: Staging::None,
        overlap: match simulation.boundary_first {
            true => Overlap::Core,
            false => Overlap::None,
        },
    }
}

/// `parts` as a grid with factors as alike as can be, the larger along slower axes.
pub fn cubic_grid<const D: usize>(parts: usize) -> [usize; D] {
    let mut grid = [1; D];
    let mut rest = parts;
    for axis in 0..D {
        let left = (D - axis) as f64;
        let ideal = (rest as f64).powf(1.0 / left);
        // The smallest factor not below the ideal keeps the order descending.
        let factor = (1..=rest).find(|&n| rest.is_multiple_of(n) && n as f64 >= ideal - 1e-9);
        grid[axis] = factor.unwrap_or(rest);
        rest /= grid[axis];
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::super::device::Gpu;
    use super::super::workload::{App, app};
    use super::*;
    use warpweft::cluster::topology;

    #[test]
    fn grids_are_as_cubic_as_factors_allow() {
        assert_eq!(cubic_grid::<3>(1), [1, 1, 1]);
        assert_eq!(cubic_grid::<3>(8), [2, 2, 2]);
        assert_eq!(cubic_grid::<3>(12), [3, 2, 2]);
        assert_eq!(cubic_grid::<3>(1000), [10, 10, 10]);
        assert_eq!(cubic_grid::<3>(7), [7, 1, 1]);
        assert_eq!(cubic_grid::<2>(4096), [64, 64]);
    }

    #[test]
    fn prediction_and_simulation_agree_on_weak_and_strong_scaling() {
        let App::Deep(heat) = app("heat", 4, None).unwrap() else { panic!("heat is 3D") };
        let how = How {
            name: "H200",
            unit: "GPU",
            memory: Gpu::H200.memory(),
            device: Gpu::H200.rates(heat.traffic),
            depth: None,
            boundary_first: true,
            jitter: 0.0,
            seed: 1,
        };
        for devices in [1usize, 8, 64, 512] {
            let grid = cubic_grid::<3>(devices);
            let network = topology::h200_nodes(devices.div_ceil(4), 4);
            let all: Vec<usize> = (0..devices).collect();
            let weak = row(&heat, grid.map(|n| n * 256), grid, &network, &all, &how).unwrap();
            let strong = row(&heat, [512; 3], grid, &network, &all, &how).unwrap();
            for row in [&weak, &strong] {
                let error = row.predicted.seconds / row.simulated - 1.0;
                assert!(error.abs() < 0.08, "{devices} devices: {error} in {row:?}");
            }
            assert!(strong.efficiency() < 1.001);
        }
    }
}
