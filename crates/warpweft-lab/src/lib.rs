//! What checks and measures Warpweft: conformance suites, benchmarks, models against measurements.
//!
//! Programs that use Warpweft never need this crate.

pub mod conformance;
