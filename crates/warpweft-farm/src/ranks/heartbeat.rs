//! Signs of life between rank 0 and the others: libraries that do not say which process has ended leave only silence. They
//! come from threads that run no tasks, so a rank of long tasks is not silent.

use std::time::{Duration, Instant};

use warpweft_core::error::{Error, Result};

/// Between two signs of life.
const BEAT: Duration = Duration::from_secs(1);

/// When the next sign of life is due.
pub struct Heartbeat(Instant);

impl Heartbeat {
    /// The next is due after one beat.
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Whether one is due; the next is so a beat later.
    pub fn is_due(&mut self) -> bool {
        let due = self.0.elapsed() >= BEAT;
        if due {
            self.0 = Instant::now();
        }
        due
    }
}

/// The loss of a rank that sends nothing.
pub fn silent(rank: usize, silence: Duration) -> Error {
    Error::Rank {
        rank,
        what: format!("it sent nothing for {:.0} s, so it counts as lost", silence.as_secs_f64()),
        hint: "check that rank's host, or raise `Settings::silence`".into(),
    }
}

/// The limit of silence, which signs of life can keep.
///
/// # Errors
/// Less than three beats.
pub fn checked(silence: Duration) -> Result<Duration> {
    match silence >= 3 * BEAT {
        true => Ok(silence),
        false => Err(Error::spec(
            format!("`Settings::silence` is {silence:?}"),
            "give 3 s or more: ranks send a heartbeat every second",
        )),
    }
}
