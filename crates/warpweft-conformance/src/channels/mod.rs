//! What every executor must pass before its numbers mean anything: the values of plain calls, to the bit.

mod elements;

pub use elements::*;

use super::Pick;
use warpweft::channels::Channels;
use warpweft::channels::ChannelsExecutor;
use warpweft::channels::Spawning;
use warpweft::channels::cpu::CpuExecutor;
use warpweft::channels::cuda::CudaExecutor;
use warpweft::channels::reference;
use warpweft::error::Result;

/// What runs calls of any function.
pub trait Subject {
    /// Runs them.
    ///
    /// # Errors
    /// As [`ChannelsExecutor::run`].
    fn run<C: Spawning>(&mut self, channels: &Channels<C>) -> Result<Vec<C::Output>>;
}

macro_rules! subjects {
    ($($executor:ty),*) => {$(
        impl Subject for $executor {
            fn run<C: Spawning>(&mut self, channels: &Channels<C>) -> Result<Vec<C::Output>> {
                Ok(ChannelsExecutor::run(self, channels)?.0)
            }
        }
    )*};
}
subjects!(CpuExecutor, CudaExecutor);

/// One function's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The calls.
    pub name: &'static str,
    /// What is wrong with their values, if anything is.
    pub failure: Option<String>,
}

macro_rules! alike {
    ($subject:expr, $pick:expr, $cases:ident, $calls:expr, $levels:expr) => {
        if $pick.take() {
            let channels = Channels::all($calls).levels($levels).children(40);
            let failure = match $subject.run(&channels) {
                Ok(found) if found == reference(&channels) => None,
                Ok(_) => Some("other values than those of plain calls".to_string()),
                Err(error) => Some(error.to_string()),
            };
            $cases.push(Case { name: stringify!($calls), failure });
        }
    };
}

/// Runs all elements on `subject`.
pub fn suite(subject: &mut impl Subject) -> Vec<Case> {
    suite_picked(subject, &mut Pick::all())
}

/// [`suite`] as far as its cases are picked.
pub fn suite_picked(subject: &mut impl Subject, pick: &mut Pick<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    alike!(subject, pick, cases, (0..18).map(fib::call), 18);
    alike!(subject, pick, cases, [fib::call(22)], 64);
    alike!(subject, pick, cases, (1..8).map(|n| queens::call((1 << n) - 1, 0, 0, 0)), 9);
    alike!(subject, pick, cases, (0..40).map(|seed| tree::call(seed, 5)), 6);
    alike!(subject, pick, cases, (0..9).map(|seed| wide::call(7, seed * 0x1234_5678_9abc)), 20);
    alike!(subject, pick, cases, [even::call(60), even::call(59)], 61);
    alike!(subject, pick, cases, [odd::call(60), odd::call(59)], 61);
    alike!(subject, pick, cases, (0..8).map(idle::call), 9);
    alike!(subject, pick, cases, (-40..9).map(hasty::call), 24);
    alike!(subject, pick, cases, (0..12).map(|n| kinds::call(n, f64::from(n) * 7.3)), 14);
    alike!(subject, pick, cases, [chain::call(63), chain::call(0)], 64);
    alike!(subject, pick, cases, (0..9).map(|k| halved::call(f64::from(k))), 1);
    cases
}
