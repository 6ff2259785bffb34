//! Channel-flow graphs on one GPU: a persistent kernel in which every warp fires what it can.

mod executor;
mod failure;
mod launch;
mod layout;
mod private;
mod spans;
mod text;

pub use executor::FlowGpuExecutor;
pub use text::compile_check;
#[doc(hidden)]
pub use text::{compile_check_traced, played};
