//! What a run of channels reports, whatever the device.

use warpweft_core::report::{Quantity, Report};

/// What was counted while calls ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that were run, roots included.
    pub calls: u64,
    /// Calls that another worker ran, one by one or in batches.
    pub stolen: u64,
    /// Number of steals, each of one or more calls; 0 on GPUs, where lanes and warps share calls instead (work sharing).
    pub steals: u64,
    /// Levels that there were.
    pub levels: u32,
}

impl Counts {
    /// These and those of another worker.
    pub fn and(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            stolen: self.stolen + other.stolen,
            steals: self.steals + other.steals,
            levels: self.levels.max(other.levels),
        }
    }
}

/// The report of a run that took `seconds`.
pub(super) fn report(
    counts: Counts,
    devices: Vec<String>,
    [seconds, setup_seconds]: [f64; 2],
    policy: serde_json::Value,
) -> Report {
    let Counts { calls, stolen, steals, levels } = counts;
    let taken = match steals {
        0 => String::new(),
        _ => format!(" in {steals} steals"),
    };
    Report {
        pattern: "channels",
        devices,
        seconds,
        setup_seconds,
        rate: Quantity { value: calls as f64 / seconds.max(1e-9), unit: "calls/s" },
        // Calls are code, whose memory traffic is unknown.
        bytes: 0,
        roofline: None,
        roofline_fraction: None,
        temporal_depth: None,
        predicted_seconds: None,
        policy,
        done: calls,
        first: 0,
        interrupted: false,
        residual: None,
        tolerance: None,
        probes: Vec::new(),
        notes: vec![match levels {
            // Sums over all calls are not asked how deep they went.
            0 => format!("{stolen} calls stolen by other workers{taken}"),
            _ => format!("{levels} levels deep, {stolen} calls stolen by other workers{taken}"),
        }],
    }
}
