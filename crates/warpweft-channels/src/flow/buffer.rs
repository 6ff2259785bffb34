//! Buffers that all firings of a graph share, before and after a run. Their words are the core's.

use std::any::{Any, TypeId, type_name};
use std::sync::Arc;

use super::handle::BufferId;
pub use warpweft_core::element::{Counter, Shared, Word};

/// A buffer, whatever its words.
pub(super) trait AnyBuffer: Send + Sync {
    /// The type of its words, and what that is called.
    fn word(&self) -> (TypeId, &'static str);
    /// A copy for a run, a `Arc<Shared<T>>`.
    fn shared(&self) -> Arc<dyn Any + Send + Sync>;
    /// The number of words.
    fn len(&self) -> usize;
    /// The words as bytes, for a device.
    fn bytes(&self) -> Vec<u8>;
    /// A buffer with the words that a device has left, a `Arc<Shared<T>>`.
    fn restored(&self, bytes: &[u8]) -> Arc<dyn Any + Send + Sync>;
}

/// What a buffer holds before a run.
pub(super) struct Initial<T: Word>(pub Vec<T>);

impl<T: Word> AnyBuffer for Initial<T> {
    fn word(&self) -> (TypeId, &'static str) {
        (TypeId::of::<T>(), type_name::<T>())
    }

    fn shared(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::new(Shared::new(self.0.iter().copied()))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(size_of_val(&self.0[..]));
        self.0.iter().for_each(|word| word.put(&mut bytes));
        bytes
    }

    fn restored(&self, bytes: &[u8]) -> Arc<dyn Any + Send + Sync> {
        Arc::new(Shared::new(bytes.chunks_exact(size_of::<T>()).map(T::get)))
    }
}

/// The buffers of one run on the host.
pub struct HostBuffers(pub(super) Vec<Arc<dyn Any + Send + Sync>>);

impl HostBuffers {
    /// The words of a buffer. The graph has checked that it is one of its own.
    ///
    /// # Panics
    /// It is of another graph.
    pub fn get<T: Word>(&self, id: BufferId<T>) -> Arc<Shared<T>> {
        let buffer = self.0.get(id.index()).cloned();
        buffer.and_then(|any| any.downcast().ok()).expect("the graph checks its buffers")
    }
}
