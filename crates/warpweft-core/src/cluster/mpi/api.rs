//! What a transport needs of an MPI library: the interface, and the forms in which messages pass it.

use std::ops::Range;
use std::sync::Arc;

use crate::cluster::transport::{Remote, Shared, Tag};

/// What a transport needs of a library that has been initialised. Errors are the library's texts.
pub(super) trait MpiApi: Send + Sync {
    /// This rank and how many there are.
    fn rank_and_ranks(&self) -> (usize, usize);
    /// Begins to send part of `message`, which is kept until it is on its way.
    fn start(
        &self,
        to: usize,
        tag: Tag,
        message: &Message,
        part: Range<usize>,
    ) -> Result<(), String>;
    /// Lets go of messages that are on their way; returns how many are not.
    fn reap(&self) -> Result<usize, String>;
    /// The next message from `from`, or anybody, if one has come.
    fn poll(&self, from: Option<usize>, tag: Tag, room: Room<'_>) -> Result<Polled, String>;
    /// Makes room for messages on so many lanes; all ranks come here.
    fn open_lanes(&self, lanes: usize) -> Result<(), String>;
    /// What the library calls itself.
    fn version(&self) -> String;
    /// Whether it sends from and receives into device memory, by its own account.
    fn cuda_aware(&self) -> bool;
    /// Ends this rank's part; waits for the others.
    fn finalize(&self) -> Result<(), String>;
    /// Ends all ranks at once.
    fn abort(&self, code: i32);
}

/// What is sent, and stays where it is until it is on its way.
#[derive(Clone)]
pub(super) enum Message {
    /// In the host's memory.
    Host(Shared),
    /// In that of a GPU.
    Device(Arc<dyn Remote>),
}

impl Message {
    /// Bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Host(message) => (**message).as_ref().len(),
            Self::Device(message) => message.bytes(),
        }
    }

    /// Where its bytes begin.
    pub(super) fn start(&self) -> *const u8 {
        match self {
            Self::Host(message) => (**message).as_ref().as_ptr(),
            Self::Device(message) => message.address() as *const u8,
        }
    }
}

/// Where to put a message.
pub(super) enum Room<'a> {
    /// Into a GPU's memory from this byte on, if it fits.
    Device(&'a dyn Remote, usize),
    /// Behind what is there.
    Append(&'a mut Vec<u8>),
    /// At the beginning, if it fits.
    Into(&'a mut [u8]),
}

/// What came of a look for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// None has come.
    Nothing,
    /// It was received: so many bytes.
    Received(usize),
    /// It does not fit and lies where it lay: so many bytes.
    TooLong(usize),
}
