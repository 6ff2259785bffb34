//! Indexes into slices among a function's parameters: how far they go, by the symbols of rows and columns.
//!
//! An index that only unsigned inputs of rows and columns, parameters and constants make up takes its least and greatest
//! value where those do. So the host knows before a run whether every index is inside, and no cell asks.

use std::any::TypeId;
use std::fmt;

/// What a whole number lies between, both inclusive, and the type that it is computed in, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    least: u64,
    most: u64,
    of: Option<Integers>,
}

/// A type of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Integers {
    /// Its greatest number.
    most: u64,
    signed: bool,
}

impl Integers {
    /// What a literal is if nothing says otherwise.
    const I32: Self = Self { most: i32::MAX as u64, signed: true };

    /// `T`, if it is one that indexes are computed in.
    fn of<T: 'static>() -> Option<Self> {
        macro_rules! known {
            ($($ty:ident)*) => {
                [$((
                    TypeId::of::<$ty>(),
                    Self { most: $ty::MAX as u64, signed: $ty::MIN != 0 },
                )),*]
            };
        }
        let known = known![u8 u16 u32 u64 usize i8 i16 i32 i64 isize];
        known.into_iter().find(|(id, _)| *id == TypeId::of::<T>()).map(|(_, integers)| integers)
    }

    fn bits(self) -> u64 {
        u64::from(self.most.count_ones()) + u64::from(self.signed)
    }
}

impl Interval {
    /// Of a number of which nothing is known.
    pub const ANY: Self = Self { least: 0, most: u64::MAX, of: None };

    const fn new(least: u64, most: u64, of: Option<Integers>) -> Self {
        Self { least, most, of }
    }

    /// One number alone, of a type that is not known; anything if it is negative.
    pub fn of(number: i128) -> Self {
        u64::try_from(number).map_or(Self::ANY, |number| Self::new(number, number, None))
    }

    /// From the least to the greatest of `numbers`, of a type that is not known; 0 of none.
    pub fn among(numbers: impl IntoIterator<Item = u64>) -> Self {
        let all = numbers.into_iter().map(|number| Self::new(number, number, None));
        all.reduce(Self::or).unwrap_or(Self::new(0, 0, None))
    }

