//! A kernel in four words (TuCCompi, Table 1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use warpweft_core::error::{Error, Result};

/// How the threads of a warp read and write global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// Threads of a warp access unrelated addresses.
    Scatter,
    /// Some threads of a warp access neighbouring addresses.
    Medium,
    /// Neighbouring threads access neighbouring addresses.
    Coalesced,
    /// Not said.
    #[default]
    Default,
}

/// Arithmetic instructions of a thread for each access to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// Many: the kernel is bound by arithmetic.
    High,
    /// A few.
    Low,
    /// None: the kernel moves data.
    None,
    /// Not said.
    #[default]
    Default,
}

/// How much there is of something: of lines evicted from the first-level cache, compared with its size, or of data read
/// again, compared with the arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Much.
    High,
    /// Some.
    Medium,
    /// Little.
    Low,
    /// Not said.
    #[default]
    Default,
}

/// How a kernel's author characterises it. Values that are not given are `Default`.
///
/// ```
/// use warpweft::farm::{Characterisation, Memory};
///
/// # fn main() -> warpweft::Result<()> {
/// let relax: Characterisation = "scatter low high low".parse()?;
/// assert_eq!(relax.memory, Memory::Scatter);
/// let wrong = "scattered low high low".parse::<Characterisation>();
/// assert!(wrong.unwrap_err().to_string().contains("scatter, medium, coalesced or default"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Characterisation {
    /// The pattern of accesses to global memory.
    pub memory: Memory,
    /// The ratio of arithmetic to accesses.
    pub arithmetic: Arithmetic,
    /// Evictions from the first-level cache.
    pub eviction: Level,
    /// Reuse of data.
    pub reuse: Level,
}

/// The words that each place takes.
const PLACES: [(&str, &str); 4] = [
    ("memory pattern", "scatter, medium, coalesced or default"),
    ("arithmetic ratio", "high, low, none or default"),
    ("cache eviction", "high, medium, low or default"),
    ("data reuse", "high, medium, low or default"),
];

impl Characterisation {
    /// Of these words, for constants.
    pub const fn new(
        memory: Memory,
        arithmetic: Arithmetic,
        eviction: Level,
        reuse: Level,
    ) -> Self {
        Self { memory, arithmetic, eviction, reuse }
    }

    /// In how many places `row` says the same; `None` if it says something else in one. A place that `row` leaves open
    /// suits every word.
    pub(super) fn agrees(&self, row: &Self) -> Option<usize> {
        fn place<T: PartialEq + Default>(own: &T, row: &T) -> Option<usize> {
            match *row == T::default() {
                true => Some(0),
                false => (own == row).then_some(1),
            }
        }
        let places = [
            place(&self.memory, &row.memory),
            place(&self.arithmetic, &row.arithmetic),
            place(&self.eviction, &row.eviction),
            place(&self.reuse, &row.reuse),
        ];
        places.into_iter().sum()
    }
}

/// One word of a place.
fn word<T: for<'d> Deserialize<'d>>(place: usize, word: &str) -> Result<T> {
    serde_json::from_value(word.to_lowercase().into()).map_err(|_| {
        let (name, known) = PLACES[place];
        Error::spec(format!("'{word}' as the {name} of a kernel"), format!("write {known}"))
    })
}

impl FromStr for Characterisation {
    type Err = Error;

    /// Four words in the order of the paper's Table 1, separated by blanks or commas; those at the end may be left out.
    fn from_str(text: &str) -> Result<Self> {
        let mut words: Vec<_> =
            text.split([' ', ',']).map(str::trim).filter(|word| !word.is_empty()).collect();
        if words.len() > PLACES.len() {
            let what = format!("{} words for a kernel: '{text}'", words.len());
            let hint = "give memory pattern, arithmetic ratio, cache eviction and data reuse";
            return Err(Error::spec(what, hint));
        }
        words.resize(PLACES.len(), "default");
        Ok(Self {
            memory: word(0, words[0])?,
            arithmetic: word(1, words[1])?,
            eviction: word(2, words[2])?,
            reuse: word(3, words[3])?,
        })
    }
}

impl fmt::Display for Characterisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, arithmetic, eviction, reuse } = self;
        let text = format!("{memory:?} {arithmetic:?} {eviction:?} {reuse:?}");
        f.write_str(&text.to_lowercase())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written_and_others_are_named() {
        for text in ["scatter low high low", "coalesced none medium default"] {
            assert_eq!(text.parse::<Characterisation>().unwrap().to_string(), text);
        }
        let short: Characterisation = "Medium, HIGH".parse().unwrap();
        assert_eq!(short.to_string(), "medium high default default");
        assert_eq!("".parse::<Characterisation>().unwrap(), Characterisation::default());
        for (text, expect) in [
            ("random low high low", "'random' as the memory pattern of a kernel"),
            ("scatter medium", "write high, low, none or default"),
            ("scatter low none", "'none' as the cache eviction"),
            ("scatter low high low high", "5 words for a kernel"),
        ] {
            let error = text.parse::<Characterisation>().unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        }
    }
}
