//! What a run of a graph reports, whatever the device.

use super::results::ChannelCounts;
use warpweft_core::report::{Quantity, Report};

impl ChannelCounts {
    /// These and those of another worker.
    pub(super) fn add(&mut self, other: &Self) {
        self.items += other.items;
        self.firings += other.firings;
        self.yields += other.yields;
        self.most = self.most.max(other.most);
    }
}

/// The report of a run that took `seconds`.
pub(super) fn report(
    channels: &[ChannelCounts],
    devices: Vec<String>,
    [seconds, setup_seconds]: [f64; 2],
    policy: serde_json::Value,
) -> Report {
    let items = channels.iter().map(|channel| channel.items).sum();
    let consumed = channels.iter().filter(|channel| channel.firings > 0);
    let notes = consumed.map(|ChannelCounts { name, items, firings, yields, most }| {
        let mean = *items as f64 / *firings as f64;
        format!(
            "channel {name}: {items} items in {firings} firings of {mean:.1}, {yields} yields, at most {most} at once"
        )
    });
    Report {
        pattern: "channels",
        devices,
        seconds,
        setup_seconds,
        rate: Quantity { value: items as f64 / seconds.max(1e-9), unit: "items/s" },
        // Kernels are code, whose memory traffic is unknown.
        bytes: 0,
        roofline: None,
        roofline_fraction: None,
        temporal_depth: None,
        predicted_seconds: None,
        policy,
        done: items,
        first: 0,
        interrupted: false,
        residual: None,
        tolerance: None,
        probes: Vec::new(),
        notes: notes.collect(),
    }
}
