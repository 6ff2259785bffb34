//! What is to be computed: calls, and how deep they may spawn.

use super::policy::MOST_LEVELS;
use super::spawning::Call;
use warpweft_core::error::{Error, Result};

/// Calls of one function, with all that they spawn.
///
/// ```
/// use warpweft::prelude::*;
///
/// #[spawning]
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return n as u64;
///     }
///     let a = spawn!(fib(n - 1));
///     let b = spawn!(fib(n - 2));
///     sync!();
///     a + b
/// }
///
/// # fn main() -> Result<()> {
/// assert_eq!(fib(20), 6765); // still an ordinary function
/// let (answer, report) = Channels::of(fib::call(20)).run(&Machine::detect()?)?;
/// assert_eq!((answer, report.done), (6765, 21_891)); // calls: 2 fib(21) - 1
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Channels<C> {
    pub(super) roots: Vec<C>,
    pub(super) levels: u32,
    pub(super) children: u32,
}

impl<C: Call> Channels<C> {
    /// One call.
    pub fn of(call: C) -> Self {
        Self::all([call])
    }

    /// Several independent calls.
    pub fn all(calls: impl IntoIterator<Item = C>) -> Self {
        Self { roots: calls.into_iter().collect(), levels: 64, children: 32 }
    }
}

impl<C> Channels<C> {
    /// The largest recursion depth on cores, 64 by default: 1 for calls that spawn nothing, 2 for calls whose spawned calls
    /// spawn nothing, and so on. A deeper call is an error. On a GPU, only the device's memory limits the depth.
    pub fn levels(mut self, levels: u32) -> Self {
        self.levels = levels;
        self
    }

    /// Has no effect any more; formerly the number of calls that the loops of one call may spawn before it waits.
    pub fn children(mut self, children: u32) -> Self {
        self.children = children;
        self
    }

    /// Whether it can be run.
    ///
    /// # Errors
    /// No calls; no levels, or more than 60000; no children, or more than 4096.
    pub fn check(&self) -> Result<()> {
        if self.roots.is_empty() {
            return Err(Error::spec("no calls", "give at least one"));
        }
        if !(1..=MOST_LEVELS).contains(&self.levels) {
            let what = format!("{} levels of calls", self.levels);
            return Err(Error::spec(what, format!("take 1 to {MOST_LEVELS}")));
        }
        if !(1..=4096).contains(&self.children) {
            let what = format!("loops that spawn {} calls", self.children);
            return Err(Error::spec(what, "take 1 to 4096"));
        }
        Ok(())
    }
}
