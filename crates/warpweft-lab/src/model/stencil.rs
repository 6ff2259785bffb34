//! `warpweft model stencil`: scaling to thousands of GPUs, and a model fitted to measurements.

mod check;
mod cluster;
mod placed;
mod report;

use std::path::PathBuf;

use clap::ValueEnum;
use warpweft::Result;
use warpweft::cluster::topology;
use warpweft::stencil::ghost_model::Linear;

use self::placed::placed;
use super::both::{self, Ranks};
use super::device::{Devices, Gpu, Host};
use super::scaling::{How, cubic_grid, row};
use super::workload::{App, Workload, app};
use super::{fit, workload};
use warpweft_terminal::arguments::Size;

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

/// Noise, unless other is asked for.
const JITTER: f64 = 0.02;

/// What to predict.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  warpweft model stencil --app heat --nodes 1,8,64,512         weak scaling, 256³ cells per GPU
  warpweft model stencil --scaling strong --size 1024 --plot strong.svg
  warpweft model stencil --machine p67-nf --nodes 1,32,1024    nodes of four GPUs (GTX 590) behind a PCIe tree
  warpweft model stencil --device cpu+gpu --machine x79 --nodes 1,64    with the cores, by B2R's equations
  warpweft model stencil --measured samples.json               fit to measured runs

All nodes are equal; each has one port into a network without a bottleneck (--gpus or --machine, --port-latency,
--port-bandwidth, --rate, --launch, --cpu-rate, --cpu-launch); other clusters can't be described yet.

