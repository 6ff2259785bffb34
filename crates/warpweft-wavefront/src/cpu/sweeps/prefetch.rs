//! Memory that is asked for before it is read.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for `bytes` bytes from `from` on, wherever that leads: into the second-level cache, as a block of all rows of a strip is too
/// much for the first. Nothing where the instruction set has no such instruction.
#[inline(always)]
pub(super) fn prefetch<T>(from: *const T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: an address that can't be read is ignored.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(from.cast::<i8>().wrapping_add(line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes, LINE);
}
