//! Large arrays of zeros whose pages the system makes when they are first written: by as many threads as write, and
//! not at all where nobody does.

use std::alloc::{Layout, alloc_zeroed};

use super::room::{check_room, short};
use crate::error::Result;

/// A page of 2 MiB: one fault instead of 512.
const HUGE: usize = 2 << 20;

/// `words` zeros.
///
/// # Errors
/// There is not enough memory, or the system refuses; `hint` becomes the error's hint.
pub fn zeroed_words(words: usize, hint: &str) -> Result<Vec<u64>> {
    let bytes = (words as u64).saturating_mul(8);
    check_room(bytes, hint)?;
    let layout = Layout::array::<u64>(words).map_err(|_| short(bytes, hint))?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the size is not zero.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(short(bytes, hint));
    }
    #[cfg(target_os = "linux")]
    {
        let begin = start.align_offset(HUGE);
        let whole = layout.size().saturating_sub(begin) / HUGE * HUGE;
        if whole > 0 {
            // SAFETY: advice about whole pages inside the allocation; without it access is only slower.
            unsafe { libc::madvise(start.add(begin).cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    // SAFETY: allocated just now by the global allocator with the layout of `words` words, all of them zero.
    Ok(unsafe { Vec::from_raw_parts(start.cast(), words, words) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_length_are_zero_and_what_no_machine_has_is_refused() {
        for words in [0, 1, 1000, HUGE] {
            let array = zeroed_words(words, "").unwrap();
            assert!(array.len() == words && array.iter().all(|&word| word == 0), "{words}");
        }
        for words in [1 << 58, usize::MAX] {
            let refusal = zeroed_words(words, "take less").unwrap_err().to_string();
            assert!(refusal.ends_with("; help: take less"), "{refusal}");
        }
    }
}
