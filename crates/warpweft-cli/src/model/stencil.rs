//! `warpweft model stencil`: scaling to thousands of GPUs, and a model fitted to measurements.

use std::path::PathBuf;

use clap::ValueEnum;
use warpweft::cluster::topology;
use warpweft::cluster::{Link, Tree};
use warpweft::stencil::distribute::select;
use warpweft::stencil::ghost_model::Linear;
use warpweft::{Error, Result};

use super::both::{self, Ranks};
use super::chart::{self, Chart, Curve};
use super::device::{Devices, Gpu, Host};
use super::scaling::{How, MOST, Row, cubic_grid, row};
use super::workload::{App, Workload, app};
use super::{fit, workload};
use crate::arguments::Size;
use crate::output::{counted, time};

/// Whether the volume grows with the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scaling {
    /// `--size` cells for each GPU, or node of cores.
    Weak,
    /// `--size` cells in all.
    Strong,
}

impl Scaling {
    fn name(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Strong => "strong",
        }
    }
}

/// Numbers of nodes, unless others are asked for.
const NODES: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Port of a node: µs at each end, and GB/s each way.
const PORT: [f64; 2] = [1.0, 50.0];

/// What the columns are.
const LEGEND: &str = "
R: steps between two swaps of ghost zones. predicted, simulated: a step, by the model and on the simulated
network. error: of the prediction. speed-up, eff.: over one of them with all of the volume, if it had the memory
(noise, --jitter, may pass 100 %). compute to bandwidth: shares of the predicted step, redundant being cells
of ghost zones; hidden: what goes on beside the computing and takes no time of its own.

";

/// What to predict.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  warpweft model stencil --app heat --nodes 1,8,64,512         weak scaling, 256³ cells a GPU
  warpweft model stencil --scaling strong --size 1024 --plot strong.svg
  warpweft model stencil --machine p67-nf --nodes 1,32,1024    four GTX 590 a node, behind their PCIe tree
  warpweft model stencil --device cpu+gpu --machine x79 --nodes 1,64    with the cores, by B2R's equations
  warpweft model stencil --measured samples.json               fit to measured runs

Nodes are alike, each with one port into a network without a bottleneck (--gpus or --machine, --port-latency,
--port-bandwidth, --rate, --cpu-rate); other clusters can't be described yet.

