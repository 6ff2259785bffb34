//! Tables as parameters of stencil functions, `&[T]`: of any length, shared by all cells.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{DeviceSlice, TableBytes};
use crate::element::Scalar;
use crate::error::{Error, Result};

/// A table that an element function takes as `&[T]`. It is made from a slice, an array or a `Vec`;
/// clones share the items. A GPU gets a copy of its own when a run or session begins.
#[repr(C)]
#[derive(Clone)]
pub struct Table<T> {
    /// Where device code finds the items, as `ww::slice` has it; in memory of the host, nobody reads it.
    address: usize,
    length: usize,
    items: Arc<[T]>,
}

impl<T: Scalar> Table<T> {
    /// A table for a parameter that depends on time: `value(step)` for every step below `steps`.
    /// A function reads it as `table[step as usize]`, where `step` is its parameter marked
    /// `#[step]`.
    ///
    /// # Errors
    /// A value that is NaN or infinite, with its step.
    pub fn by_step(steps: u64, value: impl Fn(u64) -> T) -> Result<Self> {
        let finite = |step| {
            let value = value(step);
            match value.to_f64().is_finite() {
                true => Ok(value),
                false => Err(Error::spec(
                    format!("a table by step has the value {value} at step {step}"),
                    "give a function of the step that is finite for every step of the run",
                )),
            }
        };
        let mut values = Vec::new();
        values.try_reserve_exact(usize::try_from(steps).unwrap_or(usize::MAX)).map_err(|_| {
            Error::spec(
                format!("there is no memory for a table of {steps} steps"),
                "give as many steps as the run takes",
            )
        })?;
        for step in 0..steps {
            values.push(finite(step)?);
        }
        Ok(values.into())
    }
}

impl<T> Table<T> {
    /// The items, of a table that lies `offset` bytes from the beginning of the parameters.
    #[doc(hidden)]
    pub fn bytes(&self, offset: usize) -> TableBytes<'_> {
        let offset = offset + std::mem::offset_of!(Self, address);
        TableBytes { offset, bytes: DeviceSlice::of(&self.items).bytes(), item: size_of::<T>() }
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> From<Arc<[T]>> for Table<T> {
    fn from(items: Arc<[T]>) -> Self {
        Self { address: items.as_ptr().addr(), length: items.len(), items }
    }
}

impl<T> From<Vec<T>> for Table<T> {
    fn from(items: Vec<T>) -> Self {
        Arc::<[T]>::from(items).into()
    }
}

impl<T: Clone> From<&Vec<T>> for Table<T> {
    fn from(items: &Vec<T>) -> Self {
        Arc::<[T]>::from(&items[..]).into()
    }
}

impl<T: Clone> From<&[T]> for Table<T> {
    fn from(items: &[T]) -> Self {
        Arc::<[T]>::from(items).into()
    }
}

impl<T, const N: usize> From<[T; N]> for Table<T> {
    fn from(items: [T; N]) -> Self {
        Arc::<[T]>::from(items).into()
    }
}

impl<T: Clone, const N: usize> From<&[T; N]> for Table<T> {
    fn from(items: &[T; N]) -> Self {
        Arc::<[T]>::from(&items[..]).into()
    }
}

impl<T> From<&Table<T>> for Table<T> {
    fn from(table: &Table<T>) -> Self {
        Self { address: table.address, length: table.length, items: table.items.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_step_must_be_finite() {
        let ramp = Table::by_step(4, |step| step as f64 * 0.5).unwrap();
        assert_eq!(*ramp, [0.0, 0.5, 1.0, 1.5]);
        let error = Table::by_step(4, |step| 1.0 / (step as f32 - 2.0)).unwrap_err().to_string();
        assert!(error.contains("a table by step has the value inf at step 2"), "{error}");
        let error = Table::by_step(4, |step| (step as f32 - 1.5).sqrt()).unwrap_err().to_string();
        assert!(error.contains("NaN at step 0"), "{error}");
        let error = Table::by_step(u64::MAX, |step| step).unwrap_err().to_string();
        assert!(error.contains("there is no memory for a table"), "{error}");
    }

    #[test]
    fn copies_share_the_items() {
        let table = Table::from(vec![1u16, 2, 3]);
        let copy = table.clone();
        assert_eq!(table.bytes(8).bytes.as_ptr(), copy.bytes(8).bytes.as_ptr());
        assert_eq!(table.bytes(8).bytes.len(), 6);
        assert_eq!(table.bytes(8).offset, 8);
    }
}
