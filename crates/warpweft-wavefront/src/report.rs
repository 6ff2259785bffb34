//! What a run of a wavefront reports, whatever the device.

use crate::spec::{Erased, Keep};
use warpweft_core::cluster::Launched;
use warpweft_core::element::ScalarKind::{self, Bf16, Bool, F16, F32, F64};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::{Quantity, Report};

/// The reports of several runs, one after another, as one.
#[derive(Clone, Debug, Default)]
pub struct TotalReport(pub(crate) Option<Report>);

impl TotalReport {
    /// Adds that of the next run.
    pub fn add(&mut self, report: Report) {
        report.add_to(&mut self.0);
    }

    /// The report of all.
    ///
    /// # Errors
    /// None was added.
    pub fn report(self) -> Result<Report> {
        self.0.ok_or_else(|| Error::spec("a batch of no problems", "give at least one"))
    }
}

/// What is counted of a run.
pub(crate) struct Totals {
    /// Calls of the element function.
    pub updates: u64,
    /// Bytes read and written.
    pub bytes: u64,
    pub seconds: f64,
    pub setup_seconds: f64,
}

/// The report of a run of `wavefronts`, all of which together took `seconds`.
pub(crate) fn report(
    wavefronts: &[Erased<'_>],
    devices: Vec<String>,
    seconds: f64,
    setup_seconds: f64,
    policy: serde_json::Value,
) -> Report {
    let bytes = wavefronts.iter().map(Erased::traffic).sum();
    let updates = wavefronts.iter().map(Erased::updates).sum();
    let totals = Totals { updates, bytes, seconds, setup_seconds };
    report_of(totals, devices, policy, wavefronts.iter().find_map(unchecked))
}

/// The report of a run with these `totals`, and what it says of scores, see [`unchecked`].
pub(crate) fn report_of(
    totals: Totals,
    devices: Vec<String>,
    policy: serde_json::Value,
    unchecked: Option<String>,
) -> Report {
    let Totals { updates, bytes, seconds, setup_seconds } = totals;
    Report {
        pattern: "wavefront",
        devices,
        seconds,
        setup_seconds,
        rate: Quantity { value: updates as f64 / seconds, unit: "cells/s" },
        bytes,
        roofline: None,
        roofline_fraction: None,
        temporal_depth: None,
        predicted_seconds: None,
        policy,
        done: updates,
        first: 0,
        interrupted: false,
        residual: None,
        tolerance: None,
        probes: Vec::new(),
        notes: Launched::unjoined().into_iter().chain(unchecked).collect(),
    }
}

/// What there is to say of a winner among integers, if nobody knows how great they get: where one wraps, another cell
/// wins.
pub(crate) fn unchecked(wavefront: &Erased<'_>) -> Option<String> {
    let whole = |kind: ScalarKind| !matches!(kind, Bool | F16 | Bf16 | F32 | F64);
    let compares = matches!(wavefront.keep, Keep::Best | Keep::Least | Keep::Score);
    let element = &wavefront.element;
    if !compares || !whole(element.score) || wavefront.known.bounds().is_some() {
        return None;
    }
    Some(format!(
        "scores of {} may overflow {}, which was not checked; the best cell would then be wrong. State the range of scores by \
         `bounds = ..` in `#[wavefront]`",
        element.name,
        element.score.name()
    ))
}
