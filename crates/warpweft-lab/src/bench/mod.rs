//! `warpweft bench`: rates at sizes that others publish, next to the peers that are installed.

mod apps;
mod channels;
mod extents;
mod farm;
mod kernels;
mod multi;
mod peers;
mod ranks;
mod record;
mod regrouped;
mod sessions;
mod stencil;
mod tuner;
mod wavefront;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;

/// Measure rates.
#[derive(clap::Args)]
pub struct Bench {
    #[command(subcommand)]
    pattern: Pattern,
}

#[derive(Subcommand)]
enum Pattern {
    /// Heat conduction on the cores (256^3) and on the first GPU (768^3, 16384^2), on the GPU one step
    /// per pass over memory.
    #[command(after_help = "Examples:
  warpweft bench stencil
  warpweft bench stencil --save             also writes bench/results/
  warpweft bench stencil --only cpu --repeats 9 --json")]
    Stencil(stencil::Stencils),
    /// Stencils of every kind on the first GPU: the untuned rate, the tuned rate, and the best rate of each
    /// kernel.
    #[command(after_help = "Examples:
  warpweft bench kernels --save
  warpweft bench kernels --only star5-f32,life --budget 20")]
    Kernels(kernels::Kernels),
    /// Alignment and time warping at sizes that others publish, and PeerWave's five methods on its six
    /// applications.
    #[command(after_help = "Examples:
  warpweft bench wavefront --only gpu --save
  warpweft bench wavefront --shrink 8 --repeats 3")]
    Wavefront(wavefront::Wavefronts),
    /// Heat conduction on the GPUs of this machine: strong scaling from 128^3 to 1024^3 and weak scaling
    /// at 1024^3 per GPU, against the best kernel and against the same kernel on one GPU.
    #[command(after_help = "Examples:
  warpweft bench multi --save
  warpweft bench multi --budget 60")]
    Multi(multi::Several),
    /// Every stencil application on all GPUs of this machine against one GPU, tuning time included.
    #[command(after_help = "Examples:
  warpweft bench apps --save
  warpweft bench apps --budget 4 --only heat8-3d,life --sizes 2x16384,3x512")]
    Apps(apps::Apps),
    /// Heat conduction on MPI ranks with a GPU each, next to one process with all GPUs.
    #[command(after_help = "Examples:
  mpirun -n 4 warpweft bench ranks --save
  mpirun -n 2 warpweft bench ranks --sizes 256")]
    Ranks(ranks::Ranked),
    /// Shortest paths from many sources of a random graph of 1,049,088 vertices, with every algorithm (form): on
    /// one GPU and on all of them, next to the limit of their memory bandwidth, and on the cores.
    #[command(after_help = "Examples:
  warpweft bench farm --save
  warpweft bench farm --shrink 16 --repeats 1")]
    Farm(farm::Farms),
    /// Fork-join tasks: Fibonacci numbers and queens, on the cores next to rayon and on the first GPU; flat loops
    /// and sorting on the cores.
    #[command(after_help = "Examples:
  warpweft bench channels --save
  warpweft bench channels --only gpu --repeats 9
  warpweft bench channels --figure 17       what aggregation saves")]
    Channels(channels::Trees),
    /// Sessions on two cores and on the first GPU: calls of one step, conjugate gradients, V-cycles, lattice Boltzmann (D3Q19),
    /// elastic waves with slices and checkpoints, the README's first program next to a plain loop, and the wall time of commands.
    #[command(after_help = "Examples:
  warpweft bench sessions --save
  warpweft bench sessions --only gradients,lattice --repeats 3")]
    Sessions(sessions::Sessions),
    /// Linear stencils whose sums may be regrouped, on the first GPU: separable weights of f64 on tensor cores, and periodic
    /// volumes by Fourier transforms.
    #[command(after_help = "Examples:
  warpweft bench regrouped --save
  warpweft bench regrouped --shrink 8 --repeats 3")]
    Regrouped(regrouped::Regrouped),
    /// Searches for the depth of ghost zones, simulated and on the GPUs of this machine, and the
    /// model's prediction next to measured steps.
    #[command(after_help = "Example:
  warpweft bench tuner --save
  warpweft bench tuner --samples here.json    a short probe for `warpweft model stencil --measured here.json`")]
    Tuner(tuner::Tuners),
}

/// Measurements of a case unless more or fewer are asked for.
const REPEATS: u32 = 5;
/// Where the peers are unless said otherwise.
const PEERS: &str = "bench/peers";

/// What every bench can be told.
#[derive(clap::Args)]
pub struct Options {
    /// Measurements of each case; the result is the median.
    #[arg(long, value_name = "N", default_value_t = REPEATS, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Folder with the programs of other systems; if it does not exist, none is run.
    #[arg(long, value_name = "DIR", default_value = PEERS)]
    peers: PathBuf,
    /// Write the results to a file in bench/results.
    #[arg(long)]
    save: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Options {
    /// What of these it takes to measure the same again.
    fn command(&self) -> String {
        let mut command = String::new();
        if self.repeats != REPEATS {
            command.push_str(&format!(" --repeats {}", self.repeats));
        }
        if self.peers != Path::new(PEERS) {
            command.push_str(&format!(" --peers {}", self.peers.display()));
        }
        command
    }
}

impl Bench {
    /// Whether every process that `mpirun` started is to measure.
    pub fn is_of_ranks(&self) -> bool {
        matches!(self.pattern, Pattern::Ranks(_))
    }

    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match &self.pattern {
            Pattern::Stencil(stencil) => stencil.execute(),
            Pattern::Kernels(kernels) => kernels.execute(),
            Pattern::Wavefront(wavefront) => wavefront.execute(),
            Pattern::Multi(several) => several.execute(),
            Pattern::Apps(apps) => apps.execute(),
            Pattern::Farm(farms) => farms.execute(),
            Pattern::Channels(trees) => trees.execute(),
            Pattern::Ranks(ranked) => ranked.execute(),
            Pattern::Sessions(sessions) => sessions.execute(),
            Pattern::Regrouped(regrouped) => regrouped.execute(),
            Pattern::Tuner(tuners) => tuners.execute(),
        }
    }
}
