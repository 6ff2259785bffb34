//! The seam between patterns and networks.

use crate::error::Result;

/// Tells messages between the same two ranks apart, e.g. the phase of a swap and its face.
/// Collectives use the tags from [`Tag::COLLECTIVE`] up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u16);

impl Tag {
    /// The first tag that patterns must not use.
    pub const COLLECTIVE: u16 = 0x7000;
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

    /// Waits for the next message from `from` with `tag`.
    ///
    /// # Errors
    /// No such rank; a rank has aborted; `from` has ended without sending; nothing came within the
    /// transport's deadline. The last two abort all ranks.
    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>>;

    /// Makes every present and future call on every rank fail, naming this rank and `why`. The
    /// first abort counts.
    fn abort(&self, why: &str);
}
