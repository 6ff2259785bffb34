//! Independent heavy tasks on all cores and GPUs (TuCCompi, Ortega-Arranz, Torres, Llanos and Gonzalez).
//!
//! Tasks are numbers, their outputs bytes: what schedules sees nothing else, is pure and is tested without
//! hardware. Every task is handed over once, by one thread, in no order. A farm runs on the cores and the GPUs
//! of one process or of many ranks. Not for tasks that depend on one another (see
//! [`wavefront`](crate::wavefront)) or make further tasks.

mod accept;
mod cuda;
mod drive;
mod each;
mod in_order;
mod journal;
pub mod kernels;
mod model;
mod on_devices;
mod open;
mod policy;
mod ranks;
mod reference;
mod report;
mod run;
pub mod schedule;
mod spec;
mod stragglers;
mod tune;

pub use accept::Accepted;
#[doc(hidden)]
pub use cuda::define_threads;
pub use cuda::{
    BlockArray, DeviceWords, HostMemory, KernelFunction, KernelLane, SliceUse, TaskFunction,
    Thread, Words, WordsUse, compile_check, kernel_compile_check, translated,
};
pub use drive::{AHEAD, ByGpu, FarmPattern, Lanes, Run, Settings, Stuck, is_cancelled};
pub use each::{Calls, Each};
pub use journal::{Flush, Journal};
pub use kernels::{
    Arithmetic, BlockSearch, Characterisation, Family, KernelTable, Level, Memory, Searches,
    Setting,
};
pub use model::{Simulated, simulate};
pub use on_devices::{Here, OnDevices, on_devices};
pub use open::{Handle, Open};
pub use policy::{ChunkSize, Policy, Schedule};
pub use reference::reference;
pub use report::{Failed, LISTED, Outcome, Share, WORDS, overhead};
pub use run::PackedSink;
pub use schedule::ranges::Ranges;
pub use spec::inputs::Inputs;
#[doc(hidden)]
pub use spec::known::{TellNothing, TellPacked, Value};
pub use spec::lane::GpuLane;
pub use spec::task::{ChunkExecutor, ChunkOutputs, Failure, OnCores, OnGpu, Task, on_cores};
pub use spec::worker::{Grain, Place, Worker, WorkerState};
pub use spec::{Farm, OnFailure};
pub use tune::{Tuned, Tuning, tuned, tuned_on};

#[doc(inline)]
pub use warpweft_core::element::Packed;
#[doc(inline)]
pub use warpweft_core::element::{Counter, Shared, Word};
#[doc(no_inline)]
pub use warpweft_core::run::Target;
#[doc(inline)]
pub use warpweft_macros::{kernel, task};
