//! Volumes: what a user fills, runs an element function over, and reads back.

mod volume;

pub use volume::Volume;
