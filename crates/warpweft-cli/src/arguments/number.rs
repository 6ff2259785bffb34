//! Numbers, with words for what is none.

use std::str::FromStr;

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

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;

    #[test]
    fn what_is_no_such_number_is_told_what_is_one() {
        assert_eq!(at_least_one::<NonZero<usize>>("3").map(NonZero::get), Ok(3));
        for text in ["0", "-1", "1.5", "", "99999999999999999999999"] {
            let refusal = at_least_one::<NonZero<usize>>(text).unwrap_err();
            assert!(refusal.contains("at least 1"), "{text}");
        }
        assert_eq!(whole::<u64>("0"), Ok(0));
        assert!(whole::<u64>("-1").unwrap_err().contains("0 or more"));
        assert_eq!(number::<f64>("-1e-3"), Ok(-1e-3));
        assert!(number::<f64>("warm").is_err());
    }
}
