//! Memory of the host whose pages stay where they are while devices copy out of it, which then read it
//! themselves. Not: allocation (`memory.rs`).

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use cudarc::driver::sys;
use cudarc::driver::sys::CUresult;

use super::device::Device;
use super::together::apart;
use crate::error::Result;

/// Slices shorter than this may share pages with their neighbours, as allocators of memory hand them out; no copy
/// may reach from locked pages into others.
const OWN_PAGES: usize = 64 << 20;

/// Slices whose pages are locked until it is dropped, for every device.
pub(crate) struct Locked<'a> {
    device: Device,
    parts: Vec<*mut c_void>,
    of: PhantomData<&'a [u8]>,
}

impl<'a> Locked<'a> {
    /// Locks those of `slices` that are large and that the system lets it: copies out of the others are right
    /// too, only slower.
    ///
    /// Takes a fraction of a second a gigabyte.
    ///
    /// # Errors
    /// The device can't be used.
    pub fn of(device: &Device, slices: impl Iterator<Item = &'a [u8]>) -> Result<Self> {
        device.bind()?;
        let mut locked = Self { device: *device, parts: Vec::new(), of: PhantomData };
        for slice in slices.filter(|slice| slice.len() >= OWN_PAGES) {
            let start = slice.as_ptr().cast_mut().cast();
            let _apart = apart();
            let flags = sys::CU_MEMHOSTREGISTER_PORTABLE;
            // SAFETY: `slice` outlives the lock, by `'a`; locking changes none of its bytes.
            let code = unsafe { sys::cuMemHostRegister_v2(start, slice.len(), flags) };
            if code == CUresult::CUDA_SUCCESS {
                locked.parts.push(start);
            }
        }
        Ok(locked)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            let _apart = apart();
            for &part in &self.parts {
                // SAFETY: locked by this value, once.
                let _ = unsafe { sys::cuMemHostUnregister(part) };
            }
        }
    }
}

impl fmt::Debug for Locked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} locked slices", self.parts.len())
    }
}
