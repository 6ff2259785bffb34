//! What a run of a wavefront reports, whatever the device.

use serde::Serialize;

use super::element::WavefrontElement;
use super::spec::{Keep, Wavefront};
use crate::report::{Quantity, Report};

/// The report of a run that took `seconds`.
pub(super) fn report<E: WavefrontElement>(
    wavefront: &Wavefront<'_, E>,
    devices: Vec<String>,
    seconds: f64,
    setup_seconds: f64,
    policy: impl Serialize,
) -> Report {
    report_of([wavefront], devices, seconds, setup_seconds, policy)
}

/// The report of several problems that took `seconds` together.
pub(super) fn report_of<'w, E: WavefrontElement>(
    wavefronts: impl IntoIterator<Item = &'w Wavefront<'w, E>>,
    devices: Vec<String>,
    seconds: f64,
    setup_seconds: f64,
    policy: impl Serialize,
) -> Report {
    let (mut bytes, mut updates) = (0, 0);
    for wavefront in wavefronts {
        if wavefront.keep == Keep::Matrix {
            bytes += wavefront.cells() * size_of::<E::Cell>() as u64;
        }
        let [rows, columns] = wavefront.extents();
        let lines = rows * size_of::<E::Row>() + columns * size_of::<E::Column>();
        let cells = size_of_val(wavefront.inputs) + size_of_val(wavefront.initial);
        bytes += (lines + cells) as u64;
        updates += wavefront.updates();
    }
    Report {
        pattern: "wavefront",
        devices,
        seconds,
        setup_seconds,
        rate: Quantity { value: updates as f64 / seconds, unit: "cells/s" },
        bytes,
        bound: None,
        fraction: None,
        predicted_seconds: None,
        policy: serde_json::to_value(policy).unwrap_or_default(),
        done: updates,
        first: 0,
        interrupted: false,
        residual: None,
        probes: Vec::new(),
        notes: Vec::new(),
    }
}
