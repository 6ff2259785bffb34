//! Records of calls that wait for values, as in `tasks_joins.cuh`, under loom: who comes last goes on with the frame and sees all
//! values; a record that another warp is done with is used again by its owner, and no earlier.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{spawn, yield_now};

use super::kernels::{JOINS, stands_in};

/// Records of one warp, and the word of bits of those that others are done with.
struct Records {
    pending: [AtomicU32; 2],
    /// Two values and the frame.
    words: [[UnsafeCell<u32>; 3]; 2],
    returned: AtomicU32,
}

impl Records {
    fn new(pending: u32) -> Self {
        let words = || [UnsafeCell::new(0), UnsafeCell::new(0), UnsafeCell::new(0)];
        Self {
            pending: [AtomicU32::new(pending), AtomicU32::new(pending)],
            words: [words(), words()],
            returned: AtomicU32::new(0),
        }
    }

    fn write(&self, record: usize, at: usize, value: u32) {
        // SAFETY: loom tells whether somebody else reads or writes meanwhile.
        self.words[record][at].with_mut(|word| unsafe { *word = value });
    }

    /// `deliver` or `save`, then the addition that says so. Whether this was the last: then it has all three words.
    fn settle(&self, record: usize, at: usize, value: u32) -> Option<[u32; 3]> {
        self.write(record, at, value);
        (self.pending[record].fetch_sub(1, Ordering::AcqRel) == 1).then(|| {
            // SAFETY: as above.
            [0, 1, 2].map(|at: usize| self.words[record][at].with(|word| unsafe { *word }))
        })
    }

    /// `release` by another warp.
    fn release(&self, record: usize) {
        self.returned.fetch_or(1 << record, Ordering::Release);
    }

    /// `collect`: bits of the records that are free again.
    fn collect(&self) -> u32 {
        match self.returned.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.returned.swap(0, Ordering::Acquire),
        }
    }
}

/// The kernel has the lines that are modelled: who changes them changes the model.
#[test]
fn the_kernel_does_what_is_modelled() {
    stands_in(
        JOINS,
        &[
            "if (to != NONE && ww_add_acq_rel_gpu(record(to) + PENDING, NONE) != 1) to = NONE;",
            "if (on && owner != warp) ww_or_release(a.returned + number / 32, 1u << number % 32);",
            "ww_load_relaxed(word) != 0) bits = ww_swap_acquire(word, 0u);",
        ],
    );
}

/// Two values and a frame come from three warps: the last has them all.
#[test]
fn the_last_to_come_has_all() {
    loom::model(|| {
        let records = Arc::new(Records::new(3));
        let others = [0, 1].map(|at| {
            let records = records.clone();
            spawn(move || records.settle(0, at, 10 + at as u32))
        });
        let own = records.settle(0, 2, 12);
        let all = others.map(|other| other.join().unwrap()).into_iter().chain([own]);
        assert_eq!(all.flatten().collect::<Vec<_>>(), [[10, 11, 12]]);
    });
}

/// Another warp reads two records and gives them back one after the other, while the owner takes back what is there and writes there
/// anew: each comes back once.
#[test]
fn records_come_back_once_when_they_have_been_read() {
    loom::model(|| {
        let records = Arc::new(Records::new(1));
        let other = {
            let records = records.clone();
            spawn(move || {
                for record in [0, 1] {
                    assert!(records.settle(record, 0, 5).is_some());
                    records.release(record);
                }
            })
        };
        let mut found = 0;
        while found != 3 {
            let bits = records.collect();
            assert_eq!(found & bits, 0);
            for record in (0..2).filter(|record| bits >> record & 1 == 1) {
                (0..3).for_each(|at| records.write(record, at, 7));
            }
            found |= bits;
            yield_now();
        }
        other.join().unwrap();
    });
}
