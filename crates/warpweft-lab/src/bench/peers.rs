//! Other systems doing the same work: programs that print one JSON object per line.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use warpweft::{Error, Result};

use warpweft_terminal::output::note;

/// One figure of a peer, or why there is none.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Peer {
    /// Its name.
    pub peer: String,
    /// Dimensions.
    #[serde(default = "third")]
    pub dims: usize,
    /// Cells along each.
    #[serde(alias = "n")]
    pub size: usize,
    /// The scalar.
    #[serde(default = "single")]
    pub dtype: String,
    /// Order in space.
    #[serde(default = "second")]
    pub order: usize,
    /// GPUs at work, where they are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<usize>,
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

fn third() -> usize {
    3
}

fn single() -> String {
    "f32".into()
}

/// One core's Smith-Waterman by parasail, as far as `folder` and the machine have it.
///
/// # Errors
/// The program says something else than figures.
pub fn alignment(folder: &Path, size: usize) -> Result<Vec<Peer>> {
    let program = folder.join("wavefront_parasail.py");
    if !program.exists() {
        note(&format!("no peer: {} is not there", program.display()));
        return Ok(Vec::new());
    }
    run(Command::new("python3").arg(&program).arg(size.to_string()), &program)
}

/// Heat conduction on the cores by numba and by gcc, as far as `folder` and the machine have them.
///
/// # Errors
/// A program says something else than figures.
pub fn on_cores(
    folder: &Path,
    size: usize,
    steps: u64,
    order: usize,
    threads: usize,
) -> Result<Vec<Peer>> {
    let numbers = [size.to_string(), steps.to_string(), order.to_string(), threads.to_string()];
    let mut found = Vec::new();
    let numba = folder.join("stencil_numba.py");
    if numba.exists() {
        found.extend(run(Command::new("python3").arg(&numba).args(&numbers), &numba)?);
    }
    let source = folder.join("stencil_omp.c");
    if source.exists() {
        let program = std::env::temp_dir().join(format!("warpweft-peer-{}", std::process::id()));
        let built = Command::new("gcc")
            .args(["-O3", "-march=native", "-fopenmp", "-o"])
            .arg(&program)
            .arg(&source)
            .arg("-lm")
            .status();
        if built.is_ok_and(|status| status.success()) {
            let figures = run(Command::new(&program).args(&numbers), &source);
            // A file in the temporary folder: no harm if it stays.
            let _ = std::fs::remove_file(&program);
            found.extend(figures?);
        } else {
            note(&format!("no figures of {}: gcc can't build it", source.display()));
        }
    }
    Ok(found)
}

/// Heat conduction on the first GPU, by all systems that its program knows.
///
/// # Errors
/// As [`on_cores`].
pub fn on_gpu(folder: &Path) -> Result<Vec<Peer>> {
    let program = folder.join("stencil_gpu.py");
    if !program.exists() {
        return Ok(Vec::new());
    }
    run(Command::new("python3").arg(&program), &program)
}

/// Heat conduction on all GPUs, by all systems that its program knows.
///
/// # Errors
/// As [`on_cores`].
pub fn on_gpus(folder: &Path) -> Result<Vec<Peer>> {
    let program = folder.join("stencil_multi.py");
    if !program.exists() {
        return Ok(Vec::new());
    }
    run(Command::new("python3").arg(&program), &program)
}

/// The figures that a program prints; none, with a note, when it can't run.
pub fn run<P: DeserializeOwned>(command: &mut Command, program: &Path) -> Result<Vec<P>> {
    let no = |why: String| {
        note(&format!("no figures of {}: {why}", program.display()));
        Ok(Vec::new())
    };
    let output = match command.stderr(Stdio::piped()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => return no(error.to_string()),
        Err(error) => return Err(Error::file(program, error, "check that it can be run")),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return no(said.trim().lines().last().unwrap_or("it failed").to_string());
    }
    read(program, &String::from_utf8_lossy(&output.stdout))
}

/// Whether cargo is there and builds the crate in `folder`.
pub fn built(folder: &Path) -> bool {
    let manifest = folder.join("Cargo.toml");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet", "--manifest-path"]).arg(&manifest);
    manifest.exists() && cargo.status().is_ok_and(|status| status.success())
}

fn read<P: DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<P>> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line).map_err(|error| {
                let what = format!("printed '{line}': {error}");
                Error::file(path, what, "print one JSON object per line")
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_reasons_are_read() {
        let text = r#"{"peer": "JAX", "dims": 2, "size": 768, "dtype": "f32", "steps": 20, "cells_per_second": 1.5e11}
{"peer": "gcc -O3 OpenMP", "order": 8, "n": 256, "steps": 100, "threads": 2, "cells_per_second": 2e9}
{"peer": "PyTorch", "dims": 3, "size": 256, "dtype": "f32", "error": "ModuleNotFoundError: torch"}"#;
        let peers: Vec<Peer> = read("p.py".as_ref(), text).unwrap();
        assert_eq!((peers[0].order, peers[0].cells_per_second), (2, Some(1.5e11)));
        assert_eq!((peers[1].dims, peers[1].size, peers[1].order), (3, 256, 8));
        assert_eq!((peers[2].cells_per_second, peers[2].error.is_some()), (None, true));
        let refusal = read::<Peer>("p.py".as_ref(), "Traceback").unwrap_err().to_string();
        assert!(refusal.contains("printed 'Traceback'"), "{refusal}");
    }

    #[test]
    fn a_program_that_is_not_there_or_fails_is_no_figure_and_no_error() {
        let missing = Path::new("no-such-program");
        assert!(run::<Peer>(&mut Command::new(missing), missing).unwrap().is_empty());
        assert!(on_gpu(missing).unwrap().is_empty());
        assert!(on_cores(missing, 8, 1, 2, 1).unwrap().is_empty());
    }
}
