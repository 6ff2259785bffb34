//! `cargo xtask hot-loops`: whether the shipped program computes every recurrence in vectors. A compiler may lose that
//! without any test failing: cells of three scores once ran at a seventh of the speed of a small program.
//!
//! A run on one thread is compared with the plain loop of its check, in the same process: what the process takes beyond
//! the run's own seconds and its start. The least multiples are a third or less of what was measured, since machines
//! differ; a loop of single numbers stays far below them.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::cargo::{cargo, check};

/// Letters of each sequence, and samples of each series: the checks go up to 10^8 cells, and to 2 * 10^7.
const LETTERS: usize = 9_900;
const SAMPLES: usize = 4_400;

/// Arguments, and how many times as fast as the plain loop the run must be at least.
const LOOPS: [(&str, f64); 6] = [
    ("align q.fa t.fa --score-only", 20.0),
    ("align q.fa t.fa --score-only --global", 12.0),
    ("align q.fa t.fa --score-only --gap-open -5 --gap-extend -1", 20.0),
    ("align q.fa t.fa --score-only --gap-open -5 --gap-extend -1 --global", 12.0),
    ("dtw a.npy b.npy", 10.0),
    ("sat i.npy", 1.5),
];

/// Builds the command in release, unless `WARPWEFT_COMMAND` names it; whether all loops are fast enough.
pub fn run(root: &Path) -> Result<bool, String> {
    let command = match std::env::var_os("WARPWEFT_COMMAND") {
        Some(named) => named.into(),
        None => {
            let mut build = cargo(root);
            build.args(["build", "--quiet", "--release", "--package", "warpweft-cli"]);
            if !check("the command", &mut build)? {
                return Ok(false);
            }
            root.join("target/release/warpweft")
        }
    };
    let folder = std::env::temp_dir().join(format!("warpweft-hot-loops-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let outcome = write_inputs(&folder).map_err(|error| error.to_string()).and_then(|()| {
        let mut fine = true;
        for (line, least) in LOOPS {
            let times = faster(&command, &folder, line)?;
            let enough = times >= least;
            let verb = if enough { "is" } else { "ONLY" };
            println!("{line}: {verb} {times:.1} times as fast as the plain loop, at least {least}");
            fine &= enough;
        }
        Ok(fine)
    });
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

/// The best of three ratios: other work on the core makes one of the two slower.
fn faster(command: &Path, folder: &Path, line: &str) -> Result<f64, String> {
    let mut best = 0.0f64;
    for _ in 0..3 {
        let start = Instant::now();
        program(command, folder, "--version")?;
        let start = start.elapsed().as_secs_f64();
        let begin = Instant::now();
        let told = program(command, folder, &format!("{line} --device cpu --threads 1 --json"))?;
        let all = begin.elapsed().as_secs_f64();
        let own = seconds(&told).ok_or_else(|| format!("{line}: no seconds in {told}"))?;
        best = best.max((all - start - own) / own);
    }
    Ok(best)
}

fn program(command: &Path, folder: &Path, line: &str) -> Result<String, String> {
    let ran = Command::new(command).args(line.split_whitespace()).current_dir(folder).output();
    let ran = ran.map_err(|error| format!("{}: {error}", command.display()))?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
        false => Err(format!("{line}: {}", String::from_utf8_lossy(&ran.stderr))),
    }
}

/// The run's own seconds in a JSON report.
fn seconds(told: &str) -> Option<f64> {
    let after = told.split_once("\"seconds\":")?.1;
    after.split([',', '}']).next()?.trim().parse().ok()
}

fn write_inputs(folder: &Path) -> std::io::Result<()> {
    let mut state = 1u64;
    let mut bits = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for name in ["q.fa", "t.fa"] {
        let letters: String = (0..LETTERS).map(|_| b"ACGT"[bits() % 4] as char).collect();
        std::fs::write(folder.join(name), format!(">{name}\n{letters}\n"))?;
    }
    let npy = |descr: &str, shape: &str| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(format!("{text:117}\n").bytes());
        file
    };
    for name in ["a.npy", "b.npy"] {
        let mut file = npy("<f4", &format!("({SAMPLES},)"));
        (0..SAMPLES).for_each(|_| file.extend(((bits() % 1000) as f32).to_le_bytes()));
        std::fs::write(folder.join(name), file)?;
    }
    let mut image = npy("|u1", "(4000, 4000)");
    image.extend((0..16_000_000).map(|_| bits() as u8));
    std::fs::write(folder.join("i.npy"), image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_own_seconds_are_read() {
        let told = "{\"rate\":{\"value\":1},\"seconds\":0.25,\"setup_seconds\":0.5}";
        assert_eq!(seconds(told), Some(0.25));
        assert_eq!(seconds("{}"), None);
    }
}
