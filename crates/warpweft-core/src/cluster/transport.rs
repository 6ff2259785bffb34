//! The interface between ranks: patterns call it, networks implement it.

use std::sync::Arc;

use crate::error::{Error, Result};

/// Bytes that a transport may keep until they are sent, e.g. page-locked memory.
pub type Shared = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Memory that the host can't address, e.g. a GPU's. It must stay valid while this value lives.
///
/// # Safety
/// The address must point to that many bytes, and nothing else may use them while a transport does.
pub unsafe trait Remote: Send + Sync {
    /// The address of the first byte, as the device's driver knows it.
    fn address(&self) -> u64;
    /// The number of bytes.
    fn bytes(&self) -> usize;
}

/// Distinguishes messages between the same two ranks, e.g. by the phase and the face of a halo exchange: a
/// number below 0x8000. The upper 16 bits identify ranks that share a process ([`super::thread_group()`]),
/// and are 0 otherwise. Collectives use the numbers from [`Tag::COLLECTIVE`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u32);

/// The indices of two ranks within their processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Number of ranks of each process, at most 16.
    pub each: usize,
    /// The sender's index in its process.
    pub from: usize,
    /// The receiver's.
    pub to: usize,
}

impl Tag {
    /// The first number that patterns must not use.
    pub const COLLECTIVE: u32 = 0x7000;

    /// This tag for a message between ranks with these indices in their processes.
    pub fn between(self, Endpoints { each, from, to }: Endpoints) -> Self {
        let endpoints = (each - 1) << 8 | from << 4 | to;
        Self(u32::from(self.number()) | (endpoints as u32) << 16)
    }

    /// Its number.
    pub fn number(self) -> u16 {
        self.0 as u16
    }

    /// The indices of its ranks in their processes.
    pub fn endpoints(self) -> Endpoints {
        let endpoints = (self.0 >> 16) as usize;
        Endpoints { each: (endpoints >> 8) + 1, from: endpoints >> 4 & 15, to: endpoints & 15 }
    }

    /// The lane of the two processes that its messages use; 0 is the lane of processes with one rank each.
    pub fn lane(self) -> usize {
        match self.endpoints() {
            Endpoints { each: 1, .. } => 0,
            Endpoints { each, from, to } => 1 + from * each + to,
        }
    }

    /// The rank in process `process` that sends it.
    pub fn sender(self, process: usize) -> usize {
        let Endpoints { each, from, .. } = self.endpoints();
        process * each + from
    }

    /// The rank in process `process` that receives it.
    pub fn receiver(self, process: usize) -> usize {
        let Endpoints { each, to, .. } = self.endpoints();
        process * each + to
    }
}

/// One rank's end of a network.
///
/// Messages from one rank to another with the same tag arrive in the order in which they were sent. Messages
/// with different tags may be received in any order. After any rank aborts, every call on every rank fails.
pub trait Transport: Send + Sync {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn ranks(&self) -> usize;

    /// Sends a message; does not wait for its receiver.
    ///
    /// # Errors
    /// No such rank; a rank has aborted.
    fn send(&self, to: usize, tag: Tag, message: Vec<u8>) -> Result<()>;

    /// Like [`Transport::send`], from memory that is not copied first if the transport can avoid it. The
    /// memory is released once the message is sent.
    ///
    /// # Errors
    /// See [`Transport::send`].
    fn send_shared(&self, to: usize, tag: Tag, message: Shared) -> Result<()> {
        self.send(to, tag, (*message).as_ref().to_vec())
    }

    /// Waits for the next message from `from` with `tag`.
    ///
    /// # Errors
    /// No such rank; a rank has aborted; `from` has ended without sending; nothing came within the
    /// transport's deadline. The last two abort all ranks.
    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>>;

    /// The next message from `from` with `tag`, if it has arrived; does not wait. For ranks that serve
    /// several others, or that wait longer than the transport's deadline.
    ///
    /// # Errors
    /// No such rank; a rank has aborted; `from` has ended and no more of its messages are there, which aborts
    /// all ranks.
    fn poll(&self, from: usize, tag: Tag) -> Result<Option<Vec<u8>>>;

