//! Progress reports at a limited rate. How they are shown is not here.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The time between two calls of the callback. Ten calls a second look smooth and cost nothing.
const BETWEEN: Duration = Duration::from_millis(100);

/// Calls the progress callback at most ten times a second, and always at the first and the last report.
#[derive(Default)]
pub struct Reporter<'a> {
    progress: Option<&'a dyn Fn(u64, u64)>,
    total: u64,
    last: Cell<Option<(Instant, u64)>>,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(progress: Option<&'a dyn Fn(u64, u64)>, total: u64) -> Self {
        Self { progress, total, last: Cell::new(None) }
    }

    /// Whether there is a callback.
    pub fn is_heard(&self) -> bool {
        self.progress.is_some()
    }

    /// Reports that `done` of the work is done. The callback is called if the last call was a while ago or
    /// all is done.
    pub fn at(&self, done: u64) {
        let soon = self.last.get().is_some_and(|(last, _)| last.elapsed() < BETWEEN);
        if done >= self.total || !soon {
            self.end(done);
        }
    }

    /// Reports that `done` of the work is done and no more will follow. The callback is called unless it
    /// already was with this number.
    pub fn end(&self, done: u64) {
        let Some(progress) = self.progress else { return };
        if self.last.get().is_none_or(|(_, told)| told != done) {
            self.last.set(Some((Instant::now(), done)));
            progress(done, self.total);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn progress_is_told_at_first_and_at_last_and_seldom_between() {
        let told = RefCell::new(Vec::new());
        let progress = |done, total| told.borrow_mut().push((done, total));
        let reporter = Reporter::new(Some(&progress), 1000);
        let begin = Instant::now();
        (1..=1000).for_each(|done| reporter.at(done));
        reporter.end(1000);
        let most = 2 + (begin.elapsed().as_millis() / BETWEEN.as_millis()) as usize;
        let told = told.take();
        assert!((2..=most).contains(&told.len()), "{told:?}");
        assert_eq!([told[0], told[told.len() - 1]], [(1, 1000), (1000, 1000)]);
    }
}
