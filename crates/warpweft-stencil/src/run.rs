//! How a stencil is run, where the defaults will not do. Not: what runs it (`drive`).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::checkpoint::Checkpoint;
use super::exchange::Route;
use super::policy::Policy;
use warpweft_core::error::{Error, Result};
use warpweft_core::run::GpuList;
use warpweft_core::trace::Trace;

/// Where a stencil runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The first GPU if there is one that can be used, else the cores.
    #[default]
    Auto,
    /// The cores.
    Cpu,
    /// The GPU with this number.
    Gpu(usize),
    /// Several GPUs, a subdomain each.
    Gpus(GpuList),
    /// The GPU with this number and the cores together, if the cores can add to its speed.
    CpuAndGpu(usize),
}

/// In words, as after "on".
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => write!(f, "the first GPU or the cores"),
            Self::Cpu => write!(f, "the cores"),
            Self::Gpu(number) => write!(f, "GPU {number}"),
            Self::Gpus(list) => {
                let numbers: Vec<_> = list.numbers().map(|number| number.to_string()).collect();
                let one = if numbers.len() == 1 { "GPU" } else { "GPUs" };
                write!(f, "{one} {}", numbers.join(", "))
            }
            Self::CpuAndGpu(number) => write!(f, "the cores and GPU {number}"),
        }
    }
}

/// How to run, where the defaults will not do.
#[derive(Clone, Default)]
pub struct Run<'a> {
    /// Where.
    pub target: Target,
    /// The tunables; tuned or default ones if `None`.
    pub policy: Option<Policy>,
    /// Threads on the cores; all of them if `None`.
    pub threads: Option<usize>,
    /// Told the steps done, of how many, every now and then.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
    /// Set by whoever wants the run to end after the present sweep; the state is stored then.
    pub interrupt: Option<&'a AtomicBool>,
    /// Where to record what happened when.
    pub trace: Option<Arc<Trace>>,
    /// Where the state is saved every so many steps, to go on from after a failure.
    pub checkpoint: Option<&'a Checkpoint>,
    /// How halos travel between ranks on GPUs; `$WARPWEFT_HALOS`, or the fastest way there is, if `None`.
    pub halos: Option<Route>,
}

impl Run<'_> {
    /// # Errors
    /// Threads are named, and none.
    pub(super) fn check_threads(&self) -> Result<()> {
        match self.threads {
            Some(0) => {
                Err(Error::spec("0 threads", "use at least 1, or leave them out for one a core"))
            }
            _ => Ok(()),
        }
    }
}
