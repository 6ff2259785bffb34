//! What every run must equal: the function, called.

use super::spawning::Spawning;
use super::spec::Channels;

/// The value of each call, in order, on this thread's stack and as deep as that goes.
///
/// # Panics
/// Where the function does.
pub fn reference<C: Spawning>(channels: &Channels<C>) -> Vec<C::Output> {
    channels.roots.iter().map(|call| call.plain()).collect()
}
