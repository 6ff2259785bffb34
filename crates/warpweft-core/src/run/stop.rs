//! Whether a run is to end early. What happens then is up to each pattern.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Tells any thread whether a run is to end early. A call takes some nanoseconds without a deadline and some
/// tens of nanoseconds with one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stop<'a> {
    pub(super) interrupt: Option<&'a AtomicBool>,
    pub(super) deadline: Option<Instant>,
}

impl Stop<'_> {
    /// Whether the interrupt is set or the deadline has passed.
    pub fn stopped(&self) -> bool {
        self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether [`Stop::stopped`] can ever be true. If not, calls are unnecessary.
    pub fn can_stop(&self) -> bool {
        self.interrupt.is_some() || self.deadline.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_interrupt_or_a_passed_deadline_stops() {
        let flag = AtomicBool::new(false);
        let stop = Stop { interrupt: Some(&flag), deadline: None };
        assert!(!stop.stopped());
        flag.store(true, Ordering::Relaxed);
        assert!(stop.stopped());
        let now = Instant::now();
        let by = |deadline| Stop { interrupt: None, deadline: Some(deadline) };
        assert!(by(now).stopped() && !by(now + Duration::from_secs(3600)).stopped());
        assert!(!Stop::default().stopped() && !Stop::default().can_stop());
    }
}
