//! Finding good values for tunables: spaces, searches, timing statistics, and a cache of results on disk.
//!
//! Knows no pattern: a candidate is a list of numbers, and what a measurement does is the caller's.

mod measure;
mod search;
mod space;
mod tuning_cache;

pub use measure::{Measured, Repeats, measure, median};
pub use search::{Budget, Found, climb, exhaustive};
pub use space::{Axis, Space};
pub use tuning_cache::{Entry, TuningCache};
