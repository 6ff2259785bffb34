//! Cores and GPU of every rank on one part: B2R's equations (2) to (8), predicted, not simulated.

use serde::Serialize;
use warpweft::Result;
use warpweft::stencil::Reach;
use warpweft::stencil::ghost_model::{
    Balanced, GhostModel, Kernel, Linear, Overlap, Staging, Subdomain,
};

use super::chart::{Chart, Curve};
use super::scaling::{How, cubic_grid, cut};
use super::workload::Workload;
use warpweft_terminal::output::time;

/// What GPUs, cores and links there are; a rank is a GPU and its share of the node's cores and port.
#[derive(Clone, Copy, Debug)]
pub struct Ranks {
    /// Of a rank's cores.
    pub cores: Linear,
    /// Of the network between two ranks' hosts.
    pub network: Linear,
    /// Of the link between a GPU and its host, through which all of its halos go.
    pub host_link: Linear,
}

/// One row: seconds a step, each at its best depth.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// GPUs, each with its share of cores.
    pub devices: usize,
    /// Parts along each axis, slowest first.
    pub grid: Vec<usize>,
    /// Cells of the whole volume.
    pub cells: f64,
    /// Steps between halo exchanges of both together.
    pub depth: usize,
    /// Planes of a part that the cores take, x_C, and the GPU, x_G.
    pub planes: [usize; 2],
    /// The cores alone: equations (2), (5) and (7).
    pub cores: f64,
    /// The GPU alone: equation (2) with a launch a step, (5), (7), and halos through the host instead of (6).
    pub gpu: f64,
    /// Both, balanced: equation (8).
    pub both: f64,
}

/// `work` on `extents` cells, periodic, over so many ranks.
///
/// # Errors
/// As [`super::scaling::row`].
pub fn row<const D: usize>(
    work: &Workload<D>,
    extents: [usize; D],
    devices: usize,
    ranks: &Ranks,
    how: &How,
) -> Result<Row> {
    let grid = cubic_grid::<D>(devices);
    let (partition, feasible) = cut(work, extents, grid, how)?;
    let one = Reach::new(D, &work.stages, work.fields.len(), 1);
    let fields = work.fields.iter().enumerate();
    let swapped =
        fields.filter(|(field, _)| work.stages.iter().any(|stage| stage.writes.contains(field)));
    let bytes = swapped.map(|(_, field)| field.kind.size()).sum::<usize>();
    let part = Subdomain::largest(&partition, &one, bytes as f64);
    let cpu = GhostModel {
        compute: ranks.cores,
        network: ranks.network,
        host_link: Linear::default(),
        kernel: Kernel::Shrinking,
        staging: Staging::None,
        overlap: Overlap::None,
    };
    let gpu = GhostModel {
        compute: how.device,
        host_link: ranks.host_link,
        kernel: Kernel::ShrinkingLaunches,
        staging: Staging::Halos,
        ..cpu
    };
    let balanced = Balanced { cpu, gpu, delta: one.deepest()[0] };
    let best = |model: &GhostModel| match how.depth {
        Some(depth) => model.predict(&part, depth).seconds,
        None => model.best_depth(&part, feasible).1.seconds,
    };
    let (depth, split) = match how.depth {
        Some(depth) => (depth, balanced.split(&part, depth)),
        None => {
            let (depth, split, _) = balanced.best_depth(&part, feasible);
            (depth, split)
        }
    };
    Ok(Row {
        devices,
        grid: grid.to_vec(),
        cells: extents.iter().product::<usize>() as f64,
        depth,
        planes: [split.cpu, split.gpu],
        cores: best(&cpu),
        gpu: best(&gpu),
        both: split.seconds,
    })
}

/// What the columns are.
const LEGEND: &str = "
A rank is a GPU and its share of a node's cores and port. Seconds a step by B2R's equations (2) to (8), of which
(6) stages halos only and the GPU shrinks its region as in (2); each at its own best R, that of both together being shown. Not simulated: no noise, nothing
hidden behind computation. planes: of a part, along its slowest axis. gain: of both over the faster one alone.
";

/// The rows under a heading.
pub fn table(heading: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "{heading}\n\n{:>6} {:>14} {:>3} {:>13} {:>11} {:>11} {:>11} {:>7}\n",
        "GPUs", "grid", "R", "planes", "cores", "GPU", "both", "gain"
    );
    for row in rows {
        let grid: Vec<_> = row.grid.iter().map(ToString::to_string).collect();
        let [cpu, gpu] = row.planes;
        text.push_str(&format!(
            "{:>6} {:>14} {:>3} {:>13} {:>11} {:>11} {:>11} {:>6.1}%\n",
            row.devices,
            grid.join("×"),
            row.depth,
            format!("{cpu} + {gpu}"),
            time(row.cores),
            time(row.gpu),
            time(row.both),
            100.0 * (row.cores.min(row.gpu) / row.both - 1.0),
        ));
    }
    text.push_str(LEGEND);
    text
}

/// Cells a second of a rank.
pub fn chart(title: String, rows: &[Row]) -> Chart {
    let curve = |name: &str, seconds: fn(&Row) -> f64| {
        let rate = |row: &Row| row.cells / row.devices as f64 / seconds(row) / 1e9;
        let points = rows.iter().map(|row| (row.devices as f64, rate(row))).collect();
        Curve { name: name.into(), points }
    };
    Chart {
        title,
        x: "GPUs".into(),
        y: "10⁹ cells a second and rank".into(),
        whole: 0.0,
        curves: vec![
            curve("both", |row| row.both),
            curve("GPU alone", |row| row.gpu),
            curve("cores alone", |row| row.cores),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::super::device::{Gpu, Host};
    use super::super::workload::{App, app};
    use super::*;

    #[test]
    fn cores_pay_by_their_share_of_the_speed_and_shares_are_equation_8s() {
        let App::Deep(heat) = app("heat", 2, None).unwrap() else { panic!("heat is 3D") };
        let (gpu, host) = (Gpu::Gtx590, Host::of(Some("x79")));
        let how = How {
            name: gpu.name(),
            unit: "GPU",
            memory: gpu.memory(),
            device: gpu.rates(heat.traffic),
            depth: Some(1),
            boundary_first: false,
            jitter: 0.0,
            seed: 1,
        };
        let cores = host.rates(heat.traffic);
        let free = Linear { per_unit: 1e-15, fixed: 0.0 };
        let ranks = Ranks { cores, network: free, host_link: free };
        let row = row(&heat, [512; 3], 8, &ranks, &how).unwrap();
        // Equation (8): T_C/N_C·x_C = T_G/N_G·x_G, of 256 planes of 256² at 163.9 and 51.2 GB/s.
        let expect = 256.0 * 51.2 / (51.2 + 163.9);
        assert!((row.planes[0] as f64 - expect).abs() < 1.5, "{row:?}, {expect}");
        assert!((row.gpu / row.both - (1.0 + 51.2 / 163.9)).abs() < 0.02, "{row:?}");
        assert!(row.cores > 3.0 * row.gpu, "{row:?}");
        // Where the GPU is sixty times as fast and far away, the cores are left out.
        let far = Ranks { host_link: Linear { per_unit: 1e-6, fixed: 0.0 }, ..ranks };
        let device = Gpu::H200.rates(heat.traffic);
        let alone = super::row(&heat, [128; 3], 1, &far, &How { device, ..how }).unwrap();
        assert_eq!((alone.planes, alone.both), ([0, 128], alone.gpu), "{alone:?}");
    }
}
