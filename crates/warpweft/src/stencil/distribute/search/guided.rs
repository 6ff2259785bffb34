//! The model proposes, a few swaps check, and the model learns from them.

use super::super::super::ghost_model::{GhostModel, Sample, Subdomain, refine};
use super::{DepthSearch, Timed, Trial};

/// Swaps timed a depth: fewer than the other searches need, because one fit pools all of them.
const SWAPS: usize = 4;
/// Depths tried at most; the fit has told them apart long before.
const TRIALS: usize = 8;
/// A predicted gain that is not worth another trial.
const NEGLIGIBLE: f64 = 0.01;

/// Starts where the prior model predicts the optimum, and after every trial refits the model and goes
/// to its new optimum, until that is known or promises nothing.
#[derive(Clone, Debug)]
pub struct Guided<const D: usize> {
    prior: GhostModel,
    fitted: GhostModel,
    part: Subdomain<D>,
    deepest: usize,
    samples: Vec<Sample<D>>,
    timed: Timed,
    next: Option<usize>,
}

impl<const D: usize> Guided<D> {
    /// Searches `1..=deepest` for the part that all wait for. `prior` holds the rates of an offline
    /// probe; factors of two or three are forgiven.
    pub fn new(prior: GhostModel, part: Subdomain<D>, deepest: usize) -> Self {
        let deepest = deepest.max(1);
        let first = prior.best_depth(&part, deepest).0;
        let (samples, timed) = (Vec::new(), Timed::default());
        Self { prior, fitted: prior, part, deepest, samples, timed, next: Some(first) }
    }

    /// The model as the trials so far have it.
    pub fn model(&self) -> &GhostModel {
        &self.fitted
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
        // One depth alone cannot tell latency from work: look once to either side.
        let here = self.best();
        let aside = [here / 2, here + here.div_ceil(2)];
        let new = |depth: &usize| {
            (1..=self.deepest).contains(depth) && self.timed.seconds(*depth).is_none()
        };
        if self.samples.len() < 3 { aside.into_iter().find(new) } else { None }
    }
}

impl<const D: usize> DepthSearch for Guided<D> {
    fn next(&mut self) -> Option<Trial> {
        self.next.map(|depth| Trial { depth, swaps: SWAPS })
    }

    fn record(&mut self, seconds: f64) {
        let Some(depth) = self.next else { return };
        self.timed.0.push((depth, seconds));
        self.samples.push(Sample { part: self.part, depth, seconds });
        self.fitted = refine(&self.prior, &self.samples).model;
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
