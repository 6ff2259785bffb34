//! The one thread that commits outputs: to the journal, to the ledger, to the sink of the user.
//!
//! It is the thread that called `run`. Workers wait when it is behind: of a slow sink's outputs memory holds a few chunks a
//! worker, or parts of chunks where outputs are large.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::drive::AHEAD;
use crate::drive::clocks::{Clocks, given_up, waits_for};
use crate::drive::endpoint::Message;
use crate::drive::roll::Roll;
use crate::journal::Writer;
use crate::report::{Failed, Failures, Share, shortened};
use crate::schedule::ledger::Again;
use crate::schedule::master::Master;
use crate::spec::OnFailure;
use crate::spec::chunk::{Collected, Settled, Sink, Skip};
use warpweft_core::error::{Error, Result};
use warpweft_core::run::{Reporter, Stop};

/// Between two looks at what may end the farm, and between two reports of progress.
const LOOK: Duration = Duration::from_millis(50);

/// What a committer serves.
pub struct Committer<'a> {
    /// Whose ledger it writes.
    pub master: &'a Master,
    /// Keeps outputs before they count as committed.
    pub journal: Option<&'a mut Writer>,
    /// Takes what is committed.
    pub sink: &'a mut Sink<'a>,
    /// Tells outputs apart.
    pub skip: Skip,
    /// What is done about tasks that fail.
    pub on_failure: OnFailure,
    /// Told how many tasks are done, those of an earlier run among them.
    pub reporter: Reporter<'a>,
    /// Tasks that an earlier run did.
    pub first: u64,
    /// Of the workers of this process.
    pub clocks: &'a Clocks,
    /// Told of each task that takes longer than it may.
    pub overdue: Option<&'a dyn Fn(&str)>,
    /// Of which workers something may come.
    pub roll: Roll,
    /// Says whether the farm is to end.
    pub stop: Stop<'a>,
    /// What each worker did.
    pub shares: Vec<Share>,
    /// How often a task that failed is run again.
    pub retries: u32,
    /// How often tasks that are run again have failed.
    pub attempts: HashMap<u64, u32>,
    /// When workers were started.
    pub begun: Instant,
    /// A task's input in words.
    pub describe: &'a dyn Fn(u64) -> Option<String>,
    /// The tasks that failed for good.
    pub failures: Failures,
}

/// How it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Tasks committed.
    pub committed: u64,
    /// Whether the run was interrupted.
    pub interrupted: bool,
    /// Whether it ended with tasks left because no worker was, and tasks that do not return hold some of them.
    pub stuck: bool,
}

