//! Cases compiled and run by the host's C++ compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::random::Random;
use super::{Cases, Flat};

/// The compiler, or why there is none: `$CXX`, then `c++`, `g++`, `clang++`.
pub fn compiler() -> Result<String, String> {
    let named = std::env::var("CXX").ok();
    let known = named.into_iter().chain(["c++", "g++", "clang++"].map(String::from));
    for compiler in known {
        if Command::new(&compiler).arg("--version").output().is_ok_and(|out| out.status.success()) {
            return Ok(compiler);
        }
    }
    Err("no C++ compiler: neither $CXX nor c++, g++ or clang++ runs".into())
}

/// Writes `source.cu` and `cases.bin` into `folder`.
pub fn write(cases: &Cases, folder: &Path) -> (PathBuf, PathBuf) {
    std::fs::create_dir_all(folder).unwrap();
    let (source, data) = (folder.join("source.cu"), folder.join("cases.bin"));
    std::fs::write(&source, cases.source()).unwrap();
    std::fs::write(&data, cases.bytes()).unwrap();
    (source, data)
}

/// Compiles `source`, runs it on `data` and returns what it printed, and whether all agreed.
pub fn run(compiler: &str, source: &Path, data: &Path) -> (bool, String) {
    let program = source.with_extension("out");
    let compiled = Command::new(compiler)
        .args(["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-x", "c++"])
        .arg(source)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    if !compiled.status.success() {
        let log = String::from_utf8_lossy(&compiled.stderr).into_owned();
        return (false, log.chars().take(6000).collect());
    }
    let ran = Command::new(&program).arg(data).output().unwrap();
    (ran.status.success(), String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// A folder below the target directory for the files of one test.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("translation").join(name)
}

/// Inputs at the edges, the same on every run.
pub fn inputs<A: Flat>() -> Vec<A> {
    let mut random = Random(1);
    (0..400).map(|_| A::sample(&mut random)).collect()
}

/// Compares all, or prints why it can't.
pub fn check(name: &str, fill: impl FnOnce(&mut Cases)) {
    std::panic::set_hook(Box::new(|_| {}));
    let mut cases = Cases::default();
    fill(&mut cases);
    let _ = std::panic::take_hook();
    let (source, data) = write(&cases, &scratch(name));
    match compiler() {
        Err(reason) => println!("skipped: {reason}"),
        Ok(compiler) => {
            let (same, text) = run(&compiler, &source, &data);
            assert!(same, "{text}");
            println!("{text}");
        }
    }
}
