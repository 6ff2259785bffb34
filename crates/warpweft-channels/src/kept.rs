//! The policies that searches found before, in the user's tuning cache.

use std::any::type_name;

use super::policy::{CpuPolicy, Policy, StacksPolicy};
use warpweft_core::tune::TuningCache;

/// Where results for calls of `C` on a device of this name are kept.
pub(super) fn key<C: 'static>(device: &str) -> String {
    format!("channels {} on {device}", type_name::<C>())
}

/// The name of so many cores.
pub(super) fn cores(threads: usize) -> String {
    format!("{threads} threads")
}

/// The policy that a search for calls of `C` on such a GPU found, of the user's tuning cache.
pub(super) fn tuned_on_gpu<C: 'static>(gpu: &str) -> Option<StacksPolicy> {
    match TuningCache::user().policy(&key::<C>(gpu))? {
        Policy::Stacks(policy) => policy.check().is_ok().then_some(policy),
        Policy::Cpu(_) | Policy::Levels(_) => None,
    }
}

/// The same on so many threads.
pub(super) fn tuned_on_cores<C: 'static>(threads: usize) -> Option<CpuPolicy> {
    match TuningCache::user().policy(&key::<C>(&cores(threads)))? {
        Policy::Cpu(policy) => policy.check().is_ok().then_some(policy),
        Policy::Stacks(_) | Policy::Levels(_) => None,
    }
}
