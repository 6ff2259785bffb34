//! Memory placed by first touch: each page is on the NUMA node of the worker that wrote it first.

use super::Pool;
use crate::error::{Error, Result};
use crate::memory::available_memory;

/// Huge pages: one TLB entry for 2 MiB instead of 512.
const HUGE: usize = 2 << 20;
const PAGE: usize = 4096;

/// Zeroed bytes, aligned to 2 MiB.
#[derive(Debug)]
pub struct Buffer {
    map: *mut u8,
    mapped: usize,
    start: *mut u8,
    len: usize,
}

// SAFETY: a buffer owns its pages; its holder synchronises access through the pointer.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared references only hand out the address.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `len` zero bytes, first touched by the workers of `pool`, each its contiguous part.
    ///
    /// # Errors
    /// Less free memory than `len`, or the system refuses.
    pub fn zeroed(len: usize, pool: &Pool) -> Result<Self> {
        let buffer = Self::untouched(len)?;
        let pages = len.div_ceil(PAGE);
        let touched = pool.run(|worker| {
            for page in worker.share(pages) {
                // SAFETY: the page is inside the buffer and in this worker's part only.
                unsafe { buffer.as_ptr().add(page * PAGE).write_volatile(0) };
            }
            Ok(())
        });
        touched.map_err(|panic| Error::spec(panic.message, "report this as a bug"))?;
        Ok(buffer)
    }

    /// `len` zero bytes, each page of which takes memory when it is touched.
    ///
    /// # Errors
    /// Less free memory than `len`, or the system refuses.
    pub fn untouched(len: usize) -> Result<Self> {
        let refused = |needed: usize, available| Error::Memory {
            whose: "host".into(),
            needed: needed as u64,
            available,
            hint: "choose smaller extents".into(),
        };
        // The system overcommits memory and kills processes that use too much.
        if let Some(available) = available_memory()
            && len as u64 > available
        {
            return Err(refused(len, available));
        }
        let mapped = len.checked_add(2 * HUGE).ok_or_else(|| refused(len, 0))? & !(PAGE - 1);
        // SAFETY: a new private mapping touches nothing that exists.
        let map = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), mapped, access, kind, -1, 0)
        };
        if map == libc::MAP_FAILED {
            return Err(refused(mapped, available_memory().unwrap_or(0)));
        }
        let map = map.cast::<u8>();
        let start = map.wrapping_add(map.align_offset(HUGE));
        #[cfg(target_os = "linux")]
        // SAFETY: advice about the mapping just made; without it access is only slower.
        unsafe {
            libc::madvise(start.cast(), mapped - HUGE, libc::MADV_HUGEPAGE);
        }
        Ok(Self { map, mapped, start, len })
    }

    /// Address of the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `untouched` and nothing refers to it any more.
        unsafe { libc::munmap(self.map.cast(), self.mapped) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_machine_has_is_refused_with_both_numbers() {
        let allowed = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
        let pool = Pool::new(&[allowed]).unwrap();
        let error = Buffer::zeroed(1 << 60, &pool).unwrap_err().to_string();
        assert!(error.contains("1152921504606846976 bytes needed"), "{error}");
        let buffer = Buffer::zeroed(3 * PAGE + 1, &pool).unwrap();
        assert_eq!(buffer.as_ptr() as usize % HUGE, 0);
    }
}
