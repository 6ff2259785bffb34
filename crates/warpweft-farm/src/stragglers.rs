//! Workers that the others waited for, or that are slower than others of their kind, named for the report.

use crate::report::Share;
use crate::spec::worker::Place;

/// A worker that finishes so much of the run, and so many seconds, after all others is named.
const LATE: (f64, f64) = (0.1, 0.5);
/// One at less than this fraction of the median speed of its kind is named, if it was busy for so many seconds.
const SLOW: (f64, f64) = (0.5, 2.0);
/// Workers of a kind without which a median says little.
const KIND: usize = 3;

/// What is noted of the workers of a farm that took so many `seconds`.
pub fn stragglers(shares: &[Share], seconds: f64) -> Vec<String> {
    let alive: Vec<_> = shares.iter().filter(|share| share.lost.is_none()).collect();
    late(&alive, seconds).into_iter().chain(slow(&alive)).collect()
}

/// The worker that all others waited for.
fn late(shares: &[&Share], seconds: f64) -> Option<String> {
    // One that got nothing to do waited for nobody.
    let worked = || shares.iter().filter(|share| share.chunks > 0);
    let last = worked().max_by(|a, b| a.ended.total_cmp(&b.ended))?;
    let others = worked().filter(|share| share.worker != last.worker);
    let before = others.map(|share| share.ended).max_by(f64::total_cmp)?;
    let gap = last.ended - before;
    (gap > LATE.1 && gap > LATE.0 * seconds).then(|| {
        let tasks = match last.last_tasks {
            [from, to] if to == from + 1 => format!("task {from}"),
            [from, to] => format!("tasks {from}..{to}"),
        };
        format!(
            "{} finished {gap:.1} s after all other workers, with {tasks}: smaller chunks or backup copies shorten the end",
            last.worker
        )
    })
}

/// Workers that are much slower than their kind.
fn slow(shares: &[&Share]) -> Vec<String> {
    let speed = |share: &Share| (share.tasks + share.superseded) as f64 / share.busy.max(1e-9);
    let mut notes = Vec::new();
    for (kind, is_core) in [("cores", true), ("lanes", false)] {
        let kin = shares.iter().filter(|share| {
            matches!(share.worker.place, Place::Core(_)) == is_core && share.busy > SLOW.1
        });
        let mut speeds: Vec<_> = kin.clone().map(|share| speed(share)).collect();
        if speeds.len() < KIND {
            continue;
        }
        speeds.sort_by(f64::total_cmp);
        let median = speeds[speeds.len() / 2];
        let slow = kin.filter(|share| speed(share) < SLOW.0 * median);
        notes.extend(slow.map(|share| {
            let worker = share.worker;
            let speed = speed(share);
            format!("{worker} is a straggler: {speed:.3} tasks/s, where the median of the {kind} is {median:.3}")
        }));
    }
    notes
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::spec::worker::Worker;

    fn shares(of: &[(u64, f64, f64)]) -> Vec<Share> {
        let workers = Worker::cores(0, of.len()).zip(of);
        workers
            .map(|(worker, &(tasks, busy, ended))| Share {
                tasks,
                busy,
                ended,
                chunks: 1,
                last_tasks: [90, 100],
                ..Share::new(worker)
            })
            .collect()
    }

    #[test]
    fn the_worker_that_all_waited_for_is_named_with_its_tasks() {
        let even = shares(&[(10, 9.0, 9.5), (10, 9.2, 9.9), (10, 9.0, 10.0)]);
        assert_eq!(stragglers(&even, 10.0), [""; 0]);
        let mut late = even.clone();
        late[1].ended = 13.0;
        let notes = stragglers(&late, 13.0);
        assert_eq!(notes.len(), 1);
        assert!(
            notes[0]
                .starts_with("core 1 finished 3.0 s after all other workers, with tasks 90..100")
        );
        late[1].lost = Some("gone".into());
        assert_eq!(stragglers(&late, 13.0), [""; 0]);
    }

    #[test]
    fn a_worker_below_half_the_speed_of_its_kind_is_named() {
        let mixed = shares(&[(100, 10.0, 10.0), (90, 10.0, 10.0), (30, 10.0, 10.0), (3, 0.1, 9.9)]);
        let notes = stragglers(&mixed, 10.0);
        assert_eq!(
            notes,
            ["core 2 is a straggler: 3.000 tasks/s, where the median of the cores is 9.000"]
        );
        // Two workers have no median.
        assert_eq!(stragglers(&mixed[1..3], 10.0), [""; 0]);
    }
}
