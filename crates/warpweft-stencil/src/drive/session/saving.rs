//! A session that saves its state. The state of a step is what the program has made of it when the next step begins, or
//! the session ends: cells that it wrote and functions that it applied are part of it.

use std::sync::Arc;

use super::{RawSession, over};
use crate::checkpoint::{Saver, State};
use warpweft_core::cluster::Alone;
use warpweft_core::error::Result;

impl RawSession<'_> {
    /// What saves its states, if they are saved.
    pub(super) fn saver(&self) -> Option<&Arc<Saver>> {
        self.saved.as_ref().map(|saved| &saved.saver)
    }

    /// Steps between two states that it saves by itself; a run leaves that to the loop over steps.
    pub(super) fn saved_every(&self) -> Option<u64> {
        self.saver().filter(|_| self.goes_on).map(|saver| saver.every())
    }

    /// As [`RawSession::advance`], and saves every state that is due before the next step.
    ///
    /// # Errors
    /// As there; what saving fails with, after which the session goes on.
    pub(super) fn advance_saving(&mut self, steps: u64, every: u64) -> Result<()> {
        loop {
            let done = self.total.steps;
            // The last state that was saved is what a session goes on from when it is resumed.
            let last = self.saver().and_then(|saver| saver.last());
            if steps > done && (done.is_multiple_of(every) || last == Some(done)) {
                self.save(false)?;
            }
            let next = steps.min(done.saturating_add(every - done % every));
            self.advance_to(next, steps)?;
            if self.total.interrupted {
                self.save(true)?;
            }
            if self.total.steps < next || self.ended || next == steps {
                return Ok(());
            }
        }
    }

    /// Saves the last state, if states are saved, and waits for what is being written.
    ///
    /// # Errors
    /// As [`RawSession::save`].
    pub(super) fn save_last(&mut self) -> Result<()> {
        if self.goes_on {
            self.save(true)?;
        }
        self.saver().map_or(Ok(()), |saver| saver.settle())
    }

    /// Saves the present state, unless a checkpoint has it. One that need not be may be left out.
    ///
    /// # Errors
    /// A fault, after which the session is over; what saving fails with.
    fn save(&mut self, must: bool) -> Result<()> {
        let state = State { step: self.total.steps, residual: self.total.residual };
        if self.saved.is_none() || self.kept == Some(state.step) {
            return Ok(());
        }
        let Some(mut local) = self.local.take() else { return Err(over()) };
        // Cells of a step that faulted are not saved.
        local.finish()?;
        let saved = self.task(state, state.step).save((state, must), &mut local, &Alone);
        self.local = Some(local);
        match saved? {
            true => self.kept = Some(state.step),
            false => self.total.left_out += 1,
        }
        Ok(())
    }
}
