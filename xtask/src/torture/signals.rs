//! Signals to any rank at any time: all ranks end, what was asked for is saved, and every status is 130.

use std::time::Duration;

use super::launcher::{Launcher, launchers};
use super::program::{Program, rank_process, send};
use super::{Campaign, Count};

/// Long runs of one to three ranks.
pub fn signal(campaign: &mut Campaign<'_>) -> Count {
    let launchers = launchers();
    campaign.until_end(|campaign| match launchers.len() {
        0 => alone(campaign),
        some => match campaign.random.below(some as u64 + 1) as usize {
            0 => alone(campaign),
            n => spread(campaign, &launchers[n - 1]),
        },
    })
}

const LINE: &str = "run heat --device cpu --threads 1 --size 16 --steps 1000000000 --output a.npy \
                    --checkpoint kept --checkpoint-every 1000000 --json";

/// How long after its first checkpoint a run is asked to end.
fn pause(campaign: &mut Campaign<'_>) -> Duration {
    Duration::from_millis(campaign.random.below(400))
}

fn begun(campaign: &Campaign<'_>, mut runs: impl FnMut() -> bool) -> Result<(), String> {
    let manifest = campaign.folder.join("kept/step-000000000000/manifest");
    for _ in 0..6000 {
        if manifest.exists() {
            return Ok(());
        }
        if !runs() {
            return Err("it ended before it began".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("it did not begin".into())
}

fn alone(campaign: &mut Campaign<'_>) -> Result<String, String> {
    let mut running = Program::of(campaign.command, campaign.folder, LINE).start()?;
    begun(campaign, || running.runs())?;
    std::thread::sleep(pause(campaign));
    // Under nohup, programs ignore SIGHUP.
    let signals = ["-INT", "-TERM", "-HUP"];
    let signals = if ignores_hang_up() { &signals[..2] } else { &signals[..] };
    let signal = *campaign.random.of(signals);
    send(signal, running.id());
    let ran = running.wait(20);
    match ran.status == Some(130) && saved(campaign) {
        true => Ok("one process".into()),
        false => Err(format!("{signal} to one process: {ran:?}")),
    }
}

/// Whether this process has SIGHUP, signal 1, ignored: its children inherit that.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits & 1 == 1)
}

fn spread(campaign: &mut Campaign<'_>, launcher: &Launcher) -> Result<String, String> {
    let ranks = 2 + campaign.random.below(2) as usize;
    let lines = vec![LINE.to_string(); ranks];
    // This machine may be busy, and a rank that is killed can't save.
    let program = Program::ranks((launcher, 2), campaign.command, campaign.folder, &lines);
    let mut running = program.start()?;
    begun(campaign, || running.runs())?;
    std::thread::sleep(pause(campaign));
    let rank = campaign.random.below(ranks as u64) as usize;
    let signal = *campaign.random.of(&["-INT", "-TERM"]);
    let Some(process) = rank_process(campaign.folder, rank) else {
        return Err(format!("rank {rank} is not found"));
    };
    send(signal, process);
    let ran = running.wait(30);
    let statuses: Vec<_> = (0..ranks)
        .map(|rank| std::fs::read_to_string(campaign.folder.join(format!("status.{rank}"))))
        .map(|read| read.map_or("none".into(), |text| text.trim().to_string()))
        .collect();
    // Open MPI 5 kills the other shells as soon as the first process has ended; its own status tells the rest.
    let heard = |status: &String| status == "130" || launcher.kills() && status == "none";
    let all = statuses.iter().all(heard) && (!launcher.kills() || ran.status == Some(130));
    match all && saved(campaign) {
        true => Ok(format!("{ranks} ranks by {}", launcher.name())),
        false => Err(format!(
            "{signal} to rank {rank} of {ranks} by {}: {statuses:?}, {ran:?}",
            launcher.name()
        )),
    }
}

/// Whether the result is there, whole.
fn saved(campaign: &Campaign<'_>) -> bool {
    let bytes = std::fs::metadata(campaign.folder.join("a.npy")).map_or(0, |known| known.len());
    bytes == 128 + 16 * 16 * 16 * 4 && !super::places::leftovers(campaign.folder)
}
