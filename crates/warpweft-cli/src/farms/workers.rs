//! The workers of a farm in words.

use warpweft::farm::{self, Place, Share};
use warpweft::report::counted;

/// The range of the workers' numbers of tasks, which are called `task`.
fn each(shares: &[Share], task: &str) -> String {
    let counts = || shares.iter().map(|share| share.tasks);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    match (shares.len(), least == most) {
        (1, _) => counted(most, task),
        (_, true) => format!("{} each", counted(most, task)),
        (_, false) => format!("{least} to {most} {task}s each"),
    }
}

/// How many workers of each kind there are, and their numbers of tasks.
pub fn kinds(shares: &[Share], task: &str) -> String {
    let on_core = |share: &Share| matches!(share.worker.place, Place::Core(_));
    let (cores, lanes): (Vec<_>, Vec<_>) = shares.iter().cloned().partition(on_core);
    let kinds = [(cores, "core"), (lanes, "lane")].into_iter().filter(|(all, _)| !all.is_empty());
    let kinds = kinds
        .map(|(all, kind)| format!("{}, {}", counted(all.len() as u64, kind), each(&all, task)));
    kinds.collect::<Vec<_>>().join("; ")
}

/// One line about the workers.
pub fn workers(farmed: &farm::Outcome, task: &str) -> String {
    let chunks = counted(farmed.shares.iter().map(|share| share.chunks).sum(), "chunk");
    let overhead = 100.0 * farmed.overhead();
    format!("{}, in {chunks}; {overhead:.2} % overhead", kinds(&farmed.shares, task))
}
