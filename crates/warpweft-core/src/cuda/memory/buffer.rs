//! Memory of a device and memory of the host that a device can reach. Not: copies (`copy.rs`).

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::sys;
use cudarc::driver::sys::CUresult;

use crate::cpu;
use crate::cuda::device::Device;
use crate::cuda::device::Stream;
use crate::cuda::device::apart;
use crate::error::{Error, Result};

/// A type whose every bit pattern is a value and that has no padding.
///
/// # Safety
/// Both must hold.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($t:ty),*) => {$(
        // SAFETY: a number has no padding, and every pattern is one.
        unsafe impl Plain for $t {}
    )*};
}
plain!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64);

// SAFETY: elements of an array are contiguous.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

pub(in crate::cuda) fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: a plain type has no padding, so all its bytes are initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

pub(in crate::cuda) fn bytes_of_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and any bytes written make plain values.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Device memory, freed on drop. Its initial contents are unspecified.
pub struct Buffer {
    device: Device,
    address: u64,
    bytes: usize,
}

impl Buffer {
    /// `bytes` bytes, aligned to 256.
    ///
    /// # Errors
    /// [`Error::Memory`] with the bytes needed and free.
    pub fn new(device: &Device, bytes: usize) -> Result<Self> {
        device.bind()?;
        let mut address = 0;
        let _apart = apart();
        // SAFETY: writes one address; the driver refuses zero bytes, so at least one is asked for.
        match unsafe { sys::cuMemAlloc_v2(&mut address, bytes.max(1)) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(Error::Memory {
                whose: device.label().into(),
                needed: bytes as u64,
                available: device.memory()?.0,
                hint: "choose a smaller problem, or free memory on the device".into(),
            }),
            code => {
                device.check(code, "allocating")?;
                Ok(Self { device: *device, address, bytes })
            }
        }
    }

    /// `bytes` bytes of zero; the zeroing is queued in `stream`.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub fn zeroed(stream: &Stream, bytes: usize) -> Result<Self> {
        let buffer = Self::new(stream.device(), bytes)?;
        stream.fill(&buffer, 0)?;
        Ok(buffer)
    }

    /// A copy of `values`.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub fn from_slice<T: Plain>(stream: &Stream, values: &[T]) -> Result<Self> {
        let buffer = Self::new(stream.device(), size_of_val(values))?;
        stream.upload(&buffer, 0, values)?;
        Ok(buffer)
    }

    /// Its address in the device's address space.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The address of `bytes` bytes from `offset`, if the buffer holds them.
    pub(in crate::cuda) fn span(&self, offset: usize, bytes: usize) -> Result<u64> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.address + offset as u64),
            _ => Err(Error::spec(
                format!(
                    "access to {bytes} bytes at offset {offset} of a buffer of {} bytes",
                    self.bytes
                ),
                "stay within the buffer",
            )),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            let _apart = apart();
            // SAFETY: owned by this value; the driver waits for work that may use it.
            let _ = unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {}", self.bytes, self.device.label())
    }
}

/// Bytes from which on huge pages are locked: 64 MiB of them take 10 ms, of the driver's pages 24 ms (H200, 2026-11-28), and
/// those have yet to be zeroed.
const LARGE: usize = 4 << 20;

/// Page-locked host memory that every device can reach: copies run at the link's full rate.
pub struct Pinned<T: Plain> {
    device: Device,
    start: *mut T,
    len: usize,
    /// Memory of this process that was locked afterwards; `None`: it is the driver's.
    own: Option<cpu::Buffer>,
}

// SAFETY: it owns its memory, as a `Vec` does.
unsafe impl<T: Plain> Send for Pinned<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for Pinned<T> {}

