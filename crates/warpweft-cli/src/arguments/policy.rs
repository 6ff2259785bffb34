//! `--policy '{"executor":"cpu",..}'`: the tunables, in the form that `--json` prints.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpweft::stencil::{CpuPolicy, CudaKernel, CudaPolicy, Policy};

/// A policy, as reports print it.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyChoice {
    /// Of one device.
    Device(Policy),
    /// Of several ranks.
    Ranks(RanksPolicy),
}

/// The partition of a volume over ranks, and the policy of each. Other values in a report were measured and
/// can't be set.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RanksPolicy {
    /// Subdomains along each axis, one a rank.
    pub grid: Vec<usize>,
    /// Steps between two halo exchanges.
    pub depth: usize,
    /// The policy of each rank.
    pub rank: Policy,
}

impl RanksPolicy {
    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.grid.iter().fold(1, |all, parts| all.saturating_mul(*parts))
    }
}

/// Other values in reports, in addition to [`RanksPolicy`]: measured, or told by it.
const MEASURED: [&str; 10] = [
    "ranks",
    "searched",
    "halo_exchanges",
    "overlapped_exchanges",
    "messages",
    "halo_bytes",
    "halos_by",
    "waiting",
    "tuned",
    "fused_from",
];

/// Former names of keys. They are refused, and the error gives the present name.
const RENAMED: [(&str, &str); 3] = [
    ("threads", "--threads"),
    ("swaps", "halo_exchanges"),
    ("swaps_ahead", "overlapped_exchanges"),
];

