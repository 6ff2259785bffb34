//! Copies between host, device and peers, and fills. Not: padded layouts (`strided.rs`).

use std::mem::MaybeUninit;
use std::ops::Range;

use cudarc::driver::sys;

use super::buffer::{Buffer, Pinned, Plain, bytes_of, bytes_of_mut};
use crate::cuda::device::Stream;
use crate::error::{Error, Result};

impl Stream {
    /// Copies `from` to `to` from byte `offset` on, after all queued work, and waits.
    ///
    /// # Errors
    /// [`Error::Spec`] beyond the buffer's end; the driver's.
    pub fn upload<T: Plain>(&self, to: &Buffer, offset: usize, from: &[T]) -> Result<()> {
        let from = bytes_of(from);
        // SAFETY: so many bytes are there; that they are initialised is not needed.
        self.upload_bytes(to, offset, unsafe {
            std::slice::from_raw_parts(from.as_ptr().cast(), from.len())
        })
    }

    /// The same of bytes some of which may be padding, and not initialised.
    ///
    /// # Errors
    /// As [`Stream::upload`].
    pub fn upload_bytes(&self, to: &Buffer, offset: usize, from: &[MaybeUninit<u8>]) -> Result<()> {
        let address = to.span(offset, from.len())?;
        if from.is_empty() {
            return Ok(());
        }
        self.device().bind()?;
        // SAFETY: both spans are in bounds, and `from` outlives the wait below.
        let code = unsafe {
            sys::cuMemcpyHtoDAsync_v2(address, from.as_ptr().cast(), from.len(), self.raw())
        };
        self.device().check(code, "copying to the device")?;
        self.synchronize()
    }

    /// Copies `from` from byte `offset` on to `to`, after all queued work, and waits.
    ///
    /// # Errors
    /// As [`Stream::upload`].
    pub fn download<T: Plain>(&self, from: &Buffer, offset: usize, to: &mut [T]) -> Result<()> {
        let to = bytes_of_mut(to);
        let address = from.span(offset, to.len())?;
        if to.is_empty() {
            return Ok(());
        }
        self.device().bind()?;
        // SAFETY: both spans are in bounds, and `to` outlives the wait below.
        let code = unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), address, to.len(), self.raw())
        };
        self.device().check(code, "copying from the device")?;
        self.synchronize()
    }

    /// Queues a copy of `from[range]` to `to` from byte `offset` on.
    ///
    /// # Errors
    /// As [`Stream::upload`], and for a range beyond the pinned memory's end.
    ///
    /// # Safety
    /// Until the stream is done with it, `from` must be neither dropped nor written.
    pub unsafe fn upload_async<T: Plain>(
        &self,
        to: &Buffer,
        offset: usize,
        from: &Pinned<T>,
        range: Range<usize>,
    ) -> Result<()> {
        let bytes = bytes_of(from.get(range.clone()).ok_or_else(|| outside(&range, from.len()))?);
        let address = to.span(offset, bytes.len())?;
        self.device().bind()?;
        // SAFETY: both spans are in bounds; the caller keeps `from` alive and unchanged.
        let code = unsafe {
            sys::cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), bytes.len(), self.raw())
        };
        self.device().check(code, "copying to the device")
    }

    /// Queues a copy of `from` from byte `offset` on to `to[range]`.
    ///
    /// # Errors
    /// As [`Stream::upload_async`].
    ///
    /// # Safety
    /// Until the stream is done with it, `to` must be neither dropped, read nor written.
    pub unsafe fn download_async<T: Plain>(
        &self,
        from: &Buffer,
        offset: usize,
        to: &mut Pinned<T>,
        range: Range<usize>,
    ) -> Result<()> {
        let len = to.len();
        let bytes = bytes_of_mut(to.get_mut(range.clone()).ok_or_else(|| outside(&range, len))?);
        let address = from.span(offset, bytes.len())?;
        self.device().bind()?;
        // SAFETY: both spans are in bounds; the caller keeps `to` alive and does not access it.
        let code = unsafe {
            sys::cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), address, bytes.len(), self.raw())
        };
        self.device().check(code, "copying from the device")
    }

    /// Queues a copy between buffers of one device, or of two.
    ///
    /// # Errors
    /// [`Error::Spec`] beyond a buffer's end; the driver's.
    pub fn copy(
        &self,
        to: &Buffer,
        to_offset: usize,
        from: &Buffer,
        from_offset: usize,
        bytes: usize,
    ) -> Result<()> {
        let (there, here) = (to.span(to_offset, bytes)?, from.span(from_offset, bytes)?);
        let (owner_there, owner_here) = (to.device().raw()?, from.device().raw()?);
        self.device().bind()?;
        // SAFETY: both spans are in bounds, and contexts live as long as the process.
        let code = unsafe {
            if to.device() == from.device() {
                sys::cuMemcpyDtoDAsync_v2(there, here, bytes, self.raw())
            } else {
                sys::cuMemcpyPeerAsync(there, owner_there, here, owner_here, bytes, self.raw())
            }
        };
        self.device().check(code, "copying between buffers")
    }

    /// Queues setting every byte of `buffer` to `value`.
    ///
    /// # Errors
    /// The driver's.
    pub fn fill(&self, buffer: &Buffer, value: u8) -> Result<()> {
        self.fill_part(buffer, 0..buffer.bytes(), value)
    }

    /// Queues setting the bytes `range` of `buffer` to `value`.
    ///
    /// # Errors
    /// [`Error::Spec`] beyond the buffer's end; the driver's.
    pub fn fill_part(&self, buffer: &Buffer, range: Range<usize>, value: u8) -> Result<()> {
        let bytes = range.end.saturating_sub(range.start);
        let address = buffer.span(range.start, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        self.device().bind()?;
        // SAFETY: the span is in bounds.
        let code = unsafe { sys::cuMemsetD8Async(address, value, bytes, self.raw()) };
        self.device().check(code, "filling a buffer")
    }
}

fn outside(range: &Range<usize>, len: usize) -> Error {
    Error::spec(
        format!("range {range:?} exceeds the {len} values of a page-locked buffer"),
        "stay within the buffer",
    )
}
