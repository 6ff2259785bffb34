//! Fork-join tasks, as in Cilk: a function may spawn calls and wait for them (Orr, Beckmann, Reinhardt and Wood,
//! "Fine-grain task aggregation and coordination on GPUs", ISCA 2014).
//!
//! A function with `#[spawning]` remains an ordinary function; a run of [`Channels`] returns the same value as calling
//! it, with the spawned calls distributed over a device. For independent tasks use
//! [`farm`](mod@crate::farm) instead. Calls exchange data only by arguments, values and slices of words (`&[T]`, and
//! disjoint `&mut [T]`).

mod borrowing;
mod combine;
pub mod cpu;
pub mod cuda;
mod executor;
pub mod flow;
mod kept;
mod policy;
mod reference;
mod report;
mod run;
mod spawning;
mod spec;
mod team;
mod tune;

pub use borrowing::Borrowing;
pub use combine::{Add, Combine, Or, Store, Wrapping, Xor};
pub use executor::ChannelsExecutor;
pub use policy::{CpuPolicy, LevelsPolicy, Policy, StacksPolicy};
pub use reference::reference;
pub use report::{Counts, TimeShares};
pub use run::{ChannelsPattern, Run};
pub use spawning::{Call, DeviceCall, Spawning, name_of};
pub use spec::Channels;
pub use team::{Team, define_teams};
pub use tune::{Trial, Tuned};
pub use warpweft_core::run::Tuning;

#[doc(inline)]
pub use warpweft_macros::spawning;
