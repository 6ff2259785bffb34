//! How a farm is run: the settings of every pattern, and those that only farms have.

use crate::journal::Journal;
use crate::policy::Policy;
use crate::schedule::Scheduler;
#[cfg(doc)]
use warpweft_core::run::Target;
use warpweft_core::run::{Auto, Pattern, Suits};

/// How to run a farm, where the defaults will not do: [`warpweft_core::run::Run`] of farms. Its policy may be that of
/// no device in particular, its checkpoint is a [`Journal`], and [`Target::Auto`] is all GPUs, if the task has a form
/// for them, and the cores.
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

/// What only farms have.
#[derive(Clone, Default)]
pub struct Settings<'a> {
    /// A schedule of the user's own, in place of the policy's.
    pub scheduler: Option<&'a dyn Fn() -> Box<dyn Scheduler>>,
}

/// Chunks of outputs that wait for the sink at most, times the workers; each worker runs one more, and the sink takes one.
pub const AHEAD: usize = 4;