A file for --measured is a list of runs of one application, as `warpweft bench tuner --samples FILE` writes it:
  [{\"extents\": [512, 512, 512], \"grid\": [4, 1, 1], \"depth\": 2, \"seconds\": 8.1e-5}, ...]
with the extents of the whole volume, parts along each axis and seconds a step; \"periodic\": false where
the first part and the last are no neighbours, and \"kernel\": \"whole\" or \"shrinking\" (one fixed cost a swap) where
it is not \"shrinking_launches\", as on GPUs.")]
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
    /// Numbers of nodes [default: powers of two up to 1024].
    #[arg(long, value_delimiter = ',')]
    nodes: Option<Vec<usize>>,
    /// GPUs of a node, linked to one another.
    #[arg(long, default_value_t = 4)]
    gpus: usize,
    /// A machine of PARTANS' with two dual GTX 590: x79, p67-nat or p67-nf. With --nodes, each is one;
    /// without, one by itself: which of its GPUs to use is chosen, and `--size` is in all.
    #[arg(long, value_parser = ["x79", "p67-nat", "p67-nf"], conflicts_with_all = ["gpus", "gpu"])]
    machine: Option<String>,
    /// What computes: the GPUs, the cores of each node, or both, balanced (predicted, not simulated).
    #[arg(long, value_enum, default_value = "gpu")]
    device: Devices,
    /// The GPU.
    #[arg(long, value_enum, default_value = "h200")]
    gpu: Gpu,
    /// Cells along the axes: of one part (weak) or of the volume (strong).
    #[arg(long, default_value = "256")]
    size: Size,
    /// Whether the volume grows with the machine [default: weak].
    #[arg(long, value_enum)]
    scaling: Option<Scaling>,
    /// Steps between swaps (R) [default: the model's choice].
    #[arg(long)]
    depth: Option<usize>,
    /// Swap before anything of the next steps is computed, instead of computing rims first.
    #[arg(long)]
    no_overlap: bool,
    /// Latency of a node's network port, in µs at each end [default: 1].
    #[arg(long)]
    port_latency: Option<f64>,
    /// Bandwidth of a node's network port, in GB/s each way [default: 50].
    #[arg(long)]
    port_bandwidth: Option<f64>,
    /// Cells a second of one GPU, in units of 1e9 [default: what its memory allows].
    #[arg(long)]
    rate: Option<f64>,
    /// Cells a second of a node's cores, in units of 1e9 [default: what its memory allows].
    #[arg(long)]
    cpu_rate: Option<f64>,
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
        if let Some(machine) = self.by_itself() {
            let given = [
                ("scaling", self.scaling.is_some()),
                ("port-latency", self.port_latency.is_some()),
                ("port-bandwidth", self.port_bandwidth.is_some()),
            ];
            if let Some((name, _)) = given.into_iter().find(|&(_, given)| given) {
                let what = format!("--{name} for one {machine} by itself");
                return Err(Error::spec(what, "name --nodes as well, or leave it out"));
            }
        }
        let (gpus, most) = (self.gpus(), MOST.checked_div(self.gpus()).unwrap_or(0));
        if most == 0 {
            let remedy = format!("use 1 to {MOST}");
            return Err(Error::spec(format!("{} a node", counted(gpus as u64, "GPU")), remedy));
        }
        if let Some(nodes) = self.nodes().iter().find(|&n| !(1..=most).contains(n)) {
            return Err(Error::spec(
                format!("{nodes} nodes of {} each", counted(gpus as u64, self.unit())),
                format!("use 1 to {most} of them: at most {MOST} {}s are simulated", self.unit()),
            ));
        }
        let above_0 = |x: f64| x.is_finite() && x > 0.0;
        let positive = |name, value: Option<f64>| {
            (name, value.unwrap_or(1.0), value.is_none_or(above_0), "more than 0")
        };
        let latency = self.port_latency.unwrap_or(0.0);
        let refused = [
            positive("port-bandwidth", self.port_bandwidth),
            positive("rate", self.rate),
            positive("cpu-rate", self.cpu_rate),
            ("port-latency", latency, latency.is_finite() && latency >= 0.0, "0 or more"),
            ("jitter", self.jitter, (0.0..=1.0).contains(&self.jitter), "0 to 1"),
        ];
        match refused.into_iter().find(|&(_, _, fine, _)| !fine) {
            Some((name, value, _, range)) => {
                Err(Error::spec(format!("--{name} {value}"), format!("give {range}")))
            }
            None => Ok(()),
        }
    }

    /// The machine of which one by itself is studied, and the best of its GPUs.
    fn by_itself(&self) -> Option<&str> {
        let one = self.nodes.is_none() && self.device == Devices::Gpu;
        self.machine.as_deref().filter(|_| one)
    }

    fn nodes(&self) -> &[usize] {
        self.nodes.as_deref().unwrap_or(&NODES)
    }

    /// Parts a node.
    fn gpus(&self) -> usize {
        match (self.device, &self.machine) {
            (Devices::Cpu, _) => 1,
            (_, Some(_)) => 4,
            (_, None) => self.gpus,
        }
    }

    /// What computes a part.
    fn unit(&self) -> &'static str {
        if self.device == Devices::Cpu { "host" } else { "GPU" }
    }

    fn gpu(&self) -> Gpu {
        if self.machine.is_some() { Gpu::Gtx590 } else { self.gpu }
    }

    fn port(&self) -> Link {
        let latency = self.port_latency.unwrap_or(PORT[0]) * 1e-6;
        Link { latency, bandwidth: self.port_bandwidth.unwrap_or(PORT[1]) * 1e9 }
    }

    /// So many nodes, linked by their ports.
    fn network(&self, nodes: usize) -> Tree {
        let port = self.port();
        match (self.device, self.machine.as_deref().and_then(topology::by_name)) {
            // Messages begin and end in memory.
            (Devices::Cpu, _) => {
                let inside = Link { latency: 0.0, bandwidth: f64::INFINITY };
                topology::nodes(nodes, 1, inside, port, 0.0)
            }
            (_, Some(node)) => node.side_by_side(nodes, port),
            (_, None) => {
                // NVLink as measured between H200s: 396 GB/s, 8 µs for a small copy.
                let inside = Link { latency: 0.0, bandwidth: 396e9 };
                topology::nodes(nodes, self.gpus, inside, port, 8e-6)
            }
        }
    }

    fn study<const D: usize>(&self, work: &Workload<D>) -> Result<String> {
        let size = self.size.extents::<D>()?;
        let (gpu, host) = (self.gpu(), Host::of(self.machine.as_deref()));
        let at = |rate: Option<f64>, rates: Linear| match rate {
            Some(rate) => Linear { per_unit: 1e-9 / rate, ..rates },
            None => rates,
        };
        let cores = at(self.cpu_rate, host.rates(work.traffic));
        let (name, memory, device) = match self.device {
            Devices::Cpu => ("of them", host.memory, cores),
            _ => (gpu.name(), gpu.memory(), at(self.rate, gpu.rates(work.traffic))),
        };
        let how = How {
            name,
            unit: self.unit(),
            memory,
            device,
            depth: self.depth,
            boundary_first: !self.no_overlap,
            jitter: self.jitter,
            seed: self.seed,
        };
        if let Some(network) = self.by_itself().and_then(topology::by_name) {
            let rows = placed(work, size, &network, &how)?;
            return self.report(work, &rows);
        }
        let volume = |parts: usize| {
            let grid = cubic_grid::<D>(parts);
            match self.scaling() {
                Scaling::Weak => std::array::from_fn(|d| size[d].saturating_mul(grid[d])),
                Scaling::Strong => size,
            }
        };
        if self.device == Devices::Both {
            let share = self.gpus() as f64;
            let ranks = |nodes: usize| Ranks {
                cores: Linear { per_unit: cores.per_unit * share, ..cores },
                network: match nodes {
                    1 => Linear::default(),
                    _ => Linear {
                        per_unit: share / self.port().bandwidth,
                        fixed: 2.0 * self.port().latency,
                    },
                },
                host_link: Linear { per_unit: 1.0 / host.link, fixed: self.network(1).begin },
            };
            let rows = self.nodes().iter().map(|&nodes| {
                let parts = nodes * self.gpus();
                both::row(work, volume(parts), parts, &ranks(nodes), &how)
            });
            return self.report_both(work, &rows.collect::<Result<Vec<_>>>()?);
        }
        let mut rows = Vec::new();
        for &nodes in self.nodes() {
            let parts = nodes * self.gpus();
            let placement: Vec<usize> = (0..parts).collect();
            let (grid, network) = (cubic_grid::<D>(parts), self.network(nodes));
            rows.push(row(work, volume(parts), grid, &network, &placement, &how)?);
        }
        self.report(work, &rows)
    }

    fn report_both<const D: usize>(
        &self,
        work: &Workload<D>,
        rows: &[both::Row],
    ) -> Result<String> {
        let scaling = self.scaling().name();
        let title = format!("{}, {scaling} scaling", self.app);
        if let Some(path) = &self.plot {
            both::chart(title, rows).save(path)?;
        }
        if self.json {
            let object = serde_json::json!({
                "app": work.name, "pattern": "stencil", "model": "B2R, balanced",
                "scaling": scaling, "rows": rows,
            });
            return Ok(object.to_string());
        }
        let heading = format!("{}: {scaling} scaling, predicted; {}", work.name, self.nodes_of());
        Ok(both::table(&heading, rows))
    }

    /// What the nodes are.
    fn nodes_of(&self) -> String {
        let (gpus, gpu) = (self.gpus(), self.gpu().name());
        match (self.by_itself(), self.device, &self.machine) {
            (Some(machine), _, _) => format!("on {machine}, the best GPUs of four"),
            (_, Devices::Cpu, Some(machine)) => format!("the cores of nodes like {machine}"),
            (_, Devices::Cpu, None) => "the cores of nodes".into(),
            (_, _, Some(machine)) => format!("nodes of {gpus} {gpu} like {machine}"),
            (_, _, None) => format!("nodes of {gpus} {gpu}"),
        }
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
        let (scaling, on) = (self.scaling().name(), self.nodes_of());
        let mut text = format!(
            "{}: {scaling} scaling, simulated; {on}\n\n{:>6} {:>14} {:>3} {:>11} {:>11} {:>7} {:>9} {:>6}  of a predicted step\n",
            work.name,
            format!("{}s", self.unit()),
            "grid",
            "R",
            "predicted",
            "simulated",
            "error",
            "speed-up",
            "eff."
        );
        // Where GPUs are all alike it does not matter which.
        let on_gpus = |row: &Row| match self.by_itself() {
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

    fn scaling(&self) -> Scaling {
        match self.by_itself() {
            Some(_) => Scaling::Strong,
            None => self.scaling.unwrap_or(Scaling::Weak),
        }
    }

    fn chart(&self, rows: &[Row]) -> Chart {
        let point = |row: &Row, seconds: f64| {
            (row.devices as f64, row.alone / seconds / row.devices as f64 * 100.0)
        };
        let predicted = rows.iter().map(|r| point(r, r.predicted.seconds)).collect();
        let simulated = rows.iter().map(|r| point(r, r.simulated)).collect();
        Chart {
            title: format!("{}, {} scaling", self.app, self.scaling().name()),
            x: format!("{}s", self.unit()),
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
            "scaling": self.scaling().name(), "rows": rows,
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
