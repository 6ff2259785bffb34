//! How a run is done, the same for every pattern: devices, threads, ranks, progress, when to stop.
//!
//! A pattern supplies what is its own through [`Pattern`]: its policy, its checkpoint and further
//! settings. Not here: what runs, which is the patterns'.

mod devices;
mod list;
mod progress;
mod stop;
mod target;
mod watch;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::cluster::Transport;
use crate::trace::Trace;

pub use devices::{Auto, Devices, Suits};
pub use list::GpuList;
pub use progress::Reporter;
pub use stop::Stop;
pub use target::Target;
pub use watch::{Done, Watch};

/// What [`Run`] has to know of a pattern. Each pattern's crate has one type that implements it and an
/// alias, e.g. `farm::Run<'a>` for `Run<'a, FarmPattern>`.
pub trait Pattern {
    /// Every tunable; changes time, never results.
    type Policy: Clone;
    /// Where a run keeps what it has done, to go on from after a failure.
    type Checkpoint: ?Sized;
    /// What no other pattern has.
    type Settings<'a>: Clone + Default;

    /// What [`Target::Auto`] stands for.
    const AUTO: Auto;

    /// Which devices such a policy is for.
    fn suits(policy: &Self::Policy) -> Suits;
}

/// How to run, where the defaults will not do. Write the fields that differ:
///
/// ```
/// use std::time::{Duration, Instant};
/// use warpweft::farm::Run;
/// use warpweft::run::Target;
///
/// let run = Run {
///     target: Target::Cpu,
///     threads: Some(1),
///     deadline: Some(Instant::now() + Duration::from_secs(60)),
///     ..Run::default()
/// };
/// assert!(!run.stopped());
/// ```
pub struct Run<'a, P: Pattern> {
    /// Where.
    pub target: Target,
    /// The tunables; tuned or default ones if `None`.
    pub policy: Option<P::Policy>,
    /// Threads on the cores; one a core if `None`.
    pub threads: Option<usize>,
    /// The ranks that run this together, all of which are given the same; this process alone if `None`.
    pub net: Option<&'a dyn Transport>,
    /// Told the work done, of how much, every now and then and at the end: steps, tasks or cells.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
    /// Set by another thread or a signal to end the run early.
    pub interrupt: Option<&'a AtomicBool>,
    /// When the run ends early, as if `interrupt` were set then.
    pub deadline: Option<Instant>,
    /// Where to record what happened when.
    pub trace: Option<Arc<Trace>>,
    /// Where what is done is kept, to go on from after a failure.
    pub checkpoint: Option<&'a P::Checkpoint>,
    /// What only this pattern has.
    pub settings: P::Settings<'a>,
}

impl<P: Pattern> Default for Run<'_, P> {
    fn default() -> Self {
        Self {
            target: Target::default(),
            policy: None,
            threads: None,
            net: None,
            progress: None,
            interrupt: None,
            deadline: None,
            trace: None,
            checkpoint: None,
            settings: Default::default(),
        }
    }
}

impl<P: Pattern> Clone for Run<'_, P> {
    fn clone(&self) -> Self {
        Self {
            policy: self.policy.clone(),
            trace: self.trace.clone(),
            settings: self.settings.clone(),
            ..*self
        }
    }
}

impl<'a, P: Pattern> Run<'a, P> {
    /// The transport to the other ranks, if there are any.
    pub fn others(&self) -> Option<&'a dyn Transport> {
        self.net.filter(|net| net.ranks() > 1)
    }

    /// What says whether to stop, for other threads to ask.
    pub fn stop(&self) -> Stop<'a> {
        Stop { interrupt: self.interrupt, deadline: self.deadline }
    }

    /// Whether the run is to end early: it was interrupted, or its deadline has passed.
    pub fn stopped(&self) -> bool {
        self.stop().stopped()
    }

    /// What looks after work on the cores: so much of it, counted in a `unit` in the plural.
    pub fn watch(&self, total: u64, unit: &'static str) -> Watch<'a> {
        Watch::new(self.stop(), self.reporter(total), (total, unit))
    }

    /// What tells of progress through so much work.
    pub fn reporter(&self, total: u64) -> Reporter<'a> {
        Reporter::new(self.progress, total)
    }
}