impl<T: Plain> Pinned<T> {
    /// `len` values, all bytes zero.
    ///
    /// # Errors
    /// [`Error::Memory`] if the host can't lock that many pages.
    pub fn new(device: &Device, len: usize) -> Result<Self> {
        device.bind()?;
        let refused = |needed| Error::Memory {
            whose: "page-locked host".into(),
            needed,
            available: crate::memory::available_memory().unwrap_or(0),
            hint: "choose a smaller problem, or raise the limit on locked memory".into(),
        };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| refused(u64::MAX))?;
        let _apart = apart();
        if bytes >= LARGE
            && let Ok(own) = cpu::Buffer::untouched(bytes)
        {
            let start = own.as_ptr();
            #[cfg(target_os = "linux")]
            // SAFETY: advice about memory of this value. A child process would share its pages until one of both writes, and
            // then the device would have the child's.
            unsafe {
                libc::madvise(start.cast(), bytes, libc::MADV_DONTFORK);
            }
            let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
            // SAFETY: the memory is this value's until it is unlocked.
            let code = unsafe { sys::cuMemHostRegister_v2(start.cast(), bytes, flags) };
            if code == CUresult::CUDA_SUCCESS {
                return Ok(Self { device: *device, start: start.cast(), len, own: Some(own) });
            }
        }
        let mut start = std::ptr::null_mut();
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: writes one address.
        match unsafe { sys::cuMemHostAlloc(&mut start, bytes.max(1), flags) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => return Err(refused(bytes as u64)),
            code => device.check(code, "locking host memory")?,
        }
        // SAFETY: freshly allocated for that many bytes, whole pages and so aligned for any `T`.
        unsafe { std::ptr::write_bytes(start.cast::<u8>(), 0, bytes) };
        Ok(Self { device: *device, start: start.cast(), len, own: None })
    }

    /// The address by which kernels on its device reach it, over the link.
    ///
    /// # Errors
    /// The driver's.
    pub fn device_address(&self) -> Result<u64> {
        self.device.bind()?;
        let mut address = 0;
        // SAFETY: writes one address for memory that was allocated as mapped.
        let code = unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, self.start.cast(), 0) };
        self.device.check(code, "mapping host memory")?;
        Ok(address)
    }
}

impl<T: Plain> AsRef<[T]> for Pinned<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: Plain> Deref for Pinned<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `len` initialised values; device writes happen only under an unsafe contract.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T: Plain> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl<T: Plain> Drop for Pinned<T> {
    fn drop(&mut self) {
        let mut is_free = false;
        if self.device.bind().is_ok() {
            let _apart = apart();
            // SAFETY: owned by this value, and locked or allocated by it.
            let code = unsafe {
                match self.own {
                    Some(_) => sys::cuMemHostUnregister(self.start.cast()),
                    None => sys::cuMemFreeHost(self.start.cast()),
                }
            };
            is_free = code == CUresult::CUDA_SUCCESS;
        }
        if !is_free {
            // The driver may use the pages still, so this address must not be mapped again.
            std::mem::forget(self.own.take());
        }
    }
}

impl<T: Plain> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pinned values of {}", self.len, std::any::type_name::<T>())
    }
}

/// Words in host memory that host and running kernels read and write at the same time.
#[derive(Debug)]
pub struct Words {
    memory: Pinned<u32>,
}

impl Words {
    /// `len` words of zero.
    ///
    /// # Errors
    /// As [`Pinned::new`].
    pub fn new(device: &Device, len: usize) -> Result<Self> {
        Ok(Self { memory: Pinned::new(device, len)? })
    }

    /// The address by which kernels reach them.
    ///
    /// # Errors
    /// As [`Pinned::device_address`].
    pub fn device_address(&self) -> Result<u64> {
        self.memory.device_address()
    }

    /// The present value of word `index`; `None` past the end.
    pub fn load(&self, index: usize) -> Option<u32> {
        Some(self.word(index)?.load(Ordering::Acquire))
    }

    /// Sets word `index`; returns whether there is one.
    pub fn store(&self, index: usize, value: u32) -> bool {
        self.word(index).map(|word| word.store(value, Ordering::Release)).is_some()
    }

    fn word(&self, index: usize) -> Option<&AtomicU32> {
        (index < self.memory.len)
            // SAFETY: within the allocation and aligned; no plain reference to it exists.
            .then(|| unsafe { AtomicU32::from_ptr(self.memory.start.add(index)) })
    }
}
