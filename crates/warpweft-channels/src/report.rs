//! What a run of channels reports, whatever the device.

use std::fmt;

use serde::Serialize;
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

/// Where the time of a GPU's warps went, as shares of it that are 1 together. Teams larger than a warp count as one. Measured
/// where a policy says `timed`; clocks change the kernel, so its rate is not that of the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimeShares {
    /// In the user's functions: for fork-join tasks with the stacks of their calls.
    pub functions: f64,
    /// In the scheduler: sharing calls, or reserving, dispatching and publishing items.
    pub scheduling: f64,
    /// Without a call or an item to run.
    pub waiting: f64,
}

impl TimeShares {
    /// Of all cycles, those in functions and those without work; none if nothing was measured.
    pub(super) fn of([all, functions, waiting]: [u64; 3]) -> Option<Self> {
        let share = |part: u64| part as f64 / all as f64;
        let scheduling = all.saturating_sub(functions).saturating_sub(waiting);
        (all > 0).then(|| Self {
            functions: share(functions),
            scheduling: share(scheduling),
            waiting: share(waiting),
        })
    }

    /// Those of a report.
    pub fn of_report(report: &Report) -> Option<Self> {
        let numbers = report.notes.iter().find_map(|note| note.strip_prefix("warps' time: "))?;
        let mut shares = numbers.split(", ").map(|part| {
            let percent = part.split_once(" %")?.0.parse::<f64>().ok()?;
            Some(percent / 100.0)
        });
        let mut next = || shares.next().flatten();
        Some(Self { functions: next()?, scheduling: next()?, waiting: next()? })
    }
}

impl fmt::Display for TimeShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [functions, scheduling, waiting] =
            [self.functions, self.scheduling, self.waiting].map(|share| 100.0 * share);
        write!(
            f,
            "warps' time: {functions:.1} % in functions, {scheduling:.1} % in the scheduler, {waiting:.1} % without work"
        )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_time_can_be_read_back_from_a_report() {
        assert_eq!(TimeShares::of([0, 0, 0]), None);
        let shares = TimeShares::of([1000, 615, 85]).unwrap();
        assert_eq!(shares, TimeShares { functions: 0.615, scheduling: 0.3, waiting: 0.085 });
        let mut report = report(Counts::default(), vec![], [1.0, 0.0], serde_json::Value::Null);
        assert_eq!(TimeShares::of_report(&report), None);
        report.notes.push(shares.to_string());
        assert_eq!(TimeShares::of_report(&report), Some(shares));
    }
}
