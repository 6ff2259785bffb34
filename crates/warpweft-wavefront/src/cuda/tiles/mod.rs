//! PeerWave's five methods: a thread a row of a tile, fronts in shared memory, blocks that meet by
//! flags or at barriers.
//!
//! Any legal set of vectors, inputs of cells, old values with several sweeps one behind the other,
//! and bands run here; register strips, where they can run, are several times as fast.

mod buffers;
mod executor;
mod idle;
mod layout;
mod plan;
mod policy;
mod prepared;
mod text;

pub use buffers::Contents;
pub(crate) use buffers::Repeated;
pub use executor::TileExecutor;
pub use idle::IdleTime;
pub use layout::Layout;
pub use plan::{Plan, Shape};
pub use policy::{Method, TilePolicy};
pub use prepared::Prepared;
pub use text::{Extras, compile_check};