    /// Of the same number, which is a `T`: anything if that is no type that indexes are computed in.
    pub fn typed<T: 'static>(self) -> Self {
        let of = Integers::of::<T>();
        of.map_or(Self::ANY, |of| Self::within(self.bounds(), Some(of)))
    }

    /// Of the same number, which has the type of `other`.
    pub fn typed_as<T: 'static>(self, other: &T) -> Self {
        let _ = other;
        self.typed::<T>()
    }

    /// Of the number as a `T`.
    pub fn converted<T: 'static>(self) -> Self {
        let own = self.of.unwrap_or(Integers::I32);
        let number = Self::within(Self { of: Some(own), ..self }.bounds(), Some(own));
        Self::within(number.bounds(), Integers::of::<T>())
    }

    /// Of a number of either.
    pub fn or(self, other: Self) -> Self {
        let of = self.of.or(other.of);
        Self::new(self.least.min(other.least), self.most.max(other.most), of)
    }

    /// Least and greatest number, if it can't be negative.
    fn bounds(self) -> Option<[i128; 2]> {
        let counts = self.of.is_some_and(|of| !of.signed);
        (counts || self.most < u64::MAX).then_some([self.least.into(), self.most.into()])
    }

    /// Of a number in these bounds, before it is cut to what its type holds: one without a sign wraps, all others may be
    /// negative if they leave it.
    fn within(bounds: Option<[i128; 2]>, of: Option<Integers>) -> Self {
        let most = of.map_or(u64::MAX, |of| of.most);
        match bounds {
            Some([least, greatest]) if least >= 0 && greatest <= most.into() => {
                Self::new(least as u64, greatest as u64, of)
            }
            _ if of.is_some_and(|of| !of.signed) => Self::new(0, most, of),
            _ => Self { of, ..Self::ANY },
        }
    }

    /// Of what `make` makes of the bounds of two numbers of one type.
    fn with(self, other: Self, make: impl Fn([i128; 2], [i128; 2]) -> [i128; 2]) -> Self {
        let of = self.of.or(other.of);
        let [one, two] = [self, other].map(|each| Self { of, ..each }.bounds());
        Self::within(one.zip(two).map(|(one, two)| make(one, two)), of)
    }

    /// Of a sum.
    pub fn plus(self, other: Self) -> Self {
        self.with(other, |[a, b], [c, d]| [a + c, b + d])
    }

    /// Of a difference.
    pub fn minus(self, other: Self) -> Self {
        self.with(other, |[a, b], [c, d]| [a - d, b - c])
    }

    /// Of a difference that ends at the least number of its type.
    pub fn minus_at_most(self, other: Self) -> Self {
        let counts = self.of.or(other.of).is_some_and(|of| !of.signed);
        let least = if counts { 0 } else { i128::MIN };
        self.with(other, |[a, b], [c, d]| [(a - d).max(least), (b - c).max(least)])
    }

    /// Of a product.
    pub fn times(self, other: Self) -> Self {
        self.with(other, |[a, b], [c, d]| [a.saturating_mul(c), b.saturating_mul(d)])
    }

    /// Of a rest, which has the sign of the first.
    pub fn modulo(self, other: Self) -> Self {
        let of = self.of.or(other.of);
        match (Self { of, ..self }).bounds() {
            None => Self { of, ..Self::ANY },
            Some(_) if self.most < other.least => Self { of, ..self },
            Some(_) => Self::new(0, self.most.min(other.most.saturating_sub(1)), of),
        }
    }

    /// Of the bits that both have.
    pub fn and(self, other: Self) -> Self {
        Self::new(0, self.most.min(other.most), self.of.or(other.of))
    }

    /// Of the bits that one of them has, or but one.
    pub fn bits(self, other: Self) -> Self {
        let highest = (self.most | other.most).checked_ilog2();
        let most = highest.map_or(0, |bit| u64::MAX >> (63 - bit));
        Self::new(0, most, self.of.or(other.of))
    }

    /// By how many bits its type can be shifted, if `by` is less than that and the type is known: that of a literal may
    /// follow from what comes after the shift.
    fn shifted(self, by: Self) -> Option<[u32; 2]> {
        let bits = self.of?.bits();
        (by.most < bits).then_some([by.least as u32, by.most as u32])
    }

    /// Of bits shifted to the left.
    pub fn left(self, by: Self) -> Self {
        let bounds = self.bounds().zip(self.shifted(by));
        Self::within(bounds.map(|([a, b], [c, d])| [a << c, b.saturating_mul(1 << d)]), self.of)
    }

    /// Of bits shifted to the right.
    pub fn right(self, by: Self) -> Self {
        match (self.bounds(), self.shifted(by)) {
            _ if self.of.is_none() => Self::ANY,
            (None, _) => self,
            (Some(_), None) => Self { least: 0, ..self },
            (Some([a, b]), Some([c, d])) => Self::within(Some([a >> d, b >> c]), self.of),
        }
    }

    /// Of the lesser number.
    pub fn least_of(self, other: Self) -> Self {
        self.with(other, |[a, b], [c, d]| [a.min(c), b.min(d)])
    }

    /// Of the greater number, which is not negative if one of both is not.
    pub fn most_of(self, other: Self) -> Self {
        let of = self.of.or(other.of);
        let most = of.map_or(u64::MAX, |of| of.most);
        match [self, other].map(|each| Self { of, ..each }.bounds()) {
            [Some(_), Some(_)] => self.with(other, |[a, b], [c, d]| [a.max(c), b.max(d)]),
            [None, None] => Self { of, ..Self::ANY },
            [Some([least, _]), None] | [None, Some([least, _])] => {
                Self::within(Some([least, most.into()]), of)
            }
        }
    }
}

/// As a symbol: its greatest number, and the letter that this is.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = u8::try_from(self.most).ok().filter(u8::is_ascii_graphic);
        match letter {
            Some(letter) => write!(f, "{} ('{}')", self.most, char::from(letter)),
            None => write!(f, "{}", self.most),
        }
    }
}

/// An index into a slice among a function's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// The parameter.
    pub table: &'static str,
    /// How many items the slice has.
    pub items: usize,
    /// What the index lies between.
    pub index: Interval,
    /// File and line.
    pub place: (&'static str, u32),
}

