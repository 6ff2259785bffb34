//! Allocations that return an error where the standard library would end the program.

use super::available_memory;
use crate::error::{Error, Result};

/// Smaller allocations are not checked: the check would take longer than filling the memory.
const SMALL: u64 = 1 << 20;

/// An empty vector with capacity for `count` values.
///
/// # Errors
/// There is not enough memory, or the system refuses; `hint` becomes the error's hint.
pub fn room<T>(count: usize, hint: &str) -> Result<Vec<T>> {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    check_room(bytes, hint)?;
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| short(bytes, hint))?;
    Ok(values)
}

/// A vector with the values of the iterator.
///
/// # Errors
/// See [`room`].
pub fn filled<T>(values: impl ExactSizeIterator<Item = T>, hint: &str) -> Result<Vec<T>> {
    let mut all = room(values.len(), hint)?;
    all.extend(values);
    Ok(all)
}

/// Reserves capacity for `more` values after those of `values`, and at least doubles it, so that growing is
/// amortised.
///
/// # Errors
/// See [`room`].
#[inline]
pub fn grow<T>(values: &mut Vec<T>, more: usize, hint: &str) -> Result<()> {
    if values.capacity() - values.len() >= more {
        return Ok(());
    }
    values.try_reserve(more).map_err(|_| {
        let count = values.len().saturating_add(more.max(values.len())) as u64;
        short(count.saturating_mul(size_of::<T>() as u64), hint)
    })
}

/// Checks that `bytes` of memory are available, perhaps for several arrays.
///
/// # Errors
/// They are not; `hint` becomes the error's hint.
pub fn check_room(bytes: u64, hint: &str) -> Result<()> {
    match bytes > SMALL && available_memory().is_some_and(|available| bytes > available) {
        true => Err(short(bytes, hint)),
        false => Ok(()),
    }
}

pub(super) fn short(needed: u64, hint: &str) -> Error {
    Error::Memory {
        whose: "host".into(),
        needed,
        available: available_memory().unwrap_or(0),
        hint: hint.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused_with_both_numbers_and_the_hint() {
        if available_memory().is_none() {
            return println!("skipped: this system does not tell its memory");
        }
        let refusals = [
            room::<u32>(1 << 58, "take less").map(drop),
            room::<u64>(usize::MAX, "take less").map(drop),
            check_room(1 << 60, "take less"),
        ];
        let needed = ["1152921504606846976", "18446744073709551615", "1152921504606846976"];
        for (refusal, needed) in refusals.into_iter().zip(needed) {
            let refusal = refusal.unwrap_err().to_string();
            assert!(
                refusal.starts_with(&format!("host memory: {needed} bytes needed (")),
                "{refusal}"
            );
            assert!(refusal.ends_with("; help: take less"), "{refusal}");
        }
        assert!(room::<u8>(7, "").is_ok_and(|room| room.is_empty() && room.capacity() >= 7));
        assert_eq!(filled([3, 1, 2].into_iter(), "").unwrap(), [3, 1, 2]);
        assert!(check_room(2 << 20, "").is_ok());
        let mut values = vec![1u8];
        assert!(grow(&mut values, 100, "").is_ok() && values.capacity() > 100);
        let refusal = grow(&mut values, 1 << 60, "take less").unwrap_err().to_string();
        assert!(refusal.contains("1152921504606846977 bytes needed"), "{refusal}");
    }
}
