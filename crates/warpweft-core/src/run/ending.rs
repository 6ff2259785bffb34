//! Ends work that another device does: asks it once, and tells when it does not follow.

use std::time::{Duration, Instant};

use super::Watch;
use crate::error::{Error, Result};

/// A kernel that is told to end when its run is to, and given up if it does not.
#[derive(Debug, Default)]
pub struct Ending {
    asked: Option<Instant>,
}

impl Ending {
    /// How long a kernel may go on after it was told to end. Calls of milliseconds end long before; one that has not ended by
    /// then loops for ever, or waits for what does not come.
    pub const GRACE: Duration = Duration::from_secs(5);

    /// Checks whether the run is to end, and calls `ask` the first time that it is. For how long the kernel has gone on since, once
    /// that is longer than [`Ending::GRACE`].
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn look(
        &mut self,
        watch: &Watch<'_>,
        ask: impl FnOnce() -> Result<()>,
    ) -> Result<Option<Duration>> {
        match self.asked {
            Some(asked) => Ok(Some(asked.elapsed()).filter(|since| *since > Self::GRACE)),
            None => {
                if watch.is_needed() && watch.look() {
                    self.asked = Some(Instant::now());
                    ask()?;
                }
                Ok(None)
            }
        }
    }

    /// The error of a kernel that went on for `since`: `stage`, and what the device's memory says of it.
    pub fn overdue(stage: &str, device: &str, since: Duration, state: &str) -> Error {
        Error::Device {
            stage: stage.into(),
            device: device.into(),
            what: format!("a call still runs {:.1} s after the run was to end: {state}", since.as_secs_f64()),
            hint: "look for a loop without an end, or a barrier that not all lanes of a team reach; then end this process, \
                   which can use the GPU no more"
                .into(),
        }
    }

    /// Whether the kernel was told to end.
    pub fn is_asked(&self) -> bool {
        self.asked.is_some()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_kernel_is_asked_once_and_given_up_later() {
        let mut ending = Ending::default();
        let asked = Cell::new(0);
        let ask = || {
            asked.set(asked.get() + 1);
            Ok(())
        };
        assert_eq!(ending.look(&Watch::default(), ask).unwrap(), None);
        assert!(!ending.is_asked());
        let stop = super::super::Stop { interrupt: None, deadline: Some(Instant::now()) };
        let watch = Watch::new(stop, Default::default(), (1, "calls"));
        for _ in 0..3 {
            assert_eq!(ending.look(&watch, ask).unwrap(), None);
        }
        assert_eq!((asked.get(), ending.is_asked()), (1, true));
        ending.asked = Instant::now().checked_sub(2 * Ending::GRACE);
        assert!(ending.look(&watch, ask).unwrap().unwrap() >= 2 * Ending::GRACE);
        assert_eq!(asked.get(), 1);
        let refused = || Err(Error::spec("a device that is gone", "start it"));
        assert!(Ending::default().look(&watch, refused).is_err());
    }
}
