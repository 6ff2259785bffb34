//! Memory of the host: what there is, what this process may still take, and room asked for before it is filled.
//!
//! Not: memory of devices (`cuda`), nor how arrays are laid out (`grid`).

mod available;
mod cgroup;
mod room;

#[cfg(test)]
pub(crate) use available::available_in;
pub use available::{Memory, available_memory};
pub(crate) use available::{memory, read, value};
pub(crate) use cgroup::Limits;
pub use room::{check_room, filled, grow, room};
