//! Indexes into slices among a function's parameters: how far they go, by the symbols of rows and columns.
//!
//! An index that only unsigned inputs of rows and columns, parameters and constants make up takes its least and greatest
//! value where those do. So the host knows before a run whether every index is inside, and no cell asks.

use std::fmt;

/// What a whole number lies between, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    least: u64,
    most: u64,
}

impl Interval {
    /// Of a number of which nothing is known.
    pub const ANY: Self = Self { least: 0, most: u64::MAX };

    /// One number alone; anything if it is negative.
    pub fn of(number: i128) -> Self {
        u64::try_from(number).map_or(Self::ANY, |number| Self { least: number, most: number })
    }

    /// From the least to the greatest of `numbers`; 0 of none.
    pub fn among(numbers: impl IntoIterator<Item = u64>) -> Self {
        let all = numbers.into_iter().map(|number| Self { least: number, most: number });
        all.reduce(Self::or).unwrap_or(Self { least: 0, most: 0 })
    }

    /// Of a number of either.
    pub fn or(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    /// Of a number that is cut to what a type without a sign holds, 0 to `most`.
    pub fn cut(self, most: u64) -> Self {
        if self.most <= most { self } else { Self { least: 0, most } }
    }

    /// Of a number in a type with a sign that holds up to `most`.
    pub fn signed(self, most: u64) -> Self {
        if self.most <= most { self } else { Self::ANY }
    }

    /// Whether nothing bounds the number: it may also be negative.
    fn is_open(self) -> bool {
        self.most == u64::MAX
    }

    /// Of a sum.
    pub fn plus(self, other: Self) -> Self {
        if self.is_open() || other.is_open() {
            return Self::ANY;
        }
        let least = self.least.saturating_add(other.least);
        Self { least, most: self.most.saturating_add(other.most) }
    }

    /// Of a difference; of anything if it may be below 0.
    pub fn minus(self, other: Self) -> Self {
        match self.least.checked_sub(other.most) {
            Some(least) if !self.is_open() => Self { least, most: self.most - other.least },
            _ => Self::ANY,
        }
    }

    /// Of a difference that a type without a sign ends at 0; of anything if it may be below 0, since types with a sign do not.
    pub fn minus_at_most(self, other: Self) -> Self {
        self.minus(other)
    }

    /// Of a product.
    pub fn times(self, other: Self) -> Self {
        if self.is_open() || other.is_open() {
            return Self::ANY;
        }
        let least = self.least.saturating_mul(other.least);
        Self { least, most: self.most.saturating_mul(other.most) }
    }

    /// Of a rest.
    pub fn modulo(self, other: Self) -> Self {
        match self.most < other.least {
            _ if self.is_open() => Self::ANY,
            true => self,
            false => Self { least: 0, most: self.most.min(other.most.saturating_sub(1)) },
        }
    }

    /// Of the bits that both have.
    pub fn and(self, other: Self) -> Self {
        Self { least: 0, most: self.most.min(other.most) }
    }

    /// Of the bits that one of them has, or but one.
    pub fn bits(self, other: Self) -> Self {
        let highest = (self.most | other.most).checked_ilog2();
        Self { least: 0, most: highest.map_or(0, |bit| u64::MAX >> (63 - bit)) }
    }

    /// Of bits shifted to the left.
    pub fn left(self, by: Self) -> Self {
        let power = |by: u64| 1u64.checked_shl(u32::try_from(by).unwrap_or(64)).unwrap_or(u64::MAX);
        self.times(Self { least: power(by.least), most: power(by.most) })
    }

    /// Of bits shifted to the right.
    pub fn right(self, by: Self) -> Self {
        if self.is_open() {
            return Self::ANY;
        }
        let by = [by.most, by.least].map(|by| u32::try_from(by).unwrap_or(64));
        let shifted = |number: u64, by| number.checked_shr(by).unwrap_or(0);
        Self { least: shifted(self.least, by[0]), most: shifted(self.most, by[1]) }
    }

    /// Of the lesser number.
    pub fn least_of(self, other: Self) -> Self {
        if self.is_open() || other.is_open() {
            return Self::ANY;
        }
        Self { least: self.least.min(other.least), most: self.most.min(other.most) }
    }

    /// Of the greater number.
    pub fn most_of(self, other: Self) -> Self {
        Self { least: self.least.max(other.least), most: self.most.max(other.most) }
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
            u64::MAX => "an index that may be below 0 or very great".to_string(),
            most => format!("index {most}"),
        };
        Some([
            format!(
                "{at} of `{table}`, a slice of {items} items, in {name} at {file}:{line}, for symbols up to {rows} in rows and \
                 {columns} in columns"
            ),
            "give the slice an item for every symbol, or sequences of symbols that it has".into(),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that two numbers make, for all numbers of two intervals.
    #[test]
    fn intervals_hold_all_that_their_numbers_make() {
        type Two = (fn(Interval, Interval) -> Interval, fn(u64, u64) -> Option<u64>);
        let all: [Two; 11] = [
            (Interval::plus, |a, b| Some(a + b)),
            (Interval::minus, u64::checked_sub),
            (Interval::minus_at_most, |a, b| Some(a.saturating_sub(b))),
            (Interval::times, |a, b| Some(a * b)),
            (Interval::modulo, u64::checked_rem),
            (Interval::and, |a, b| Some(a & b)),
            (Interval::bits, |a, b| Some(a | b)),
            (Interval::bits, |a, b| Some(a ^ b)),
            (Interval::left, |a, b| Some(a << b)),
            (Interval::right, |a, b| Some(a >> b)),
            (Interval::least_of, |a, b| Some(a.min(b))),
        ];
        let some = [(0, 0), (0, 5), (3, 9), (7, 7), (16, 20)];
        for (of, plain) in all {
            for (a, b) in some.into_iter().flat_map(|a| some.map(|b| (a, b))) {
                let found = of(Interval::among(a.0..=a.1), Interval::among(b.0..=b.1));
                for (x, y) in (a.0..=a.1).flat_map(|x| (b.0..=b.1).map(move |y| (x, y))) {
                    let inside = |value| found.least <= value && value <= found.most;
                    assert!(plain(x, y).is_none_or(inside), "{x} {y} {found:?}");
                }
            }
        }
        assert_eq!(Interval::of(300).cut(255), Interval { least: 0, most: 255 });
        assert_eq!(Interval::of(300).signed(127), Interval::ANY);
        assert_eq!(Interval::of(-1), Interval::ANY);
        assert_eq!(Interval::of(3).minus(Interval::of(4)), Interval::ANY);
        // What may be negative stays so.
        let open = Interval::of(60).minus(Interval::of(65));
        let few = Interval::of(26);
        for bounded in [
            open.least_of(few),
            few.least_of(open),
            open.modulo(few),
            open.right(few),
            open.plus(few).minus(Interval::of(1)).least_of(few),
            Interval::of(60).minus_at_most(Interval::of(65)),
        ] {
            assert_eq!(bounded, Interval::ANY);
        }
    }
}
