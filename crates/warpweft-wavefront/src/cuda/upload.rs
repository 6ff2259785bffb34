//! Copies of inputs on the device.

use warpweft_core::cuda::{Buffer, Stream};
use warpweft_core::error::Result;

/// A copy of `count` inputs; one byte each for those that have no size, as in C++.
pub(super) fn inputs(stream: &Stream, bytes: &[u8], count: usize) -> Result<Buffer> {
    match bytes {
        [] => Buffer::zeroed(stream, count),
        _ => Buffer::from_slice(stream, bytes),
    }
}
