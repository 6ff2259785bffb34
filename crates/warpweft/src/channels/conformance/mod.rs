//! What every executor must pass before its numbers mean anything: the values of plain calls, to the bit.

mod elements;

pub use elements::*;

use super::reference::reference;
use super::spawning::Spawning;
use super::spec::Channels;
use crate::error::Result;

/// What runs calls of any function.
pub trait Subject {
    /// Runs them.
    ///
    /// # Errors
    /// As [`ChannelsExecutor::run`](super::ChannelsExecutor::run).
    fn run<C: Spawning>(&mut self, channels: &Channels<C>) -> Result<Vec<C::Output>>;
}

macro_rules! alike {
    ($subject:expr, $failures:ident, $calls:expr, $levels:expr) => {
        let channels = Channels::all($calls).levels($levels).children(40);
        match $subject.run(&channels) {
            Ok(found) if found == reference(&channels) => {}
            Ok(_) => $failures.push(concat!(stringify!($calls), ": other values").to_string()),
            Err(error) => $failures.push(format!(concat!(stringify!($calls), ": {}"), error)),
        }
    };
}

/// Runs all elements on `subject`: what failed, none if nothing did.
pub fn check(subject: &mut impl Subject) -> Vec<String> {
    let mut failures = Vec::new();
    alike!(subject, failures, (0..18).map(fib::call), 18);
    alike!(subject, failures, [fib::call(22)], 64);
    alike!(subject, failures, (1..8).map(|n| queens::call((1 << n) - 1, 0, 0, 0)), 9);
    alike!(subject, failures, (0..40).map(|seed| tree::call(seed, 5)), 6);
    alike!(subject, failures, (0..9).map(|seed| wide::call(7, seed * 0x1234_5678_9abc)), 20);
    alike!(subject, failures, [even::call(60), even::call(59)], 61);
    alike!(subject, failures, [odd::call(60), odd::call(59)], 61);
    alike!(subject, failures, (0..8).map(idle::call), 9);
    alike!(subject, failures, (-40..9).map(hasty::call), 24);
    alike!(subject, failures, (0..12).map(|n| kinds::call(n, f64::from(n) * 7.3)), 14);
    alike!(subject, failures, [chain::call(63), chain::call(0)], 64);
    alike!(subject, failures, (0..9).map(|k| halved::call(f64::from(k))), 1);
    failures
}
