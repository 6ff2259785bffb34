//! Slices that device code only reads: address and length, with the layout of `ww::slice<T>` in
//! device code.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::element::{DeviceType, Unit};

/// The items of a table among the parameters of an element function.
#[derive(Clone, Copy, Debug)]
pub struct TableBytes<'a> {
    /// Where the parameters hold the address of the items, in bytes from their beginning.
    pub offset: usize,
    /// The items; bytes of padding are not initialised.
    pub bytes: &'a [MaybeUninit<u8>],
    /// Bytes of an item: of a table of none, device code may read one.
    pub item: usize,
}

/// A slice as a member of an element. In device code it is `ww::slice<T>`, with the address of a
/// copy on the device.
#[repr(C)]
pub struct DeviceSlice<'a, T> {
    start: *const T,
    count: u64,
    of: PhantomData<&'a [T]>,
}

impl<'a, T> DeviceSlice<'a, T> {
    /// The address and length of a slice on the host.
    pub fn of(slice: &'a [T]) -> Self {
        Self { start: slice.as_ptr(), count: slice.len() as u64, of: PhantomData }
    }

    /// The slice on the host.
    #[inline]
    pub fn get(self) -> &'a [T] {
        // SAFETY: only `of` makes it, from a slice that lives as long.
        unsafe { std::slice::from_raw_parts(self.start, self.count as usize) }
    }

    /// Its items, of a slice that lies `offset` bytes from the beginning of the parameters.
    #[doc(hidden)]
    pub fn table(self, offset: usize) -> TableBytes<'a> {
        let offset = offset + std::mem::offset_of!(Self, start);
        TableBytes { offset, bytes: self.bytes(), item: size_of::<T>() }
    }

    /// Its bytes, to be copied to a device; those of padding are not initialised.
    pub fn bytes(self) -> &'a [MaybeUninit<u8>] {
        let slice = self.get();
        // SAFETY: so many bytes are there, for as long, and none of them needs to be initialised.
        unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) }
    }
}

impl<T> Clone for DeviceSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for DeviceSlice<'_, T> {}

// SAFETY: it is a shared borrow of items that threads may share.
unsafe impl<T: Sync> Send for DeviceSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for DeviceSlice<'_, T> {}

impl<T> fmt::Debug for DeviceSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} items", self.count)
    }
}

impl<T: DeviceType> DeviceType for DeviceSlice<'static, T> {
    const ALIKE: bool = T::ALIKE;
    fn cuda(unit: &mut Unit) -> String {
        format!("ww::slice<{}>", T::cuda(unit))
    }
    fn cuda_value(&self, unit: &mut Unit) -> String {
        // An address of the host has no meaning on a device.
        format!("{}{{}}", Self::cuda(unit))
    }
}
