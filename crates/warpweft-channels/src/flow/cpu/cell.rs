//! A cell that threads share by an agreement of theirs, which loom checks in models.

#[cfg(all(test, loom))]
pub use loom::cell::UnsafeCell;

/// [`std::cell::UnsafeCell`] with loom's interface.
#[cfg(not(all(test, loom)))]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(all(test, loom)))]
impl<T> UnsafeCell<T> {
    /// A cell with this value.
    pub const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with the address, to read.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Calls `f` with the address, to write.
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}
