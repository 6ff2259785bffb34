//! Counting tests: libtest's output read line by line.

use std::fmt;
use std::ops::AddAssign;

/// How many tests passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Ran and held.
    pub passed: u64,
    /// Ran and did not hold, or could not be built.
    pub failed: u64,
    /// Did not run: ignored, or the machine lacks what they need.
    pub skipped: u64,
}

impl Tally {
    /// One check that stands for itself.
    pub fn one(held: bool) -> Self {
        Self { passed: u64::from(held), failed: u64::from(!held), skipped: 0 }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Reads the output of test programs run with `--show-output`.
///
/// A test that finds its machine lacking prints a line `skipped: <reason>` and returns, which
/// libtest counts as passed; the reader counts it as skipped and keeps the reason.
#[derive(Debug, Default)]
pub struct Reader {
    /// The sum so far.
    pub tally: Tally,
    /// Tests that skipped themselves: name and reason.
    pub skips: Vec<(String, String)>,
    in_outputs: bool,
    test: String,
    skipped_here: u64,
}

impl Reader {
    /// Takes one line; returns whether it is worth showing.
    pub fn line(&mut self, line: &str) -> bool {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.in_outputs = false;
            let count = |what: &str| {
                let words: Vec<&str> = counts.split_whitespace().collect();
                let at = words.iter().position(|word| word.trim_end_matches(';') == what)?;
                words.get(at.checked_sub(1)?)?.parse::<u64>().ok()
            };
            let passed = count("passed").unwrap_or(0);
            let moved = std::mem::take(&mut self.skipped_here).min(passed);
            self.tally += Tally {
                passed: passed - moved,
                failed: count("failed").unwrap_or(0),
                skipped: count("ignored").unwrap_or(0) + moved,
            };
            return true;
        }
        match line {
            "successes:" => self.in_outputs = true,
            "failures:" => self.in_outputs = false,
            _ => {}
        }
        if self.in_outputs {
            if let Some(name) =
                line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----"))
            {
                self.test = name.into();
            } else if let Some(reason) = line.strip_prefix("skipped: ")
                && self.skips.last().is_none_or(|(test, _)| *test != self.test)
            {
                self.skips.push((self.test.clone(), reason.into()));
                self.skipped_here += 1;
            }
        }
        !self.in_outputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> Reader {
        let mut reader = Reader::default();
        for line in output.lines() {
            reader.line(line);
        }
        reader
    }

    #[test]
    fn results_of_several_programs_add_up() {
        let reader = read(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!(reader.tally.to_string(), "5 passed, 4 failed, 1 skipped");
    }

    #[test]
    fn a_test_that_says_it_skipped_is_not_counted_as_passed() {
        let reader = read(
            "running 2 tests\ntest a ... ok\ntest b ... ok\n\nsuccesses:\n\n---- b stdout ----\n\
             skipped: no libnvrtc\n\n\nsuccesses:\n    a\n    b\n\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!(reader.tally, Tally { passed: 1, failed: 0, skipped: 1 });
        assert_eq!(reader.skips, [("b".to_string(), "no libnvrtc".to_string())]);
    }
}
