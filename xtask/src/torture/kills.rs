//! Runs that are killed at any time and resumed, on other numbers of ranks too: the same bytes in the end.

use std::time::Duration;

use super::launcher::{Launcher, launchers};
use super::program::{Program, rank_process, send};
use super::{Campaign, Count};

/// Applications on a grid, each with what makes a run last long enough to be killed in.
const ON_A_GRID: [&str; 9] = [
    "heat --size 20 --steps 3000 --seed 7",
    "life --size 64 --steps 3000 --seed 7",
    "life3d --size 20 --steps 3000 --seed 7",
    "swim --size 48 --steps 3000",
    "seismic --size 20 --steps 1500",
    "himeno --size 20 --steps 3000",
    "hyperthermia --size 20 --steps 3000",
    "tricubic --size 20 --steps 1000",
    "edge --size 64 --steps 3000 --seed 7",
];

/// A command that can be resumed.
struct Resumable {
    /// Its arguments.
    line: String,
    /// Those for a state.
    state: &'static str,
    /// What it saves.
    saves: &'static str,
    /// Whether it may have ranks.
    spreads: bool,
}

/// Every command that can be resumed.
fn resumable() -> Vec<Resumable> {
    let grid = ON_A_GRID.map(|app| Resumable {
        line: format!("run {app} --device cpu --threads 1 --no-check --output a.npy"),
        state: "--checkpoint kept --checkpoint-every 50",
        saves: "a.npy",
        spreads: true,
    });
    let others = [
        (
            "apsp random:3000 --device cpu --threads 1 --sources 0..400 --check 0 --output a.csv",
            "--journal kept --flush 0",
            "a.csv",
            true,
        ),
        (
            "align q.fa t.fa --device cpu --threads 1 --traceback linear-space --output a.paf",
            "--checkpoint kept",
            "a.paf",
            false,
        ),
    ];
    let others = others.map(|(line, state, saves, spreads)| Resumable {
        line: line.into(),
        state,
        saves,
        spreads,
    });
    grid.into_iter().chain(others).collect()
}

impl Resumable {
    /// Its subcommand and its application.
    fn name(&self) -> String {
        let words: Vec<_> = self.line.split_whitespace().collect();
        words[..if words[0] == "run" { 2 } else { 1 }].join(" ")
    }

    /// Its arguments for a run that goes on from the state in `campaign`'s folder, if there is one.
    fn goes_on(&self, campaign: &Campaign<'_>) -> String {
        let resume = if campaign.folder.join("kept").exists() { "--resume" } else { "" };
        format!("{} {} {resume}", self.line, self.state)
    }
}

/// Kills and resumes.
pub fn resume(campaign: &mut Campaign<'_>) -> Count {
    let launchers = launchers();
    let all = resumable();
    let mut expect = Vec::new();
    for Resumable { line, saves, .. } in &all {
        if let Err(error) = write_inputs(campaign) {
            return Count { wrong: vec![error.to_string()], ..Count::default() };
        }
        let ran = Program::of(campaign.command, campaign.folder, line).run(60);
        match std::fs::read(campaign.folder.join(saves)) {
            Ok(bytes) => expect.push(bytes),
            Err(error) => {
                let wrong = vec![format!("{line}: {error}, {ran:?}")];
                return Count { wrong, ..Count::default() };
            }
        }
    }
    let mut kills = 0;
    let mut count = campaign.until_end(|campaign| {
        let which = campaign.random.below(all.len() as u64) as usize;
        write_inputs(campaign).map_err(|error| error.to_string())?;
        killed(campaign, &launchers, (&all[which], &expect[which]), &mut kills)
    });
    count.kinds.insert("kills, each followed by a run that goes on".into(), kills);
    count
}

/// A run that is killed one to three times and then ends; adds to `kills`.
fn killed(
    campaign: &mut Campaign<'_>,
    launchers: &[Launcher],
    (command, expect): (&Resumable, &[u8]),
    kills: &mut u64,
) -> Result<String, String> {
    let mut story = Vec::new();
    let mut most = 1;
    for _ in 0..1 + campaign.random.below(3) {
        let ranks = if command.spreads && !launchers.is_empty() {
            1 + campaign.random.below(4) as usize
        } else {
            1
        };
        most = most.max(ranks);
        let (was, pause) = kill(campaign, launchers, command, ranks)?;
        *kills += u64::from(was == "killed");
        story.push(format!("{ranks} ranks {was} after {pause:?}"));
    }
    let line = command.goes_on(campaign);
    let saved = campaign.folder.join(command.saves);
    let _ = std::fs::remove_file(&saved);
    let ran = Program::of(campaign.command, campaign.folder, &line).run(60);
    // Killed before its first state, there is nothing to resume.
    let none = ran.err.contains("holds no") && ran.status != Some(0);
    match std::fs::read(saved) {
        Ok(bytes) if bytes == expect => Ok(match most {
            1 => format!("{}, 1 rank", command.name()),
            most => format!("{}, up to {most} ranks", command.name()),
        }),
        Err(_) if none => Ok("killed before the first state".into()),
        found => {
            let found = found.map_or(0, |bytes| bytes.len());
            Err(format!("{line}, {story:?}: {found} bytes, {ran:?}"))
        }
    }
}

/// Starts `command` on so many `ranks` and kills one of them at a random time: whether that came before its end.
fn kill(
    campaign: &mut Campaign<'_>,
    launchers: &[Launcher],
    command: &Resumable,
    ranks: usize,
) -> Result<(&'static str, Duration), String> {
    let line = command.goes_on(campaign);
    let program = if ranks > 1 {
        let launcher = campaign.random.of(launchers).clone();
        let lines = vec![line; ranks];
        Program::ranks((&launcher, 1), campaign.command, campaign.folder, &lines)
    } else {
        Program::of(campaign.command, campaign.folder, &line)
    };
    let pause = Duration::from_millis(20 + campaign.random.below(900));
    let rank = campaign.random.below(ranks as u64) as usize;
    let mut running = program.start()?;
    std::thread::sleep(pause);
    let process = if ranks > 1 { rank_process(campaign.folder, rank) } else { Some(running.id()) };
    let was = if running.runs() && process.is_some_and(|it| send("-KILL", it)) {
        "killed"
    } else {
        "ended"
    };
    let ran = running.wait(20);
    match ran.err.contains("bug in warpweft") || ran.err.contains("panicked") {
        true => Err(format!("{ranks} ranks {was} after {pause:?}: {ran:?}")),
        false => Ok((was, pause)),
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
