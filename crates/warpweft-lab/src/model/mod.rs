//! `warpweft model`: what would happen on machines that are not there.

mod both;
mod channels;
mod chart;
mod device;
mod farm;
mod fit;
mod scaling;
mod searches;
mod stencil;
mod titan;
mod wavefront;
mod workload;

use std::process::ExitCode;

use clap::Subcommand;

use warpweft_terminal::output;

pub use fit::Run as Measured;
pub use searches::{SEARCHES, table_two};

/// Which model.
#[derive(clap::Args)]
pub struct Model {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Predict and simulate a stencil on many GPUs, cores and nodes, weak or strong scaling.
    Stencil(Box<stencil::Arguments>),
    /// Predict the figures of the B2R paper for nodes of Titan.
    Titan(titan::Arguments),
    /// Compare searches for the depth of ghost zones on simulated machines.
    Searches(searches::Arguments),
    /// Simulate TuCCompi's clusters with its three policies, and 10,000 workers.
    Farm(farm::Arguments),
    /// Simulate a recursion through a stack of channels: items in flight, width, batch.
    Channels(channels::Arguments),
    /// Predict PeerWave's tile widths and idle times, and measure them if there is a GPU.
    Wavefront(wavefront::Arguments),
}

impl Model {
    /// Computes and reports.
    pub fn execute(&self) -> ExitCode {
        let text = match &self.what {
            What::Stencil(arguments) => arguments.text(),
            What::Titan(arguments) => arguments.text(),
            What::Searches(arguments) => arguments.text(),
            What::Farm(arguments) => arguments.text(),
            What::Channels(arguments) => arguments.text(),
            What::Wavefront(arguments) => arguments.text(),
        };
        match text {
            Ok(text) => output::say(text.trim_end()),
            Err(error) => output::fail(&error),
        }
    }
}
