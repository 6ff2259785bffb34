//! Random schedules of the flags by which blocks and warps of a GPU hand cells on: delays before flags are looked at and
//! set, in any number of blocks. The cells are the reference's, to the bit.
//!
//! The kernels with delays are only in the tests of the wavefronts, which are run here with other seeds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{Campaign, Count};
use crate::cargo::cargo;
use crate::programs::Program;

/// The tests, by the end of their names.
const TESTS: &str = "whatever_the_delays";

/// Until the time is over, at least once.
pub fn flags(campaign: &mut Campaign<'_>) -> Count {
    if !Path::new("/dev/nvidiactl").exists() {
        return Count::skipped("no GPU");
    }
    let mut count = Count::default();
    let program = match program() {
        Ok(program) => program,
        Err(error) => return Count { wrong: vec![error], ..count },
    };
    loop {
        let seed = campaign.random.below(1 << 30);
        let mut command = Command::new(&program);
        command.args([TESTS, "--nocapture"]).env("WARPWEFT_SCHEDULES_SEED", seed.to_string());
        match command.env("WARPWEFT_NEED_GPU", "1").stderr(Stdio::inherit()).output() {
            Err(error) => count.wrong.push(error.to_string()),
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout);
                let schedules = schedules(&text);
                count.cases += schedules;
                *count.kinds.entry("random schedules of flags".into()).or_default() += schedules;
                if !output.status.success() || schedules == 0 {
                    count.wrong.push(format!("seed {seed}: {text}"));
                }
            }
        }
        if Instant::now() >= campaign.end || !count.wrong.is_empty() {
            return count;
        }
    }
}

/// The sum over lines such as `700 schedules of ..`.
fn schedules(text: &str) -> u64 {
    let count = |line: &str| line.split_once(" schedules of ")?.0.parse::<u64>().ok();
    text.lines().filter_map(count).sum()
}

/// The test program: of `WARPWEFT_WAVEFRONT_TESTS`, or built.
fn program() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("WARPWEFT_WAVEFRONT_TESTS") {
        return Ok(named.into());
    }
    let mut build = cargo(&crate::root());
    build.args(["test", "--package", "warpweft-wavefront", "--test", "wavefront", "--no-run"]);
    let output =
        build.args(["--quiet", "--message-format", "json"]).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| error.to_string())?;
    let built = String::from_utf8_lossy(&output.stdout).lines().find_map(Program::built);
    built.map(|program| program.path).ok_or_else(|| "no test program was built".into())
}

#[cfg(test)]
mod tests {
    #[test]
    fn schedules_are_added_up() {
        let text = "running 3 tests\n700 schedules of tiles\ntest a ... 1500 schedules of strips\n3 schedules of x\n";
        assert_eq!(super::schedules(text), 703);
    }
}
