//! Buffers of a device's memory, and what names them in arguments.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::spec::lane::GpuLane;
use warpweft_core::cuda::{Buffer, Plain};
use warpweft_core::element::{DeviceType, Unit, Word};
use warpweft_core::error::{Error, Result};

/// Names a buffer of words in the arguments of a kernel: a number that knows its type, and which memory it is of.
#[repr(transparent)]
pub struct Words<T> {
    id: u64,
    word: PhantomData<fn() -> T>,
}

impl<T> Words<T> {
    pub(super) fn new(memory: u32, number: usize) -> Self {
        Self { id: u64::from(memory) << 32 | number as u64, word: PhantomData }
    }

    /// Its number, if it is of this memory.
    pub(super) fn number_in(self, memory: u32) -> Option<usize> {
        number_in(self.id, memory)
    }
}

fn number_in(id: u64, memory: u32) -> Option<usize> {
    ((id >> 32) as u32 == memory).then_some(id as u32 as usize)
}

impl<T> Clone for Words<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Words<T> {}

impl<T> fmt::Debug for Words<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({} of {})", self.id as u32, self.id >> 32)
    }
}

// On a device it is the number, which is not looked at there.
impl<T: Word> DeviceType for Words<T> {
    fn cuda(unit: &mut Unit) -> String {
        u64::cuda(unit)
    }
    fn cuda_value(&self, unit: &mut Unit) -> String {
        self.id.cuda_value(unit)
    }
}

/// A buffer that a kernel uses.
#[derive(Clone, Copy, Debug)]
pub struct WordsUse {
    id: u64,
    word: TypeId,
}

impl WordsUse {
    #[doc(hidden)]
    pub fn of<T: Word>(words: Words<T>) -> Self {
        Self { id: words.id, word: TypeId::of::<T>() }
    }
}

/// Words in a device's memory that several lanes may use, such as a graph: made by [`GpuLane::shared`].
#[derive(Clone, Debug)]
pub struct DeviceWords<T> {
    pub(super) buffer: Arc<Buffer>,
    count: usize,
    word: PhantomData<fn() -> T>,
}

impl<T: Word + Plain> DeviceWords<T> {
    /// With these words.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn upload(lane: &GpuLane, values: &[T]) -> Result<Self> {
        let bytes = size_of_val(values).max(16);
        let buffer = Buffer::new(lane.device(), bytes)?;
        lane.stream().upload(&buffer, 0, values)?;
        Ok(Self { buffer: buffer.into(), count: values.len(), word: PhantomData })
    }

    /// The number of words.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// A buffer of a lane's memory.
#[derive(Debug)]
pub(super) struct Held {
    pub buffer: Arc<Buffer>,
    pub count: usize,
    word: TypeId,
}

impl Held {
    pub fn new<T: Word>(buffer: Arc<Buffer>, count: usize) -> Self {
        Self { buffer, count, word: TypeId::of::<T>() }
    }
}

/// The buffer that a kernel uses, of `all` of a memory.
pub(super) fn used(all: &[Held], memory: u32, of: WordsUse) -> Result<&Held> {
    let held = number_in(of.id, memory).and_then(|number| all.get(number));
    held.filter(|held| held.word == of.word).ok_or_else(foreign)
}

/// A buffer of other memory.
pub(super) fn foreign() -> Error {
    let hint = "give kernels the `Words` that this lane or memory has made";
    Error::spec("a kernel argument is a buffer that another lane or memory made", hint)
}
