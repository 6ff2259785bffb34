//! The farm of searches, with a sink for what is asked for.

use std::ops::Range;
use std::path::Path;

use warpweft::farm::{self, OnFailure, Run};
use warpweft::prelude::*;
use warpweft_apps::apsp::{Graph, Reach, ShortestPaths, spread};

use super::answer::Found;
use super::at::At;
use super::{Apsp, FailureChoice};

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
        let journal = run.checkpoint.map(|journal| journal.directory.as_path());
        let mut take = |k: usize, bytes: &mut &[u8]| {
            let (reach, row) = unpacked(bytes, k, width, journal)?;
            reaches[k] = Some(reach);
            let Some(rows) = distances.as_mut() else { return Ok(()) };
            let to = &mut rows.as_mut_slice()[k * width..(k + 1) * width];
            let from = row.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from);
            if let Some(statistics) = statistics.as_mut() {
                // Tasks of this run have none that is too far; rows of a journal may.
                let counts = spread(reach, to);
                let counts = counts.map_err(|what| too_far(graph, sources[k], &what))?;
                statistics.add(k, reach, &counts);
            }
            Ok(())
        };
        let mut sink = |tasks: Range<u64>, mut bytes: &[u8]| {
            tasks.into_iter().try_for_each(|k| take(k as usize, &mut bytes))
        };
        let paths = match self.files.wants_statistics() {
            true => ShortestPaths::counted(graph),
            false => ShortestPaths::distances(graph),
        };
        let paths = paths.by(at.form);
        Farm::of(paths).on_failure(on_failure).run_packed(sources, machine, run, &mut sink)
    }
}

/// A row of a journal has distances that are too large for statistics.
fn too_far(graph: &Graph, source: u32, what: &Failure) -> Error {
    let from = graph.names().start + u64::from(source);
    let hint = "continue without --statistics and --histogram";
    Error::spec(format!("source {from} of the journal: {what}"), hint)
}

/// The next of `bytes`: what source number `k` reaches, and its `width` distances.
///
/// # Errors
/// Other bytes, which a journal may hold.
fn unpacked<'b>(
    bytes: &mut &'b [u8],
    k: usize,
    width: usize,
    journal: Option<&Path>,
) -> Result<(Reach, &'b [u8])> {
    let wrong = |what: String| {
        let journal = journal.unwrap_or(Path::new("the journal"));
        Error::file(journal, what, "start again in an empty folder")
    };
    let cut = || wrong(format!("holds no distances of source number {k}"));
    let (reach, length): (Reach, u64) = Packed::unpack(bytes).ok_or_else(cut)?;
    // Rows of the journal may come from any worker.
    if length != width as u64 {
        return Err(wrong(format!("holds {length} distances of source number {k}, of {width}")));
    }
    let (row, rest) = bytes.split_at_checked(4 * width).ok_or_else(cut)?;
    *bytes = rest;
    Ok((reach, row))
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
