//! `--policy '{"executor":"cpu",..}'`: the tunables, in the form that `--json` prints them.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpweft::stencil::Policy;

/// A policy, as reports print it.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyChoice {
    /// Of one device, or of the GPUs of one host.
    Device(Policy),
    /// Of several ranks.
    Ranks(RanksPolicy),
}

/// How a volume is spread over ranks, and the policy of each. What a report says beyond that was
/// measured and is no wish.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RanksPolicy {
    /// Number of ranks.
    pub ranks: usize,
    /// Parts along each axis.
    pub grid: Vec<usize>,
    /// Steps between two swaps.
    pub depth: usize,
    /// The policy of each rank.
    pub rank: Policy,
}

/// What reports say beside [`RanksPolicy`].
const MEASURED: [&str; 6] = ["searched", "swaps", "messages", "halo_bytes", "halos_by", "waiting"];

impl FromStr for PolicyChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let told =
            |error: serde_json::Error| format!("{error}; give the `policy` that --json prints");
        let given: Value = serde_json::from_str(text).map_err(told)?;
        let (choice, known, measured) = if given.get("rank").is_some() {
            let policy: RanksPolicy = serde_json::from_value(given.clone()).map_err(told)?;
            let known = serde_json::to_value(&policy);
            (Self::Ranks(policy), known, &MEASURED[..])
        } else {
            let policy: Policy = serde_json::from_value(given.clone()).map_err(told)?;
            (Self::Device(policy), serde_json::to_value(policy), &[][..])
        };
        match unknown(&given, &known.map_err(told)?, measured) {
            None => Ok(choice),
            Some((key, known)) => {
                Err(format!("no tunable `{key}`; there are {}", known.join(", ")))
            }
        }
    }
}

/// The first key of `given` that `known` lacks, and those it has there.
fn unknown(given: &Value, known: &Value, measured: &[&str]) -> Option<(String, Vec<String>)> {
    let (Value::Object(given), Value::Object(known)) = (given, known) else { return None };
    given.iter().find_map(|(key, value)| match known.get(key) {
        Some(inner) => unknown(value, inner, &[]),
        None if measured.contains(&key.as_str()) => None,
        None => Some((key.clone(), known.keys().cloned().collect())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: &str = r#"{"executor": "cpu", "threads": 2, "temporal_depth": 1, "tile_rows": 8,
        "slab_planes": 4, "tile_cells": 64, "jam": 1}"#;

    #[test]
    fn what_a_report_prints_is_read_back() {
        assert!(matches!(CPU.parse(), Ok(PolicyChoice::Device(Policy::Cpu(_)))));
        let ranks = format!(
            r#"{{"ranks": 4, "grid": [2, 2, 1], "depth": 3, "swaps": 9, "waiting": 0.5, "rank": {CPU}}}"#
        );
        let Ok(PolicyChoice::Ranks(policy)) = ranks.parse() else { panic!("{ranks}") };
        assert_eq!((policy.ranks, policy.grid, policy.depth), (4, vec![2, 2, 1], 3));
    }

    #[test]
    fn what_is_no_tunable_is_named_with_those_there_are() {
        let refusal = CPU.replace("jam\"", "jelly\": 1, \"jam\"").parse::<PolicyChoice>();
        let refusal = refusal.unwrap_err();
        assert!(
            refusal.contains("no tunable `jelly`") && refusal.contains("tile_rows"),
            "{refusal}"
        );
        let ranks = format!(
            r#"{{"ranks": 4, "grid": [4], "depth": 3, "rank": {}}}"#,
            CPU.replace("jam\"", "jelly\": 1, \"jam\"")
        );
        assert!(ranks.parse::<PolicyChoice>().unwrap_err().contains("`jelly`"));
        assert!("{}".parse::<PolicyChoice>().unwrap_err().contains("that --json prints"));
    }
}
