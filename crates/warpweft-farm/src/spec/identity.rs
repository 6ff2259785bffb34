//! What tells one run's task and inputs from another's: ranks compare it, and so does a journal that is resumed.
//!
//! Parameters and inputs whose bytes are known are hashed: those of `#[task]` functions, ranges, and vectors of numbers and
//! strings. What a closure captures, and what a function of the number makes, is not known before it runs.

use std::any::Any;

use sha2::{Digest, Sha256};

use super::inputs::Inputs;
use super::task::Task;
use warpweft_core::element::Packed;

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

/// Appends the bytes of a number or a string; whether it is one.
pub fn told(value: &dyn Any, to: &mut Vec<u8>) -> bool {
    macro_rules! any_of {
        ($($t:ty),*) => {
            $(if let Some(value) = value.downcast_ref::<$t>() {
                value.pack(to);
                return true;
            })*
        };
    }
    any_of!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, bool, String);
    if let Some(value) = value.downcast_ref::<usize>() {
        (*value as u64).pack(to);
        return true;
    }
    let Some(value) = value.downcast_ref::<&'static str>() else { return false };
    to.extend(value.as_bytes());
    true
}

/// For `#[task]`: appends the bytes of what it holds, where these are known. The method that needs no further reference is found first,
/// and it is there where the value is [`Packed`].
#[doc(hidden)]
pub struct Told<'a, V: ?Sized>(pub &'a V);

#[doc(hidden)]
pub trait TellPacked {
    fn tell(&self, to: &mut Vec<u8>);
}

impl<V: Packed> TellPacked for Told<'_, V> {
    fn tell(&self, to: &mut Vec<u8>) {
        self.0.pack(to);
    }
}

impl<V: Packed> TellPacked for Told<'_, [V]> {
    fn tell(&self, to: &mut Vec<u8>) {
        self.0.iter().for_each(|item| item.pack(to));
    }
}

#[doc(hidden)]
pub trait TellNothing {
    fn tell(&self, to: &mut Vec<u8>);
}

impl<V: ?Sized> TellNothing for &Told<'_, V> {
    fn tell(&self, _to: &mut Vec<u8>) {}
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
    fn values_of_known_types_tell_their_bytes() {
        let bytes = |value: &dyn Any| {
            let mut to = Vec::new();
            (told(value, &mut to), to)
        };
        assert_eq!(bytes(&7u16), (true, vec![7, 0]));
        assert_ne!(bytes(&0.1f64), bytes(&0.2f64));
        assert_ne!(bytes(&"a"), bytes(&"b"));
        assert!(!bytes(&std::time::Duration::ZERO).0);
        let mut to = Vec::new();
        (&Told(&3u32)).tell(&mut to);
        (&Told(&std::time::Duration::ZERO)).tell(&mut to);
        (&Told(&[1u8, 2][..])).tell(&mut to);
        assert_eq!(to, [3, 0, 0, 0, 1, 2]);
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
