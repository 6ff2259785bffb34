//! Independent heavy tasks over all units there are (TuCCompi, Ortega-Arranz, Torres, Llanos and Gonzalez).
//!
//! Tasks are numbers, their outputs bytes: what schedules sees nothing else, is pure and is tested without
//! hardware. Every task is handed over once, by one thread, in no order. A farm runs on the cores and the GPUs
//! of one process or of many ranks. Not for tasks that depend on one another (see
//! [`wavefront`](crate::wavefront)) or make further tasks.

mod clerk;
mod cuda;
mod desk;
mod dispatcher;
mod head;
mod inputs;
mod journal;
mod ledger;
mod master;
mod pack;
mod policy;
mod ranges;
mod ranks;
mod reference;
mod report;
mod run;
pub mod schedule;
mod simulate;
mod slot;
mod spec;
mod task;
mod tune;
mod unit;
mod workers;

pub use cuda::{GpuLane, TaskFunction, compile_check, translated};
pub use inputs::Inputs;
pub use journal::{Flush, Journal};
pub use pack::Pack;
pub use policy::{PackSize, Policy, Schedule};
pub use ranges::Ranges;
pub use reference::reference;
pub use report::{Failed, Outcome, Share, overhead};
pub use run::{AHEAD, FarmPattern, Run, Settings};
pub use simulate::{Simulated, simulate};
pub use spec::{Farm, OnFailure};
pub use task::{Failure, OnCores, OnGpu, PackExecutor, Task, on_cores};
pub use tune::{Tuned, Tuning, tuned};
pub use unit::{Grain, Place, Standing, Unit};

#[doc(inline)]
pub use warpweft_core::element::Packed;
#[doc(no_inline)]
pub use warpweft_core::run::Target;
#[doc(inline)]
pub use warpweft_macros::task;
