//! Searches for good values of tunables: spaces, strategies, timing statistics, and a cache of results on
//! disk.
//!
//! This module knows no pattern: a candidate is a list of numbers, and the caller measures it.

mod measure;
mod search;
mod space;
mod tuning_cache;

pub use measure::{Budget, Measured, Repeats, measure, median};
pub use search::{Found, climb, exhaustive};
pub use space::{Axis, Space};
pub use tuning_cache::{Entry, TuningCache};
