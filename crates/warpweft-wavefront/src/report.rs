//! What a run of a wavefront reports, whatever the device.

use crate::spec::{Erased, Keep};
use warpweft_core::cluster::Launched;
use warpweft_core::element::ScalarKind::{self, Bf16, Bool, F16, F32, F64};
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
        notes: Launched::unjoined().into_iter().chain(unchecked(wavefronts)).collect(),
    }
}

/// What there is to say of a winner among integers, if nobody knows how great they get: where one wraps, another cell
/// wins.
fn unchecked(wavefronts: &[Erased<'_>]) -> Option<String> {
    let whole = |kind: ScalarKind| !matches!(kind, Bool | F16 | Bf16 | F32 | F64);
    let unknown = |wavefront: &&Erased<'_>| {
        let compares = matches!(wavefront.keep, Keep::Best | Keep::Least | Keep::Score);
        compares && whole(wavefront.element.score) && wavefront.known.bounds().is_none()
    };
    let element = &wavefronts.iter().find(unknown)?.element;
    Some(format!(
        "whether scores of {} exceed {} was not checked, and the best would be another; `bounds = ..` in `#[wavefront]` \
         says how great they get",
        element.name,
        element.score.name()
    ))
}
