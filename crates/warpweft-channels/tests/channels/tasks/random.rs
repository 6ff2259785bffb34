//! Random spawning functions: the values of plain recursion, on played warps and, where the program that this writes is run
//! with `gpu`, on a GPU.
//!
//! `WARPWEFT_RANDOM_SEED`, `_PROGRAMS`, `_GROUPS` of a program, `_EACH`, functions of a group, and `_MOST`, waits of a function and
//! places that spawn before each, change what is generated; `WARPWEFT_RANDOM_OUT` names a folder that keeps the programs. `gpu 0 9`
//! makes a program run its first nine groups.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Roots, generate, ran};
use crate::rustc::rustc;
use crate::translation_support::host::scratch;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Groups of functions in a program.
fn groups() -> u64 {
    number("WARPWEFT_RANDOM_GROUPS", 1).max(1)
}

/// Functions of a group, next to the one that calls them all.
fn functions() -> usize {
    number("WARPWEFT_RANDOM_EACH", 14).max(1) as usize
}

/// Waits of a function, and places that spawn before each, at most.
fn most() -> usize {
    number("WARPWEFT_RANDOM_MOST", 3).max(1) as usize
}

/// The program of a seed and those that follow, compiled.
fn compiled(mut rustc: Command, folder: &Path, seed: u64) -> PathBuf {
    let seeds = seed..seed + groups();
    let (source, program) = (folder.join(format!("{seed}.rs")), folder.join(seed.to_string()));
    let text = generate::program(seeds, functions(), most());
    std::fs::write(&source, text).unwrap();
    rustc.args(["-Copt-level=0", "-Cdebuginfo=0", "-Coverflow-checks=off", "-Awarnings", "-o"]);
    let output = rustc.arg(&program).arg(&source).output().unwrap();
    let errors: String = String::from_utf8_lossy(&output.stderr).chars().take(6000).collect();
    assert!(output.status.success(), "seed {seed}: {errors}");
    program
}

#[test]
fn random_functions_have_the_values_of_plain_recursion() {
    let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / 86_400);
    // Others every day; the seed is printed to have the same again.
    let seed = number("WARPWEFT_RANDOM_SEED", 1000 * days);
    println!("WARPWEFT_RANDOM_SEED={seed}");
    let folder = std::env::var("WARPWEFT_RANDOM_OUT").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|_| scratch("random_calls"));
    std::fs::create_dir_all(&folder).unwrap();
    let programs = number("WARPWEFT_RANDOM_PROGRAMS", 1);
    for seed in (seed..).step_by(groups() as usize).take(programs as usize) {
        let rustc = match rustc() {
            Ok(rustc) => rustc,
            Err(reason) => return println!("skipped: {reason}"),
        };
        let program = compiled(rustc, &folder, seed);
        let output = Command::new(&program).output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "seed {seed}: {log}");
        let said = String::from_utf8(output.stdout).unwrap();
        let mut lines = said.splitn(5, '\n').map(String::from);
        let [root, functions, roots, expect, unit] =
            [(); 5].map(|()| lines.next().unwrap_or_default());
        println!("seed {seed}: {} roots", roots.matches("{").count());
        let calls = Roots { unit, functions, root, roots, expect };
        let Some([ran, given, _]) = ran(&calls, None, false, 1) else { return };
        println!("{ran} calls, {given} of them given away");
        assert!(given > 0, "seed {seed}");
    }
}
