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
use crate::spec::bytes::Bytes;
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
    /// The input in words of a task that takes too long.
    pub describe: &'a dyn Fn(u64) -> Option<String>,
    /// The tasks that failed for good.
    pub failures: Failures,
    /// The farm ends with an error because all workers are lost. The sink and the journal work, so the sink still gets [`Settled::End`].
    pub gone: bool,
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
        // After an error of the sink or the journal, the sink is not called again.
        let told = match served.is_ok() || self.gone {
            true => (self.sink)(0..0, Settled::End),
            false => Ok(()),
        };
        let served = served.and_then(|served| told.map(|()| served));
        // An error that ended the farm says more than one about the disk.
        let synced = self.journal.as_mut().map_or(Ok(()), |journal| journal.sync());
        served.and_then(|served| synced.map(|()| served))
    }

    fn serve_all(&mut self, messages: Receiver<Message>) -> Result<Served> {
        let mut served = Served::default();
        let mut shown = Instant::now();
        while !self.roll.is_empty() {
            match messages.recv_timeout(LOOK) {
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
            Message::Broken(why) => return self.ends(why),
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
        let all = collected.failed.iter().map(|(k, fault)| (range.start + *k as u64, fault));
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
        for ((task, again), (_, fault)) in again.into_iter().zip(failed) {
            if again == Again::No {
                served.committed -= 1;
                // The worker still runs a late task.
                let input = match late == Some(task) {
                    true => (self.describe)(task),
                    false => fault.input.clone(),
                };
                self.fail(worker, task, &fault.why, input)?;
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
    fn fail(&mut self, worker: usize, task: u64, what: &str, input: Option<String>) -> Result<()> {
        let attempts = self.attempts.remove(&task).unwrap_or(0) + 1;
        let (worker, what) = (self.shares[worker].worker, shortened(what));
        let failed = Failed { task, worker, what, input, attempts };
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
                // A journal holds nothing that a later run can't read. Other outputs were read back by their workers.
                let lent = matches!(collected.bytes, Bytes::Lent(_));
                let count = tasks.end - tasks.start;
                if lent && (self.skip)(outputs, count, tasks.end)? < outputs.len() {
                    return Err(unread(&tasks));
                }
                journal.append(&tasks, outputs)?;
            }
            (self.sink)(tasks, Settled::Outputs(outputs))?;
        }
        Ok(())
    }

    /// The farm ends, since its workers are gone.
    fn ends(&mut self, why: Error) -> Result<()> {
        self.gone = true;
        Err(why)
    }

    /// `worker` is gone, and may be `stuck` in a task. What it has is free for others.
    fn lose(&mut self, worker: usize, why: Error, stuck: bool, served: &mut Served) -> Result<()> {
        let lost = &mut self.shares[worker].lost;
        if lost.is_some() {
            // The first reason stays.
            return Ok(());
        }
        *lost = Some(why.to_string());
        self.master.lose(worker);
        self.roll.loses(worker, stuck);
        if !self.roll.all_lost() || self.master.is_over() {
            return Ok(());
        }
        if !self.roll.any_stuck() {
            return self.ends(why);
        }
        // What is done is kept.
        served.stuck = true;
        self.master.cut();
        Ok(())
    }
}

/// A type that does not read all that it wrote for `tasks`.
pub fn unread(tasks: &Range<u64>) -> Error {
    Error::spec(
        format!(
            "the outputs of tasks {}..{} have bytes that are not read back",
            tasks.start, tasks.end
        ),
        "make `Packed::unpack` take exactly the bytes that `pack` appends",
    )
}

#[cfg(all(test, not(loom)))]
mod tests;