impl FromStr for PolicyChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let told =
            |error: serde_json::Error| format!("{error}; give the `policy` that --json prints");
        let given: Value = serde_json::from_str(text).map_err(told)?;
        if given.get("executor").is_some_and(|executor| executor == "gpus") {
            return Err("there is no executor `gpus`; give the policy of one GPU: the object under `cuda` of this \
                        policy, with `\"executor\": \"cuda\"` added"
                .into());
        }
        if let Some((former, present)) = renamed(&given) {
            return Err(format!("`{former}` is now `{present}`"));
        }
        let missing = missing(given.clone());
        if missing.len() > 1 {
            let all = missing.join("`, `");
            return Err(format!("missing fields `{all}`; give the `policy` that --json prints"));
        }
        let (choice, known, measured) = if given.get("rank").is_some() {
            let policy: RanksPolicy = serde_json::from_value(given.clone()).map_err(told)?;
            if let Some(ranks) = given.get("ranks").filter(|ranks| **ranks != policy.ranks()) {
                return Err(format!(
                    "`ranks` is {ranks}, but `grid` has {}; leave `ranks` out",
                    policy.ranks()
                ));
            }
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

/// A policy of each executor as JSON, to find required fields.
fn examples() -> Result<[Value; 2], serde_json::Error> {
    let gpu = CudaPolicy {
        kernel: CudaKernel::Direct,
        cells: [1; 3],
        warps: 1,
        min_blocks: 1,
        chunk: 0,
        prefetch: 0,
        phases: 0,
        temporal_depth: 1,
        contraction: true,
    };
    let [cores, gpu] = [Policy::Cpu(CpuPolicy::default()), Policy::Cuda(gpu)];
    Ok([serde_json::to_value(cores)?, serde_json::to_value(gpu)?])
}

/// All required fields that `given` lacks. serde reports only the first, so they are added one by one from an
/// example until none is missing.
fn missing(mut given: Value) -> Vec<String> {
    let mut missing = Vec::new();
    let of_ranks = given.get("rank").is_some();
    let executor = given.pointer(if of_ranks { "/rank/executor" } else { "/executor" });
    let examples = examples().unwrap_or_default();
    let Some(device) = examples.iter().find(|known| known.get("executor") == executor) else {
        return missing;
    };
    let example = match of_ranks {
        true => serde_json::json!({"grid": [1], "depth": 1, "rank": device}),
        false => device.clone(),
    };
    loop {
        let error = match of_ranks {
            true => serde_json::from_value::<RanksPolicy>(given.clone()).err(),
            false => serde_json::from_value::<Policy>(given.clone()).err(),
        };
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        let field = error.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        match field {
            Some(field) if lend(&mut given, &example, field) => missing.push(field.into()),
            _ => return missing,
        }
    }
}

/// Copies the first missing field with this name from `example` to its place.
fn lend(given: &mut Value, example: &Value, field: &str) -> bool {
    let (Value::Object(given), Value::Object(example)) = (given, example) else { return false };
    match example.get(field) {
        Some(value) if !given.contains_key(field) => {
            given.insert(field.into(), value.clone());
            true
        }
        _ => given
            .iter_mut()
            .any(|(key, inner)| example.get(key).is_some_and(|known| lend(inner, known, field))),
    }
}

/// The first former name of a key in `given`, and the present name.
fn renamed(given: &Value) -> Option<(&'static str, &'static str)> {
    let given = given.as_object()?;
    let here = RENAMED.into_iter().find(|(former, _)| given.contains_key(*former));
    here.or_else(|| given.values().find_map(renamed))
}

/// The first key of `given` that `known` lacks, and the keys that it has there.
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

    const CPU: &str = r#"{"executor": "cpu", "temporal_depth": 1, "tile_rows": 8,
        "slab_planes": 4, "tile_cells": 64, "unroll_and_jam": 1}"#;

    #[test]
    fn what_a_report_prints_is_read_back() {
        assert!(matches!(CPU.parse(), Ok(PolicyChoice::Device(Policy::Cpu(_)))));
        let ranks = format!(
            r#"{{"ranks": 4, "grid": [2, 2, 1], "depth": 3, "halo_exchanges": 9, "waiting": 0.5, "rank": {CPU}}}"#
        );
        let Ok(PolicyChoice::Ranks(policy)) = ranks.parse() else { panic!("{ranks}") };
        assert_eq!((policy.ranks(), policy.grid, policy.depth), (4, vec![2, 2, 1], 3));
        let refusal = ranks.replace("4", "5").parse::<PolicyChoice>().unwrap_err();
        assert!(refusal.contains("`ranks` is 5, but `grid` has 4"), "{refusal}");
    }

    #[test]
    fn what_is_no_tunable_is_named_with_those_there_are() {
        let refusal = CPU
            .replace("unroll_and_jam\"", "jelly\": 1, \"unroll_and_jam\"")
            .parse::<PolicyChoice>();
        let refusal = refusal.unwrap_err();
        assert!(
            refusal.contains("no tunable `jelly`") && refusal.contains("tile_rows"),
            "{refusal}"
        );
        let ranks = format!(
            r#"{{"ranks": 4, "grid": [4], "depth": 3, "rank": {}}}"#,
            CPU.replace("unroll_and_jam\"", "jelly\": 1, \"unroll_and_jam\"")
        );
        assert!(ranks.parse::<PolicyChoice>().unwrap_err().contains("`jelly`"));
        assert!("{}".parse::<PolicyChoice>().unwrap_err().contains("that --json prints"));
    }

    #[test]
    fn former_names_are_refused_with_the_present_ones() {
        let refusal = |text: &str| text.parse::<PolicyChoice>().unwrap_err();
        let threads = CPU.replace("\"tile_rows\"", "\"threads\": 2, \"tile_rows\"");
        assert_eq!(refusal(&threads), "`threads` is now `--threads`");
        let ranks =
            format!(r#"{{"ranks": 2, "grid": [2], "swaps_ahead": 0, "depth": 1, "rank": {CPU}}}"#);
        assert_eq!(refusal(&ranks), "`swaps_ahead` is now `overlapped_exchanges`");
    }

    #[test]
    fn all_that_is_missing_is_told_at_once() {
        let refusal = |text: &str| text.parse::<PolicyChoice>().unwrap_err();
        let all = refusal(r#"{"executor": "cpu", "tile_rows": 8}"#);
        let fields = "fields `temporal_depth`, `slab_planes`, `tile_cells`, `unroll_and_jam`;";
        assert!(all.contains(fields), "{all}");
        // For several ranks, and for GPUs, where `phases` may be omitted.
        let ranks = refusal(r#"{"ranks": 2, "rank": {"executor": "cpu", "unroll_and_jam": 1}}"#);
        for field in ["grid", "depth", "temporal_depth", "tile_rows", "slab_planes", "tile_cells"] {
            assert!(ranks.contains(&format!("`{field}`")), "{field} in {ranks}");
        }
        let gpu = refusal(r#"{"executor": "cuda", "kernel": "direct", "cells": [1, 1, 1]}"#);
        for field in ["warps", "min_blocks", "contraction"] {
            assert!(gpu.contains(&format!("`{field}`")), "{field} in {gpu}");
        }
        assert!(!gpu.contains("phases"), "{gpu}");
    }
}
