//! Random functions of the subset, as Rust and as C++: at least 1,000 a run, the answers bit by bit.
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

    use crate::translation_support::{generate, host};

    fn number(name: &str, default: u64) -> u64 {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// Generates, compiles and runs one shard as Rust; its `source.cu` and `cases.bin`.
    fn shard(folder: &Path, seed: u64, functions: usize) -> (PathBuf, PathBuf) {
        std::fs::create_dir_all(folder).unwrap();
        let source = folder.join("functions.rs");
        let text = generate::program(seed, functions, 24);
        std::fs::write(&source, text).unwrap();
        let output = Command::new(std::env::var("CARGO").unwrap_or("cargo".into()))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("WARPWEFT_RANDOM_SOURCE", &source)
            .args(["rustc", "--quiet", "--package", "warpweft", "--test", "translation_random"])
            .args(["--profile", "test", "--message-format", "json", "--"])
            .args(["--cfg", "generated", "-Copt-level=0", "-Cdebuginfo=0"])
            .arg("-Coverflow-checks=off")
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "seed {seed}: {errors}{}", rendered(&messages));
        let program = executable(&messages).unwrap();
        // The next shard is compiled to the same place.
        let kept = folder.join("functions.out");
        std::fs::copy(program, &kept).unwrap();
        let ran = Command::new(&kept)
            .env("WARPWEFT_RANDOM_FOLDER", folder)
            .args(["functions::write", "--exact", "--nocapture"])
            .output()
            .unwrap();
        assert!(ran.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&ran.stdout));
        // What is kept is small enough to be carried to a GPU.
        std::fs::remove_file(&kept).unwrap();
        (folder.join("source.cu"), folder.join("cases.bin"))
    }

    /// The compiler's errors in cargo's messages, as it would have printed them.
    fn rendered(messages: &str) -> String {
        let parsed = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        let texts = parsed.filter_map(|message: serde_json::Value| {
            let rendered = message["message"]["rendered"].as_str()?;
            rendered.starts_with("error").then(|| rendered.to_string())
        });
        texts.take(10).collect()
    }

    fn executable(messages: &str) -> Option<PathBuf> {
        let parsed = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        let mut found = parsed.filter_map(|message: serde_json::Value| {
            let target = message["target"]["name"] == "translation_random";
            message["executable"].as_str().filter(|_| target).map(PathBuf::from)
        });
        found.next_back()
    }

    #[test]
    fn random_functions_mean_the_same_in_both_worlds() {
        let compiler = host::compiler();
        if let Err(reason) = &compiler {
            println!("skipped: {reason}");
            return;
        }
        let cargo = Command::new("cargo").arg("--version").output();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").exists();
        if !sources || !cargo.is_ok_and(|output| output.status.success()) {
            println!("skipped: the functions need this crate's sources and cargo");
            return;
        }
        // Other functions every day; the seed is printed to have the same again.
        let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / 86_400);
        let seed = number("WARPWEFT_RANDOM_SEED", 1000 * days);
        println!("WARPWEFT_RANDOM_SEED={seed}");
        let shards = number("WARPWEFT_RANDOM_SHARDS", 4);
        let each = number("WARPWEFT_RANDOM_FUNCTIONS", 1_000).div_ceil(shards) as usize;
        let out = std::env::var("WARPWEFT_RANDOM_OUT").map(PathBuf::from);
        let out = out.unwrap_or_else(|_| host::scratch("random"));
        let mut checks = vec![];
        for i in 0..shards {
            let (source, data) = shard(&out.join(format!("shard_{i}")), seed + i, each);
            let compiler = compiler.clone().unwrap();
            // C++ is compiled while the next shard is compiled as Rust.
            checks.push(std::thread::spawn(move || host::run(&compiler, &source, &data)));
        }
        let mut texts = vec![];
        for check in checks {
            let (same, text) = check.join().unwrap();
            assert!(same, "{text}");
            texts.push(text);
        }
        println!("{}", texts.concat());
    }
}
