//! Items and constants as the bytes that a driver copies, and back.

use super::handle::Item;
use warpweft_core::element::Unit;

/// The bytes of values.
pub(super) fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: they are only copied, by the driver, never looked at; values outlive the borrow.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The values whose bytes these are; less than a value at the end is left out.
///
/// # Safety
/// The bytes are those of values of this type.
pub(super) unsafe fn values_of<T: Copy>(bytes: &[u8]) -> Vec<T> {
    let size = size_of::<T>().max(1);
    let each = bytes.chunks_exact(size);
    // SAFETY: so many bytes are there, and the caller says what they are.
    each.map(|value| unsafe { value.as_ptr().cast::<T>().read_unaligned() }).collect()
}

/// An item as text: what C++ would write, without its prefixes; of a number the number alone.
pub(super) fn shown<T: Item>(item: &T) -> String {
    let text = item.cuda_value(&mut Unit::new()).replace("ww::", "").replace("_ww", "");
    let number = text.strip_suffix(')').and_then(|text| text.split_once('('));
    match number {
        Some((_, number)) if number.parse::<f64>().is_ok() => number.into(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_without_their_type() {
        assert_eq!([shown(&400u32), shown(&-7i64)], ["400", "-7"]);
        assert!(shown(&[1u8, 2]).contains("u8(1)"), "{}", shown(&[1u8, 2]));
    }
}
