//! The seam between patterns and networks.

use std::sync::Arc;

use crate::error::{Error, Result};

/// Bytes that a transport may keep until they are on their way, e.g. page-locked memory.
pub type Shared = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Memory that the host can't address, e.g. a GPU's, and that stays where it is as long as this.
///
/// # Safety
/// As many bytes as it says are at the address, and nothing else uses them while a transport does.
pub unsafe trait Remote: Send + Sync {
    /// The first byte's address, as the device's driver knows it.
    fn address(&self) -> u64;
    /// How many there are.
    fn bytes(&self) -> usize;
}

/// Tells messages between the same two ranks apart, e.g. the phase of a halo exchange and its face: a number below
/// 0x8000. The upper 16 bits tell of ranks that share a process ([`super::thread_group()`]), and are 0 elsewhere.
/// Collectives use the numbers from [`Tag::COLLECTIVE`] up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u32);

/// Two ranks by their numbers in their processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Ranks of each process, at most 16.
    pub each: usize,
    /// The sender's number in its process.
    pub from: usize,
    /// The receiver's.
    pub to: usize,
}

impl Tag {
    /// The first number that patterns must not use.
    pub const COLLECTIVE: u32 = 0x7000;

    /// The same number between ranks at these places of their processes.
    pub fn between(self, Endpoints { each, from, to }: Endpoints) -> Self {
        let endpoints = (each - 1) << 8 | from << 4 | to;
        Self(u32::from(self.number()) | (endpoints as u32) << 16)
    }

    /// Its number.
    pub fn number(self) -> u16 {
        self.0 as u16
    }

    /// Where its ranks are in their processes; the only one of each for most.
    pub fn endpoints(self) -> Endpoints {
        let endpoints = (self.0 >> 16) as usize;
        Endpoints { each: (endpoints >> 8) + 1, from: endpoints >> 4 & 15, to: endpoints & 15 }
    }

    /// Which of the lanes of two processes its messages take: 0 is that of the processes themselves.
    pub fn lane(self) -> usize {
        match self.endpoints() {
            Endpoints { each: 1, .. } => 0,
            Endpoints { each, from, to } => 1 + from * each + to,
        }
    }

    /// The number of the rank of process `process` that sends it.
    pub fn sender(self, process: usize) -> usize {
        let Endpoints { each, from, .. } = self.endpoints();
        process * each + from
    }

    /// The number of the rank of process `process` that receives it.
    pub fn receiver(self, process: usize) -> usize {
        let Endpoints { each, to, .. } = self.endpoints();
        process * each + to
    }
}

/// One rank's end of a network.
///
/// Messages from one rank to another with one tag arrive in the order they were sent; messages
/// with different tags may be received in any order. Once any rank aborts, every call on every rank fails.
pub trait Transport: Send + Sync {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn ranks(&self) -> usize;

    /// Hands a message over; does not wait for its receiver.
    ///
    /// # Errors
    /// No such rank; a rank has aborted.
    fn send(&self, to: usize, tag: Tag, message: Vec<u8>) -> Result<()>;

    /// As [`Transport::send`], out of memory that is not copied first where the transport can do
    /// without; it is let go of once the message is on its way.
    ///
    /// # Errors
    /// As [`Transport::send`].
    fn send_shared(&self, to: usize, tag: Tag, message: Shared) -> Result<()> {
        self.send(to, tag, (*message).as_ref().to_vec())
    }

    /// Waits for the next message from `from` with `tag`.
    ///
    /// # Errors
    /// No such rank; a rank has aborted; `from` has ended without sending; nothing came within the
    /// transport's deadline. The last two abort all ranks.
    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>>;

    /// The next message from `from` with `tag`, if it has come: does not wait for one. For ranks that serve
    /// several others, or that wait for longer than the transport's deadline.
    ///
    /// # Errors
    /// No such rank; a rank has aborted; `from` has ended, and nothing more of it is there: that aborts all ranks.
    fn poll(&self, from: usize, tag: Tag) -> Result<Option<Vec<u8>>>;

    /// As [`Transport::receive`], into `to`, which must be as long as the message.
    ///
    /// # Errors
    /// As [`Transport::receive`]; a message of another length.
    fn receive_into(&self, from: usize, tag: Tag, to: &mut [u8]) -> Result<()> {
        let message = self.receive(from, tag)?;
        if message.len() != to.len() {
            return Err(wrong_length(self.rank(), from, message.len(), to.len()));
        }
        to.copy_from_slice(&message);
        Ok(())
    }

    /// Whether messages may lie in the memory of a GPU.
    fn takes_remote(&self) -> bool {
        false
    }

    /// As [`Transport::send_shared`], out of a GPU's memory. The device must be done with writing it.
    ///
    /// # Errors
    /// As [`Transport::send`]; a transport that takes none.
    fn send_remote(&self, _to: usize, _tag: Tag, _message: Arc<dyn Remote>) -> Result<()> {
        Err(no_remote(self.rank()))
    }

    /// As [`Transport::receive_into`], into a GPU's memory, which is written when this returns.
    ///
    /// # Errors
    /// As [`Transport::receive_into`]; a transport that takes none.
    fn receive_remote(&self, _from: usize, _tag: Tag, _to: &dyn Remote) -> Result<()> {
        Err(no_remote(self.rank()))
    }

    /// Fails once any rank has aborted, and moves on what was sent; for ranks that wait for something else
    /// than a message.
    ///
    /// # Errors
    /// A rank has aborted.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Waits until all that was sent is on its way without this rank: long messages of many transports
    /// stand still while their sender makes no call. For ranks that are about to do something long. Of ranks that
    /// share a process it waits for what the others sent, too.
    ///
    /// # Errors
    /// As [`Transport::receive`].
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Makes room for messages on so many lanes ([`Tag::lane`]), the first of which is there; all ranks come here
    /// with the same number. Transports that only wrap another must hand it on.
    ///
    /// # Errors
    /// The network's.
    fn open_lanes(&self, _lanes: usize) -> Result<()> {
        Ok(())
    }

    /// Makes every present and future call on every rank fail, naming this rank and `why`. The
    /// first abort counts.
    fn abort(&self, why: &str) {
        self.abort_for(self.rank(), why);
    }

    /// As [`Transport::abort`], naming another: the one of several in this process that failed.
    fn abort_for(&self, rank: usize, why: &str);
}

fn no_remote(rank: usize) -> Error {
    Error::Rank {
        rank,
        what: "a message in the memory of a GPU, by a transport that takes none".into(),
        hint: "this is a fault of Warpweft: report it".into(),
    }
}

/// A message that is not as long as its receiver knows it must be.
pub(super) fn wrong_length(rank: usize, from: usize, found: usize, expected: usize) -> Error {
    Error::Rank {
        rank,
        what: format!("{found} bytes from rank {from}, {expected} expected"),
        hint: "start every rank with the same program and arguments".into(),
    }
}
