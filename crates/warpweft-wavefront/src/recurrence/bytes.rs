//! Values as the bytes that are copied, to devices and between arrays.

/// The bytes of values.
pub(crate) fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: they are only copied, by the driver or into arrays that it copies, never looked at;
    // values outlive the borrow.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of values, to be overwritten by those of values of the same type.
pub(crate) fn bytes_of_mut<T: Copy>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; what is copied in are values of the same type, laid out the same.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
