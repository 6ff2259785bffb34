//! Cores as a mechanism: a pinned pool, flags between its workers, memory placed by first touch.
//!
//! This module knows no pattern: it runs closures and moves no data of its own. All workers of a [`Pool`] run
//! at the same time, so a worker may wait for another's [`Progress`]. Every wait ends when the pool's
//! [`Abort`] is set, so a panic in one worker never hangs the rest.

mod abort;
mod affinity;
mod barrier;
mod buffer;
mod pool;
mod progress;
mod simd;
mod sleep;
pub mod sync;

pub use abort::{Abort, Aborted};
pub use barrier::Barrier;
pub use buffer::Buffer;
pub use pool::panic_text;
pub(crate) use pool::too_many;
pub use pool::{Pool, Worker, WorkerPanic};
pub use progress::Progress;
pub use simd::Simd;
pub use sleep::{until, wake};