A file for --measured is a list of runs of one application, as `warpweft bench tuner --samples FILE` writes it:
  [{\"extents\": [512, 512, 512], \"grid\": [4, 1, 1], \"depth\": 2, \"seconds\": 8.1e-5}, ...]
with the extents of the whole volume, the subdomains along each axis and the seconds per step. Add \"periodic\": false
if the first and the last subdomain are no neighbours. \"kernel\" is \"shrinking_launches\" by default, as on GPUs; the others
are \"whole\" and \"shrinking\" (one fixed cost per halo exchange).")]
pub struct Arguments {
    /// The application.
    #[arg(long, default_value = "heat", value_parser = workload::NAMES)]
    app: String,
    /// Order in space, for heat [default: 2].
    #[arg(long)]
    order: Option<usize>,
    /// Dimensions of heat, 2 or 3 [default: what --size or --measured has, else 3].
    #[arg(long)]
    dims: Option<usize>,
    /// Numbers of nodes [default: powers of two up to 1024].
    #[arg(long, value_delimiter = ',')]
    nodes: Option<Vec<usize>>,
    /// GPUs of a node, linked to one another [default: 4].
    #[arg(long)]
    gpus: Option<usize>,
    /// A machine of the PARTANS paper with two dual GTX 590: x79, p67-nat or p67-nf. With --nodes, each node is such a
    /// machine. Without, there is one machine: the best of its GPUs are chosen, and `--size` is the whole volume.
    #[arg(long, value_parser = ["x79", "p67-nat", "p67-nf"], conflicts_with_all = ["gpus", "gpu"])]
    machine: Option<String>,
    /// The devices that compute: GPUs, the cores of each node, or both, balanced (predicted, not simulated).
    #[arg(long, value_enum, default_value = "gpu")]
    device: Devices,
    /// The GPU [default: h200].
    #[arg(long, value_enum)]
    gpu: Option<Gpu>,
    /// Cells along the axes: of one subdomain (weak) or of the volume (strong) [default: 256x256x256, or 2048x2048 for
    /// applications in two dimensions].
    #[arg(long)]
    size: Option<Size>,
    /// Whether the volume grows with the machine [default: weak].
    #[arg(long, value_enum)]
    scaling: Option<Scaling>,
    /// Steps between halo exchanges (R) [default: the model's choice].
    #[arg(long)]
    depth: Option<usize>,
    /// Finish the halo exchange before the next steps begin, instead of computing boundaries first.
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
    /// Microseconds that a kernel launch takes in addition to its cells [default: 3.9 for an H200, measured; 5 for a GTX
    /// 590, assumed].
    #[arg(long)]
    launch: Option<f64>,
    /// Microseconds per step for the barrier of a node's cores [default: 2, assumed].
    #[arg(long)]
    cpu_launch: Option<f64>,
    /// Noise of every duration: standard deviation of its logarithm [default: 0.02].
    #[arg(long)]
    jitter: Option<f64>,
    /// Seed of the noise [default: 1].
    #[arg(long)]
    seed: Option<u64>,
    /// Fit the model to the measured runs in this file and compare, instead of simulating.
    #[arg(long, conflicts_with_all = [
        "nodes", "gpus", "machine", "device", "gpu", "size", "scaling", "depth", "no_overlap", "port_latency",
        "port_bandwidth", "rate", "cpu_rate", "launch", "cpu_launch", "jitter", "seed",
    ])]
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
        let runs = self.measured.as_deref().map(fit::read).transpose()?;
        let of_runs = runs.as_ref().and_then(|runs| runs.first()).map(|run| run.extents.len());
        let said = self.dims.or(self.size.as_ref().and_then(Size::dims));
        match (app(&self.app, self.order.unwrap_or(2), said.or(of_runs))?, runs) {
            (App::Flat(work), None) => self.study(&work, [2048; 2]),
            (App::Deep(work), None) => self.study(&work, [256; 3]),
            (App::Flat(work), Some(runs)) => self.fitted(&work, &runs),
            (App::Deep(work), Some(runs)) => self.fitted(&work, &runs),
        }
    }

    fn fitted<const D: usize>(&self, work: &Workload<D>, runs: &[fit::Run]) -> Result<String> {
        fit::text(work, runs, self.plot.as_deref(), self.json)
    }

    /// A rank a GPU of each node, which have its cores and its port between them.
    fn ranks(&self, nodes: usize, cores: Linear, host: &Host) -> Ranks {
        let share = self.gpus() as f64;
        Ranks {
            cores: Linear { per_unit: cores.per_unit * share, ..cores },
            network: match nodes {
                1 => Linear::default(),
                _ => Linear {
                    per_unit: share / self.port().bandwidth,
                    fixed: 2.0 * self.port().latency,
                },
            },
            host_link: Linear { per_unit: 1.0 / host.link, fixed: self.network(1).begin },
        }
    }

    /// Of parts, or a volume, of these extents unless others were named.
    fn study<const D: usize>(&self, work: &Workload<D>, size: [usize; D]) -> Result<String> {
        let size =
            self.size.as_ref().map_or(Ok(size), |size| size.extents(D).map(|size| size.array()))?;
        let (gpu, host) = (self.gpu(), Host::of(self.machine.as_deref()));
        let at = |rate: Option<f64>, launch: Option<f64>, rates: Linear| Linear {
            per_unit: rate.map_or(rates.per_unit, |rate| 1e-9 / rate),
            fixed: launch.map_or(rates.fixed, |micros| 1e-6 * micros),
        };
        let cores = at(self.cpu_rate, self.cpu_launch, host.rates(work.traffic));
        let (name, memory, device) = match self.device {
            Devices::Cpu => ("of them", host.memory, cores),
            _ => (gpu.name(), gpu.memory(), at(self.rate, self.launch, gpu.rates(work.traffic))),
        };
        let how = How {
            name,
            unit: self.unit(),
            memory,
            device,
            depth: self.depth,
            boundary_first: !self.no_overlap,
            jitter: self.jitter.unwrap_or(JITTER),
            seed: self.seed.unwrap_or(1),
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
            let rows = self.nodes().iter().map(|&nodes| {
                let parts = nodes * self.gpus();
                both::row(work, volume(parts), parts, &self.ranks(nodes, cores, &host), &how)
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
}
