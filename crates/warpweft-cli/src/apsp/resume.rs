//! The command that continues a run from its journal, for those who wonder how.

use std::ffi::OsString;
use std::time::Duration;

use warpweft::farm::Outcome;
use warpweft::{Error, Result};

use crate::output::{note, note_here};
use crate::{interrupt, place, world};

/// Notes, once, by which command the run goes on.
pub fn note_how(journal: bool) {
    if journal {
        let ranks = place::place().map(|place| place.ranks);
        note(&format!("continue with: {}", command(std::env::args_os(), ranks)));
    }
}

/// The same after a source failed, which would fail again: the others are done.
pub fn note_without_failures(journal: bool) {
    if journal {
        let ranks = place::place().map(|place| place.ranks);
        let how = command(skipping(std::env::args_os()).into_iter(), ranks);
        note(&format!("continue without the sources that fail: {how}"));
    }
}

/// The arguments with `--on-failure skip`, whatever they had.
fn skipping(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut arguments = arguments.peekable();
    while let Some(word) = arguments.next() {
        let text = word.to_string_lossy();
        if text == "--on-failure" {
            arguments.next();
        } else if !text.starts_with("--on-failure=") {
            words.push(word);
        }
    }
    words.extend(["--on-failure", "skip"].map(OsString::from));
    words
}

/// Whether the same command with `--resume` goes on from what a run came to that had or had not `begun` its tasks, and was or
/// was not `resumed` itself.
pub fn goes_on(ended: &Result<Outcome>, begun: bool, resumed: bool) -> bool {
    match ended {
        Ok(outcome) => outcome.report.interrupted,
        // A journal that was refused before the first task is refused again.
        Err(Error::File { .. } | Error::Spec { .. }) => begun,
        // Before the first task there is none but that of the run before.
        Err(_) => begun || resumed,
    }
}

/// The same if rank 0 is lost: the lowest-numbered rank that is left prints the note.
pub fn note_for_rank_0(journal: bool) {
    let Some((place, net)) = place::place().zip(world::net()) else { return };
    let lost = net.lost_ranks();
    let speaks = place.rank > 0 && (1..place.rank).all(|rank| lost.contains(&rank));
    if journal && speaks {
        let how = command(std::env::args_os(), Some(place.ranks));
        note_here(&format!(
            "rank 0 does not answer; when its process has ended, continue with: {how}"
        ));
    }
}

/// How long a process waits for another one to note the command: launchers end all soon after the first one that ends with an
/// error.
const GRACE: Duration = Duration::from_millis(500);

/// The same in a process that is about to end with an error, if that is because another rank is lost: rank 0 notes it, or the
/// lowest-numbered rank that is left.
pub fn note_after_loss(journal: bool) {
    let lost = world::net().map(|net| net.lost_ranks()).unwrap_or_default();
    let first = (0..).find(|rank| !lost.contains(rank));
    if lost.contains(&0) {
        note_for_rank_0(journal);
    } else if !lost.is_empty() {
        note_how(journal);
    }
    if !lost.is_empty() && place::place().map(|place| place.rank) != first {
        std::thread::sleep(GRACE);
    }
}

/// The same as soon as a run over ranks is asked to end, however long its tasks take: a launcher that has lost one of them
/// gives the others about a second.
pub fn note_in_time(journal: bool) {
    if journal && place::place().is_some() && place::speaks() {
        // Ends with the process.
        std::thread::spawn(|| {
            while !interrupt::stopped() {
                std::thread::sleep(CHECK);
            }
            note_how(true);
        });
    }
}

/// The time between two checks for a request to end.
const CHECK: Duration = Duration::from_millis(50);

fn command(arguments: impl Iterator<Item = OsString>, ranks: Option<usize>) -> String {
    let mut words: Vec<_> = arguments.map(|word| quoted(&word.to_string_lossy())).collect();
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".into());
    }
    let launcher = ranks.map(|ranks| format!("mpirun -n {ranks} ")).unwrap_or_default();
    format!("{launcher}{}", words.join(" "))
}

/// `word` as a shell reads it as one.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,+=@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_the_same_with_resume_once() {
        let of = |words: &[&str], ranks| command(words.iter().map(Into::into), ranks);
        let first = ["warpweft", "apsp", "my graph.mtx", "--journal", "it's"];
        let again = r"warpweft apsp 'my graph.mtx' --journal 'it'\''s' --resume";
        assert_eq!(of(&first, None), again);
        let stops =
            ["warpweft", "apsp", "g", "--on-failure", "stop", "--on-failure=stop", "--json"];
        let words = skipping(stops.iter().map(Into::into));
        assert_eq!(
            command(words.into_iter(), None),
            "warpweft apsp g --json --on-failure skip --resume"
        );
        assert_eq!(
            of(&[&first[..], &["--resume"]].concat(), Some(3)),
            format!("mpirun -n 3 {again}")
        );
    }
}
