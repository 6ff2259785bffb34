//! Persistent kernels whose blocks wait for one another end with a message instead of a hang.
//!
//! The device side is `watchdog.cuh`: its `ww_wait` gives up after a time-out and writes which block waits
//! for what into host memory. This side passes that memory in and reads the report.

use std::time::{Duration, Instant};

use super::device::Device;
use super::device::{Event, Stream};
use super::launch::Args;
use super::memory::Words;
use crate::error::{Error, Result};

/// The states of word 0; see `watchdog.cuh`.
const WRITING: u32 = 1;
const REPORTED: u32 = 2;

/// Marks the number of a GPU, as `ww_elsewhere` in `watchdog.cuh`.
const ELSEWHERE: u32 = 1 << 31;

/// How long the host waits after the device's time-out for blocks to notice and end.
const GRACE: Duration = Duration::from_secs(2);

/// Memory for one report, and the time-out of a wait.
#[derive(Debug)]
pub struct Watchdog {
    words: Words,
    timeout: Duration,
}

/// Which block waited for what when the time-out passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The block that waited.
    pub block: u32,
    /// The block it waited for; with the top bit set, the number of the GPU that the block is on.
    pub other: u32,
    /// Which flag of that block.
    pub flag: u32,
    /// The value it waited for.
    pub wanted: u32,
    /// The value it last saw.
    pub seen: u32,
}

impl Watchdog {
    /// A watchdog without a report, for waits of at most `timeout`.
    ///
    /// # Errors
    /// See [`Words::new`].
    pub fn new(device: &Device, timeout: Duration) -> Result<Self> {
        Ok(Self { words: Words::new(device, 8)?, timeout })
    }

    /// The time-out of a wait.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Adds the `ww_watchdog` that a kernel takes by value.
    ///
    /// # Errors
    /// As [`Words::device_address`].
    pub fn argument(&self, args: &mut Args) -> Result<usize> {
        Ok(args.value(self.parameter()?))
    }

    /// The two words of a `ww_watchdog`, for a kernel that has it as a member of another struct.
    ///
    /// # Errors
    /// See [`Words::device_address`].
    pub fn parameter(&self) -> Result<[u64; 2]> {
        let nanoseconds = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
        Ok([self.words.device_address()?, nanoseconds])
    }

    /// The report, if a kernel made one.
    pub fn stuck(&self) -> Option<Stuck> {
        if self.words.load(0)? != REPORTED {
            return None;
        }
        Some(Stuck {
            block: self.words.load(1)?,
            other: self.words.load(2)?,
            flag: self.words.load(3)?,
            wanted: self.words.load(4)?,
            seen: self.words.load(5)?,
        })
    }

    /// Clears the report for the next launch; no kernel may be using it.
    pub fn reset(&self) {
        self.words.store(0, 0);
    }

    /// Ends all waits soon, without a report, because what they wait for will not come.
    pub fn call_off(&self) {
        self.words.store(0, WRITING);
    }

    /// Waits for what is queued in `stream`, for at most `limit` of wall-clock time.
    ///
    /// # Errors
    /// [`Error::Device`] with stage "waiting": it says which block waited for which flag, if a kernel
    /// reported, or that `limit` passed; also the driver's errors. Blocks that wait in `ww_wait` end by
    /// themselves. A kernel that hangs elsewhere is still running then. Until it ends, every use of its
    /// device is an error, and dropped objects are not freed, because the driver would wait for the kernel.
    /// Report the error and end the process.
    pub fn wait(&self, stream: &Stream, limit: Duration) -> Result<()> {
        self.wait_while(stream, limit, &mut || Ok(()))
    }

    /// Like [`Watchdog::wait`], calling `look` about every 200 µs: it may ask the kernel to end.
    ///
    /// # Errors
    /// See [`Watchdog::wait`], and those of `look`, after which a kernel that is still running is given up in the same way.
    pub fn wait_while(
        &self,
        stream: &Stream,
        limit: Duration,
        look: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let done = Event::new(stream.device())?;
        stream.record(&done)?;
        self.wait_for(done, limit, look)
    }

    /// Like [`Watchdog::wait_while`], for the work before `done` in its stream.
    ///
    /// # Errors
    /// See [`Watchdog::wait_while`].
    pub fn wait_for(
        &self,
        done: Event,
        limit: Duration,
        look: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let start = Instant::now();
        let mut reported = None;
        loop {
            if done.is_done()? {
                break;
            }
            let now = Instant::now();
            if reported.is_none() && self.stuck().is_some() {
                reported = Some(now);
            }
            // Blocks end by themselves after a report; the host does not wait for one that doesn't.
            if reported.is_some_and(|then| now - then > GRACE) || now - start > limit {
                break;
            }
            match now - start {
                // Kernels of a few microseconds must not pay for a sleep.
                short if short < Duration::from_millis(1) => std::hint::spin_loop(),
                _ => {
                    if let Err(error) = look() {
                        if !done.is_done()? {
                            done.give_up();
                        }
                        return Err(error);
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        }
        let ended = done.is_done()?;
        let what = match self.stuck() {
            Some(stuck) => stuck.to_string(),
            None if ended => return Ok(()),
            None => format!("not done after {:.1} s", start.elapsed().as_secs_f64()),
        };
        let device = done.device().label().into();
        if !ended {
            done.give_up();
        }
        Err(Error::Device {
            stage: "waiting".into(),
            device,
            what,
            hint: "this is a defect of the kernel or its plan: please report it with the \
                     command and its policy"
                .into(),
        })
    }
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { block, other, flag, wanted, seen } = self;
        let whose = match other & ELSEWHERE {
            0 => format!("block {other}"),
            _ => format!("a block of GPU {}", other & !ELSEWHERE),
        };
        write!(f, "block {block} waits for flag {flag} of {whose} to reach {wanted}, it is {seen}")
    }
}
