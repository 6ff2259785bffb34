//! Other systems doing the same work: programs that print one JSON object a line.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use warpweft::{Error, Result};

use crate::output::note;

/// One figure of a peer, or why there is none.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Peer {
    /// Its name.
    pub peer: String,
    /// Dimensions.
    pub dims: usize,
    /// Cells along each.
    pub size: usize,
    /// The scalar.
    pub dtype: String,
    /// Order in space.
    #[serde(default = "second")]
    pub order: usize,
    /// The rate.
    #[serde(default)]
    pub cells_per_second: Option<f64>,
    /// Why there is no rate.
    #[serde(default)]
    pub error: Option<String>,
}

fn second() -> usize {
    2
}

/// Runs the program at `path` with Python; nothing when either is missing.
///
/// # Errors
/// The program says something else than figures.
pub fn run(path: &Path) -> Result<Vec<Peer>> {
    if !path.exists() {
        note(&format!("no peers: {} is not there", path.display()));
        return Ok(Vec::new());
    }
    let output = match Command::new("python3").arg(path).stderr(Stdio::inherit()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            note("no peers: they need python3");
            return Ok(Vec::new());
        }
        Err(error) => return Err(Error::file(path, error, "see that python3 can run it")),
    };
    read(path, &String::from_utf8_lossy(&output.stdout))
}

fn read(path: &Path, text: &str) -> Result<Vec<Peer>> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line).map_err(|error| {
                Error::file(
                    path,
                    format!("printed '{line}': {error}"),
                    "print one JSON object a line",
                )
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_reasons_are_read() {
        let text = r#"{"peer": "JAX", "dims": 3, "size": 768, "dtype": "f32", "steps": 20, "cells_per_second": 1.5e11}
{"peer": "numba", "dims": 3, "size": 256, "dtype": "f32", "order": 8, "error": "ModuleNotFoundError: numba"}"#;
        let peers = read("p.py".as_ref(), text).unwrap();
        assert_eq!((peers[0].order, peers[0].cells_per_second), (2, Some(1.5e11)));
        assert_eq!((peers[1].order, peers[1].cells_per_second), (8, None));
        let refusal = read("p.py".as_ref(), "Traceback").unwrap_err().to_string();
        assert!(refusal.contains("printed 'Traceback'"), "{refusal}");
    }
}
