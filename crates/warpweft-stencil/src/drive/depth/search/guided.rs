//! The model proposes, a few swaps check, and the model learns from them.
//!
//! A depth that is predicted or found close to the best gets swaps enough to tell the two apart; any
//! other is dropped after one. The model alone is not trusted: on real GPUs time may rise with depth
//! and fall again, which no rates explain. So depth 1, where nothing is computed twice, and half and
//! twice the best depth are looked at as well. What looks at slow depths have lost is made up for at
//! the best one before the search ends.

use crate::drive::depth::search::{DepthSearch, Trial};
use crate::model::ghost::{Geometry, GhostModel, Sample, refine};

/// Swaps of the first trial, and of any depth that may be the best.
const SWAPS: usize = 4;
/// Steps of a depth that may be the best: swaps of shallow depths are cheap, and as noisy.
const STEPS: usize = 16;
/// Depths tried at most; powers of two up to a depth of 512.
const DEPTHS: usize = 10;
/// A predicted gain that is not worth another trial.
const NEGLIGIBLE: f64 = 0.01;
/// A depth slower than the best by this factor is dropped.
const CLOSE: f64 = 1.04;
/// The share of its time that a search may lose to depths that are not the best.
const BUDGET: f64 = 0.035;
/// Beyond this depth the first trial is at half the prior's optimum: the valley is flat there, a trial
/// costs steps in proportion to its depth, and a prior that overrates the network proposes too deep.
const DEEP: usize = 8;
/// The model is believed up to the deepest depth timed, times this.
const REACH: usize = 4;
/// A depth timed often counts as so many samples at most.
const WEIGHT: usize = 4;

/// Starts where the prior model predicts the optimum, or short of it, and after every trial refits the
/// model and goes to its new optimum, depth 1 or a neighbour, until none is new and none is close to
/// the best and timed too briefly.
#[derive(Clone, Debug)]
pub struct Guided<G> {
    prior: GhostModel,
    fitted: GhostModel,
    part: G,
    deepest: usize,
    looks: Vec<Look>,
    next: Option<Trial>,
}

/// All that is known of one depth.
#[derive(Clone, Copy, Debug)]
struct Look {
    depth: usize,
    swaps: usize,
    /// A step, on average.
    seconds: f64,
}

impl Look {
    fn steps(&self) -> f64 {
        (self.depth * self.swaps) as f64
    }
}

impl<G: Geometry + Clone> Guided<G> {
    /// Searches `1..=deepest` for the part that all wait for. `prior` holds the rates of an offline
    /// probe; factors of two or three are forgiven.
    pub fn new(prior: GhostModel, part: G, deepest: usize) -> Self {
        let deepest = deepest.max(1);
        let best = prior.best_depth(&part, deepest).0;
        let depth = if best > DEEP { best.div_ceil(2) } else { best };
        let next = Some(Trial { depth, swaps: SWAPS });
        Self { prior, fitted: prior, part, deepest, looks: Vec::new(), next }
    }

    /// The model as the trials so far have it.
    pub fn model(&self) -> &GhostModel {
        &self.fitted
    }

    fn predicted(&self, depth: usize) -> f64 {
        self.fitted.predict(&self.part, depth).seconds
    }

    /// Measurement and fit together: the fit averages noise out, the measurement knows what the model
    /// leaves out.
    fn estimate(&self, look: &Look) -> f64 {
        (look.seconds * self.predicted(look.depth)).sqrt()
    }

    /// Of the depths timed.
    fn fastest(&self) -> Option<Look> {
        let by_estimate = |a: &Look, b: &Look| self.estimate(a).total_cmp(&self.estimate(b));
        self.looks.iter().copied().min_by(by_estimate)
    }

    fn propose(&self) -> Option<Trial> {
        let best = self.fastest()?;
        self.elsewhere(&best).or_else(|| self.again(&best)).or_else(|| self.make_up(&best))
    }

    /// A depth not timed yet, nor one like it.
    fn elsewhere(&self, best: &Look) -> Option<Trial> {
        if self.looks.len() >= DEPTHS {
            return None;
        }
        let reach = REACH * self.looks.iter().map(|look| look.depth).max()?;
        let (optimum, there) = self.fitted.best_depth(&self.part, self.deepest.min(reach));
        let here = self.predicted(best.depth);
        let promising = there.seconds < here * (1.0 - NEGLIGIBLE);
        let depths = [1, if promising { optimum } else { 1 }, 2 * best.depth, best.depth / 2];
        let timed = |depth: usize| {
            let alike = |look: &Look| 4 * look.depth.abs_diff(depth) <= look.depth.min(depth);
            self.looks.iter().any(alike)
        };
        let mut depths = depths.map(|depth| depth.clamp(1, self.deepest)).into_iter();
        let depth = depths.find(|depth| !timed(*depth))?;
        // One depth alone cannot tell latency from work.
        let close = self.looks.len() > 1 && self.predicted(depth) < CLOSE * here;
        Some(Trial { depth, swaps: if close { enough(depth) } else { 1 } })
    }

    /// A depth timed too briefly for how close it is to the best, or the best itself.
    fn again(&self, best: &Look) -> Option<Trial> {
        let limit = CLOSE * self.estimate(best);
        let unsure = |look: &&Look| look.swaps < enough(look.depth) && self.estimate(look) < limit;
        let look = self.looks.iter().find(unsure)?;
        Some(Trial { depth: look.depth, swaps: enough(look.depth) - look.swaps })
    }

    /// Time at the best depth, until what others lost is within the budget.
    fn make_up(&self, best: &Look) -> Option<Trial> {
        let spent: f64 = self.looks.iter().map(|look| look.steps() * look.seconds).sum();
        let ideal: f64 = self.looks.iter().map(|look| look.steps() * best.seconds).sum();
        let missing = (spent * (1.0 - BUDGET) - ideal) / BUDGET;
        let swap = best.depth as f64 * best.seconds;
        let short = missing > 0.0 && swap > 0.0;
        short.then(|| Trial { depth: best.depth, swaps: SWAPS.max((missing / swap) as usize + 1) })
    }

    /// The model, fitted to all depths by how long each was timed.
    fn refit(&mut self) {
        let sample = |look: &Look| {
            let (depth, seconds) = (look.depth, look.seconds);
            let weight = look.swaps.div_ceil(SWAPS).min(WEIGHT);
            std::iter::repeat_n(Sample { part: self.part.clone(), depth, seconds }, weight)
        };
        let samples: Vec<_> = self.looks.iter().flat_map(sample).collect();
        self.fitted = refine(&self.prior, &samples).model;
    }
}

/// Swaps after which a depth's time is known.
fn enough(depth: usize) -> usize {
    SWAPS.max(STEPS.div_ceil(depth))
}

impl<G: Geometry + Clone> DepthSearch for Guided<G> {
    fn next(&mut self) -> Option<Trial> {
        self.next
    }

    fn record(&mut self, seconds: f64) {
        let Some(Trial { depth, swaps }) = self.next else { return };
        match self.looks.iter_mut().find(|look| look.depth == depth) {
            Some(look) => {
                let all = look.swaps + swaps;
                let sum = look.seconds * look.swaps as f64 + seconds * swaps as f64;
                (look.swaps, look.seconds) = (all, sum / all as f64);
            }
            None => self.looks.push(Look { depth, swaps, seconds }),
        }
        self.refit();
        self.next = self.propose();
    }

    fn best(&self) -> usize {
        let predicted = || self.fitted.best_depth(&self.part, self.deepest).0;
        self.fastest().map_or_else(predicted, |look| look.depth)
    }
}
