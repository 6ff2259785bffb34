//! Copies of users' slices in the memory of a GPU, for as long as calls use them.

use super::text::{bytes_of, bytes_of_mut};
use warpweft_core::cuda::{Buffer, Stream};
use warpweft_core::element::{LentSlice, Word};
use warpweft_core::error::Result;

/// Copies of slices that calls borrow, in the order in which they were lent.
#[derive(Debug)]
pub struct Lent<'s> {
    stream: &'s Stream,
    buffers: Vec<Buffer>,
    /// How many of them have come back.
    back: usize,
    /// Bytes that went there, and that came back.
    bytes: [usize; 2],
}

impl<'s> Lent<'s> {
    /// No copies yet; they will be in the memory of the stream's device.
    pub(super) fn new(stream: &'s Stream) -> Self {
        Self { stream, buffers: vec![], back: 0, bytes: [0; 2] }
    }

    /// Makes a copy of `words` on the device.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn lend<T: Word>(&mut self, words: &[T]) -> Result<LentSlice<T>> {
        let buffer = Buffer::new(self.stream.device(), size_of_val(words).max(16))?;
        self.stream.upload(&buffer, 0, bytes_of(words))?;
        let slice = LentSlice::new(buffer.address(), words.len());
        self.buffers.push(buffer);
        self.bytes[0] += size_of_val(words);
        Ok(slice)
    }

    /// Copies the next slice that was lent back to `words`, which has the same length.
    ///
    /// # Errors
    /// The driver's.
    pub fn take_back<T: Word>(&mut self, words: &mut [T]) -> Result<()> {
        self.bytes[1] += size_of_val(words);
        if let Some(buffer) = self.buffers.get(self.back) {
            self.stream.download(buffer, 0, bytes_of_mut(words))?;
        }
        self.keep();
        Ok(())
    }

    /// Skips the next slice that was lent: it was only read.
    pub fn keep(&mut self) {
        self.back += 1;
    }

    /// Bytes that went there, and that came back.
    pub(super) fn bytes(&self) -> [usize; 2] {
        self.bytes
    }
}
