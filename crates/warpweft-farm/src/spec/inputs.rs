//! Inputs by number: tasks are numbered from 0, and the worker that runs a task makes its input.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use super::caught::caught;
use super::known::append_known;

/// The inputs of a farm's tasks.
///
/// A range, a slice, a `Vec`, or a function of the number, [`Inputs::by`].
pub struct Inputs<'a, I> {
    count: u64,
    /// `None` for one that is no longer there.
    by: Box<dyn Fn(u64) -> Option<I> + Sync + 'a>,
    /// Whether they are there before a task runs.
    at_hand: bool,
    /// Appends the bytes of one, where they are known; whether they are.
    tell: Option<Box<Tell<'a>>>,
}

type Tell<'a> = dyn Fn(u64, &mut Vec<u8>) -> bool + Sync + 'a;

impl<'a, I> Inputs<'a, I> {
    /// `count` inputs; input `k` is `by(k)`. `by` is called on the worker that runs the task, and again if the task runs
    /// again, so it must always return the same value for the same `k`.
    pub fn by(count: u64, by: impl Fn(u64) -> I + Sync + 'a) -> Self {
        Self::while_there(count, move |k| Some(by(k)))
    }

    /// As [`Inputs::by`], for inputs that are dropped when their tasks are done; `by` returns `None` for a dropped one. A backup
    /// copy of a task may start just as the first copy ends. It finds no input, and its result does not count.
    pub(crate) fn while_there(count: u64, by: impl Fn(u64) -> Option<I> + Sync + 'a) -> Self {
        Self { count, by: Box::new(by), at_hand: false, tell: None }
    }

    /// Those of a slice or a range.
    fn of(count: usize, by: impl Fn(usize) -> I + Sync + 'a) -> Self {
        Self { at_hand: true, ..Self::by(count as u64, move |k| by(k as usize)) }
    }

    fn telling(self, tell: impl Fn(u64, &mut Vec<u8>) -> bool + Sync + 'a) -> Self {
        Self { tell: Some(Box::new(tell)), ..self }
    }

    /// Appends the bytes of number `k`, if they are known.
    pub(crate) fn tell(&self, k: u64, to: &mut Vec<u8>) -> bool {
        self.tell.as_ref().is_some_and(|tell| tell(k, to))
    }

    /// Whether making one costs no more than a copy.
    pub(crate) fn are_at_hand(&self) -> bool {
        self.at_hand
    }

    /// Whether making one can't take long: a number, or a copy of what is at hand.
    pub(crate) fn are_known(&self) -> bool {
        self.at_hand || self.tell.is_some()
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Number `k`, which is below [`Inputs::count`].
    #[inline]
    pub fn at(&self, k: u64) -> I {
        match (self.by)(k) {
            Some(input) => input,
            None => unreachable!("inputs that go are not public"),
        }
    }

    /// Number `k`, which a task runs with.
    ///
    /// # Errors
    /// It is no longer there.
    #[inline]
    pub(crate) fn there(&self, k: u64) -> Result<I, String> {
        (self.by)(k).ok_or_else(|| "its input is no longer there: the task is done".into())
    }

    /// The same for tasks that run together.
    ///
    /// # Errors
    /// It is no longer there, or making it panicked.
    pub(crate) fn made(&self, k: u64) -> Result<I, String> {
        caught(|| self.there(k))
    }
}

impl<'a, V: Sync> Inputs<'a, &'a V> {
    /// References to the items of `slice`, which are not copied.
    ///
    /// ```
    /// use warpweft::farm::Inputs;
    ///
    /// let words = vec!["one".to_string(), "three".to_string()];
    /// assert_eq!(Inputs::borrowed(&words).at(1), &words[1]);
    /// ```
    pub fn borrowed(slice: &'a [V]) -> Self {
        Self::of(slice.len(), move |k| &slice[k])
    }
}

impl<'a, I: Clone + Sync> From<&'a [I]> for Inputs<'a, I> {
    fn from(inputs: &'a [I]) -> Self {
        Self::of(inputs.len(), move |k| inputs[k].clone())
    }
}

impl<'a, I: Clone + Sync> From<&'a Vec<I>> for Inputs<'a, I> {
    fn from(inputs: &'a Vec<I>) -> Self {
        inputs.as_slice().into()
    }
}

impl<I: Clone + Send + Sync + 'static> From<Vec<I>> for Inputs<'_, I> {
    fn from(inputs: Vec<I>) -> Self {
        let (inputs, same) = {
            let inputs = Arc::new(inputs);
            (inputs.clone(), inputs)
        };
        Self::of(inputs.len(), move |k| inputs[k].clone())
            .telling(move |k, to| append_known(&same[k as usize] as &dyn Any, to))
    }
}

impl<I: Clone + Send + Sync + 'static, const N: usize> From<[I; N]> for Inputs<'_, I> {
    fn from(inputs: [I; N]) -> Self {
        Vec::from(inputs).into()
    }
}

macro_rules! ranges {
    ($($t:ident),*) => {$(
        impl From<Range<$t>> for Inputs<'_, $t> {
            fn from(range: Range<$t>) -> Self {
                let count = range.end.max(range.start).abs_diff(range.start) as u64;
                let start = range.start;
                Self::by(count, move |k| start.wrapping_add(k as $t))
                    .telling(move |k, to| append_known(&start.wrapping_add(k as $t), to))
            }
        }
    )*};
}
ranges!(u32, u64, usize, i32, i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_any_kind_are_their_numbers() {
        let all = |inputs: Inputs<'_, i32>| -> Vec<i32> {
            (0..inputs.count()).map(|k| inputs.at(k)).collect()
        };
        assert_eq!(all((-2..3).into()), [-2, -1, 0, 1, 2]);
        #[expect(clippy::reversed_empty_ranges, reason = "no task")]
        let none: Inputs<'_, i32> = (3..-2).into();
        assert_eq!(none.count(), 0);
        let widest: Inputs<'_, i32> = (i32::MIN..i32::MAX).into();
        assert_eq!(
            (widest.count(), widest.at(u64::from(u32::MAX) - 1)),
            ((1 << 32) - 1, i32::MAX - 1)
        );
        assert_eq!(all(vec![5, 7].into()), [5, 7]);
        assert_eq!(all([5, 7].as_slice().into()), [5, 7]);
    }
}
