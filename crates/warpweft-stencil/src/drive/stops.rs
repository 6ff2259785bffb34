//! When ranks look together whether they were asked to end: often, whatever a step takes. Not: what they
//! do then.

use std::time::Instant;

use super::pace::Pace;
use warpweft_core::cluster::{Transport, broadcast, gather};
use warpweft_core::error::Result;
use warpweft_core::run::Stop;

/// The looks of one rank. All ranks see whether any was asked to end; rank 0 measures what steps take.
pub(crate) struct Stops<'a> {
    stop: Stop<'a>,
    pace: Pace,
    /// The last look: when, and after which step.
    last: (Instant, u64),
    /// The step after which all look next.
    due: u64,
}

impl<'a> Stops<'a> {
    /// Looks at `stop` from step `first` on: the first time after one swap, for nothing is known of steps.
    pub(crate) fn new(stop: Stop<'a>, first: u64) -> Self {
        Self { stop, pace: Pace::new(1.0, 1), last: (Instant::now(), first), due: first + 1 }
    }

    /// Whether the run is to end before its first step, as any rank was asked to.
    ///
    /// # Errors
    /// As [`Transport::receive`].
    pub(crate) fn at_once(&self, net: &dyn Transport) -> Result<bool> {
        let any = self.any(net)?;
        Ok(broadcast(net, vec![u8::from(any)])? == [1])
    }

    /// Whether all look after step `done`, which is the same on all ranks.
    pub(crate) fn is_due(&self, done: u64) -> bool {
        done >= self.due
    }

    /// Whether the run is to end after step `done`, which was computed when this is called: every rank says
    /// whether it was asked to, and rank 0 what all do, and when to look next.
    ///
    /// # Errors
    /// As [`Transport::receive`].
    pub(crate) fn asked(&mut self, done: u64, net: &dyn Transport) -> Result<bool> {
        let (since, before) = std::mem::replace(&mut self.last, (Instant::now(), done));
        self.pace.took(done - before, since.elapsed().as_secs_f64());
        let mine = [u64::from(self.any(net)?), self.pace.steps((None, false))];
        let order = broadcast(net, mine.map(u64::to_le_bytes).concat())?;
        let (words, _) = order.as_chunks::<8>();
        let word = |at: usize| words.get(at).map_or(0, |&bytes| u64::from_le_bytes(bytes));
        self.due = done + word(1).max(1);
        Ok(word(0) == 1)
    }

    /// Whether any rank was asked to end, on rank 0.
    fn any(&self, net: &dyn Transport) -> Result<bool> {
        let all = gather(net, vec![u8::from(self.stop.stopped())])?;
        Ok(all.iter().any(|asked| asked == &[1]))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use warpweft_core::cluster::in_process;

    /// The step after which two ranks end whose steps take that long, asked to after a tenth of a second;
    /// and how often they looked.
    fn ended(step: Duration) -> (u64, u32) {
        let begun = Instant::now();
        let ended = in_process(2, Duration::from_secs(60), |net| {
            // Rank 1 alone is asked to end.
            let flag = AtomicBool::new(false);
            let run = crate::Run { interrupt: Some(&flag), ..crate::Run::default() };
            let mut stops = Stops::new(run.stop(), 0);
            let mut looks = 0;
            for done in 1.. {
                let until = Instant::now() + step;
                if step > Duration::from_millis(1) {
                    sleep(step);
                }
                while Instant::now() < until {}
                if begun.elapsed() > Duration::from_millis(100) && net.rank() == 1 {
                    flag.store(true, Ordering::Relaxed);
                }
                if stops.is_due(done) {
                    looks += 1;
                    if stops.asked(done, net)? {
                        return Ok((done, looks));
                    }
                }
            }
            unreachable!()
        });
        let ended = ended.unwrap();
        assert_eq!(ended[0], ended[1], "all stop after the same step");
        ended[0]
    }

    #[test]
    fn slow_steps_are_few_before_a_run_ends_and_quick_ones_are_not_held_up() {
        // Of steps of 20 ms five are through when the flag is set; guessed from their cells it were hundreds.
        let (steps, _) = ended(Duration::from_millis(20));
        assert!(steps <= 60, "{steps} steps of 20 ms");
        // Of steps of a microsecond thousands go by between two looks.
        let (steps, looks) = ended(Duration::from_micros(1));
        assert!(u64::from(looks) < steps / 100, "{looks} looks at {steps} steps");
    }
}
