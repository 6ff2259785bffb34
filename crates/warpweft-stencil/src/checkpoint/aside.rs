//! Large states that are written while the next steps run. Not: how they are written (`save`).

use std::sync::{Arc, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::{Saver, State};
use crate::Region;
use warpweft_core::cluster::Alone;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::RawVolume;
use warpweft_core::memory::filled;
use warpweft_core::report::Series;

/// Bytes from which on a state is written aside: a smaller one takes less than a few steps.
pub(crate) const LARGE: usize = 64 << 20;

impl Saver {
    /// Whether nothing is being written.
    pub(crate) fn idle(&self) -> bool {
        let writing = self.aside.writing.lock().unwrap_or_else(PoisonError::into_inner);
        writing.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Room for a state, that of an earlier one if there is.
    pub(crate) fn spare(&self) -> Option<RawVolume> {
        self.aside.spare.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Begins to write `volume`, the whole state of a run of one rank, once the one before is written.
    ///
    /// # Errors
    /// What writing the one before failed with.
    pub(crate) fn save_aside(
        self: &Arc<Self>,
        state: State,
        volume: RawVolume,
        recorded: Vec<Series>,
    ) -> Result<()> {
        self.settle()?;
        let saver = Arc::clone(self);
        let write = move || {
            let region = Region::whole(volume.extents());
            let mut cut = |field| {
                filled(volume.field_bytes(field).iter().copied(), "run without --checkpoint")
            };
            let saved = saver.save(&Alone, state, region, &mut cut, &recorded);
            (volume, saved)
        };
        let thread = Builder::new().name("checkpoint".into()).spawn(write).map_err(|error| {
            Error::spec(format!("no thread to write a checkpoint: {error}"), "run fewer threads")
        })?;
        *self.aside.writing.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// Waits for what is being written.
    ///
    /// # Errors
    /// As [`Saver::save`].
    pub(crate) fn settle(&self) -> Result<()> {
        let writing = self.aside.writing.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = writing else { return Ok(()) };
        let (volume, saved) = thread
            .join()
            .map_err(|_| Error::spec("writing a checkpoint panicked", "report this as a bug"))?;
        *self.aside.spare.lock().unwrap_or_else(PoisonError::into_inner) = Some(volume);
        saved
    }
}

/// Waits, when it is dropped, for what is being written: the folder is the run's until then.
pub(super) struct Settled(pub Arc<Saver>);

impl Drop for Settled {
    fn drop(&mut self) {
        // A run that ends well has waited before; another has failed with what came first.
        let _ = self.0.settle();
    }
}
