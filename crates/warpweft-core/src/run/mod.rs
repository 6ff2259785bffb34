//! How to run, the same for every pattern: devices, threads, ranks, progress, when to stop.
//!
//! A pattern supplies its own types through [`Pattern`]: its policy, its checkpoint and further settings.
//! What runs is not here.

mod devices;
mod ending;
mod list;
mod own_part;
mod progress;
mod stop;
mod target;
mod tuning;
mod watch;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::cluster::Transport;
use crate::trace::Trace;

pub use devices::{Auto, Devices, Suits};
pub use ending::Ending;
pub use list::GpuList;
pub use own_part::own_part;
pub use progress::Reporter;
pub use stop::Stop;
pub use target::Target;
pub use tuning::Tuning;
pub use watch::{Done, Watch};

/// The types and constants of a pattern that [`Run`] needs. Each pattern's crate has one type that implements
/// it, and an alias, e.g. `farm::Run<'a>` for `Run<'a, FarmPattern>`.
pub trait Pattern {
    /// All tuning parameters. They change the time of a run, not its results (apart from contraction on GPUs).
    type Policy: Clone;
    /// Where a run saves what it has done, so that it can be resumed after a failure.
    type Checkpoint: ?Sized;
    /// Settings that no other pattern has.
    type Settings<'a>: Clone + Default;

    /// What [`Target::Auto`] means.
    const AUTO: Auto;

    /// Which devices a policy is for.
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
    /// The tuning parameters. `None`: those of the tuning cache, else defaults.
    pub policy: Option<P::Policy>,
    /// Number of threads on the cores. `None`: one a core.
    pub threads: Option<usize>,
    /// The ranks that run this together, all with the same arguments. `None`: this process alone.
    pub net: Option<&'a dyn Transport>,
    /// Called from time to time and at the end with the work done and the total work, in steps, tasks or
    /// cells.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
    /// Another thread or a signal handler sets this to end the run early.
    pub interrupt: Option<&'a AtomicBool>,
    /// The run ends early at this time, as if `interrupt` were set then.
    pub deadline: Option<Instant>,
    /// Where to record a timeline of the run.
    pub trace: Option<Arc<Trace>>,
    /// Where to save what is done, so that the run can be resumed after a failure.
    pub checkpoint: Option<&'a P::Checkpoint>,
    /// Settings that only this pattern has.
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

    /// What tells other threads whether to stop.
    pub fn stop(&self) -> Stop<'a> {
        Stop { interrupt: self.interrupt, deadline: self.deadline }
    }

    /// Whether the run is to end early: the interrupt is set, or the deadline has passed.
    pub fn stopped(&self) -> bool {
        self.stop().stopped()
    }

    /// A watch over work on the cores: `total` is its amount, `unit` the plural of what is counted.
    pub fn watch(&self, total: u64, unit: &'static str) -> Watch<'a> {
        Watch::new(self.stop(), self.reporter(total), (total, unit))
    }

    /// A reporter of progress for a `total` amount of work.
    pub fn reporter(&self, total: u64) -> Reporter<'a> {
        Reporter::new(self.progress, total)
    }
}
