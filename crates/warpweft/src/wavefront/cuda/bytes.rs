//! Inputs, arguments and cells as the bytes that the driver copies.

use crate::cuda::{Buffer, Stream};
use crate::error::Result;

/// A copy of inputs on the device; one byte each for those that have no size, as in C++.
pub(super) fn inputs<T: Copy>(stream: &Stream, values: &[T]) -> Result<Buffer> {
    match size_of::<T>() {
        0 => Buffer::zeroed(stream, values.len()),
        _ => Buffer::from_slice(stream, bytes_of(values)),
    }
}

/// The bytes of device values.
pub(super) fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: only the driver reads them, byte by byte; values outlive the borrow.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of device values, to be written by the kernel's cells.
pub(super) fn bytes_of_mut<T: Copy>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; what is copied in are cells of the same type, laid out the same.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
