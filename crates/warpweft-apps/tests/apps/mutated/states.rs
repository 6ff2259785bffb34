//! States of long runs: gone on from to the same result, or refused.

use std::fs;
use std::path::{Path, PathBuf};

use warpweft::cpu::Pool;
use warpweft::farm::{self, Farm, Flush, Journal, on_cores};
use warpweft::grid::Volume;
use warpweft::run::Target;
use warpweft::stencil::{self, Boundary, Checkpoint, Steps};
use warpweft::wavefront::CpuPolicy;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::traceback::{Partition, Way};
use warpweft::{Error, Result};
use warpweft_apps::align::{Scope, Sequence, Tracing, Weights, trace};
use warpweft_apps::life;

use super::Kind;
use super::settings::machine;

/// Of all patterns that keep one.
pub fn kinds() -> Vec<Kind> {
    let kind = |name, makes: fn(&Path, bool) -> Result<()>, reads| {
        let folder = tempfile::tempdir().expect("a folder");
        makes(folder.path(), false).expect("a first run");
        let mut files = Vec::new();
        all(folder.path(), folder.path(), &mut files);
        assert!(files.len() > 1, "{name}: {files:?}");
        Kind { name, files, reads, weight: 4, repairs: None }
    };
    vec![
        kind("a checkpoint of a stencil", steps, |at| ended(steps(at, true))),
        kind("a journal of a farm", squares, |at| ended(squares(at, true))),
        kind("a checkpoint of an alignment", alignment, |at| ended(alignment(at, true))),
    ]
}

/// The files below `from`, by their paths below `root`.
fn all(root: &Path, from: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mut entries: Vec<_> = fs::read_dir(from)
        .expect("a folder")
        .map(|entry| entry.expect("readable").path())
        .collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => all(root, &path, files),
            false => {
                let name = path.strip_prefix(root).expect("below it").to_path_buf();
                files.push((name, fs::read(&path).expect("a small file")));
            }
        }
    }
}

/// Errors are of the files, and say what to do.
fn ended(outcome: Result<()>) {
    if let Err(error) = outcome {
        assert!(matches!(error, Error::File { .. } | Error::Spec { .. }), "{error:?}");
        assert!(error.to_string().contains("help: "), "{error}");
    }
}

fn steps(at: &Path, resume: bool) -> Result<()> {
    let start = || Volume::from_fn([9, 11], |[y, x]| u8::from((y * 3 + x * 5) % 7 < 3));
    let stencil = life::stencil().boundary(Boundary::Periodic);
    let checkpoint = Checkpoint { directory: at.into(), every: 3, resume };
    let run = stencil::Run {
        target: Target::Cpu,
        threads: Some(1),
        checkpoint: Some(&checkpoint),
        ..stencil::Run::default()
    };
    let mut found = start();
    let count = if resume { 9 } else { 7 };
    stencil.run_with(&mut found, Steps(count), machine(), &run)?;
    let mut expect = start();
    stencil::reference(&stencil, &mut expect, count).expect("few cells");
    assert_eq!(found.as_slice(), expect.as_slice());
    Ok(())
}

fn squares(at: &Path, resume: bool) -> Result<()> {
    let farm = Farm::of(on_cores(|k: u64| Ok(k * k)));
    let journal =
        Journal { directory: at.into(), of: "squares".into(), resume, flush: Flush::default() };
    let policy = farm::Policy { chunk: farm::ChunkSize::Tasks(7), ..farm::Policy::default() };
    let run = farm::Run {
        target: Target::Cpu,
        threads: Some(1),
        policy: Some(policy),
        checkpoint: Some(&journal),
        ..farm::Run::default()
    };
    let (found, _) = farm.run_with(0..40u64, machine(), &run)?;
    assert!(found.into_iter().eq((0..40u64).map(|k| Some(k * k))));
    Ok(())
}

fn alignment(at: &Path, resume: bool) -> Result<()> {
    let sequence = |step: usize| {
        let text: Vec<_> = (0..60).map(|k: usize| b"ACGT"[(k * k + k / step) % 4]).collect();
        Sequence::new("case", &text).expect("letters")
    };
    let (query, target) = (sequence(3), sequence(5));
    let weights = Weights { matching: 2, mismatch: -3, open: -5, extend: -1 };
    let pool = Pool::new(machine().cpu.first(1))?;
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(60, 1))?;
    let mut path = |checkpoint| {
        let cut = Some(Partition { blocks: 5, matrix_cells: 300 });
        let tracing = Tracing { way: Way::LinearSpace, cut, checkpoint };
        trace(&query, &target, weights, Scope::Local, &tracing, &mut executor)
    };
    let (found, _) = path(Some((at.into(), resume)))?;
    assert_eq!(found, path(None)?.0);
    Ok(())
}
