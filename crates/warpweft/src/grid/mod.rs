//! Volumes: what a user fills, runs an element function over, and reads back.

mod boxes;
pub mod io;
mod volume;

pub use volume::{Volume, check_extents};
