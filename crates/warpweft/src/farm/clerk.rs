//! The one thread that hands outputs over: to the ledger, to the user, to whoever watches.
//!
//! It is the thread that called `run`. Units wait when it is behind, so a slow sink slows a farm instead of
//! filling memory.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::journal::Writer;
use super::master::Master;
use super::node::Told;
use super::pack::Collected;
use super::report::{Failed, Share};
use super::spec::OnFailure;
use crate::error::{Error, Result};

/// Between two looks at what may end the farm, and between two reports of progress.
const LOOK: Duration = Duration::from_millis(50);

/// Takes the outputs of these tasks, packed, one after another.
pub type Sink<'a> = dyn FnMut(Range<u64>, &[u8]) -> Result<()> + 'a;

/// What a clerk serves.
pub struct Clerk<'a> {
    /// Whose ledger it writes.
    pub master: &'a Master,
    /// Keeps outputs before they count as committed.
    pub journal: Option<&'a mut Writer>,
    /// Takes what is committed.
    pub sink: &'a mut Sink<'a>,
    /// What is done about tasks that fail.
    pub on_failure: OnFailure,
    /// Told how many tasks are through.
    pub progress: Option<&'a dyn Fn(u64)>,
    /// Set by whoever wants the farm to end.
    pub interrupt: Option<&'a AtomicBool>,
    /// What each unit did.
    pub shares: Vec<Share>,
    /// The tasks that failed.
    pub failed: Vec<Failed>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Tasks committed.
    pub committed: u64,
    /// Whether it was asked to end.
    pub interrupted: bool,
}

impl Clerk<'_> {
    /// Hands over what units tell, until all of them are gone; what the journal has is then on the disk.
    ///
    /// # Errors
    /// The sink's, the journal's; the last unit's, when all were lost.
    pub fn serve(&mut self, told: Receiver<Told>) -> Result<Served> {
        let served = self.serve_all(told);
        // An error that ended the farm says more than one about the disk.
        let synced = self.journal.as_mut().map_or(Ok(()), |journal| journal.sync());
        served.and_then(|served| synced.map(|()| served))
    }

    fn serve_all(&mut self, told: Receiver<Told>) -> Result<Served> {
        let mut served = Served::default();
        let mut shown = Instant::now();
        loop {
            match told.recv_timeout(LOOK) {
                Ok(Told::Done { unit, range, collected, seconds }) => {
                    self.hand_over(unit, range, &collected, seconds, &mut served)?;
                }
                Ok(Told::Lost { unit, why }) => self.lose(unit, why)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if shown.elapsed() >= LOOK {
                shown = Instant::now();
                self.look(&mut served);
            }
        }
        self.look(&mut served);
        Ok(served)
    }

    fn look(&self, served: &mut Served) {
        if let Some(progress) = self.progress {
            progress(served.committed + self.failed.len() as u64);
        }
        if self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            served.interrupted = true;
            self.master.stop();
        }
    }

    fn hand_over(
        &mut self,
        unit: usize,
        range: Range<u64>,
        collected: &Collected,
        seconds: f64,
        served: &mut Served,
    ) -> Result<()> {
        // A unit thought lost may come late: its tasks are another's by now.
        if !self.master.has(unit, &range) {
            return Ok(());
        }
        for piece in &collected.pieces {
            let at = |k: usize| range.start + k as u64;
            let tasks = at(piece.tasks.start)..at(piece.tasks.end);
            let outputs = &collected.bytes[piece.bytes.clone()];
            if let Some(journal) = &mut self.journal {
                journal.append(&tasks, outputs)?;
            }
            (self.sink)(tasks, outputs)?;
        }
        let failed = || collected.failed.iter().map(|(k, _)| range.start + *k as u64);
        self.master.settle(unit, range.clone(), failed())?;
        let share = &mut self.shares[unit];
        share.packs += 1;
        share.tasks += range.end - range.start;
        share.busy += seconds;
        served.committed += range.end - range.start - collected.failed.len() as u64;
        for (task, (_, what)) in failed().zip(&collected.failed) {
            let unit = self.shares[unit].unit;
            self.failed.push(Failed { task, unit, what: what.clone() });
        }
        if !self.failed.is_empty() && self.on_failure == OnFailure::Stop {
            self.master.stop();
        }
        Ok(())
    }

    fn lose(&mut self, unit: usize, why: Error) -> Result<()> {
        self.shares[unit].lost = Some(why.to_string());
        self.master.lose(unit);
        match self.shares.iter().all(|share| share.lost.is_some()) {
            true => Err(why),
            false => Ok(()),
        }
    }
}
