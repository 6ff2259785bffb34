//! `warpweft tune apsp`: finds the number of lanes of a GPU and of threads of a block.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use warpweft::farm::{self, Policy, Tuning};
use warpweft::prelude::{Error, Farm, Result};
use warpweft::run::Target;
use warpweft_apps::apsp::{Form, Graph, ShortestPaths};

use super::at::{At, FormChoice};
use super::graph::GraphChoice;
use super::sources::SourceChoice;
use crate::arguments::seconds;
use crate::output::{complain, fail, note, say, scaled};
use crate::progress::Progress;

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
    /// The algorithm of the search from a source.
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
            Ok((text, None)) => say(&text),
            Ok((text, Some(failure))) => {
                say(&text);
                complain(&format!("the policy is not kept: {failure}"));
                ExitCode::FAILURE
            }
            Err(error) => fail(&error),
        }
    }

    fn tune(&self) -> Result<(String, Option<String>)> {
        let at = At::of(self.device, self.form, None)?;
        if at.threads > 0 || at.machine.gpus.is_empty() {
            let hint = "name gpu, gpu:N or gpus: only the lanes of GPUs are tuned";
            return Err(Error::spec(format!("tuning on --device {}", self.device), hint));
        }
        let graph = self.graph.graph()?;
        at.form.check(&graph, false)?;
        let all = SourceChoice::Random(SAMPLE.min(graph.vertices().into()));
        let sources = self.sources.as_ref().unwrap_or(&all).of(&graph)?;
        let of = of(&graph, at.form, false);
        let tuning = Tuning {
            of: &of,
            start: Policy::default(),
            budget: Duration::from_secs(self.budget),
            folder: None,
        };
        let farm = Farm::of(ShortestPaths::reach(&graph).by(at.form));
        let waiting = Progress::waiting("tuning");
        let tuned = farm.tune(&sources, &at.machine, &tuning);
        waiting.clear();
        let tuned = tuned?;
        tuned.notes.iter().for_each(|what| note(what));
        Ok((self.shown(&tuned), tuned.failure))
    }

    fn shown(&self, tuned: &farm::Tuned) -> String {
        let farm::Tuned { policy, rate, untuned, trials, complete, kept, .. } = tuned;
        if self.json {
            let trials: Vec<_> = trials
                .iter()
                .map(|(lanes, block, told)| match told {
                    Ok(rate) => json!({"lanes": lanes, "block": block, "rate": rate}),
                    Err(why) => json!({"lanes": lanes, "block": block, "refused": why}),
                })
                .collect();
            let object = json!({
                "app": "apsp", "policy": policy, "rate": {"value": rate, "unit": "sources/s"},
                "untuned": {"value": untuned, "unit": "sources/s"}, "measured": tuned.measured,
                "trials": trials, "complete": complete, "kept": kept,
            });
            return object.to_string();
        }
        let mut text = format!(
            "apsp: {}sources/s, {:.2} times the {}sources/s of the untuned policy\n",
            scaled(*rate),
            rate / untuned,
            scaled(*untuned)
        );
        for (lanes, block, told) in trials {
            let block = if *block == 0 { "own block".into() } else { format!("{block} threads") };
            let told = match told {
                Ok(rate) => format!("{}sources/s", scaled(*rate)),
                Err(why) => format!("refused: {why}"),
            };
            text.push_str(&format!("  {lanes} lanes, {block:<12} {told}\n"));
        }
        let end = if *complete { "the search ended" } else { "the budget was spent" };
        let kept = match kept {
            true => "kept for such graphs on such GPUs",
            false => "not kept: later runs do not use it",
        };
        let lanes = policy.lanes;
        text + &format!("  {} tried until {end}; {lanes} lanes are {kept}", trials.len())
    }
}
