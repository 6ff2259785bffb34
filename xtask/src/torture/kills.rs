//! Runs that are killed at any time and resumed, on other numbers of ranks too: the same bytes in the end.

use std::time::Duration;

use super::launcher::{Launcher, launchers};
use super::program::{Program, rank_process, send};
use super::{Campaign, Count};

/// Every command that can be resumed: its arguments, those for a state, and what it saves.
const RESUMABLE: [(&str, &str, &str, bool); 3] = [
    (
        "run heat --device cpu --size 20 --steps 3000 --seed 7 --output a.npy",
        "--checkpoint kept --checkpoint-every 50",
        "a.npy",
        true,
    ),
    (
        "apsp random:3000 --device cpu --sources 0..400 --check 0 --output a.csv",
        "--journal kept --flush 0",
        "a.csv",
        true,
    ),
    (
        "align q.fa t.fa --device cpu --traceback linear-space --output a.paf",
        "--checkpoint kept",
        "a.paf",
        false,
    ),
];

/// Kills and resumes.
pub fn resume(campaign: &mut Campaign<'_>) -> Count {
    let launchers = launchers();
    let mut expect = Vec::new();
    for (line, _, saves, _) in RESUMABLE {
        if let Err(error) = write_inputs(campaign) {
            return Count { wrong: vec![error.to_string()], ..Count::default() };
        }
        let ran = Program::of(campaign.command, campaign.folder, line).run(60);
        match std::fs::read(campaign.folder.join(saves)) {
            Ok(bytes) => expect.push(bytes),
            Err(error) => {
                return Count {
                    wrong: vec![format!("{line}: {error}, {ran:?}")],
                    ..Count::default()
                };
            }
        }
    }
    campaign.until_end(|campaign| {
        let which = campaign.random.below(RESUMABLE.len() as u64) as usize;
        write_inputs(campaign).map_err(|error| error.to_string())?;
        killed(campaign, &launchers, which, &expect[which])
    })
}

fn killed(
    campaign: &mut Campaign<'_>,
    launchers: &[Launcher],
    which: usize,
    expect: &[u8],
) -> Result<String, String> {
    let (line, state, saves, spreads) = RESUMABLE[which];
    let mut story = Vec::new();
    let mut most = 1;
    for _ in 0..1 + campaign.random.below(3) {
        let resume = if campaign.folder.join("kept").exists() { "--resume" } else { "" };
        let line = format!("{line} {state} {resume}");
        let ranks = if spreads { campaign.random.below(4) as usize } else { 0 };
        most = most.max(ranks);
        let pause = Duration::from_millis(20 + campaign.random.below(900));
        let mut running = match launchers {
            [] => Program::of(campaign.command, campaign.folder, &line).start()?,
            some if ranks > 1 => {
                let launcher = campaign.random.of(some).clone();
                let lines = vec![line.clone(); ranks];
                Program::ranks((&launcher, 1), campaign.command, campaign.folder, &lines).start()?
            }
            _ => Program::of(campaign.command, campaign.folder, &line).start()?,
        };
        std::thread::sleep(pause);
        let rank = campaign.random.below(ranks.max(1) as u64) as usize;
        let process = if ranks > 1 && !launchers.is_empty() {
            rank_process(campaign.folder, rank)
        } else {
            Some(running.id())
        };
        let was = if running.runs() && process.is_some_and(|it| send("-KILL", it)) {
            "killed"
        } else {
            "ended"
        };
        story.push(format!("{ranks} ranks {was} after {pause:?}"));
        let ran = running.wait(20);
        if ran.err.contains("bug in warpweft") {
            return Err(format!("{story:?}: {ran:?}"));
        }
    }
    let resume = if campaign.folder.join("kept").exists() { "--resume" } else { "" };
    let _ = std::fs::remove_file(campaign.folder.join(saves));
    let ran =
        Program::of(campaign.command, campaign.folder, &format!("{line} {state} {resume}")).run(60);
    // Killed before its first state, there is nothing to resume.
    let none = ran.err.contains("holds no") && ran.status != Some(0);
    match std::fs::read(campaign.folder.join(saves)) {
        Ok(bytes) if bytes == expect => Ok(format!(
            "{}, {} kills or ends, up to {most} ranks",
            line.split_whitespace().next().unwrap_or_default(),
            story.len()
        )),
        Err(_) if none => Ok("killed before the first state".into()),
        found => {
            Err(format!("{line}, {story:?}: {} bytes, {ran:?}", found.map_or(0, |it| it.len())))
        }
    }
}

fn write_inputs(campaign: &Campaign<'_>) -> std::io::Result<()> {
    let letters = |seed: usize| -> String {
        (0..6000).map(|i: usize| b"ACGT"[(i * i * 7 + i * seed + i / 5) % 4] as char).collect()
    };
    for (name, seed) in [("q.fa", 3), ("t.fa", 5)] {
        std::fs::write(campaign.folder.join(name), format!(">{name}\n{}\n", letters(seed)))?;
    }
    Ok(())
}
