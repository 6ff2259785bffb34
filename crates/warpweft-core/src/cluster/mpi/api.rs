//! The interface to an MPI library that the transport needs, and the forms of messages.

use std::ops::Range;
use std::sync::Arc;

use crate::cluster::transport::{Remote, Shared, Tag};

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The process of a rank that takes part has ended.
    Lost,
    /// The library's text.
    Other(String),
}

impl<T: Into<String>> From<T> for Fault {
    fn from(what: T) -> Self {
        Self::Other(what.into())
    }
}

/// What the transport needs of an initialised library. Errors are the library's texts.
pub(super) trait MpiApi: Send + Sync {
    /// This rank and the number of ranks.
    fn rank_and_ranks(&self) -> (usize, usize);
    /// Starts sending part of `message`, which is kept until it is sent.
    fn start(
        &self,
        to: usize,
        tag: Tag,
        message: &Message,
        part: Range<usize>,
    ) -> Result<(), Fault>;
    /// Releases messages that are sent, or whose receiver is lost; returns how many are not.
    fn reap(&self) -> Result<usize, Fault>;
    /// The next message from `from`, or from any rank, if one has arrived.
    fn poll(&self, from: Option<usize>, tag: Tag, room: Room<'_>) -> Result<Polled, Fault>;
    /// Whether the process of `rank` has ended, as far as the library knows.
    fn is_lost(&self, rank: usize) -> bool;
    /// Lets polls of any rank succeed although some are lost.
    fn acknowledge_losses(&self);
    /// Prepares for messages on `lanes` lanes; collective.
    fn open_lanes(&self, lanes: usize) -> Result<(), String>;
    /// The library's name and version.
    fn version(&self) -> String;
    /// Whether the library says that it sends from and receives into device memory.
    fn cuda_aware(&self) -> bool;
    /// Finalises MPI; waits for the others.
    fn finalize(&self) -> Result<(), String>;
    /// Ends all ranks at once.
    fn abort(&self, code: i32);
}

/// A message to send. It stays in place until it is sent.
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

    /// The address of its first byte.
    pub(super) fn start(&self) -> *const u8 {
        match self {
            Self::Host(message) => (**message).as_ref().as_ptr(),
            Self::Device(message) => message.address() as *const u8,
        }
    }
}

/// Where to store a received message.
pub(super) enum Room<'a> {
    /// In GPU memory from this byte on, if it fits.
    Device(&'a dyn Remote, usize),
    /// After the present contents.
    Append(&'a mut Vec<u8>),
    /// At the beginning, if it fits.
    Into(&'a mut [u8]),
}

/// The result of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// No message has arrived.
    Nothing,
    /// A message of this many bytes was received.
    Received(usize),
    /// A message of this many bytes has arrived but does not fit; it was not received.
    TooLong(usize),
}
