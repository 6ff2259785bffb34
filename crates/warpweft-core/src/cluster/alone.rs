//! A transport with one rank. Code for several ranks then works without any others.

use super::transport::{Tag, Transport};
use crate::error::{Error, Result};

/// The only rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alone;

impl Alone {
    fn refuse<T>(peer: usize) -> Result<T> {
        Err(Error::Rank {
            rank: 0,
            what: format!("a message to or from rank {peer} of 1"),
            hint: "this is a fault of Warpweft: report it".into(),
        })
    }
}

impl Transport for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn ranks(&self) -> usize {
        1
    }

    fn send(&self, to: usize, _: Tag, _: Vec<u8>) -> Result<()> {
        Self::refuse(to)
    }

    fn receive(&self, from: usize, _: Tag) -> Result<Vec<u8>> {
        Self::refuse(from)
    }

    fn poll(&self, from: usize, _: Tag) -> Result<Option<Vec<u8>>> {
        Self::refuse(from)
    }

    fn abort_for(&self, _: usize, _: &str) {}
}
