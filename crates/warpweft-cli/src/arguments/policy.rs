//! `--policy '{"executor":"cpu",..}'`: the tunables, in the form that `--json` prints them.

use std::str::FromStr;

use warpweft::stencil::Policy;

/// A policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyChoice(pub Policy);

impl FromStr for PolicyChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_str(text)
            .map(Self)
            .map_err(|error| format!("{error}; give the `policy` that --json prints"))
    }
}
