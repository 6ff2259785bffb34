//! Host memory whose pages are locked while devices copy from it, so that they read it directly. Allocation
//! is in `buffer`.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use cudarc::driver::sys;
use cudarc::driver::sys::CUresult;

use crate::cuda::device::Device;
use crate::cuda::device::apart;
use crate::error::Result;

/// Shorter slices may share pages with their neighbours in the allocator; no copy may span locked and other
/// pages.
const OWN_PAGES: usize = 64 << 20;

/// Slices whose pages are locked for every device until this is dropped.
pub struct Locked<'a> {
    device: Device,
    parts: Vec<*mut c_void>,
    of: PhantomData<&'a [u8]>,
}

impl<'a> Locked<'a> {
    /// Locks those of `slices` that are large and that the system allows. Copies from the others are correct
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

#[cfg(test)]
mod tests {
    use super::super::buffer::bytes_of;
    use super::*;
    use crate::cuda::{Buffer, Stream};

    #[test]
    fn large_slices_are_locked_for_a_while_and_come_over_as_they_are() {
        let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
        let values: Vec<u32> =
            (0..OWN_PAGES as u32 / 4 + 1000).map(|k| k.wrapping_mul(40503)).collect();
        let bytes = bytes_of(&values);
        let stream = Stream::new(&device).unwrap();
        let buffer = Buffer::new(&device, bytes.len()).unwrap();
        // The second call would fail if the first lock still existed.
        for _ in 0..2 {
            let locked = Locked::of(&device, [bytes, &bytes[..OWN_PAGES - 1]].into_iter()).unwrap();
            assert_eq!(
                locked.parts,
                [bytes.as_ptr().cast_mut().cast()],
                "the small one is left alone"
            );
            stream.upload(&buffer, 0, &values).unwrap();
            let mut found = vec![0; values.len()];
            stream.download(&buffer, 0, &mut found).unwrap();
            assert!(found == values);
        }
    }
}
