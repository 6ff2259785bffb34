//! Random functions of the subset, as Rust and as C++: 300 a run, others every day, the answers bit by bit.
//!
//! The test writes the functions, has this very file compiled once more with them
//! (`--cfg generated`), and that program runs them as Rust and writes their translation and the
//! answers, for the host's C++ compiler here and for a GPU elsewhere.
//!
//! `WARPWEFT_RANDOM_SEED`, `_FUNCTIONS` and `_SHARDS` change what is generated;
//! `WARPWEFT_RANDOM_OUT` names a folder that keeps `source.cu` and `cases.bin` of every shard (the
//! form is described in `translation_support/cases.cuh`).
#![allow(unexpected_cfgs)]
#![cfg_attr(
    generated,
    allow(warnings, arithmetic_overflow, unconditional_panic, overflowing_literals, clippy::all)
)]

#[cfg(not(generated))]
mod rustc;
mod translation_support;

/// The functions of one shard, run and written down.
#[cfg(generated)]
mod functions {
    include!(env!("WARPWEFT_RANDOM_SOURCE"));

    #[test]
    fn write() {
        std::panic::set_hook(Box::new(|_| {}));
        let mut cases = Cases::default();
        register(&mut cases);
        let folder = std::env::var("WARPWEFT_RANDOM_FOLDER").unwrap();
        crate::translation_support::host::write(&cases, std::path::Path::new(&folder));
        let (functions, inputs) = cases.counts();
        println!("{functions} functions over {inputs} inputs");
    }
}

#[cfg(not(generated))]
mod driver {
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::rustc::rustc;
    use crate::translation_support::{generate, host};

    fn number(name: &str, default: u64) -> u64 {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// Generates, compiles and runs one shard as Rust; its `source.cu` and `cases.bin`.
    fn shard(mut rustc: Command, folder: &Path, seed: u64, functions: usize) -> (PathBuf, PathBuf) {
        std::fs::create_dir_all(folder).unwrap();
        let source = folder.join("functions.rs");
        let text = generate::program(seed, functions, 24);
        std::fs::write(&source, text).unwrap();
        let program = folder.join("functions.out");
        let output = rustc
            .env("WARPWEFT_RANDOM_SOURCE", &source)
            .env("CARGO_TARGET_TMPDIR", env!("CARGO_TARGET_TMPDIR"))
            .args(["--test", "tests/translation_random.rs", "--cfg", "generated"])
            .args(["-Copt-level=0", "-Cdebuginfo=0", "-Coverflow-checks=off", "-o"])
            .arg(&program)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let errors: String = errors.chars().take(6000).collect();
        assert!(output.status.success(), "seed {seed}: {errors}");
        let ran = Command::new(&program)
            .env("WARPWEFT_RANDOM_FOLDER", folder)
            .args(["functions::write", "--exact", "--nocapture"])
            .output()
            .unwrap();
        assert!(ran.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&ran.stdout));
        // What is kept is small enough to be carried to a GPU.
        std::fs::remove_file(&program).unwrap();
        (folder.join("source.cu"), folder.join("cases.bin"))
    }

    #[test]
    fn random_functions_mean_the_same_in_both_worlds() {
        let compiler = match host::compiler() {
            Ok(compiler) => compiler,
            Err(reason) => return println!("skipped: {reason}"),
        };
        if let Err(reason) = rustc() {
            return println!("skipped: {reason}");
        }
        // Other functions every day; the seed is printed to have the same again.
        let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / 86_400);
        let seed = number("WARPWEFT_RANDOM_SEED", 1000 * days);
        println!("WARPWEFT_RANDOM_SEED={seed}");
        let shards = number("WARPWEFT_RANDOM_SHARDS", 2);
        let each = number("WARPWEFT_RANDOM_FUNCTIONS", 150).div_ceil(shards) as usize;
        let out = std::env::var("WARPWEFT_RANDOM_OUT").map(PathBuf::from);
        let out = out.unwrap_or_else(|_| host::scratch("random"));
        let next = AtomicU64::new(0);
        let work = || {
            let mut texts = String::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= shards {
                    return texts;
                }
                let folder = out.join(format!("shard_{i}"));
                let (source, data) = shard(rustc().unwrap(), &folder, seed + i, each);
                let (same, text) = host::run(&compiler, &source, &data);
                assert!(same, "{text}");
                texts.push_str(&text);
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let texts: Vec<String> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        println!("{}", texts.concat());
    }
}
