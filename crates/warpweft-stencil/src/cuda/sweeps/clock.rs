//! Seconds that the device takes for steps that are queued, by its own clock. What the host does meanwhile does not count, but
//! for less than 50 µs between two calls of steps alone.

use std::time::{Duration, Instant};

use warpweft_core::cuda::{Event, Stream};
use warpweft_core::error::Result;

/// Intervals that may be under way. Then the earlier half of them is waited for, while the device has the others to do.
const MOST: usize = 64;

/// Steps that are queued so soon after others, with nothing in between, belong to the same interval, which then costs one event each time, not two.
const SOON: Duration = Duration::from_micros(50);

/// Intervals of a stream that are timed.
#[derive(Default)]
pub(super) struct Clock {
    /// Their beginnings and ends, of which the first `used` have been recorded.
    intervals: Vec<[Event; 2]>,
    used: usize,
    /// Of those whose events were used again.
    seconds: f64,
    /// When the last one ended on the host.
    ended: Option<Instant>,
}

impl Clock {
    /// Begins an interval, or ends the one that was begun.
    pub fn mark(&mut self, stream: &Stream, begins: bool) -> Result<()> {
        if !begins {
            let Some([_, end]) = self.intervals.get(self.used) else { return Ok(()) };
            stream.record(end)?;
            self.used += 1;
            self.ended = Some(Instant::now());
            return Ok(());
        }
        if self.used > 0 && self.ended.is_some_and(|ended| ended.elapsed() < SOON) {
            // Its end is recorded again.
            self.used -= 1;
            return Ok(());
        }
        if self.used == MOST {
            self.take(MOST / 2)?;
        }
        if self.used == self.intervals.len() {
            let device = stream.device();
            self.intervals.push([Event::new(device)?, Event::new(device)?]);
        }
        stream.record(&self.intervals[self.used][0])
    }

    /// Says that other work than steps is queued, which belongs to no interval.
    pub fn close(&mut self) {
        self.ended = None;
    }

    /// Seconds of all intervals since this was last asked. Waits until they have ended.
    pub fn seconds(&mut self) -> Result<f64> {
        self.take(self.used)?;
        Ok(std::mem::take(&mut self.seconds))
    }

    fn take(&mut self, count: usize) -> Result<()> {
        for [begin, end] in &self.intervals[..count] {
            end.synchronize()?;
            self.seconds += begin.seconds_until(end)?;
        }
        self.intervals.rotate_left(count);
        self.used -= count;
        Ok(())
    }
}
