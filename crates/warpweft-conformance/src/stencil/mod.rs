//! One suite for every executor: bit for bit what the reference computes.
//!
//! Data driven: elements of every kind (`elements`) in settings of every kind (`settings`), run in
//! every way that a [`Subject`] offers. Tests, `warpweft verify` and the tuner call the same suite.

mod drive;
mod elements;
mod settings;
mod subjects;

use super::Pick;
use warpweft::error::Result;
use warpweft::grid::RawVolume;
use warpweft::stencil::Spec;
use warpweft::stencil::agreement::Ended;

pub use subjects::{OnCores, OnGpu, OnSubdomains};

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every bit agreed.
    Passed,
    /// What differed or failed.
    Failed(String),
    /// Why it could not be run here.
    Skipped(String),
}

/// A case of the suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Element, setting and way.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What is tested, in one or several ways: an executor by its policies, or the driver over subdomains.
pub trait Subject {
    /// The names of the ways.
    fn ways(&self) -> Vec<String>;

    /// What `steps` steps from `start` come to in way number `way`.
    ///
    /// # Errors
    /// A policy or partition that this problem can't have ([`warpweft::Error::Spec`], which skips the case)
    /// or any other failure to set up (which fails it); within, what running fails with.
    fn run(
        &self,
        way: usize,
        stencil: &Spec,
        start: &RawVolume,
        steps: u64,
    ) -> Result<Result<Ended>>;
}

/// Runs one stencil in every setting, whose boundaries overrule its own, as far as it is picked; `told` hears
/// of every case as it ends. Its states are noise from −½ to ½.
pub fn conformance_of(
    subject: &impl Subject,
    name: &str,
    stencil: &Spec,
    pick: &mut Pick<'_>,
    mut told: impl FnMut(&Case),
) -> Vec<Case> {
    let mut cases = Vec::new();
    drive::Suite { subject, pick, told: &mut told, cases: &mut cases }.run(name, stencil);
    cases
}

/// Runs the whole suite; `told` hears of every case as it ends.
pub fn conformance(subject: &impl Subject, told: impl FnMut(&Case)) -> Vec<Case> {
    conformance_picked(subject, &mut Pick::all(), told)
}

/// [`conformance`] as far as its cases are picked.
pub fn conformance_picked(
    subject: &impl Subject,
    pick: &mut Pick<'_>,
    mut told: impl FnMut(&Case),
) -> Vec<Case> {
    let mut cases = Vec::new();
    elements::each(&mut drive::Suite { subject, pick, told: &mut told, cases: &mut cases });
    cases
}
