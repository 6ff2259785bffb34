//! Explicit channels and channel-flow graphs (Orr et al., sections 3, 4, 5.3 and 6).
//!
//! A *channel* is a bounded queue of items of one type, with many producers and many consumers. A *kernel* is a function
//! with [`channel_kernel`] that consumes the items of one channel, one a call, and emits items into channels. Kernels
//! share [`Shared`] buffers. A [`FlowGraph`] connects them, and a run ends when all items are consumed.
//!
//! | the paper's Table 1 | here, in a kernel | on the ring ([`cpu::ring::Ring`]) |
//! |---|---|---|
//! | `talloc`, `enq` | `out.emit(item)` | `reserve`, `publish` |
//! | `deq` | the first parameter | `dispatch` |
//! | `tfree` | the firing does it | `take` |
//!
//! Not for calls that wait for one another's values: see [`Channels`](crate::Channels).

mod buffer;
mod bytes;
pub mod cpu;
pub mod cuda;
mod graph;
mod handle;
mod kernel;
mod node;
mod plan;
mod policy;
mod reference;
mod report;
mod results;
mod run;
mod tune;

pub use buffer::{Counter, HostBuffers, Shared, Word};
pub use cpu::FlowCpuExecutor;
pub use cuda::FlowGpuExecutor;
pub use graph::{FlowGraph, MAX_CAPACITY, MAX_ITEM_BYTES, MAX_LEVELS};
pub use handle::{BufferId, ChannelId, Item};
pub use kernel::{BufferUse, ChannelKernel, Edge, Out, PortVisitor};
pub use policy::{FlowCpuPolicy, FlowGpuPolicy, FlowPolicy};
pub use reference::reference;
pub use results::{ChannelCounts, Results};
pub use run::{FlowPattern, Run};
pub use tune::{FlowTrial, FlowTuned};

#[doc(inline)]
pub use warpweft_macros::channel_kernel;

use warpweft_core::element::Unit;

/// What translated kernels find in C++: outputs and buffers.
#[doc(hidden)]
pub fn define_ports(unit: &mut Unit) {
    warpweft_core::element::define_shared(unit);
    unit.define("channel-flow ports", "flow_ports", |_, _| include_str!("cuda/ports.cuh").into());
}
