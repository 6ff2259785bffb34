//! One value for each axis, where the number of axes is known at run time: the counterpart of `[T; D]`. Names
//! of axes are in `axis_names`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::Take;
use std::ops::{Deref, DerefMut};

use serde::{Serialize, Serializer};

/// The most dimensions that a volume has.
pub const MAX_AXES: usize = 4;

/// A value for each axis of a volume of one to [`MAX_AXES`] dimensions, slowest axis first.
///
/// It is a slice of as many values as there are axes, kept in place: indexing, iteration, comparison,
/// printing and serialisation are the slice's.
///
/// ```
/// use warpweft::grid::Axes;
/// let extents = Axes::from([64, 32]);
/// assert_eq!(extents.rank(), 2);
/// assert_eq!(extents.map(|n| n / 2), [32, 16]);
/// assert_eq!(format!("{extents:?}"), "[64, 32]");
/// ```
#[derive(Clone, Copy)]
pub struct Axes<T> {
    /// Values beyond `rank` are never read.
    values: [T; MAX_AXES],
    rank: u8,
}

impl<T: Copy> Axes<T> {
    /// The values of an array. Same as `From`, for constants.
    ///
    /// # Panics
    /// If `D` is 0 or greater than [`MAX_AXES`] (at compile time).
    #[inline]
    pub const fn of<const D: usize>(array: [T; D]) -> Self {
        const { assert!(D >= 1 && D <= MAX_AXES, "a volume has 1 to 4 dimensions") };
        let mut values = [array[0]; MAX_AXES];
        let mut d = 1;
        while d < D {
            values[d] = array[d];
            d += 1;
        }
        Self { values, rank: D as u8 }
    }

    /// The same value for each of `rank` axes.
    ///
    /// # Panics
    /// See [`Axes::from_fn`].
    #[inline]
    pub fn filled(rank: usize, value: T) -> Self {
        Self { values: [value; MAX_AXES], rank: checked(rank) }
    }

    /// `value(axis)` for each of `rank` axes.
    ///
    /// # Panics
    /// If `rank` is 0 or greater than [`MAX_AXES`].
    #[inline]
    pub fn from_fn(rank: usize, mut value: impl FnMut(usize) -> T) -> Self {
        let count = checked(rank);
        let mut values = [value(0); MAX_AXES];
        // Not by an iterator that skips: small loops call this for every row.
        for d in 1..rank {
            values[d] = value(d);
        }
        Self { values, rank: count }
    }

    /// The values of a slice, if its length is a valid number of axes.
    pub fn from_slice(slice: &[T]) -> Option<Self> {
        (1..=MAX_AXES).contains(&slice.len()).then(|| Self::from_fn(slice.len(), |d| slice[d]))
    }

    /// The number of axes.
    #[inline]
    pub const fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The results of `change` for each value.
    #[inline]
    pub fn map<U: Copy>(self, mut change: impl FnMut(T) -> U) -> Axes<U> {
        Axes::from_fn(self.rank(), |d| change(self.values[d]))
    }

    /// Pairs of both values, axis by axis.
    ///
    /// # Panics
    /// If `other` has fewer axes.
    #[inline]
    pub fn zip<U: Copy>(self, other: Axes<U>) -> Axes<(T, U)> {
        Axes::from_fn(self.rank(), |d| (self[d], other[d]))
    }

    /// The values as an array, for code that is compiled for a fixed number of dimensions.
    ///
    /// # Panics
    /// If there are not `D` axes.
    #[inline]
    pub fn array<const D: usize>(&self) -> [T; D] {
        assert_eq!(self.rank(), D, "the number of axes");
        std::array::from_fn(|d| self.values[d])
    }
}

/// `rank`, checked, in the form in which it is stored.
#[inline]
fn checked(rank: usize) -> u8 {
    assert!((1..=MAX_AXES).contains(&rank), "{rank} axes");
    rank as u8
}

impl<T> Deref for Axes<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.values[..usize::from(self.rank)]
    }
}

impl<T> DerefMut for Axes<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[..usize::from(self.rank)]
    }
}

impl<T: Copy, const D: usize> From<[T; D]> for Axes<T> {
    #[inline]
    fn from(array: [T; D]) -> Self {
        Self::of(array)
    }
}

impl<T: Copy> From<&Self> for Axes<T> {
    fn from(axes: &Self) -> Self {
        *axes
    }
}

impl<T: Copy> IntoIterator for Axes<T> {
    type Item = T;
    type IntoIter = Take<std::array::IntoIter<T, MAX_AXES>>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter().take(usize::from(self.rank))
    }
}

impl<'a, T> IntoIterator for &'a Axes<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Axes<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: PartialEq<U>, U> PartialEq<Axes<U>> for Axes<T> {
    #[inline]
    fn eq(&self, other: &Axes<U>) -> bool {
        **self == **other
    }
}

impl<T: PartialEq<U>, U, const D: usize> PartialEq<[U; D]> for Axes<T> {
    #[inline]
    fn eq(&self, other: &[U; D]) -> bool {
        **self == *other
    }
}

impl<T: Eq> Eq for Axes<T> {}

impl<T: PartialOrd> PartialOrd for Axes<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: Ord> Ord for Axes<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Hash> Hash for Axes<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for Axes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Serialize> Serialize for Axes<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_the_last_axis_is_not_seen() {
        let mut axes = Axes::from_fn(2, |d| d + 1);
        assert_eq!(axes, Axes::from([1, 2]));
        assert_ne!(axes, Axes::from([1, 2, 1]));
        assert_eq!(axes.into_iter().sum::<usize>(), 3);
        assert_eq!(axes.get(2), None);
        axes[1] = 7;
        assert_eq!(axes.array(), [1, 7]);
        assert_eq!(axes.zip(Axes::filled(2, true)), [(1, true), (7, true)]);
        assert_eq!(serde_json::to_string(&axes).unwrap(), "[1,7]");
        assert_eq!(format!("{:?}", Axes::of([[0, 1]])), "[[0, 1]]");
        assert_eq!(Axes::from_slice(&[0; 5]), None);
    }
}
