//! `warpweft tune align` and `tune dtw`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use warpweft::Result;
use warpweft::machine::Machine;
use warpweft::wavefront::{Tuned, Tuning};
use warpweft_apps::align;

use super::Told;
use crate::align::Align;
use crate::arguments::seconds;
use crate::output::{note, scaled};
use crate::progress::Progress;
use crate::recurrences::Dtw;

#[derive(clap::Args)]
pub struct TuneAlign {
    #[command(flatten)]
    of: Align,
    #[command(flatten)]
    search: Search,
}

#[derive(clap::Args)]
pub struct TuneDtw {
    #[command(flatten)]
    of: Dtw,
    #[command(flatten)]
    search: Search,
}

#[derive(clap::Args)]
struct Search {
    /// Approximate limit on the time of the search, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = seconds)]
    budget: u64,
}

impl TuneAlign {
    pub(super) fn execute(&self) -> Result<Told> {
        let (query, target, scoring) = self.of.tunable()?;
        let (device, threads, json) = self.of.place();
        let tuning = self.search.tuning(device, threads);
        let (machine, scope) = (Machine::detect()?, self.of.scope());
        let tuned = searched(self.search.budget, || {
            align::tune(&query, &target, &scoring, scope, (&machine, &tuning))
        })?;
        Ok(shown("align", [query.len(), target.len()], &tuned, json))
    }
}

impl TuneDtw {
    pub(super) fn execute(&self) -> Result<Told> {
        let (device, threads, json) = self.of.place();
        let tuning = self.search.tuning(device, threads);
        let machine = Machine::detect()?;
        let (lengths, tuned) = searched(self.search.budget, || self.of.tuned(&machine, &tuning))?;
        Ok(shown("dtw", lengths, &tuned, json))
    }
}

impl Search {
    fn tuning(&self, target: warpweft::run::Target, threads: Option<usize>) -> Tuning {
        Tuning { target, threads, budget: Duration::from_secs(self.budget), folder: None }
    }
}

fn searched<T>(budget: u64, search: impl FnOnce() -> Result<T>) -> Result<T> {
    let progress = Progress::waiting("tuning");
    progress.tell(format!("of about {budget} seconds"));
    let found = search();
    progress.clear();
    found
}

fn shown(app: &str, extents: [usize; 2], tuned: &Tuned, json: bool) -> Told {
    tuned.notes.iter().for_each(|what| note(what));
    let failure = tuned.failure.clone();
    if json {
        let object = json!({
            "app": app, "extents": extents, "policy": tuned.policy,
            "rate": {"value": tuned.rate, "unit": "cells/s"},
            "untuned": {"value": tuned.untuned, "unit": "cells/s"},
            "measured": tuned.measured, "tried": tuned.tried, "refused": tuned.refused,
            "complete": tuned.complete, "kept": tuned.kept,
        });
        return Told { text: object.to_string(), failure };
    }
    let mut reasons = BTreeMap::new();
    for refused in &tuned.refused {
        *reasons.entry(&refused.reason).or_insert(0) += 1;
    }
    let told = |(reason, count)| format!("  refused  {count}: {reason}\n");
    let refused: String = reasons.into_iter().map(told).collect();
    let end = if tuned.complete { "the search ended" } else { "the budget was spent" };
    let kept = match tuned.kept {
        true => "kept for runs of about this size on this device",
        false => "not kept",
    };
    let policy = serde_json::to_string(&tuned.policy).unwrap_or_default();
    let text = format!(
        "{app}: {}cells/s, {:.2} times the {}cells/s of the untuned policy\n  \
         tried    {} until {end}\n{refused}  policy   {policy}\n  {kept}",
        scaled(tuned.rate),
        tuned.rate / tuned.untuned,
        scaled(tuned.untuned),
        match tuned.tried {
            1 => "1 policy".to_string(),
            tried => format!("{tried} policies"),
        },
    );
    Told { text, failure }
}
