//! What a farm did, unit by unit.

use serde::Serialize;

use super::unit::Unit;
use crate::report::Report;

/// What one unit did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Which.
    pub unit: Unit,
    /// Tasks that it handed over, failed ones included.
    pub tasks: u64,
    /// Packs that they came in, or parts of packs where outputs are large.
    pub packs: u64,
    /// Seconds that they took.
    pub busy: f64,
    /// Why it is gone, if it is.
    pub lost: Option<String>,
}

impl Share {
    /// Of a unit that has done nothing.
    pub fn new(unit: Unit) -> Self {
        Self { unit, tasks: 0, packs: 0, busy: 0.0, lost: None }
    }
}

/// A task that failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failed {
    /// Its number.
    pub task: u64,
    /// Who ran it.
    pub unit: Unit,
    /// Why.
    pub what: String,
}

/// How a farm went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Time, rate and policy.
    pub report: Report,
    /// What each unit did.
    pub shares: Vec<Share>,
    /// The tasks without outputs, by number.
    pub failed: Vec<Failed>,
}

impl Outcome {
    /// The part of the units' time in which none of their tasks ran: 1 − Σ busy / (units · seconds). The
    /// overhead of TuCCompi's section 6.4, uneven ends included.
    pub fn overhead(&self) -> f64 {
        overhead(&self.shares, self.report.seconds)
    }
}

/// The same of a run of so many `seconds`.
pub fn overhead(shares: &[Share], seconds: f64) -> f64 {
    let busy: f64 = shares.iter().map(|share| share.busy).sum();
    let there = seconds * shares.len() as f64;
    if there > 0.0 { (1.0 - busy / there).max(0.0) } else { 0.0 }
}
