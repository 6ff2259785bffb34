//! The farm of searches, with a sink for what is asked for.

use std::path::Path;

use warpweft::farm::{self, OnFailure, Run};
use warpweft::prelude::*;
use warpweft_apps::apsp::{Graph, Reach, ShortestPaths, spread};

use super::at::At;
use super::{Apsp, FailureChoice, Found};

impl Apsp {
    /// Searches from all sources and stores each result.
    pub(super) fn search(
        &self,
        (graph, sources): (&Graph, &[u32]),
        at: &At,
        run: &Run<'_>,
        found: &mut Found,
    ) -> Result<farm::Outcome> {
        let machine = &at.machine;
        let on_failure = self.on_failure.policy();
        let Found { reaches, distances, statistics } = found;
        if !self.files.wants_distances() && self.files.wants_statistics() {
            let mut sink = |k: u64, (reach, counts): (Reach, Vec<u32>)| {
                reaches[k as usize] = Some(reach);
                if let Some(statistics) = statistics.as_mut() {
                    statistics.add(k as usize, reach, &counts);
                }
                Ok(())
            };
            let paths = ShortestPaths::spread(graph).by(at.form);
            return Farm::of(paths)
                .on_failure(on_failure)
                .run_into(sources, machine, run, &mut sink);
        }
        if !self.files.wants_distances() {
            let mut sink = |k: u64, reach| {
                reaches[k as usize] = Some(reach);
                Ok(())
            };
            let paths = ShortestPaths::reach(graph).by(at.form);
            return Farm::of(paths)
                .on_failure(on_failure)
                .run_into(sources, machine, run, &mut sink);
        }
        let width = graph.vertices() as usize;
        let mut sink = |k: u64, (reach, row): (Reach, Vec<u32>)| {
            let k = k as usize;
            // Rows of the journal may come from any worker.
            if row.len() != width {
                let journal = run.checkpoint.map(|journal| journal.directory.as_path());
                return Err(Error::file(
                    journal.unwrap_or(Path::new("the journal")),
                    format!("holds {} distances of source number {k}, of {width}", row.len()),
                    "start again in an empty folder",
                ));
            }
            reaches[k] = Some(reach);
            if let Some(statistics) = statistics.as_mut() {
                let counts = spread(reach, &row)
                    .map_err(|what| Error::spec(what.to_string(), "scale the weights down"))?;
                statistics.add(k, reach, &counts);
            }
            if let Some(rows) = distances.as_mut() {
                rows.as_mut_slice()[k * width..(k + 1) * width].copy_from_slice(&row);
            }
            Ok(())
        };
        let paths = ShortestPaths::distances(graph).by(at.form);
        Farm::of(paths).on_failure(on_failure).run_into(sources, machine, run, &mut sink)
    }
}

impl FailureChoice {
    /// As farms have it.
    fn policy(self) -> OnFailure {
        match self {
            Self::Stop => OnFailure::Stop,
            Self::Skip => OnFailure::Skip,
        }
    }
}
