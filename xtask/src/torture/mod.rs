//! `cargo xtask torture [--seconds N] [--seed S] [--only WORD]`: campaigns of ranks that disagree, signals, kills, damaged files,
//! planted links, libraries and caches, full disks, sums against numpy, and schedules of flags on GPUs. Each campaign prints what it did and what went wrong.
//!
//! A seed fixes what is done; the machine decides how much of it in the time there is, and when a signal arrives.
//! `WARPWEFT_COMMAND` names another build of the command, `WARPWEFT_LAUNCHERS` the launchers of ranks (`launcher`).

mod damage;
mod gpus;
mod kills;
mod launcher;
mod places;
mod planted;
mod program;
mod ranks;
mod schedules;
mod signals;
mod sums;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::cargo::{cargo, check};

/// What a campaign came to.
#[derive(Default)]
pub struct Count {
    /// Cases that were run.
    pub cases: u64,
    /// How many were of which kind.
    pub kinds: BTreeMap<String, u64>,
    /// Those that went wrong, in words.
    pub wrong: Vec<String>,
    /// Why nothing was done, if nothing could be.
    pub skipped: Option<String>,
}

impl Count {
    /// Of a campaign that this machine can't run.
    pub fn skipped(why: &str) -> Self {
        Self { skipped: Some(why.into()), ..Self::default() }
    }

    /// Adds a case, with its kind or with what went wrong.
    fn add(&mut self, outcome: Result<String, String>) {
        self.cases += 1;
        match outcome {
            Ok(kind) => *self.kinds.entry(kind).or_default() += 1,
            Err(wrong) => self.wrong.push(wrong),
        }
    }

    /// Prints it; whether nothing went wrong.
    fn print(&self, name: &str, seconds: f64) -> bool {
        let Self { cases, kinds, wrong, skipped } = self;
        if let Some(why) = skipped {
            println!("{name}: skipped: {why}");
            return true;
        }
        println!("{name}: {cases} cases, {} wrong, {seconds:.1} s", wrong.len());
        kinds.iter().for_each(|(kind, count)| println!("  {count:>6} {kind}"));
        wrong.iter().for_each(|what| println!("  WRONG: {what}"));
        wrong.is_empty()
    }
}

/// What all campaigns need.
pub struct Campaign<'a> {
    /// The command.
    pub command: &'a Path,
    /// A folder of its own, empty before each case.
    pub folder: &'a Path,
    /// Random numbers.
    pub random: Random,
    /// When it is to end.
    pub end: Instant,
}

impl Campaign<'_> {
    /// Runs cases until the time is over, at least one. A case that went well tells its kind.
    pub fn until_end(
        &mut self,
        mut case: impl FnMut(&mut Self) -> Result<String, String>,
    ) -> Count {
        let mut count = Count::default();
        loop {
            let emptied = std::fs::remove_dir_all(self.folder);
            let made = emptied.and_then(|()| std::fs::create_dir_all(self.folder));
            count.add(made.map_err(|error| error.to_string()).and_then(|()| case(self)));
            if Instant::now() >= self.end || count.wrong.len() > 20 {
                return count;
            }
        }
    }
}

/// Random numbers (Steele, Lea, Flood 2014).
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ x >> 31) % limit.max(1)
    }

    /// One of `choices`.
    pub fn of<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

type Runs = fn(&mut Campaign<'_>) -> Count;

/// Names and shares of the time.
const CAMPAIGNS: [(&str, u32, Runs); 10] = [
    ("ranks that disagree", 3, ranks::disagree),
    ("signals to any rank", 3, signals::signal),
    ("kill -9 and resume", 3, kills::resume),
    ("damaged states", 2, damage::states),
    ("damaged inputs", 2, damage::inputs),
    ("links, full disks, same process numbers", 2, places::all),
    ("planted libraries and caches", 2, planted::all),
    ("sums of images against numpy", 1, sums::tables),
    ("flags on the GPU", 2, schedules::flags),
    ("two GPUs, resumed on one", 2, gpus::resume),
];

/// Builds the command and runs the campaigns that `arguments` name; whether nothing went wrong.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let word = |name: &str| {
        let at = arguments.iter().position(|word| *word == name)?;
        Some(arguments.get(at + 1).copied().unwrap_or_default())
    };
    let number = |name: &str, default: u64| match word(name) {
        None => Ok(default),
        Some(word) => word.parse().map_err(|_| format!("{name} needs a whole number")),
    };
    let (seconds, seed) = (number("--seconds", 60)?, number("--seed", 1)?);
    let only = word("--only").unwrap_or_default();
    let command = match std::env::var_os("WARPWEFT_COMMAND") {
        Some(named) => PathBuf::from(named),
        None => {
            let mut build = cargo(root);
            // Of the workspace, as the tests have built it: alone it has other features, with which all is built again.
            build.args(["build", "--quiet", "--workspace", "--bin", "warpweft"]);
            if !check("the command", &mut build)? {
                return Ok(false);
            }
            root.join(BUILT)
        }
    };
    campaigns(&command, (seconds, seed), only)
}

/// Where cargo leaves the command.
pub const BUILT: &str = "target/debug/warpweft";

/// Runs the campaigns in whose name is `only`, in about so many seconds; whether nothing went wrong.
pub fn campaigns(command: &Path, (seconds, seed): (u64, u64), only: &str) -> Result<bool, String> {
    let folder = std::env::temp_dir().join(format!("warpweft-torture-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    // Measures the machine, which no case should wait for.
    program::Program::of(command, &folder, "run heat --size 8 --steps 1").run(60);
    let asked = |(_, (name, ..)): &(usize, (&str, u32, Runs))| name.contains(only);
    let campaigns: Vec<_> = CAMPAIGNS.into_iter().enumerate().filter(asked).collect();
    let shares: u32 = campaigns.iter().map(|(_, (_, share, _))| share).sum();
    let mut fine = !campaigns.is_empty();
    println!("== torture: {seconds} s, seed {seed}");
    for (number, (name, share, runs)) in campaigns {
        let begin = Instant::now();
        let time = Duration::from_secs(seconds) * share / shares;
        let inner = folder.join("case");
        std::fs::create_dir_all(&inner).map_err(|error| error.to_string())?;
        let random = Random(seed ^ (number as u64) << 32);
        let mut campaign = Campaign { command, folder: &inner, random, end: begin + time };
        let count = runs(&mut campaign);
        fine &= count.print(name, begin.elapsed().as_secs_f64());
    }
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(fine)
}
