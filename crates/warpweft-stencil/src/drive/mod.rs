//! The driver: one loop for every run. A run on one device has one subdomain over a transport that is alone; GPUs and
//! ranks of a process, ranks of MPI and the cores next to a GPU differ in the transport and in the route that halos
//! take. Not here: what a device does (`executor`), what travels (`exchange`), how bytes move
//! ([`warpweft_core::cluster`]).

mod alone;
mod cut;
mod depth;
pub(crate) mod devices;
mod hybrid;
mod pace;
mod plans;
mod rank_report;
mod ranks;
mod report;
pub(crate) mod session;
mod start;
mod steps;
mod stops;
mod subdomain;
mod task;
#[cfg(test)]
mod tests;
mod waits;

pub use crate::exchange::{HaloMessage, Piece, Route, Routes, halo_messages};
pub use cut::distribution::Distribution;
pub use cut::feasible::{check_depth, deepest_feasible};
pub use cut::orient::{fewest_dependences, slab_axis};
pub use cut::select::{Selection, select};
pub use cut::simulate::{Cycle, Simulated, Simulation};
pub use depth::search;
pub use devices::compile_ahead::CompilingKernels;
pub use hybrid::balance::{Balance, Measured, Shares};
pub use rank_report::RankReport;
pub use ranks::count::Ranks;
pub use ranks::several::a_gpu_each;
pub use task::{footprints_of, run_on_cores};
