//! What came of cases, and how far a suite has come for those who wait.

use std::time::{Duration, Instant};

use warpweft_conformance::stencil::Outcome;
use warpweft_terminal::output::say;
use warpweft_terminal::progress::Progress;

/// Where there is no line that says how far it has come, one is printed as often.
const MINUTE: Duration = Duration::from_secs(60);

/// Cases by what came of them.
pub struct Count {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
    progress: Progress,
    /// How many cases had ended when a suite began whose length is shown.
    began: Option<usize>,
    /// When a line was last printed for those who wait.
    spoke: Instant,
}

impl Count {
    pub fn new() -> Self {
        let progress = Progress::waiting("verify");
        Self { passed: 0, failed: 0, skipped: 0, progress, began: None, spoke: Instant::now() }
    }

    /// A suite begins that runs all of its `cases`.
    pub fn begin(&mut self, cases: usize) {
        self.progress = Progress::over("verify", cases as u64, ["cases", "cases/s"]);
        self.began = Some(self.ended());
    }

    fn ended(&self) -> usize {
        self.passed + self.failed + self.skipped
    }

    /// How far it has come, for those who wait.
    pub fn tell(&mut self, last: &str) {
        let far = format!("{} passed, the last {last}", self.passed);
        if let (true, Some(line)) = (self.progress.is_hidden(), self.overdue(MINUTE, &far)) {
            say(&line);
        }
        match self.began {
            Some(began) => self.progress.at((self.ended() - began) as u64),
            None => self.progress.tell(far),
        }
    }

    /// A line that says so if none has been printed for so long.
    fn overdue(&mut self, after: Duration, far: &str) -> Option<String> {
        let overdue = self.spoke.elapsed() >= after;
        overdue.then(|| {
            self.spoke = Instant::now();
            format!("  so far {far}")
        })
    }

    /// Counts a case and names it unless it passed.
    pub fn one(&mut self, name: &str, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(why) => {
                self.failed += 1;
                say(&format!("  FAILED  {name}: {why}"));
            }
            Outcome::Skipped(why) => {
                self.skipped += 1;
                say(&format!("  skipped {name}: {why}"));
            }
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.progress.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_printed_when_it_is_time_and_not_before() {
        let mut count = Count { passed: 7, ..Count::new() };
        assert_eq!(count.overdue(MINUTE, "7 passed"), None);
        assert_eq!(count.overdue(Duration::ZERO, "7 passed").unwrap(), "  so far 7 passed");
        // Its time starts anew.
        assert_eq!(count.overdue(MINUTE, "7 passed"), None);
    }
}