impl Lookup {
    /// What is wrong with it in a function called `name`, and the help, if it may leave the slice. `symbols` are those of
    /// rows and of columns.
    pub(crate) fn outside(&self, name: &str, symbols: [Interval; 2]) -> Option<[String; 2]> {
        let Self { table, items, index: Interval { most, .. }, place: (file, line) } = self;
        if usize::try_from(*most).is_ok_and(|most| most < *items) {
            return None;
        }
        let [rows, columns] = symbols;
        let at = match *most {
            u64::MAX => "an index that may be negative or very large".to_string(),
            most => format!("index {most}"),
        };
        Some([
            format!(
                "{at} of `{table}`, a slice of {items} items, in {name} at {file}:{line}, for symbols up to {rows} in rows and \
                 {columns} in columns"
            ),
            "give the slice an item for every symbol, or use only symbols for which it has items"
                .into(),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Two = fn(Interval, Interval) -> Interval;

    /// All that the numbers of a type make, for all of several intervals: in the type, without a check.
    macro_rules! hold_all {
        ($ty:ident: $some:expr) => {
            let all: [(Two, fn($ty, $ty) -> Option<$ty>); 12] = [
                (Interval::plus, |a, b| Some(a.wrapping_add(b))),
                (Interval::minus, |a, b| Some(a.wrapping_sub(b))),
                (Interval::minus_at_most, |a, b| Some(a.saturating_sub(b))),
                (Interval::times, |a, b| Some(a.wrapping_mul(b))),
                (Interval::modulo, |a, b| a.checked_rem(b)),
                (Interval::and, |a, b| Some(a & b)),
                (Interval::bits, |a, b| Some(a | b)),
                (Interval::bits, |a, b| Some(a ^ b)),
                (Interval::left, |a, b| Some(a.wrapping_shl(b as u32))),
                (Interval::right, |a, b| Some(a.wrapping_shr(b as u32))),
                (Interval::least_of, |a, b| Some(a.min(b))),
                (Interval::most_of, |a, b| Some(a.max(b))),
            ];
            let among = |[from, to]: [$ty; 2]| match i128::from(from) {
                from @ 0.. => Interval::among(from as u64..=to as u64).typed::<$ty>(),
                from => Interval::of(from).typed::<$ty>(),
            };
            for (at, (of, plain)) in all.into_iter().enumerate() {
                for (a, b) in $some.into_iter().flat_map(|a| $some.map(|b| (a, b))) {
                    let found = of(among(a), among(b));
                    let [index, cut] = [found.converted::<u64>(), found.converted::<u8>()];
                    for (x, y) in (a[0]..=a[1]).flat_map(|x| (b[0]..=b[1]).map(move |y| (x, y))) {
                        let Some(value) = plain(x, y) else { continue };
                        let whole = (index.least..=index.most).contains(&(value as u64));
                        let byte = (cut.least..=cut.most).contains(&(value as u8).into());
                        assert!(whole && byte, "{at}: {x} {y} {found:?}");
                    }
                }
            }
        };
    }

    #[test]
    fn intervals_hold_all_that_their_numbers_make() {
        hold_all!(u8: [[0, 0], [0, 5], [3, 9], [7, 7], [16, 20], [86, 90], [250, 255]]);
        hold_all!(u32: [[0, 0], [0, 5], [3, 9], [40, 44], [u32::MAX - 2, u32::MAX]]);
        hold_all!(u64: [[0, 0], [0, 5], [3, 9], [16, 20], [u64::MAX - 2, u64::MAX]]);
        hold_all!(i32: [[-5, 4], [-3, -1], [0, 0], [3, 9], [40, 44], [i32::MAX - 2, i32::MAX]]);
        hold_all!(i64: [[-5, 4], [-3, -1], [0, 5], [60, 65], [i64::MAX - 2, i64::MAX]]);
    }

    /// What is known is used: these stay bounded.
    #[test]
    fn intervals_are_no_wider_than_their_types() {
        let most = |of: Interval| of.most;
        let [a, few] = [Interval::among(86..=90).typed::<u8>(), Interval::of(26)];
        assert_eq!(a.times(Interval::of(3)), Interval::new(0, 255, Integers::of::<u8>()));
        assert_eq!(most(a.minus(Interval::of(65))), 25);
        assert_eq!(most(Interval::ANY.typed::<u64>().modulo(few)), 25);
        assert_eq!(most(Interval::ANY.typed::<u64>().right(Interval::of(60))), 15);
        let number = Interval::of(60).typed::<u8>().converted::<i32>().minus(Interval::of(65));
        assert_eq!(most(number), u64::MAX);
        assert_eq!(most(number.most_of(Interval::of(0)).least_of(few)), 26);
        for open in [number.least_of(few), number.modulo(few), number.right(few)] {
            assert_eq!(most(open), u64::MAX);
        }
        assert_eq!(most(Interval::of(300).converted::<u8>()), 255);
        assert_eq!(most(Interval::of(300).converted::<i8>()), u64::MAX);
        assert_eq!(Interval::of(-1), Interval::ANY);
    }

    /// 100 may be a byte, of which a shift by 9 bits leaves 50.
    #[test]
    fn nothing_is_known_of_other_types_and_of_shifts_in_an_unknown_one() {
        let [number, by] = [Interval::of(100), Interval::of(9)];
        assert_eq!([number.left(by), number.right(by)], [Interval::ANY; 2]);
        let byte = Interval::among(0..=3).typed::<u8>();
        assert_eq!(number.right(by).plus(byte).converted::<usize>().most, 255);
        assert_eq!([number.typed::<f32>(), number.typed_as(&true)], [Interval::ANY; 2]);
    }
}
