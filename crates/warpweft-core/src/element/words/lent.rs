//! Slices that are in device memory already: an address there and a length. Not here: how a user's slice gets there, and
//! slices of the host that are only read (`slice`).

use std::marker::PhantomData;

use super::Word;
use crate::element::{DeviceType, Unit};

/// A slice of words in device memory: what `&[T]` and `&mut [T]` are in calls on a device, `ww::slice<T>` in their text.
#[derive(Debug)]
#[repr(C)]
pub struct LentSlice<T> {
    address: u64,
    count: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> LentSlice<T> {
    /// So many words from an address on.
    pub fn new(address: u64, count: usize) -> Self {
        Self { address, count: count as u64, of: PhantomData }
    }
}

impl<T> Clone for LentSlice<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LentSlice<T> {}

impl<T: Word> DeviceType for LentSlice<T> {
    fn cuda(unit: &mut Unit) -> String {
        format!("ww::slice<{}>", T::cuda(unit))
    }

    fn cuda_value(&self, unit: &mut Unit) -> String {
        let (slice, word) = (Self::cuda(unit), T::cuda(unit));
        format!("{slice}(({word}*){:#x}ull, {}ull)", self.address, self.count)
    }
}
