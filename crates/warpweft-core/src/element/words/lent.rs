//! Slices in device memory: an address there and a length. Not here: how a user's slice is copied
//! there, and slices of the host that are only read (`slice`).

use std::marker::PhantomData;

use super::Word;
use crate::element::{DeviceType, Unit};

/// A slice of words in device memory: the form of `&[T]` and `&mut [T]` in calls on a device. In
/// C++ it is `ww::slice<T>`.
#[derive(Debug)]
#[repr(C)]
pub struct LentSlice<T> {
    address: u64,
    count: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> LentSlice<T> {
    /// The slice of `count` words at an address.
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
