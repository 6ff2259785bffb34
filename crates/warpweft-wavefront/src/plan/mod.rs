//! A domain and a policy turned into units of work, in numbers: no hardware.

mod layout;
mod tiles;

pub use layout::Layout;
pub(crate) use tiles::fitting;
pub use tiles::{Plan, Shape};
