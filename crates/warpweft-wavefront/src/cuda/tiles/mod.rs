//! PeerWave's five methods: a thread a row of a tile, fronts in shared memory, blocks that meet by
//! flags or at barriers.
//!
//! Any legal set of vectors, inputs of cells, old values with several sweeps one behind the other,
//! and bands run here; register strips, where they can run, are several times as fast.

mod buffers;
mod executor;
mod idle;
mod prepared;
mod probe;
mod text;

pub use crate::plan::{Layout, Plan, Shape};
pub use crate::policy::{Method, TilePolicy};
pub use buffers::Contents;
pub(crate) use buffers::Repeated;
pub use executor::TileExecutor;
pub use idle::IdleTime;
pub use prepared::Prepared;
pub use probe::{PROBE_WIDTHS, measure, probe};
pub use text::{Extras, compile_check};
