//! What a run came to: for people, or as one JSON object.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use warpweft::report::Report;

use super::check::Check;
use crate::interrupt;
use crate::output::{complain, say, scaled};

/// Everything there is to say about a run.
pub struct Outcome {
    /// The application.
    pub app: &'static str,
    /// What was computed.
    pub title: String,
    /// What the run did.
    pub report: Report,
    /// The application's own answer.
    pub answer: Vec<(&'static str, Value)>,
    /// The comparison with an oracle.
    pub check: Check,
    /// The files written.
    pub outputs: Vec<String>,
    /// Whether to print JSON.
    pub json: bool,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
}

impl Outcome {
    /// Prints it; the status says whether it was checked, found wrong, or interrupted.
    pub fn report(&self) -> ExitCode {
        let said = say(&if self.json { self.to_json().to_string() } else { self.to_text() });
        if self.interrupted {
            complain(&format!(
                "interrupted after {} steps; what was asked for is saved",
                self.report.done
            ));
            return ExitCode::from(interrupt::STATUS);
        }
        if self.check.passed == Some(false) {
            complain(&format!(
                "the result is wrong: error {} against the {} exceeds {}",
                shown(self.check.error),
                self.check.oracle,
                shown(self.check.tolerance)
            ));
            return ExitCode::FAILURE;
        }
        said
    }

    fn to_json(&self) -> Value {
        let answer: Map<String, Value> =
            self.answer.iter().map(|(name, value)| ((*name).to_string(), value.clone())).collect();
        json!({
            "app": self.app,
            "pattern": self.report.pattern,
            "devices": self.report.devices,
            "seconds": self.report.seconds,
            "rate": self.report.rate,
            "bound": self.report.bound,
            "fraction": self.report.fraction,
            "policy": self.report.policy,
            "result": answer,
            "check": self.check,
            "outputs": self.outputs,
        })
    }

    fn to_text(&self) -> String {
        let report = &self.report;
        let mut text = format!("{}: {}\n", self.app, self.title);
        let mut line = |name: &str, value: String| {
            // Writing to a string can't fail.
            let _ = writeln!(text, "  {name:<8} {value}");
        };
        line("device", report.devices.join(", "));
        line("time", format!("{:.3} s, set-up {:.3} s", report.seconds, report.setup_seconds));
        let bytes = report.bytes as f64 / report.seconds.max(f64::MIN_POSITIVE);
        line(
            "rate",
            format!("{}{}, {}B/s", scaled(report.rate.value), report.rate.unit, scaled(bytes)),
        );
        if let (Some(bound), Some(fraction)) = (&report.bound, report.fraction) {
            let percent = 100.0 * fraction;
            let mut what = format!(
                "{}{} by memory, measured; reached {percent:.0} %",
                scaled(bound.value),
                bound.unit
            );
            // Several steps a trip to memory raise the bound, and are judged by both.
            let depth = report.policy["temporal_depth"].as_f64().unwrap_or(1.0);
            if depth > 1.0 {
                let single = bound.value / depth;
                what = format!(
                    "{what} ({depth} steps a trip; {}{} at one, {:.2} times that)",
                    scaled(single),
                    bound.unit,
                    report.rate.value / single
                );
            }
            line("bound", what);
        }
        if let Value::Object(policy) = &report.policy {
            let parts: Vec<_> = policy.iter().map(|(k, v)| format!("{k} {}", bare(v))).collect();
            line("policy", parts.join(", "));
        }
        let parts: Vec<_> = self.answer.iter().map(|(k, v)| format!("{k} {}", bare(v))).collect();
        line("result", parts.join(", "));
        let check = &self.check;
        line(
            "check",
            match check.passed {
                None => check.oracle.clone(),
                Some(passed) => format!(
                    "{}: largest error {} of {} allowed, against the {}",
                    if passed { "passed" } else { "FAILED" },
                    shown(check.error),
                    shown(check.tolerance),
                    check.oracle
                ),
            },
        );
        if !self.outputs.is_empty() {
            line("written", self.outputs.join(", "));
        }
        text.trim_end().to_string()
    }
}

fn shown(value: Option<f64>) -> String {
    match value {
        Some(0.0) => "0".into(),
        Some(value) => format!("{value:.2e}"),
        None => "unknown".into(),
    }
}

/// A JSON value without quotes; numbers with at most seven digits.
fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(bare).collect::<Vec<_>>().join("x"),
        Value::Number(number) if number.is_f64() => {
            let value = number.as_f64().unwrap_or(f64::NAN);
            format!("{}", format!("{value:.6e}").parse::<f64>().unwrap_or(value))
        }
        other => other.to_string(),
    }
}