    /// Like [`Transport::receive`], into `to`, which must be as long as the message.
    ///
    /// # Errors
    /// See [`Transport::receive`]; a message of another length.
    fn receive_into(&self, from: usize, tag: Tag, to: &mut [u8]) -> Result<()> {
        let message = self.receive(from, tag)?;
        if message.len() != to.len() {
            return Err(wrong_length(self.rank(), from, message.len(), to.len()));
        }
        to.copy_from_slice(&message);
        Ok(())
    }

    /// Whether messages may be in GPU memory.
    fn takes_remote(&self) -> bool {
        false
    }

    /// Like [`Transport::send_shared`], from GPU memory. The device must have finished writing it.
    ///
    /// # Errors
    /// See [`Transport::send`]; the transport does not support GPU memory.
    fn send_remote(&self, _to: usize, _tag: Tag, _message: Arc<dyn Remote>) -> Result<()> {
        Err(no_remote(self.rank()))
    }

    /// Like [`Transport::receive_into`], into GPU memory, which is written when this returns.
    ///
    /// # Errors
    /// See [`Transport::receive_into`]; the transport does not support GPU memory.
    fn receive_remote(&self, _from: usize, _tag: Tag, _to: &dyn Remote) -> Result<()> {
        Err(no_remote(self.rank()))
    }

    /// Fails if any rank has aborted, and makes progress on sent messages. For ranks that wait for something
    /// other than a message.
    ///
    /// # Errors
    /// A rank has aborted.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Waits until all sent messages can be delivered without further calls by this rank. In many transports
    /// long messages make no progress while their sender makes no call. For ranks that are about to do
    /// something long. Ranks that share a process also wait for one another's messages.
    ///
    /// # Errors
    /// See [`Transport::receive`].
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Prepares for messages on `lanes` lanes ([`Tag::lane`]), the first of which exists. Collective: all
    /// ranks pass the same number. Transports that wrap another must forward this call.
    ///
    /// # Errors
    /// The network's.
    fn open_lanes(&self, _lanes: usize) -> Result<()> {
        Ok(())
    }

    /// From now on, if a rank's process is lost, only calls that wait for its messages fail; messages to it are dropped. Without
    /// this call, and in transports that can't continue without a rank, a loss makes every call on every rank fail. Transports
    /// that wrap another must forward this call, [`Transport::lost_ranks`] and [`Transport::give_up`].
    fn tolerate_losses(&self) {}

    /// The ranks whose processes have ended without leaving, as far as known, while losses are tolerated.
    fn lost_ranks(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Declares `rank` lost, e.g. because it sent nothing for too long. If that rank is still alive, it ends when it learns
    /// of this.
    fn give_up(&self, rank: usize) {
        self.abort_for(rank, "it is silent");
    }

    /// Makes every present and future call on every rank fail, naming this rank and `why`. Only the first
    /// abort counts.
    fn abort(&self, why: &str) {
        self.abort_for(self.rank(), why);
    }

    /// Like [`Transport::abort`], naming another rank of this process: the one that failed.
    fn abort_for(&self, rank: usize, why: &str);
}

fn no_remote(rank: usize) -> Error {
    Error::Rank {
        rank,
        what: "a message is in GPU memory, but this transport sends from host memory only".into(),
        hint: "this is a fault of Warpweft: report it".into(),
    }
}

/// The error for a message of a rank that is lost.
pub(super) fn lost(rank: usize) -> Error {
    Error::Rank {
        rank,
        what: "its process has ended or does not answer".into(),
        hint: "look at mpirun's output: the process may have been killed or out of memory, or its host may be down".into(),
    }
}

/// The error for a message with another length than expected.
pub(super) fn wrong_length(rank: usize, from: usize, found: usize, expected: usize) -> Error {
    Error::Rank {
        rank,
        what: format!("{found} bytes from rank {from}, {expected} expected"),
        hint: "start every rank with the same program and arguments".into(),
    }
}
