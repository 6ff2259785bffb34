//! Messages about other ranks: which have failed, and which have left.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::Mpi;
use super::api::{Fault, Message, Polled, Room};
use crate::cluster::transport::{Shared, Tag, Transport};
use crate::error::{Error, Result};

/// The tag of the message that a rank has failed: the largest tag that every library must accept.
pub(super) const ABORT: Tag = Tag(0x7fff);
/// The tag of the message that a rank leaves.
pub(super) const GONE: Tag = Tag(0x7ffe);
/// Number of polls between two checks for failed ranks.
const NEWS: u32 = 32;

impl Mpi {
    /// Fails if any rank has aborted.
    pub(super) fn news(&self) -> Result<()> {
        if self.polls.fetch_add(1, Ordering::Relaxed).is_multiple_of(NEWS) {
            self.receive_news()?;
        }
        self.check_aborted()
    }

    /// Receives messages of ranks that aborted or left.
    pub(super) fn receive_news(&self) -> Result<()> {
        if let Some(news) = self.any(ABORT)? {
            let text = String::from_utf8_lossy(&news).into_owned();
            let (rank, why) = text.split_once('\n').unwrap_or(("?", &text));
            self.set_aborted(rank.parse().unwrap_or(usize::MAX), why);
        }
        while let Some(rank) = self.any(GONE)? {
            let rank = rank.try_into().map_or(usize::MAX, usize::from_le_bytes);
            self.gone().insert(rank);
        }
        Ok(())
    }

    /// The next message of any rank with `tag`.
    fn any(&self, tag: Tag) -> Result<Option<Vec<u8>>> {
        let mut message = Vec::new();
        match self.api.poll(None, tag, Room::Append(&mut message)) {
            Ok(Polled::Received(_)) => Ok(Some(message)),
            Ok(_) => Ok(None),
            Err(Fault::Lost) => {
                self.api.acknowledge_losses();
                for rank in self.others() {
                    if !self.gone().contains(&rank) && self.api.is_lost(rank) {
                        self.lose(rank)?;
                    }
                }
                Ok(None)
            }
            Err(Fault::Other(why)) => Err(self.fault(why)),
        }
    }

    /// The process of `rank` has ended, or is taken to have.
    ///
    /// # Errors
    /// Losses are not tolerated.
    pub(super) fn lose(&self, rank: usize) -> Result<()> {
        if self.tolerant.load(Ordering::Relaxed) {
            self.lost().insert(rank);
            return Ok(());
        }
        self.tell_abort(rank, "its process has ended");
        self.check_aborted()
    }

    /// The ranks that are lost.
    pub(super) fn lost(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if any rank is known to have aborted.
    pub(super) fn check_aborted(&self) -> Result<()> {
        match &*self.aborted.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((by, why)) => Err(Error::Rank {
                rank: self.rank(),
                what: format!("stopped because rank {by} failed: {why}"),
                hint: format!("see the error of rank {by}"),
            }),
        }
    }

    pub(super) fn gone(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_aborted(&self, rank: usize, why: &str) -> bool {
        let mut aborted = self.aborted.lock().unwrap_or_else(PoisonError::into_inner);
        let first = aborted.is_none();
        aborted.get_or_insert((rank, why.into()));
        first
    }

    /// Makes every call on every rank fail, naming `rank`. Only the first abort counts.
    pub(super) fn tell_abort(&self, rank: usize, why: &str) {
        // The others go on without this rank. And if rank 0 is lost, each of them finds that out, and says how to go on.
        if self.lost().contains(&self.rank()) || self.lost().contains(&0) {
            return;
        }
        if !self.set_aborted(rank, why) {
            return;
        }
        let news: Shared = Arc::new(format!("{rank}\n{why}").into_bytes());
        let news = Message::Host(news);
        for to in self.others() {
            // If a rank cannot be reached, `end_all` ends it with the others.
            let _ = self.begin(to, ABORT, &news);
        }
    }
}
