//! What tells one run's task and inputs from another's: ranks compare it, and so does a journal that is resumed.
//!
//! Parameters and inputs whose bytes are known are hashed: those of `#[task]` functions, ranges, and vectors of numbers and
//! strings. What a closure captures, and what a function of the number makes, is not known before it runs.

use sha2::{Digest, Sha256};

use super::inputs::Inputs;
use super::task::Task;

/// Inputs that are hashed at most, evenly spaced, the first and the last among them.
const SAMPLED: u64 = 1 << 16;

/// A hash of the task's parameters and of its inputs, as far as their bytes are known: O(number of inputs hashed, and the
/// slices that tasks share).
pub fn identity<T: Task>(task: &T, inputs: &Inputs<'_, T::Input>) -> String {
    let mut bytes = Vec::new();
    task.pack_parameters(&mut bytes);
    let mut hash = Sha256::new();
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(&bytes);
    for k in sampled(inputs.count()) {
        bytes.clear();
        if !inputs.tell(k, &mut bytes) && inputs.are_at_hand() {
            task.pack_input(&inputs.at(k), &mut bytes);
        }
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Some numbers below `count`, in order.
fn sampled(count: u64) -> impl Iterator<Item = u64> {
    let some = count.min(SAMPLED);
    let spaced =
        move |k: u64| (u128::from(k) * u128::from(count - 1) / u128::from(some - 1)) as u64;
    (0..some).map(move |k| if some < 2 { 0 } else { spaced(k) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_cores;

    fn of<'a>(inputs: impl Into<Inputs<'a, u64>>) -> String {
        identity(&on_cores(|k: u64| Ok(k)), &inputs.into())
    }

    #[test]
    fn other_inputs_have_another_identity() {
        assert_eq!(of(0..100u64), of(0..100u64));
        assert_eq!(of(0..3u64), of(vec![0u64, 1, 2]));
        assert_ne!(of(0..100u64), of(1000..1100u64));
        assert_ne!(of(vec![1u64, 2, 3]), of(vec![1u64, 2, 4]));
        assert_ne!(of(vec![0u64; 4]), of(vec![0u64; 5]));
        // Many: the first, the last and some between.
        assert_ne!(of(0..1_000_000u64), of(1..1_000_001u64));
    }

    #[test]
    fn few_are_all_and_many_are_spread() {
        assert_eq!(sampled(0).count(), 0);
        assert_eq!(sampled(1).collect::<Vec<_>>(), [0]);
        assert_eq!(sampled(4).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let many: Vec<_> = sampled(u64::MAX).collect();
        assert_eq!((many[0], many[many.len() - 1]), (0, u64::MAX - 1));
    }
}
