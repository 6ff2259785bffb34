//! Host memory: how much there is, how much this process may use, and allocations that return an error.
//!
//! Device memory is in `cuda`; the layout of arrays is in `grid`.

mod available;
mod cgroup;
mod room;
mod zeroed;

#[cfg(test)]
pub(crate) use available::available_in;
pub use available::{Memory, available_memory};
pub(crate) use available::{memory, read, value};
pub(crate) use cgroup::Limits;
pub use room::{check_room, filled, grow, room};
pub use zeroed::zeroed_words;
