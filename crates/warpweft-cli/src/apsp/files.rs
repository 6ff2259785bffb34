//! The files of `apsp`: a line or a row for each source.

use std::path::{Path, PathBuf};

use warpweft::farm::AHEAD;
use warpweft::grid::io::{npy, write_whole};
use warpweft::memory::check_room;
use warpweft::prelude::*;
use warpweft::trace::Trace;
use warpweft_apps::apsp::Graph;

use super::answer::Found;
use crate::run::files::{Format, Saved, Saving, ending, found_writable, none_read};

/// The files.
#[derive(clap::Args)]
pub struct Files {
    /// Save one line for each source: source, vertices reached, largest distance, sum of distances; .csv, or .npy for an
    /// array of uint64. May be repeated.
    #[arg(long, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Save all distances: an array of uint32 with a row for each source.
    #[arg(long, value_name = "FILE.npy")]
    distances: Option<PathBuf>,
    /// Save eccentricity, mean distance, closeness and harmonic centrality of each source. Distances may be at most 1,048,575.
    #[arg(long, value_name = "FILE.csv")]
    statistics: Option<PathBuf>,
    /// Save how many pairs of a source and a vertex are at each distance, pairs of a vertex with itself too. Distances may
    /// be at most 1,048,575.
    #[arg(long, value_name = "FILE.csv")]
    histogram: Option<PathBuf>,
    /// Save a timeline that Perfetto (ui.perfetto.dev) opens.
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,
}

impl Files {
    /// Checks that all files can be written, and that none is also read.
    ///
    /// # Errors
    /// An ending that names no format, a file named twice, or a place that can't be written.
    pub fn check(&self, graph: Option<&Path>, sources: Option<&Path>) -> Result<()> {
        self.output.iter().try_for_each(|path| ending(path, &["csv", "npy"]).map(drop))?;
        if let Some(path) = &self.distances {
            Format::of(path, &[Format::Npy])?;
        }
        if let Some(path) = &self.trace {
            ending(path, &["json"])?;
        }
        for path in self.statistics.iter().chain(&self.histogram) {
            ending(path, &["csv"])?;
        }
        let all = self.output.iter().chain(&self.distances).chain(&self.trace);
        let all = all.chain(&self.statistics).chain(&self.histogram);
        let read: Vec<_> = graph.into_iter().chain(sources).collect();
        none_read(all.clone(), &read)?;
        found_writable(all)
    }

    /// Whether any file is requested.
    pub fn any(&self) -> bool {
        let Self { output, distances, statistics, histogram, trace } = self;
        !output.is_empty()
            || [distances, statistics, histogram, trace].iter().any(|file| file.is_some())
    }

    /// Whether all distances are requested.
    pub fn wants_distances(&self) -> bool {
        self.distances.is_some()
    }

    /// Whether it is requested how many vertices are at each distance.
    pub fn wants_statistics(&self) -> bool {
        self.statistics.is_some() || self.histogram.is_some()
    }

    /// The array for all distances, if they are requested; initially no vertex is reached. With `at_once`
    /// sources in progress, further rows are in transit.
    ///
    /// # Errors
    /// They don't fit into memory.
    pub fn rows(
        &self,
        graph: &Graph,
        sources: &[u32],
        at_once: usize,
    ) -> Result<Option<Volume<u32, 2>>> {
        if !self.wants_distances() {
            return Ok(None);
        }
        let extents = [sources.len(), graph.vertices() as usize];
        // One in progress, those that wait, and one being passed on.
        let ahead = sources.len().min((AHEAD + 2).saturating_mul(at_once));
        let rows = (sources.len() + ahead) as u64;
        let bytes = rows.saturating_mul(4 * u64::from(graph.vertices()));
        check_room(bytes, "name fewer --sources, --threads or --lanes, or leave --distances out")?;
        Volume::try_from_fn(extents, |_| u32::MAX).map(Some)
    }

    /// Writes the requested files.
    pub fn save(
        &self,
        graph: &Graph,
        sources: &[u32],
        found: &Found,
        trace: Option<&Trace>,
    ) -> Saved {
        let mut saving = Saving::default();
        for path in &self.output {
            saving.add(path, move || match ending(path, &["csv", "npy"]) {
                Ok(0) => csv(path, graph, sources, found),
                _ => table(graph, sources, found).and_then(|table| npy::write(path, &table, 0)),
            });
        }
        if let (Some(path), Some(rows)) = (&self.distances, &found.distances) {
            saving.add(path, || npy::write(path, rows, 0));
        }
        if let Some(statistics) = &found.statistics {
            if let Some(path) = &self.statistics {
                saving.add(path, || statistics.save_sources(path, graph, sources));
            }
            if let Some(path) = &self.histogram {
                saving.add(path, || statistics.save_histogram(path));
            }
        }
        if let (Some(path), Some(trace)) = (&self.trace, trace) {
            saving.add(path, || trace.save(path));
        }
        saving.save(Saved::default())
    }
}

/// Source, reached, farthest and total of each finished source.
fn lines<'a>(
    graph: &Graph,
    sources: &'a [u32],
    found: &'a Found,
) -> impl Iterator<Item = [u64; 4]> + use<'a> {
    let first = graph.names().start;
    let done =
        sources.iter().zip(&found.reaches).filter_map(|(source, reach)| Some((source, (*reach)?)));
    done.map(move |(&source, reach)| {
        [first + u64::from(source), reach.reached.into(), reach.farthest.into(), reach.total]
    })
}

fn csv(path: &Path, graph: &Graph, sources: &[u32], found: &Found) -> Result<()> {
    write_whole(path, |to| {
        writeln!(to, "source,reached,farthest,total")?;
        lines(graph, sources, found).try_for_each(|[source, reached, farthest, total]| {
            writeln!(to, "{source},{reached},{farthest},{total}")
        })
    })
}

fn table(graph: &Graph, sources: &[u32], found: &Found) -> Result<Volume<u64, 2>> {
    let done = found.reaches.iter().flatten().count();
    let mut values = lines(graph, sources, found).flatten();
    Volume::try_from_fn([done, 4], |_| values.next().unwrap_or_default())
}
