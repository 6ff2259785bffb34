//! The bytes of outputs on their way to the sink: a worker's own, or memory that an executor lends.

use std::fmt;
use std::ops::Deref;

/// Bytes that are read in place by the journal and the sink.
pub enum Bytes {
    /// Of a worker.
    Own(Vec<u8>),
    /// Of an executor, which has it back once this is dropped.
    Lent(Box<dyn AsRef<[u8]> + Send>),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Lent(bytes) => (**bytes).as_ref(),
        }
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(bytes)
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
