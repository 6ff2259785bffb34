//! How many elements of channels are free: producers take credits before they reserve elements.

use warpweft_core::cpu::sync::{AtomicUsize, Ordering};

/// The free elements of a channel, of a level of a stack, or of all channels of a cycle together.
#[repr(align(128))]
pub struct Credits {
    free: AtomicUsize,
    capacity: usize,
}

impl Credits {
    /// All free.
    pub fn new(capacity: usize) -> Self {
        Self { free: AtomicUsize::new(capacity), capacity }
    }

    /// How many there are in all.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Those taken; may be seen late.
    pub fn taken(&self) -> usize {
        self.capacity.saturating_sub(self.free.load(Ordering::Relaxed))
    }

    /// Takes `count` credits, or none.
    pub fn take(&self, count: usize) -> bool {
        count == 0 || self.take_each(count, 1) == 1
    }

    /// Takes `each` credits for as many of `most` as there are. How many.
    pub fn take_each(&self, each: usize, most: usize) -> usize {
        if each == 0 {
            return most;
        }
        let order = Ordering::Relaxed;
        let mut free = self.free.load(order);
        loop {
            let count = (free / each).min(most);
            if count == 0 {
                return 0;
            }
            match self.free.compare_exchange(free, free - count * each, order, order) {
                Ok(_) => return count,
                Err(now) => free = now,
            }
        }
    }

    /// Gives back `count` credits.
    pub fn give(&self, count: usize) {
        if count > 0 {
            self.free.fetch_add(count, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn credits_are_taken_for_as_many_as_there_are() {
        let credits = Credits::new(10);
        assert_eq!((credits.take_each(3, 2), credits.taken()), (2, 6));
        assert_eq!((credits.take_each(3, 9), credits.taken()), (1, 9));
        assert!(!credits.take(2) && credits.take(1) && credits.take(0));
        assert_eq!((credits.take_each(0, 7), credits.take_each(1, 7)), (7, 0));
        credits.give(10);
        assert_eq!((credits.taken(), credits.capacity()), (0, 10));
    }
}
