//! What a run of a wavefront reports, whatever the device.

use crate::spec::Erased;
use warpweft_core::cluster::Launched;
use warpweft_core::report::{Quantity, Report};

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
        notes: Launched::unjoined().into_iter().collect(),
    }
}
