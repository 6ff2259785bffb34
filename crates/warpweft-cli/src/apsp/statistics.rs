//! Statistics of distances: each source's centrality, and the histogram of all distances.

use std::path::Path;

use serde_json::json;
use warpweft::grid::io::write_whole;
use warpweft::memory::filled;
use warpweft::prelude::*;
use warpweft_apps::apsp::{Centrality, Graph, Reach};

use crate::run::outcome::Answer;

/// What is known of the sources that are done.
#[derive(Default)]
pub struct Statistics {
    vertices: u32,
    /// By source.
    of: Vec<Option<Centrality>>,
    /// Pairs of a source and a vertex at each distance.
    pairs: Vec<u64>,
}

impl Statistics {
    /// Of `sources` sources of `graph`, none of which is done.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(graph: &Graph, sources: usize) -> Result<Self> {
        let of = filled(std::iter::repeat_n(None, sources), "take fewer sources")?;
        Ok(Self { vertices: graph.vertices(), of, pairs: Vec::new() })
    }

    /// Source number `k` is done, with so many vertices at each distance.
    pub fn add(&mut self, k: usize, reach: Reach, counts: &[u32]) {
        self.of[k] = Some(Centrality::of(reach, counts, self.vertices));
        if self.pairs.len() < counts.len() {
            self.pairs.resize(counts.len(), 0);
        }
        self.pairs.iter_mut().zip(counts).for_each(|(pairs, &count)| *pairs += u64::from(count));
    }

    /// That of source number `k`.
    pub fn centrality(&self, k: usize) -> Option<Centrality> {
        self.of.get(k).copied().flatten()
    }

    /// Means and extremes over the sources.
    pub fn summary(&self) -> Answer {
        let done = || self.of.iter().flatten();
        let count = done().count() as f64;
        if count == 0.0 {
            return Vec::new();
        }
        let mean = |of: fn(&Centrality) -> f64| done().map(of).sum::<f64>() / count;
        let most = done().map(|own| own.harmonic).fold(0.0, f64::max);
        vec![
            ("diameter", json!(done().map(|own| own.eccentricity).max())),
            ("mean_eccentricity", json!(mean(|own| own.eccentricity.into()))),
            ("mean_closeness", json!(mean(|own| own.closeness))),
            ("mean_harmonic", json!(mean(|own| own.harmonic))),
            ("largest_harmonic", json!(most)),
            ("median_distance", json!(self.median())),
        ]
    }

    /// The median distance of two vertices between which a path leads.
    fn median(&self) -> Option<usize> {
        // Each source is at distance 0 of itself, which is no path.
        let own = self.of.iter().flatten().count() as u64;
        let all: u64 = self.pairs.iter().sum::<u64>().checked_sub(own)?;
        let mut left = all.div_ceil(2);
        let at = |&(d, &pairs): &(usize, &u64)| {
            let pairs = if d == 0 { pairs - own } else { pairs };
            left = left.saturating_sub(pairs);
            left == 0
        };
        (all > 0).then(|| self.pairs.iter().enumerate().find(at)).flatten().map(|(d, _)| d)
    }

    /// Writes a line for each source.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn save_sources(&self, path: &Path, graph: &Graph, sources: &[u32]) -> Result<()> {
        let first = graph.names().start;
        write_whole(path, |to| {
            writeln!(to, "source,eccentricity,mean,closeness,harmonic")?;
            for (source, own) in sources.iter().zip(&self.of) {
                let Some(own) = own else { continue };
                let Centrality { eccentricity, mean, closeness, harmonic } = own;
                let mean = mean.map(|mean| mean.to_string()).unwrap_or_default();
                let source = first + u64::from(*source);
                writeln!(to, "{source},{eccentricity},{mean},{closeness},{harmonic}")?;
            }
            Ok(())
        })
    }

    /// Writes a line for each distance.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn save_histogram(&self, path: &Path) -> Result<()> {
        write_whole(path, |to| {
            writeln!(to, "distance,pairs")?;
            let mut lines = self.pairs.iter().enumerate();
            lines.try_for_each(|(distance, pairs)| writeln!(to, "{distance},{pairs}"))
        })
    }
}
