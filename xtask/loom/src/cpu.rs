//! How workers on cores wait for one another: the core's files.

#[path = "../../../crates/warpweft-core/src/cpu/abort.rs"]
mod abort;
#[path = "../../../crates/warpweft-core/src/cpu/barrier.rs"]
mod barrier;
#[path = "../../../crates/warpweft-core/src/cpu/progress.rs"]
mod progress;
#[path = "../../../crates/warpweft-core/src/cpu/sleep.rs"]
mod sleep;
#[path = "../../../crates/warpweft-core/src/cpu/sync.rs"]
pub mod sync;

pub use abort::{Abort, Aborted};
