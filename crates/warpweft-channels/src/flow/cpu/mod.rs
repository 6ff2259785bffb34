//! Channel-flow graphs on the cores: rings with the element states of the paper, credits for their free elements, and
//! workers that fire kernels.

mod cell;
mod consumer;
pub mod credits;
mod executor;
mod flow;
pub mod ring;

pub use consumer::{Consumer, Step};
pub use executor::FlowCpuExecutor;
pub use flow::{Flow, Queues, SMALLER};
