//! One worker's outputs, on a disk that fails.

use std::io::{self, Write};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::{scope, sleep};

use super::*;
use crate::journal::Disk;
use crate::policy::Policy;
use crate::schedule;
use crate::schedule::dispatcher::Dispatcher;
use crate::spec::chunk::Piece;
use crate::spec::worker::{Grain, Worker};
use warpweft_core::grid::io::Claim;

/// Records the calls that it gets, and fails at one of them.
#[derive(Clone)]
struct Noted {
    steps: Arc<Mutex<Vec<&'static str>>>,
    fails: Option<usize>,
}
impl Noted {
    fn step(&self, what: &'static str) -> io::Result<()> {
        let mut steps = self.steps.lock().unwrap();
        steps.push(what);
        match self.fails == Some(steps.len()) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}
impl Write for Noted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.step("write").map(|()| bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
impl Disk for Noted {
    fn sync(&mut self) -> io::Result<()> {
        self.step("sync")
    }
}

/// A committer of one worker.
fn committer<'a>(
    master: &'a Master,
    journal: &'a mut Writer,
    sink: &'a mut Sink<'a>,
    clocks: &'a Clocks,
    worker: Worker,
) -> Committer<'a> {
    Committer {
        master,
        journal: Some(journal),
        sink,
        skip: |_, count, _| Ok(count as usize),
        on_failure: OnFailure::Stop,
        reporter: Reporter::default(),
        first: 0,
        clocks,
        overdue: None,
        roll: Roll::of(1),
        stop: Stop::default(),
        shares: vec![Share::new(worker)],
        begun: Instant::now(),
        retries: 0,
        attempts: HashMap::new(),
        describe: &|_| None,
        failures: Failures::default(),
        gone: false,
    }
}

/// Serves one worker that hands over two tasks with `pause` between, of a journal flushed `every` so often, whose
/// disk fails at a step; the disk's steps, the outputs that the sink had, and how it ended.
fn served(
    every: Duration,
    pause: Duration,
    fails: Option<usize>,
) -> (Vec<&'static str>, Vec<u8>, Result<Served>) {
    let folder = tempfile::tempdir().unwrap();
    let disk = Noted { steps: Arc::default(), fails };
    let claim = Claim::of(folder.path()).unwrap();
    let mut journal = Writer::new(Box::new(disk.clone()), "results".into(), [0; 16], every, claim);
    let workers: Vec<_> = Worker::cores(0, 1).collect();
    let master = Master::new(Dispatcher::new(2, &workers, schedule::of(&Policy::default())));
    let (send, messages) = sync_channel(1);
    let mut had = Vec::new();
    let mut sink = |_, settled: Settled<'_>| {
        if let Settled::Outputs(outputs) = settled {
            had.extend_from_slice(outputs);
        }
        Ok(())
    };
    let clocks = Clocks::new(1, None);
    let mut committer = committer(&master, &mut journal, &mut sink, &clocks, workers[0]);
    let outcome = scope(|scope| {
        scope.spawn(|| {
            let send = send;
            for pauses in [false, true] {
                let Some(range) = master.request(0, Grain { of: 1, most: 1 }, None) else {
                    return;
                };
                if pauses {
                    sleep(pause);
                }
                let bytes = vec![7 + range.start as u8];
                let pieces = vec![Piece { tasks: 0..1, bytes: 0..1 }];
                let bytes = bytes.into();
                let collected = Collected { tasks: 1, bytes, pieces, failed: Vec::new() };
                if send
                    .send(Message::Done { worker: 0, range, collected, seconds: 0.0, late: false })
                    .is_err()
                {
                    return;
                }
            }
        });
        let outcome = committer.serve(messages);
        master.stop();
        outcome
    });
    let steps = disk.steps.lock().unwrap().clone();
    (steps, had, outcome)
}

#[test]
fn what_was_written_is_brought_to_the_disk_in_time_though_nothing_more_comes() {
    let [none, some, hour] = [0, 50, 3_600_000].map(Duration::from_millis);
    let (steps, _, outcome) = served(some, 10 * some, None);
    assert_eq!((steps, outcome.unwrap().committed), (vec!["write", "sync", "write", "sync"], 2));
    assert_eq!(served(none, none, None).0, ["write", "sync", "write", "sync"]);
    assert_eq!(served(hour, some, None).0, ["write", "write", "sync"]);
}

#[test]
fn a_write_or_a_sync_that_fails_ends_the_farm_and_is_not_tried_again() {
    let none = Duration::ZERO;
    for (fails, had) in [(1, vec![]), (2, vec![]), (3, vec![7]), (4, vec![7])] {
        let (steps, sunk, outcome) = served(none, none, Some(fails));
        let refusal = outcome.unwrap_err().to_string();
        assert!(refusal.starts_with("results: the journal can't be written: "), "{refusal}");
        assert!(refusal.contains("continue with --resume"), "{refusal}");
        assert_eq!(sunk, had, "step {fails}");
        // A write that failed after others is followed by no sync but for what those left.
        assert_eq!(steps.len(), fails, "{steps:?}");
    }
}
