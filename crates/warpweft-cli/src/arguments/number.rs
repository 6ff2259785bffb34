//! Numbers, with words for what is none.

use std::num::NonZero;
use std::str::FromStr;

use warpweft::stencil::CpuPolicy;

/// A number.
///
/// # Errors
/// It is none.
pub fn number<N: FromStr>(text: &str) -> Result<N, String> {
    text.trim().parse().map_err(|_| "write a number".into())
}

/// A whole number that `N` holds.
///
/// # Errors
/// It is none.
pub fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.trim().parse().map_err(|_| "write a whole number, 0 or more".into())
}

/// A whole number of at least 1.
///
/// # Errors
/// It is none.
pub fn at_least_one<N: FromStr>(text: &str) -> Result<N, String> {
    text.trim().parse().map_err(|_| "write a whole number of at least 1".into())
}

/// A whole number of seconds, at least 1.
///
/// # Errors
/// It is none.
pub fn seconds(text: &str) -> Result<u64, String> {
    at_least_one::<NonZero<u64>>(text).map(NonZero::get)
}

/// A number of threads.
///
/// # Errors
/// None, or more than any host has cores.
pub fn threads(text: &str) -> Result<NonZero<usize>, String> {
    let most = CpuPolicy::MOST_THREADS;
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
        assert_eq!(number::<f64>("-1e-3"), Ok(-1e-3));
        assert!(number::<f64>("warm").is_err());
    }
}
