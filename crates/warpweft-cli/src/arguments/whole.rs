//! Counts of things of which there must be one.

use std::str::FromStr;

/// A whole number of at least 1.
///
/// # Errors
/// It is none.
pub fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.trim().parse().map_err(|_| "write a whole number of at least 1".into())
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    #[test]
    fn nothing_less_than_one() {
        let read = super::whole::<NonZero<usize>>;
        assert_eq!(read("3").map(NonZero::get), Ok(3));
        for text in ["0", "-1", "1.5", "", "99999999999999999999999"] {
            assert!(read(text).unwrap_err().contains("at least 1"), "{text}");
        }
    }
}
