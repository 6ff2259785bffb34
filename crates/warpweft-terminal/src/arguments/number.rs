//! Numbers, with errors in words.

use std::num::{IntErrorKind, NonZero, ParseIntError};
use std::str::FromStr;

use warpweft::cpu::Pool;

/// A number.
///
/// # Errors
/// The text is not a number.
pub fn number<N: FromStr>(text: &str) -> Result<N, String> {
    text.trim().parse().map_err(|_| "write a number".into())
}

/// A whole number that `N` can hold.
///
/// # Errors
/// The text is not one.
pub fn whole<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.trim().parse().map_err(|error| within::<N>(", 0 or more", &error))
}

/// A whole number of at least 1.
///
/// # Errors
/// The text is not one.
pub fn at_least_one<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.trim().parse().map_err(|error| within::<N>(" of at least 1", &error))
}

/// The hint if a whole number of the unsigned type `N`, of at least `least`, is expected.
fn within<N>(least: &str, error: &ParseIntError) -> String {
    let bits = 8 * size_of::<N>();
    match error.kind() {
        IntErrorKind::PosOverflow => {
            format!("too large; write a whole number{least}, below 2^{bits}")
        }
        _ => format!("write a whole number{least}"),
    }
}

/// A whole number of seconds, at least 1.
///
/// # Errors
/// The text is not one.
pub fn seconds(text: &str) -> Result<u64, String> {
    at_least_one::<NonZero<u64>>(text).map(NonZero::get)
}

/// A number of threads.
///
/// # Errors
/// 0, or more than any host has cores.
pub fn threads(text: &str) -> Result<NonZero<usize>, String> {
    let most = Pool::MOST;
    let number = text.trim().parse().ok().filter(|number: &NonZero<usize>| number.get() <= most);
    number.ok_or_else(|| format!("write a whole number, at least 1 and at most {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_such_number_is_told_what_is_one() {
        assert_eq!(at_least_one::<NonZero<usize>>("3").map(NonZero::get), Ok(3));
        for text in ["0", "-1", "1.5", "", "99999999999999999999999"] {
            let refusal = at_least_one::<NonZero<usize>>(text).unwrap_err();
            assert!(refusal.contains("at least 1"), "{text}");
        }
        assert_eq!(threads("4096").map(NonZero::get), Ok(4096));
        for text in ["0", "4097", "18446744073709551615", "two"] {
            assert!(threads(text).unwrap_err().contains("at most 4096"), "{text}");
        }
        assert_eq!(whole::<u64>("0"), Ok(0));
        assert!(whole::<u64>("-1").unwrap_err().contains("0 or more"));
        let huge = whole::<u64>("18446744073709551616").unwrap_err();
        assert!(huge.starts_with("too large") && huge.ends_with("below 2^64"), "{huge}");
        assert_eq!(number::<f64>("-1e-3"), Ok(-1e-3));
        assert!(number::<f64>("warm").is_err());
    }
}
