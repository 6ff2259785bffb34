//! The model proposes, a few swaps check, and the model learns from them.

use super::super::super::ghost_model::{Geometry, GhostModel, Sample, refine};
use super::{DepthSearch, Timed, Trial};

/// Swaps timed a depth: fewer than the other searches need, because one fit pools all of them.
const SWAPS: usize = 4;
/// Depths tried at most; the fit has told them apart long before.
const TRIALS: usize = 8;
/// A predicted gain that is not worth another trial.
const NEGLIGIBLE: f64 = 0.01;
/// A slower neighbour by this factor is a slope, not noise.
const STEEP: f64 = 1.03;
/// A fit this far from some sample has not understood the machine.
const MISFIT: f64 = 0.10;
/// Prediction and measurement this close confirm the prior.
const CONFIRMED: f64 = 0.05;
/// Beyond this depth the first trial is at half the prior's optimum: the valley is flat there, a trial
/// costs steps in proportion to its depth, and a prior that overrates the network proposes too deep.
const DEEP: usize = 8;

/// Starts where the prior model predicts the optimum, or short of it, and after every trial refits the model and goes
/// to its new optimum, until that is known or promises nothing. A first trial as predicted ends it.
#[derive(Clone, Debug)]
pub struct Guided<G> {
    prior: GhostModel,
    fitted: GhostModel,
    /// Of the fit, for the sample it explains worst.
    error: f64,
    part: G,
    deepest: usize,
    samples: Vec<Sample<G>>,
    timed: Timed,
    next: Option<usize>,
}

impl<G: Geometry + Clone> Guided<G> {
    /// Searches `1..=deepest` for the part that all wait for. `prior` holds the rates of an offline
    /// probe; factors of two or three are forgiven.
    pub fn new(prior: GhostModel, part: G, deepest: usize) -> Self {
        let deepest = deepest.max(1);
        let best = prior.best_depth(&part, deepest).0;
        let first = if best > DEEP { best.div_ceil(2) } else { best };
        let (samples, timed) = (Vec::new(), Timed::default());
        Self { prior, fitted: prior, error: 0.0, part, deepest, samples, timed, next: Some(first) }
    }

    /// The model as the trials so far have it.
    pub fn model(&self) -> &GhostModel {
        &self.fitted
    }

    /// Where to look when the best depth timed is the outermost and it was still getting better.
    fn slope(&self) -> Option<usize> {
        let (best, least) = self.timed.best()?;
        let side = |deeper: bool| {
            let others =
                self.timed.0.iter().filter(move |(d, _)| *d != best && (*d > best) == deeper);
            others.min_by_key(|(depth, _)| depth.abs_diff(best))
        };
        match (side(false), side(true)) {
            (Some((_, seconds)), None) if *seconds > least * STEEP => {
                Some((2 * best).min(self.deepest))
            }
            (None, Some((_, seconds))) if *seconds > least * STEEP => Some(best / 2),
            _ => None,
        }
    }

    fn predicted(&self, depth: usize) -> f64 {
        self.fitted.predict(&self.part, depth).seconds
    }

    fn propose(&self) -> Option<usize> {
        if self.samples.len() >= TRIALS {
            return None;
        }
        let (target, prediction) = self.fitted.best_depth(&self.part, self.deepest);
        let known = self.timed.seconds(target).is_some()
            || prediction.seconds > self.predicted(self.best()) * (1.0 - NEGLIGIBLE);
        if !known {
            return Some(target);
        }
        // The prior was right where it matters: to look elsewhere would only cost steps.
        if let [only] = self.samples.as_slice() {
            let expected = self.prior.predict(&self.part, only.depth).seconds;
            if (expected / only.seconds - 1.0).abs() < CONFIRMED {
                return None;
            }
        }
        // One depth alone cannot tell latency from work: look aside, deeper first, where the
        // curve is flatter.
        let here = self.best();
        let aside = [here + here.div_ceil(2), here / 2];
        let new = |depth: &usize| {
            (1..=self.deepest).contains(depth) && self.timed.seconds(*depth).is_none()
        };
        if let Some(further) = self.slope().filter(new) {
            return Some(further);
        }
        let explained = self.error < MISFIT;
        if self.samples.len() < 2 || !explained { aside.into_iter().find(new) } else { None }
    }
}

impl<G: Geometry + Clone> DepthSearch for Guided<G> {
    fn next(&mut self) -> Option<Trial> {
        self.next.map(|depth| Trial { depth, swaps: SWAPS })
    }

    fn record(&mut self, seconds: f64) {
        let Some(depth) = self.next else { return };
        self.timed.0.push((depth, seconds));
        self.samples.push(Sample { part: self.part.clone(), depth, seconds });
        let fitted = refine(&self.prior, &self.samples);
        (self.fitted, self.error) = (fitted.model, fitted.worst_error);
        self.next = self.propose();
    }

    /// Of the depths timed, the one best by measurement and fit together: the fit averages noise
    /// out, the measurement knows what the model leaves out.
    fn best(&self) -> usize {
        let score = |&(depth, seconds): &(usize, f64)| seconds * self.predicted(depth);
        let best = self.timed.0.iter().min_by(|a, b| score(a).total_cmp(&score(b)));
        best.map_or_else(|| self.fitted.best_depth(&self.part, self.deepest).0, |(depth, _)| *depth)
    }
}
