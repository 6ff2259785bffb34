//! A domain and a policy turned into units of work, in numbers: no hardware.

mod layout;
mod shape;
mod tiles;

pub use layout::Layout;
pub use shape::Shape;
pub use tiles::Plan;
pub(crate) use tiles::fitting;
