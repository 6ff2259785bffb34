//! How a farm is run: the settings of every pattern, and those that only farms have.

use std::time::Duration;

use crate::journal::Journal;
use crate::policy::Policy;
use crate::report::Outcome;
use crate::schedule::Scheduler;
use warpweft_core::error::Result;
use warpweft_core::machine::Gpu;
#[cfg(doc)]
use warpweft_core::run::Target;
use warpweft_core::run::{Auto, Pattern, Suits};

/// How to run a farm, if the defaults don't suit: [`warpweft_core::run::Run`] for farms. A farm's policy suits any
/// device, its checkpoint is a [`Journal`], and [`Target::Auto`] means all cores, and all GPUs if the task has GPU code.
pub type Run<'a> = warpweft_core::run::Run<'a, FarmPattern>;

/// Farms, to [`Run`].
#[derive(Clone, Copy, Debug)]
pub enum FarmPattern {}

impl Pattern for FarmPattern {
    type Policy = Policy;
    type Checkpoint = Journal;
    type Settings<'a> = Settings<'a>;
    const AUTO: Auto = Auto::Everything;
    fn suits(_: &Policy) -> Suits {
        Suits::Any
    }
}

/// How many lanes a GPU has, and how large the blocks of their kernels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// As [`Policy::lanes`].
    pub lanes: usize,
    /// As [`Policy::block`].
    pub block: u32,
}

impl Lanes {
    /// Those of a policy.
    pub fn of(policy: &Policy) -> Self {
        Self { lanes: policy.lanes, block: policy.block }
    }
}

/// What tells the lanes of a GPU; `None` for the policy's.
pub type ByGpu<'a> = &'a (dyn Fn(&Gpu) -> Option<Lanes> + Sync + 'a);

/// What is called with the outcome of a farm that waits for tasks that do not return.
pub type Stuck<'a> = &'a dyn Fn(&Result<Outcome>);

/// What only farms have.
#[derive(Clone)]
pub struct Settings<'a> {
    /// A schedule of the user's own, in place of the policy's.
    pub scheduler: Option<&'a dyn Fn() -> Box<dyn Scheduler>>,
    /// How long a task may take on a core, where tasks are run one by one. One that takes longer has failed at once, and
    /// is not run again; [`is_cancelled`](crate::is_cancelled) tells it to return. Its worker goes on once it has returned.
    pub task_limit: Option<Duration>,
    /// How long after its [limit](Self::task_limit) a task may take to return, 5 s by default. If it has not returned by
    /// then, its worker gets nothing more, and others do the rest. If no worker is left, the farm ends with the outcome so far.
    pub grace: Duration,
    /// Called when a task has taken longer than [`task_limit`](Self::task_limit), and again if its worker is given up after
    /// [`grace`](Self::grace), with a note for the user: which task, and on which worker. With several ranks, on rank 0.
    pub overdue: Option<&'a dyn Fn(&str)>,
    /// Called once, on the thread that called `run`, when the farm has ended but `run` can't return, because tasks that were
    /// given up still use its data: nobody can break off a thread. It is given what `run` would return; the sink has had
    /// every output, and the journal is on the disk. A program that has to end may exit here. Otherwise `run` waits for the
    /// tasks. [`Open::close`](crate::Open::close) does not wait.
    pub stuck: Option<Stuck<'a>>,
    /// The number of lanes and the block size for each GPU, in place of the policy's. For processes with GPUs of several models;
    /// [`tuned_on`](crate::tuned_on) returns tuned values.
    pub by_gpu: Option<ByGpu<'a>>,
    /// A rank that sends nothing for this long counts as lost, and others run its tasks; 3 s or more, 30 s by default.
    /// Ranks send a heartbeat every second, however long their tasks take.
    pub silence: Duration,
    /// Called once on a rank that has been asked to end and gets no answer from rank 0. When a
    /// process is lost, launchers ask the others to end, and kill them about a second later. If
    /// rank 0 is lost, only another rank can tell the user how to go on.
    pub orphaned: Option<&'a dyn Fn()>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            scheduler: None,
            task_limit: None,
            grace: GRACE,
            overdue: None,
            stuck: None,
            by_gpu: None,
            silence: SILENCE,
            orphaned: None,
        }
    }
}

/// A task that asks now and then has returned by then.
const GRACE: Duration = Duration::from_secs(5);

/// Longer than a busy host keeps a thread waiting.
const SILENCE: Duration = Duration::from_secs(30);

/// The largest number of completed chunks per worker that wait for the sink. In addition, each worker computes one chunk,
/// and the sink processes one.
pub const AHEAD: usize = 4;
