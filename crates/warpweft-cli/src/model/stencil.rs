//! `warpweft model stencil`: scaling to thousands of GPUs, and a model fitted to measurements.

use std::path::PathBuf;

use clap::ValueEnum;
use warpweft::cluster::topology;
use warpweft::cluster::{Link, Tree};
use warpweft::stencil::distribute::select;
use warpweft::stencil::ghost_model::Linear;
use warpweft::{Error, Result};

use super::chart::{self, Chart, Curve};
use super::device::Gpu;
use super::scaling::{How, Row, cubic_grid, row};
use super::workload::{App, Workload, app};
use super::{fit, workload};
use crate::arguments::Size;
use crate::output::{counted, time};

/// Whether the volume grows with the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scaling {
    /// `--size` cells for each GPU.
    Weak,
    /// `--size` cells in all.
    Strong,
}

/// GPUs of the largest simulation.
const MOST: usize = 1 << 16;

/// What the columns are.
const LEGEND: &str = "
R: steps between two swaps of ghost zones. predicted, simulated: a step, by the model and on the simulated
network. error: of the prediction. speed-up, eff.: over one GPU with all of the volume, if it had the memory
(noise, --jitter, may pass 100 %). compute to bandwidth: shares of the predicted step, redundant being cells
of ghost zones; hidden: what goes on beside the computing and takes no time of its own.

";

/// What to predict.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  warpweft model stencil --app heat --nodes 1,8,64,512         weak scaling, 256³ cells a GPU
  warpweft model stencil --scaling strong --size 1024 --plot strong.svg
  warpweft model stencil --measured samples.json               fit to measured runs

Nodes are alike, each with one port into a network without a bottleneck (--gpus, --port-latency,
--port-bandwidth, --rate); other clusters can't be described yet.

