//! How many steps lie between two halo exchanges, and whether the last of them overlaps the exchange: fixed, or
//! found while the run goes on.

pub(crate) mod overlap;
pub(crate) mod pace;
pub mod search;