impl Committer<'_> {
    /// Commits what workers send, until all of them are through or lost; what the journal has is then on the disk.
    ///
    /// # Errors
    /// The sink's, the journal's; the last worker's, when all were lost and none of them hangs.
    pub fn serve(&mut self, messages: Receiver<Message>) -> Result<Served> {
        let served = self.serve_all(messages);
        // An error that ended the farm says more than one about the disk.
        let synced = self.journal.as_mut().map_or(Ok(()), |journal| journal.sync());
        served.and_then(|served| synced.map(|()| served))
    }

    fn serve_all(&mut self, messages: Receiver<Message>) -> Result<Served> {
        let mut served = Served::default();
        let mut shown = Instant::now();
        while !self.roll.is_empty() {
            match messages.recv_timeout(LOOK) {
                Ok(Message::Broken(why)) => return Err(why),
                Ok(message) => self.take(message, &mut served)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if let Some(journal) = &mut self.journal {
                journal.sync_if_due()?;
            }
            if shown.elapsed() >= LOOK {
                shown = Instant::now();
                self.look(&mut served);
                self.look_at_clocks(&messages, &mut served)?;
                if self.master.is_over() {
                    self.clocks.over();
                }
            }
        }
        self.look(&mut served);
        self.reporter.end(self.done(&served));
        Ok(served)
    }

    fn look_at_clocks(&mut self, messages: &Receiver<Message>, served: &mut Served) -> Result<()> {
        let late = self.clocks.look();
        if late.iter().any(|message| matches!(message, Message::Stuck { .. })) {
            // What a worker handed over before it was given up is there by now.
            for message in messages.try_iter().take(AHEAD * self.shares.len()) {
                self.take(message, served)?;
            }
        }
        late.into_iter().try_for_each(|message| self.take(message, served))
    }

    fn take(&mut self, message: Message, served: &mut Served) -> Result<()> {
        match message {
            Message::Done { worker, range, collected, seconds, late } => {
                let last = late.then(|| range.end - 1);
                self.hand_over(worker, range, (&collected, seconds), last, served)?;
                if let Some(task) = last.filter(|_| self.shares[worker].lost.is_none()) {
                    let worker = self.shares[worker].worker;
                    self.note(&waits_for(worker, task, self.clocks.limit()));
                }
            }
            Message::Lost { worker, why } => self.lose(worker, why, false, served)?,
            Message::Stuck { worker, task } => {
                let why = given_up(self.shares[worker].worker, task, self.clocks.limit());
                self.note(&why.to_string());
                self.lose(worker, why, true, served)?;
            }
            Message::Left { worker } => self.roll.leaves(worker),
            Message::Interrupted => self.interrupted(served),
            Message::Broken(why) => return Err(why),
        }
        Ok(())
    }

    fn note(&self, what: &str) {
        if let Some(overdue) = self.overdue {
            overdue(what);
        }
    }

    fn look(&self, served: &mut Served) {
        self.reporter.at(self.done(served));
        if self.stop.stopped() {
            self.interrupted(served);
        }
    }

    fn done(&self, served: &Served) -> u64 {
        self.first + served.committed + self.failures.count
    }

    fn interrupted(&self, served: &mut Served) {
        served.interrupted = true;
        self.master.cut();
    }

    fn hand_over(
        &mut self,
        worker: usize,
        range: Range<u64>,
        (collected, seconds): (&Collected, f64),
        late: Option<u64>,
        served: &mut Served,
    ) -> Result<()> {
        // Of a worker thought lost nothing is, and of a copy what the other has handed over is not.
        let wanted = self.master.wanted(worker, &range);
        for part in &wanted {
            self.commit(part, range.start, collected)?;
        }
        let counts = |task: &u64| wanted.iter().any(|part| part.contains(task));
        let all = collected.failed.iter().map(|(k, what)| (range.start + *k as u64, what));
        let failed: Vec<_> = all.filter(|(task, _)| counts(task)).collect();
        if self.shares[worker].lost.is_some() {
            return Ok(());
        }
        // One that took too long would do so again.
        let mut again = |task: u64| if late == Some(task) { Again::No } else { self.charge(task) };
        let again: Vec<_> =
            failed.iter().map(|(task, _)| *task).map(|task| (task, again(task))).collect();
        let settled = self.master.settle(worker, range.clone(), again.iter().copied())?;
        let share = &mut self.shares[worker];
        share.ran(range.end - range.start, settled, seconds);
        (share.ended, share.last_tasks) =
            (self.begun.elapsed().as_secs_f64(), [range.start, range.end]);
        served.committed += settled;
        for ((task, again), (_, what)) in again.into_iter().zip(failed) {
            if again == Again::No {
                served.committed -= 1;
                self.fail(worker, task, what)?;
            }
        }
        if self.failures.count > 0 && self.on_failure == OnFailure::Stop {
            self.master.stop();
        }
        Ok(())
    }

    /// `task` has failed once more: whether it is run again.
    fn charge(&mut self, task: u64) -> Again {
        let attempts = self.attempts.get(&task).map_or(1, |attempts| attempts + 1);
        if attempts <= self.retries {
            self.attempts.insert(task, attempts);
            return Again::Yes;
        }
        Again::No
    }

    /// `task` has failed for good on `worker`.
    fn fail(&mut self, worker: usize, task: u64, what: &str) -> Result<()> {
        let attempts = self.attempts.remove(&task).unwrap_or(0) + 1;
        let (worker, what) = (self.shares[worker].worker, shortened(what));
        let failed = Failed { task, worker, what, input: (self.describe)(task), attempts };
        (self.sink)(task..task + 1, Settled::Failed(&failed))?;
        if let Some(journal) = &mut self.journal {
            journal.quarantine(&failed)?;
        }
        self.failures.add(failed);
        Ok(())
    }

    /// Hands over the outputs of the tasks of `part`, of a chunk that begins with task `first`.
    fn commit(&mut self, part: &Range<u64>, first: u64, collected: &Collected) -> Result<()> {
        for piece in &collected.pieces {
            let at = |k: usize| first + k as u64;
            let tasks = at(piece.tasks.start).max(part.start)..at(piece.tasks.end).min(part.end);
            if tasks.is_empty() {
                continue;
            }
            let mut outputs = &collected.bytes[piece.bytes.clone()];
            // Those of tasks before and after, if others handed them over.
            let before = tasks.start - at(piece.tasks.start);
            outputs = &outputs[(self.skip)(outputs, before, tasks.start)?..];
            if tasks.end < at(piece.tasks.end) {
                let count = tasks.end - tasks.start;
                outputs = &outputs[..(self.skip)(outputs, count, tasks.end)?];
            }
            if let Some(journal) = &mut self.journal {
                // A journal holds nothing that a later run can't read.
                let count = tasks.end - tasks.start;
                if (self.skip)(outputs, count, tasks.end)? < outputs.len() {
                    return Err(unread(tasks.end - 1));
                }
                journal.append(&tasks, outputs)?;
            }
            (self.sink)(tasks, Settled::Outputs(outputs))?;
        }
        Ok(())
    }

    /// `worker` is gone, and may be `stuck` in a task. What it has is free for others.
    fn lose(&mut self, worker: usize, why: Error, stuck: bool, served: &mut Served) -> Result<()> {
        self.shares[worker].lost = Some(why.to_string());
        self.master.lose(worker);
        self.roll.loses(worker, stuck);
        if !self.roll.all_lost() || self.master.is_over() {
            return Ok(());
        }
        if !self.roll.any_stuck() {
            return Err(why);
        }
        // What is done is kept.
        served.stuck = true;
        self.master.cut();
        Ok(())
    }
}

/// A type that does not read all that it wrote for `task`.
pub fn unread(task: u64) -> Error {
    Error::spec(
        format!("the output of task {task} has bytes that it is not read back from"),
        "make `Packed::unpack` take exactly the bytes that `pack` appends",
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
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
        let mut journal =
            Writer::new(Box::new(disk.clone()), "results".into(), [0; 16], every, claim);
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
                        .send(Message::Done {
                            worker: 0,
                            range,
                            collected,
                            seconds: 0.0,
                            late: false,
                        })
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
        assert_eq!(
            (steps, outcome.unwrap().committed),
            (vec!["write", "sync", "write", "sync"], 2)
        );
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
}