A file for --measured is a list of runs of one application:
  [{\"extents\": [512, 512, 512], \"grid\": [4, 1, 1], \"depth\": 2, \"seconds\": 8.1e-5}, ...]
with the extents of the whole volume, parts along each axis and seconds a step.")]
pub struct Arguments {
    /// The application.
    #[arg(long, default_value = "heat", value_parser = workload::NAMES)]
    app: String,
    /// Order in space, for heat.
    #[arg(long, default_value_t = 2)]
    order: usize,
    /// Dimensions of heat, 2 or 3 [default: what --size has, else 3].
    #[arg(long)]
    dims: Option<usize>,
    /// Numbers of nodes.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,32,64,128,256,512,1024")]
    nodes: Vec<usize>,
    /// GPUs of a node, linked to one another.
    #[arg(long, default_value_t = 4)]
    gpus: usize,
    /// A machine of PARTANS' with two dual GTX 590 instead: x79, p67-nat or p67-nf; which of its GPUs
    /// to use is chosen, and `--size` is in all.
    #[arg(long, value_parser = ["x79", "p67-nat", "p67-nf"], conflicts_with_all = ["nodes", "gpus", "gpu", "scaling"])]
    machine: Option<String>,
    /// The GPU.
    #[arg(long, value_enum, default_value = "h200")]
    gpu: Gpu,
    /// Cells along the axes: of one GPU's part (weak) or of the volume (strong).
    #[arg(long, default_value = "256")]
    size: Size,
    /// Whether the volume grows with the machine.
    #[arg(long, value_enum, default_value = "weak")]
    scaling: Scaling,
    /// Steps between swaps (R) [default: the model's choice].
    #[arg(long)]
    depth: Option<usize>,
    /// Swap before anything of the next steps is computed, instead of computing rims first.
    #[arg(long)]
    no_overlap: bool,
    /// Latency of a node's network port, in µs at each end.
    #[arg(long, default_value_t = 1.0)]
    port_latency: f64,
    /// Bandwidth of a node's network port, in GB/s each way.
    #[arg(long, default_value_t = 50.0)]
    port_bandwidth: f64,
    /// Cells a second of one GPU, in units of 1e9 [default: what its memory allows].
    #[arg(long)]
    rate: Option<f64>,
    /// Noise of every duration: standard deviation of its logarithm.
    #[arg(long, default_value_t = 0.02)]
    jitter: f64,
    /// Seed of the noise.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fit the model to the measured runs in this file and compare, instead of simulating.
    #[arg(long, conflicts_with_all = ["nodes", "scaling", "depth"])]
    measured: Option<PathBuf>,
    /// Draw prediction and simulation or measurement into this SVG picture.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// The report.
    pub fn text(&self) -> Result<String> {
        self.check()?;
        let dims = self.dims.or(self.size.dims());
        match (app(&self.app, self.order, dims)?, &self.measured) {
            (App::Flat(work), None) => self.study(&work),
            (App::Deep(work), None) => self.study(&work),
            (App::Flat(work), Some(path)) => {
                fit::text(&work, path, self.plot.as_deref(), self.json)
            }
            (App::Deep(work), Some(path)) => {
                fit::text(&work, path, self.plot.as_deref(), self.json)
            }
        }
    }

    fn check(&self) -> Result<()> {
        self.plot.as_deref().map_or(Ok(()), chart::check)?;
        let (gpus, most) = (self.gpus, MOST.checked_div(self.gpus).unwrap_or(0));
        if most == 0 {
            let remedy = format!("use 1 to {MOST}");
            return Err(Error::spec(format!("{} a node", counted(gpus as u64, "GPU")), remedy));
        }
        if let Some(nodes) = self.nodes.iter().find(|&n| !(1..=most).contains(n)) {
            return Err(Error::spec(
                format!("{nodes} nodes of {} each", counted(gpus as u64, "GPU")),
                format!("use 1 to {most} of them: at most {MOST} GPUs are simulated"),
            ));
        }
        let above_0 = |x: f64| x.is_finite() && x > 0.0;
        let refused = [
            ("port-bandwidth", self.port_bandwidth, above_0(self.port_bandwidth), "more than 0"),
            ("rate", self.rate.unwrap_or(1.0), self.rate.is_none_or(above_0), "more than 0"),
            (
                "port-latency",
                self.port_latency,
                self.port_latency.is_finite() && self.port_latency >= 0.0,
                "0 or more",
            ),
            ("jitter", self.jitter, (0.0..=1.0).contains(&self.jitter), "0 to 1"),
        ];
        match refused.into_iter().find(|&(_, _, fine, _)| !fine) {
            Some((name, value, _, range)) => {
                Err(Error::spec(format!("--{name} {value}"), format!("give {range}")))
            }
            None => Ok(()),
        }
    }

    fn study<const D: usize>(&self, work: &Workload<D>) -> Result<String> {
        let size = self.size.extents::<D>()?;
        let gpu = if self.machine.is_some() { Gpu::Gtx590 } else { self.gpu };
        let mut device = gpu.rates(work.traffic);
        if let Some(rate) = self.rate {
            device = Linear { per_unit: 1e-9 / rate, ..device };
        }
        let how = How {
            name: gpu.name(),
            memory: gpu.memory(),
            device,
            depth: self.depth,
            boundary_first: !self.no_overlap,
            jitter: self.jitter,
            seed: self.seed,
        };
        if let Some(network) = self.machine.as_deref().and_then(topology::by_name) {
            let rows = placed(work, size, &network, &how)?;
            return self.report(work, &rows);
        }
        let mut rows = Vec::new();
        for &nodes in &self.nodes {
            let grid = cubic_grid::<D>(nodes * self.gpus);
            let extents = match self.scaling {
                Scaling::Weak => std::array::from_fn(|d| size[d].saturating_mul(grid[d])),
                Scaling::Strong => size,
            };
            let port =
                Link { latency: self.port_latency * 1e-6, bandwidth: self.port_bandwidth * 1e9 };
            // NVLink as measured between H200s: 396 GB/s, 8 µs for a small copy.
            let inside = Link { latency: 0.0, bandwidth: 396e9 };
            let network = topology::nodes(nodes, self.gpus, inside, port, 8e-6);
            let placement: Vec<usize> = (0..nodes * self.gpus).collect();
            rows.push(row(work, extents, grid, &network, &placement, &how)?);
        }
        self.report(work, &rows)
    }

    fn report<const D: usize>(&self, work: &Workload<D>, rows: &[Row]) -> Result<String> {
        if let Some(path) = &self.plot {
            self.chart(rows).save(path)?;
        }
        if self.json {
            return Ok(self.object(&work.name, rows).to_string());
        }
        Ok(self.table(work, rows))
    }

    fn table<const D: usize>(&self, work: &Workload<D>, rows: &[Row]) -> String {
        let scaling = self.scaling();
        let on = match &self.machine {
            Some(machine) => format!("on {machine}, the best GPUs of four"),
            None => format!("nodes of {} {}", self.gpus, self.gpu.name()),
        };
        let mut text = format!(
            "{}: {scaling} scaling, simulated; {on}\n\n{:>6} {:>14} {:>3} {:>11} {:>11} {:>7} {:>9} {:>6}  of a predicted step\n",
            work.name, "GPUs", "grid", "R", "predicted", "simulated", "error", "speed-up", "eff."
        );
        // Where GPUs are all alike it does not matter which.
        let on_gpus = |row: &Row| match self.machine {
            Some(_) => format!("; on GPUs {:?}", row.placement),
            None => String::new(),
        };
        for row in rows {
            let p = &row.predicted;
            let grid: Vec<_> = row.grid.iter().map(ToString::to_string).collect();
            let share = |part: f64| 100.0 * part / p.seconds;
            text.push_str(&format!(
                "{:>6} {:>14} {:>3} {:>11} {:>11} {:>6.1}% {:>9.1} {:>5.1}%  compute {:.0}%, redundant {:.0}%, latency {:.0}%, bandwidth {:.0}%, hidden {:.0}%{}\n",
                row.devices, grid.join("×"), row.depth, time(p.seconds), time(row.simulated),
                100.0 * (p.seconds / row.simulated - 1.0), row.speedup(), 100.0 * row.efficiency(),
                share(p.compute), share(p.redundant), share(p.latency), share(p.bandwidth), -share(p.hidden),
                on_gpus(row),
            ));
        }
        text.push_str(LEGEND);
        text.push_str(&self.chart(rows).text());
        text
    }

    fn scaling(&self) -> &'static str {
        match (self.scaling, &self.machine) {
            (Scaling::Weak, None) => "weak",
            _ => "strong",
        }
    }

    fn chart(&self, rows: &[Row]) -> Chart {
        let point = |row: &Row, seconds: f64| {
            (row.devices as f64, row.alone / seconds / row.devices as f64 * 100.0)
        };
        let predicted = rows.iter().map(|r| point(r, r.predicted.seconds)).collect();
        let simulated = rows.iter().map(|r| point(r, r.simulated)).collect();
        Chart {
            title: format!("{}, {} scaling", self.app, self.scaling()),
            x: "GPUs".into(),
            y: "efficiency, %".into(),
            whole: 100.0,
            curves: vec![
                Curve { name: "simulated".into(), points: simulated },
                Curve { name: "predicted".into(), points: predicted },
            ],
        }
    }

    fn object(&self, app: &str, rows: &[Row]) -> serde_json::Value {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "devices": row.devices, "placement": row.placement, "grid": row.grid, "cells": row.cells, "depth": row.depth,
                    "predicted": row.predicted, "simulated": row.simulated,
                    "speedup": row.speedup(), "efficiency": row.efficiency(),
                })
            })
            .collect();
        serde_json::json!({
            "app": app, "pattern": "stencil", "model": "ghost zones",
            "scaling": self.scaling(), "rows": rows,
        })
    }
}

/// One row for each number of GPUs of a small machine, on those that suit best, in the best order.
fn placed<const D: usize>(
    work: &Workload<D>,
    extents: [usize; D],
    network: &Tree,
    how: &How,
) -> Result<Vec<Row>> {
    let on = |placement: &[usize]| {
        let mut grid = [1; D];
        grid[0] = placement.len();
        let quiet = How { jitter: 0.0, ..*how };
        row(work, extents, grid, network, placement, &quiet)
    };
    let mut rows = Vec::new();
    for count in 1..=network.devices() {
        let seconds = |placement: &[usize]| {
            (placement.len() == count).then(|| on(placement).ok()).flatten().map(|r| r.simulated)
        };
        match select(network.devices(), seconds) {
            Some(best) => rows.push(on(&best.devices)?),
            // The first number of GPUs that does not fit says why.
            None => {
                on(&(0..count).collect::<Vec<_>>())?;
            }
        }
    }
    Ok(rows)
}
