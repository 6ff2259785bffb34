//! `warpweft tune apsp`: finds the number of lanes of a GPU and of threads of a block.

use std::process::ExitCode;
use std::time::Duration;

use warpweft::prelude::{Error, Farm, Result};
use warpweft::run::Target;
use warpweft_apps::apsp::{Form, Graph, Reach, ShortestPaths};

use super::at::{At, FormChoice};
use super::graph::GraphChoice;
use super::sources::SourceChoice;
use crate::arguments::seconds;
use crate::farms::tune::{About, Found, reported, searched};
use crate::output::fail;

/// Number of sources of a measured run, if the graph has as many.
const SAMPLE: u64 = 65_536;

/// Tune the lanes of GPUs and their blocks, for graphs of this size.
#[derive(clap::Args)]
pub struct Tune {
    /// The graph, as for `apsp`.
    graph: GraphChoice,
    /// Sources of the measured runs [default: 65536, or all].
    #[arg(long, value_name = "SOURCES")]
    sources: Option<SourceChoice>,
    /// Which GPUs: gpu, gpu:N, gpu:N,M,.. or gpus.
    #[arg(long, value_name = "DEVICE", default_value = "gpu")]
    device: Target,
    /// The algorithm of the search from a source; dial runs on cores and is refused here.
    #[arg(long, value_name = "FORM", value_enum, default_value = "auto")]
    form: FormChoice,
    /// Approximate seconds for the search.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = seconds)]
    budget: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// A text that identifies graphs with similar run times: form, and sizes rounded up to a power of two.
pub fn of(graph: &Graph, form: Form, distances: bool) -> String {
    let (vertices, edges) = (u64::from(graph.vertices()), graph.edge_count() as u64);
    let size = |number: u64| number.next_power_of_two().trailing_zeros();
    format!(
        "shortest paths by {form:?}{}, 2^{} vertices, 2^{} edges, weights to 2^{}",
        if distances { " with distances" } else { "" },
        size(vertices),
        size(edges),
        size(graph.heaviest().into()),
    )
}

impl Tune {
    /// Searches, stores the result and reports.
    pub fn execute(&self) -> ExitCode {
        match self.tune() {
            Ok(found) => reported(&found, self.json),
            Err(error) => fail(&error),
        }
    }

    fn tune(&self) -> Result<Vec<Found>> {
        let at = At::of(self.device, self.form, None)?;
        if at.threads > 0 || at.machine.gpus.is_empty() {
            let hint = "name gpu, gpu:N or gpus: only the lanes of GPUs are tuned";
            return Err(Error::spec(format!("tuning on --device {}", self.device), hint));
        }
        let graph = self.graph.graph()?;
        at.form.check(&graph)?;
        let all = SourceChoice::Random(SAMPLE.min(graph.vertices().into()));
        let sources = self.sources.as_ref().unwrap_or(&all).of(&graph)?;
        let of = of(&graph, at.form, false);
        let about =
            About { app: "apsp", of: &of, unit: "sources/s", words: ShortestPaths::<Reach>::WORDS };
        let farm = Farm::of(ShortestPaths::reach(&graph).by(at.form));
        let budget = Duration::from_secs(self.budget);
        searched(&about, &at.machine, budget, |machine, tuning| {
            farm.tune(&sources, machine, tuning)
        })
    }
}
