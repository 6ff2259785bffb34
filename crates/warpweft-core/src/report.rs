//! The report of a run, in the same form for every pattern.

use std::fmt;

use serde::Serialize;

/// A number with its unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantity {
    /// The number.
    pub value: f64,
    /// Its unit, e.g. "cells/s".
    pub unit: &'static str,
}

/// A count with its noun: `1 step`, `2 steps`.
pub fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Values recorded at a fixed interval of steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Steps between two records.
    pub every: u64,
    /// The step of the first record: `every`, or later if the run was resumed from a checkpoint without
    /// earlier records.
    pub first: u64,
    /// The records. Each has one value for each cell of the probe.
    pub values: Vec<Vec<f64>>,
}

/// What a run did, and which fraction of the machine's limit it reached.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The pattern: "stencil", "wavefront", "farm" or "channels".
    pub pattern: &'static str,
    /// The devices that worked, e.g. "2 cores of AMD EPYC" or "NVIDIA H200 (0)".
    pub devices: Vec<String>,
    /// Wall-clock seconds of the work itself, set-up excluded.
    pub seconds: f64,
    /// Wall-clock seconds of set-up: compiling, copying in and out.
    pub setup_seconds: f64,
    /// Work divided by `seconds`.
    pub rate: Quantity,
    /// The least number of bytes that the work moves through memory; 0 if unknown, as for tasks.
    pub bytes: u64,
    /// The roofline: the rate that the measured limit of the machine allows, if it was measured. For a stencil it
    /// is the rate at memory bandwidth with one step per pass over memory.
    pub roofline: Option<Quantity>,
    /// `rate` divided by `roofline`: 0.4 is 40 % of the roofline. It exceeds 1 if a stencil fuses several
    /// steps into one pass.
    pub roofline_fraction: Option<f64>,
    /// Average number of steps of a stencil that were fused in one pass over memory.
    pub temporal_depth: Option<f64>,
    /// Seconds the model predicted, if it is calibrated.
    pub predicted_seconds: Option<f64>,
    /// The tunables used, as the pattern prints them.
    pub policy: serde_json::Value,
    /// Work done: steps of a stencil, cells of a wavefront, tasks of a farm, calls of fork-join tasks.
    pub done: u64,
    /// How much of `done` an earlier run did, if this one was resumed from its checkpoint. Time, bytes and
    /// rate cover the rest.
    pub first: u64,
    /// Whether the run ended early because it was asked to stop.
    pub interrupted: bool,
    /// The last residual, for runs that check one.
    pub residual: Option<f64>,
    /// The tolerance of the residual, for runs that end when it is met.
    pub tolerance: Option<f64>,
    /// The records of probes, in the order in which the stencil lists them.
    pub probes: Vec<Series>,
    /// What the user should know, e.g. why a GPU was not used or that a damaged cache was rebuilt.
    pub notes: Vec<String>,
}

/// One line with the work, the devices, the times and the rate; then one line for each note.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = match self.pattern {
            "stencil" => "steps",
            "wavefront" => "cells",
            _ => "tasks",
        };
        let Self { pattern, done, seconds, setup_seconds, rate, .. } = self;
        write!(f, "{pattern}: {done} {units} on {}", self.device_list())?;
        write!(f, ": {seconds:.3e} s, set-up {setup_seconds:.3e} s")?;
        if self.own() > 0 {
            write!(f, ", {:.3e} {}", rate.value, rate.unit)?;
        }
        if let (Some(roofline), true) = (&self.roofline, self.own() > 0) {
            write!(f, " (roofline {:.3e} {})", roofline.value, roofline.unit)?;
        }
        if let (Some(residual), Some(tolerance)) = (self.residual, self.tolerance) {
            write!(f, ", residual {residual:.3e} of at most {tolerance:e}: ")?;
            match self.converged() {
                Some(true) => write!(f, "met")?,
                _ => write!(f, "not met after {}", counted(*done, "step"))?,
            }
        }
        if self.interrupted {
            write!(f, "; interrupted")?;
        }
        self.notes.iter().try_for_each(|what| write!(f, "\nnote: {what}"))
    }
}

impl Report {
    /// The devices as one text, with equal neighbours counted: `4 x 1 core of AMD EPYC`.
    pub fn device_list(&self) -> String {
        let alike = self.devices.chunk_by(|a, b| a == b).map(|alike| match alike.len() {
            1 => alike[0].clone(),
            many => format!("{many} x {}", alike[0]),
        });
        alike.collect::<Vec<_>>().join(", ")
    }

    /// Whether the last residual met the tolerance; `None` if none was checked.
    pub fn converged(&self) -> Option<bool> {
        Some(self.residual? <= self.tolerance?)
    }

    /// Work that this run did itself, without that of an earlier run.
    pub fn own(&self) -> u64 {
        self.done.saturating_sub(self.first)
    }

    /// The report of this run and the run after it, as if they were one run. Times, bytes and work are added; all other values
    /// are those of this run.
    pub fn followed_by(mut self, next: &Self) -> Self {
        self.seconds += next.seconds;
        self.setup_seconds += next.setup_seconds;
        self.bytes += next.bytes;
        self.done += next.done;
        self.first += next.first;
        let value = self.own() as f64 / self.seconds.max(f64::MIN_POSITIVE);
        self.rate = Quantity { value, unit: self.rate.unit };
        self
    }

    /// Makes `total`, the report of the runs before, if there were any, one that this run [follows](Self::followed_by).
    pub fn add_to(self, total: &mut Option<Self>) {
        *total = Some(match total.take() {
            Some(before) => before.followed_by(&self),
            None => self,
        });
    }
}
