//! Searches for the depth of ghost zones while the run goes on: PARTANS §6.5, and one that models.
//!
//! A search proposes a depth and a number of swaps to time; every step it takes is a step of the run,
//! well or badly spent. Depths count steps R, not cells of halo, which prunes the space by the
//! footprint: halos between two multiples of δ are never tried (PARTANS figure 10, Tricubic).

mod blocks;
mod dichotomic;
mod exhaustive;
mod guided;
mod hill;

pub use dichotomic::Dichotomic;
pub use exhaustive::Exhaustive;
pub use guided::Guided;
pub use hill::HillClimbing;

use self::blocks::{InBlocks, WholeBlocks};

use crate::drive::cut::simulate::Cycle;
use crate::model::ghost::{GhostModel, Traced};
use crate::plan::halo::Footprint;
use crate::plan::partition::Partition;
use warpweft_core::cluster::Jitter;
use warpweft_core::element::FieldInfo;

/// What to run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Steps between swaps.
    pub depth: usize,
    /// Swaps to time.
    pub swaps: usize,
}

/// Finds the depth of least time a step.
pub trait DepthSearch {
    /// What to time next; `None` once the search has converged. The same until
    /// [`DepthSearch::record`] is called.
    fn next(&mut self) -> Option<Trial>;

    /// Takes in the mean seconds a step of the last trial.
    fn record(&mut self, seconds: f64);

    /// The best depth known.
    fn best(&self) -> usize;
}

/// Which search, as a tunable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Search {
    /// [`Exhaustive`].
    Exhaustive,
    /// [`HillClimbing`].
    HillClimbing,
    /// [`Dichotomic`].
    Dichotomic,
    /// [`Guided`], from these rates.
    Guided(GhostModel),
}

impl Search {
    /// What ranks must agree on: rates may differ, as only rank 0's search is asked.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Exhaustive => "exhaustive",
            Self::HillClimbing => "hill climbing",
            Self::Dichotomic => "dichotomic",
            Self::Guided(_) => "guided",
        }
    }

    /// Starts the search over the multiples of `fused_steps` in `1..=deepest`; over all of them where there are
    /// none.
    pub fn start(
        self,
        partition: &Partition,
        stages: &[Footprint],
        fields: &[FieldInfo],
        (deepest, fused_steps): (usize, usize),
    ) -> Box<dyn DepthSearch> {
        let fused_steps = if (1..=deepest).contains(&fused_steps) { fused_steps } else { 1 };
        let blocks = deepest / fused_steps;
        let search: Box<dyn DepthSearch> = match self {
            Self::Exhaustive => Box::new(Exhaustive::new(blocks)),
            Self::HillClimbing => Box::new(HillClimbing::new(blocks)),
            Self::Dichotomic => Box::new(Dichotomic::new(blocks)),
            Self::Guided(mut prior) => {
                // A time block moves the bytes of a step.
                prior.compute.per_unit /= fused_steps as f64;
                let part = Traced::new(partition, stages, fields, deepest);
                Box::new(Guided::new(prior, InBlocks { part, fused_steps }, blocks))
            }
        };
        if fused_steps > 1 { Box::new(WholeBlocks { search, fused_steps }) } else { search }
    }
}

/// Swaps that PARTANS times for each depth.
const SWAPS: usize = 10;

/// Depths timed so far.
#[derive(Clone, Debug, Default)]
struct Timed(Vec<(usize, f64)>);

impl Timed {
    fn seconds(&self, depth: usize) -> Option<f64> {
        self.0.iter().find(|(d, _)| *d == depth).map(|(_, seconds)| *seconds)
    }

    fn best(&self) -> Option<(usize, f64)> {
        self.0.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// How a search did, in the terms of PARTANS' table II.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Assessment {
    /// The depth it came to.
    pub depth: usize,
    /// The fraction of the best depth's speed that is reached while searching.
    pub during: f64,
    /// The fraction of it that is reached after.
    pub after: f64,
    /// Steps until it converged.
    pub steps: u64,
}

/// Lets a search loose on simulated depths: `cycles[r - 1]` is depth r. The search sees noise, its
/// steps are charged without; its speed is compared with that of the best depth without noise.
///
/// # Panics
/// When the search asks for a depth that `cycles` does not have.
pub fn assess(search: &mut dyn DepthSearch, cycles: &[Cycle], jitter: &mut Jitter) -> Assessment {
    let exact: Vec<f64> = cycles.iter().map(Cycle::exact).collect();
    tally(search, &exact, |trial| cycles[trial.depth - 1].run(trial.swaps, jitter).seconds)
}

/// The same on depths that were measured before: `runs[r - 1]` are seconds a step of runs at depth r,
/// of which the search sees one after another. Steps are charged at the median; the speed is compared with that of
/// the depth with the least median.
///
/// # Panics
/// When the search asks for a depth of which there are no runs.
pub fn assess_measured(search: &mut dyn DepthSearch, runs: &[Vec<f64>]) -> Assessment {
    let median = |runs: &Vec<f64>| {
        let mut runs = runs.clone();
        runs.sort_by(f64::total_cmp);
        runs[runs.len() / 2]
    };
    let exact: Vec<f64> = runs.iter().map(median).collect();
    let mut seen = vec![0; runs.len()];
    tally(search, &exact, |trial| {
        let of_depth = &runs[trial.depth - 1];
        seen[trial.depth - 1] += 1;
        of_depth[(seen[trial.depth - 1] - 1) % of_depth.len()]
    })
}

fn tally(
    search: &mut dyn DepthSearch,
    exact: &[f64],
    mut sample: impl FnMut(Trial) -> f64,
) -> Assessment {
    let least = exact.iter().copied().fold(f64::INFINITY, f64::min);
    let (mut steps, mut seconds) = (0, 0.0);
    while let Some(trial) = search.next() {
        search.record(sample(trial));
        let taken = trial.depth * trial.swaps;
        steps += taken as u64;
        seconds += taken as f64 * exact[trial.depth - 1];
    }
    let during = if steps == 0 { 1.0 } else { steps as f64 * least / seconds };
    let depth = search.best();
    Assessment { depth, during, after: least / exact[depth - 1], steps }
}

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
