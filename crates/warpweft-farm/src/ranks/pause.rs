//! What is done between two looks for messages that may be long in coming.

use std::time::Duration;

/// The first pause after something came. The system sleeps no less than some 60 µs.
pub const FIRST: Duration = Duration::from_micros(20);
/// The longest, which is what a message may wait: chunks take up to a quarter of a second.
const LAST: Duration = Duration::from_micros(500);

/// Pauses that grow while nothing comes.
pub struct Pause(Duration);

impl Pause {
    /// Short ones to begin with.
    pub fn new() -> Self {
        Self(FIRST)
    }

    /// Something came.
    pub fn renew(&mut self) {
        self.0 = FIRST;
    }

    /// How long the next one is.
    pub fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (2 * pause).min(LAST);
        pause
    }
}
