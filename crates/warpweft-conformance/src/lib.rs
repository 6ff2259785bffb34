//! One conformance suite a pattern: every executor gives the reference's values, to the bit.
//!
//! Tests and `warpweft verify` run them; programs that use Warpweft never need this crate.

#[cfg(feature = "apps")]
pub mod apps;
pub mod channels;
pub mod farm;
pub mod flow;
mod sample;
pub mod stencil;
pub mod wavefront;

pub use sample::{Pick, sample};
