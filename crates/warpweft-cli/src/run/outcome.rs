//! The outcome of a run, as text or as one JSON object.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use warpweft::machine::DISTURBED;
use warpweft::report::{Quantity, Report};

use super::check::Check;
use super::files::Saved;
use super::values::{bare, listed};
use crate::output::{INTERRUPTED, complain, say, scaled, time};
use crate::requested;

/// Values by name.
pub type Answer = Vec<(&'static str, Value)>;

/// The outcome of a run.
pub struct Outcome {
    /// The application.
    pub app: &'static str,
    /// The computation.
    pub title: String,
    /// The settings, so that the JSON object is complete.
    pub settings: Answer,
    /// The report of the run.
    pub report: Report,
    /// The application's own results.
    pub answer: Answer,
    /// The comparison with a reference solution.
    pub check: Check,
    /// Further lines of the text, by name.
    pub lines: Vec<(&'static str, String)>,
    /// The files that were written, and errors of others.
    pub saved: Saved,
    /// Whether to print JSON.
    pub json: bool,
    /// How far the run came if it was interrupted, e.g. `3 steps`.
    pub interrupted: Option<String>,
}

impl Outcome {
    /// Prints it; the exit status says whether it passed its check, failed, or was interrupted.
    pub fn report(&self) -> ExitCode {
        let said = say(&if self.json { self.to_json().to_string() } else { self.to_text() });
        let failures = &self.saved.failures;
        failures.iter().for_each(|failure| complain(&failure.to_string()));
        if let Some(done) = &self.interrupted {
            let kept = match (failures.is_empty(), self.saved.written.is_empty()) {
                (true, true) => String::new(),
                (true, false) => "; the requested files are saved".into(),
                (false, _) => {
                    requested::state().map(|files| format!("; {files}")).unwrap_or_default()
                }
            };
            complain(&format!("interrupted after {done}{kept}"));
        }
        if self.check.passed == Some(false) {
            complain(&self.check.reason.clone().unwrap_or_else(|| {
                format!(
                    "the result is wrong: error {} against the {} exceeds {}",
                    shown(self.check.error),
                    self.check.reference.as_deref().unwrap_or_default(),
                    shown(self.check.tolerance)
                )
            }));
            return ExitCode::FAILURE;
        }
        match (failures.is_empty(), self.interrupted.is_some()) {
            (false, _) => ExitCode::FAILURE,
            (true, true) => ExitCode::from(INTERRUPTED),
            (true, false) => said,
        }
    }

    fn to_json(&self) -> Value {
        let object = |values: &Answer| -> Map<String, Value> {
            values.iter().map(|(name, value)| ((*name).to_string(), value.clone())).collect()
        };
        let worked = self.report.own() > 0;
        let (policy, kernels) = policy_and_kernels(&self.report.policy);
        json!({
            "app": self.app,
            "title": self.title,
            "settings": object(&self.settings),
            "pattern": self.report.pattern,
            "devices": self.report.devices,
            "seconds": self.report.seconds,
            "setup_seconds": self.report.setup_seconds,
            "rate": worked.then_some(&self.report.rate),
            "roofline": self.report.roofline,
            "roofline_fraction": self.report.roofline_fraction.filter(|_| worked),
            "policy": policy,
            "kernels": kernels,
            "notes": notes(&self.report),
            "result": object(&self.answer),
            "check": self.check,
            "outputs": self.saved.written,
        })
    }

    fn to_text(&self) -> String {
        let report = &self.report;
        let mut text = format!("{}: {}\n", self.app, self.title);
        let mut line = |name: &str, value: String| {
            // Writing to a string can't fail.
            let _ = writeln!(text, "  {name:<8} {value}");
        };
        line("device", report.device_list());
        let set_up = time(report.setup_seconds);
        if report.own() == 0 {
            line("time", format!("set-up {set_up}"));
            let failed = |name: &str, value: &Value| {
                name == "failed" && value.as_array().is_some_and(|list| !list.is_empty())
            };
            let why = match self.answer.iter().any(|(name, value)| failed(name, value)) {
                true => "all tasks failed",
                false if report.first == 0 => "there was nothing to compute",
                false => "an earlier run had already computed everything",
            };
            line("rate", format!("none: {why}"));
        } else {
            line("time", format!("{}, set-up {set_up}", time(report.seconds)));
            let bytes = report.bytes as f64 / report.seconds.max(f64::MIN_POSITIVE);
            let Quantity { value, unit } = report.rate;
            let moved = match report.bytes {
                0 => String::new(),
                _ => format!(", {}B/s", scaled(bytes)),
            };
            line("rate", format!("{}{unit}{moved}", scaled(value)));
            roofline_line(report).into_iter().for_each(|what| line("roofline", what));
        }
        let (policy, kernels) = policy_and_kernels(&report.policy);
        if let Value::Object(policy) = &policy {
            line("policy", listed(policy));
        }
        if let Some(Value::Array(kernels)) = kernels {
            line("kernels", kernels.iter().map(stretch).collect::<Vec<_>>().join(", "));
        }
        let result: Vec<_> = self.answer.iter().filter_map(said).collect();
        if !result.is_empty() {
            line("result", result.join(", "));
        }
        self.lines.iter().for_each(|(name, text)| line(name, text.clone()));
        let network = self.answer.iter().find(|(name, _)| *name == NETWORK);
        network.into_iter().for_each(|(name, library)| line(name, bare(library)));
        line("check", checked(&self.check));
        if !self.saved.written.is_empty() {
            line("written", self.saved.written.join(", "));
        }
        text.trim_end().to_string()
    }
}

/// The name of the transport between processes.
pub const NETWORK: &str = "network";

/// What a check came to.
fn checked(check: &Check) -> String {
    match (check.passed, &check.reason) {
        (Some(false), Some(reason)) => format!("FAILED: {reason}"),
        (_, Some(reason)) => reason.clone(),
        (passed, None) => format!(
            "{}: largest error {} of {} allowed, against the {}",
            match (passed == Some(true), &check.part) {
                (true, None) => "passed".to_string(),
                (true, Some(part)) => format!("passed, but only for {part}"),
                (false, None) => "FAILED".to_string(),
                (false, Some(part)) => format!("FAILED for {part}"),
            },
            shown(check.error),
            shown(check.tolerance),
            check.reference.as_deref().unwrap_or_default()
        ),
    }
}

/// The policy as `--policy` takes it, and which kernels took which steps, where they changed during the run.
fn policy_and_kernels(policy: &Value) -> (Value, Option<Value>) {
    let mut policy = policy.clone();
    let kernels = policy.as_object_mut().and_then(|policy| policy.remove("kernels"));
    (policy, kernels)
}

/// Which kernel took steps, and from which on.
fn stretch(kernel: &Value) -> String {
    let fused = match kernel["temporal_depth"].as_u64() {
        Some(depth) => format!(" ({depth} fused steps)"),
        None => String::new(),
    };
    format!("{}{fused} from step {}", bare(&kernel["kernel"]), bare(&kernel["first_step"]))
}

/// One result in words, with the unit last. Values that the title has, or that are defaults, are omitted.
fn said((name, value): &(&'static str, Value)) -> Option<String> {
    // The last four have lines of their own.
    let told = ["extents", "steps", "sweeps", "rows", "columns"].contains(name)
        || ["workers", "overhead_percent", "failed", NETWORK].contains(name);
    let none = ["nan_cells", "infinite_cells"].contains(name) && value.as_u64() == Some(0);
    if told || none {
        return None;
    }
    let units = [("_metres", " m"), ("_seconds", " s")];
    let unit = units.iter().find_map(|(ending, unit)| Some((name.strip_suffix(ending)?, *unit)));
    let (name, unit) = unit.unwrap_or((name, ""));
    // Sums over all cells serve to compare runs, also with other programs.
    let unknown = value.is_null() && ["residual", "converged"].contains(&name);
    let value = match value.as_f64().filter(|_| name.starts_with("sum_of_")) {
        Some(sum) => format!("{sum}"),
        None if unknown => "unknown".into(),
        None => bare(value),
    };
    Some(format!("{} {value}{unit}", name.replace('_', " ")))
}

fn shown(value: Option<f64>) -> String {
    match value {
        Some(0.0) => "0".into(),
        Some(value) => format!("{value:.2e}"),
        None => "unknown".into(),
    }
}

/// The notes of `report` for programs: that the roofline was measured on busy cores changes what is concluded only from
/// a run that came near it.
fn notes(report: &Report) -> Vec<&String> {
    let near = report.roofline_fraction.is_some_and(|fraction| fraction >= 0.5);
    report.notes.iter().filter(|what| near || !what.ends_with(DISTURBED)).collect()
}

/// The rate as a fraction of the roofline, which is memory bandwidth at one step per pass. Several fused
/// steps may exceed it; the line then gives their number.
fn roofline_line(report: &Report) -> Option<String> {
    let (roofline, fraction) = (report.roofline.as_ref()?, report.roofline_fraction?);
    let reached = match 100.0 * fraction {
        ..0.1 => "less than 0.1 %".into(),
        percent => format!("{percent:.*} %", usize::from(percent < 10.0)),
    };
    // To a tenth, because halo exchanges, checks and checkpoints shorten passes.
    let depth = (10.0 * report.temporal_depth.unwrap_or(1.0)).round() / 10.0;
    let how = if depth > 1.0 { format!("; this run fuses {depth}") } else { String::new() };
    let busy = match report.notes.iter().any(|what| what.ends_with(DISTURBED)) {
        true => "; bandwidth measured on busy cores, so the roofline is too low",
        false => "",
    };
    let (value, unit) = (scaled(roofline.value), roofline.unit);
    Some(format!("{reached} of {value}{unit} (memory bandwidth at one step per pass{how}{busy})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_their_units_last_and_say_nothing_twice() {
        let said = |name, value| said(&(name, value));
        let metres = said("p_wave_found_at_metres", json!(43.5));
        assert_eq!(metres.as_deref(), Some("p wave found at 43.5 m"));
        assert_eq!(said("time_seconds", json!(0.25)).as_deref(), Some("time 0.25 s"));
        assert_eq!(said("converged", Value::Null).as_deref(), Some("converged unknown"));
        assert_eq!(said("nan_cells", json!(3)).as_deref(), Some("nan cells 3"));
        let all = said("sum_of_u", json!(6_518.659_856_512_345));
        assert_eq!(all.as_deref(), Some("sum of u 6518.659856512345"));
        assert_eq!((said("nan_cells", json!(0)), said("steps", json!(9))), (None, None));
    }

    #[test]
    fn fused_steps_are_compared_with_the_roofline_of_one_step() {
        let report = |fraction: f64, temporal_depth: f64| Report {
            pattern: "stencil",
            devices: Vec::new(),
            seconds: 1.0,
            setup_seconds: 0.0,
            rate: Quantity { value: 1e9 * fraction, unit: "cells/s" },
            bytes: 1,
            roofline: Some(Quantity { value: 1e9, unit: "cells/s" }),
            roofline_fraction: Some(fraction),
            temporal_depth: Some(temporal_depth),
            predicted_seconds: None,
            policy: Value::Null,
            done: 1,
            first: 0,
            interrupted: false,
            residual: None,
            tolerance: None,
            probes: Vec::new(),
            notes: Vec::new(),
        };
        let said = |fraction, depth| roofline_line(&report(fraction, depth)).unwrap();
        let roofline = "of 1.00 Gcells/s (memory bandwidth at one step per pass";
        assert_eq!(said(0.6, 1.0), format!("60 % {roofline})"));
        let deep = said(3.1, 20.0);
        assert_eq!(deep, format!("310 % {roofline}; this run fuses 20)"));
        // 100 steps in 13 passes, e.g. with 8 steps between two halo exchanges.
        let cut = said(0.9, 100.0 / 13.0);
        assert_eq!(cut, format!("90 % {roofline}; this run fuses 7.7)"));
        let mut busy = report(0.9, 1.0);
        busy.notes.push(DISTURBED.into());
        assert!(roofline_line(&busy).unwrap().ends_with("so the roofline is too low)"));
        assert_eq!(notes(&busy), [DISTURBED]);
        busy.roofline_fraction = Some(0.01);
        assert!(notes(&busy).is_empty());
    }
}
