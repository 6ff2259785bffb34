//! Two ranks with a GPU each, of which one is killed or interrupted at any time, resumed on one GPU: the same bytes as
//! one GPU comes to without a break. The cells are integers, which every kernel rounds alike.

use std::path::Path;
use std::time::Duration;

use super::launcher::{Launcher, launchers};
use super::program::{Program, Ran, rank_process, send};
use super::{Campaign, Count};

const LINE: &str = "run life --size 768x512 --steps 400000 --seed 7 --output a.npy";
const STATES: &str = "--checkpoint kept --checkpoint-every 4000";
/// Seconds that a run may take.
const LIMIT: u64 = 60;

/// Kills and interrupts.
pub fn resume(campaign: &mut Campaign<'_>) -> Count {
    if !Path::new("/dev/nvidia1").exists() {
        return Count::skipped("fewer than two GPUs");
    }
    let launchers = launchers();
    if launchers.is_empty() {
        return Count::skipped("no launcher of ranks");
    }
    let ran = alone(campaign, &format!("{LINE} --device gpu"));
    let expect = match std::fs::read(campaign.folder.join("a.npy")) {
        Ok(bytes) => bytes,
        Err(error) => {
            return Count { wrong: vec![format!("{LINE}: {error}, {ran:?}")], ..Count::default() };
        }
    };
    campaign.until_end(|campaign| {
        let launcher = campaign.random.of(&launchers).clone();
        broken_off(campaign, &launcher, &expect)
    })
}

/// A run of one process, whose address space a driver needs all of.
fn alone(campaign: &Campaign<'_>, line: &str) -> Ran {
    Program::script(campaign.command, campaign.folder, &format!("exec \"$W\" {line}")).run(LIMIT)
}

fn broken_off(
    campaign: &mut Campaign<'_>,
    launcher: &Launcher,
    expect: &[u8],
) -> Result<String, String> {
    let line = format!("{LINE} --device gpus {STATES}");
    let ranks =
        Program::ranks((launcher, 2), campaign.command, campaign.folder, &[line.clone(), line]);
    let mut running = ranks.start()?;
    let first = campaign.folder.join("kept/step-000000000000/manifest");
    for _ in 0..6000 {
        if first.exists() || !running.runs() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(campaign.random.below(1500)));
    let (rank, signal) =
        (campaign.random.below(2) as usize, *campaign.random.of(&["-KILL", "-INT"]));
    let sent = rank_process(campaign.folder, rank).is_some_and(|process| send(signal, process));
    let ran = running.wait(LIMIT);
    let story = format!("{signal} to rank {rank} of 2 by {}", launcher.name());
    if ran.err.contains("bug in warpweft") {
        return Err(format!("{story}: {ran:?}"));
    }
    let _ = std::fs::remove_file(campaign.folder.join("a.npy"));
    let again = alone(campaign, &format!("{LINE} --device gpu {STATES} --resume"));
    match std::fs::read(campaign.folder.join("a.npy")) {
        Ok(bytes) if bytes == expect => Ok(if sent { story } else { "ended before".into() }),
        found => Err(format!(
            "{story}, resumed on one GPU: {} bytes, {ran:?}, {again:?}",
            found.map_or(0, |it| it.len())
        )),
    }
}
