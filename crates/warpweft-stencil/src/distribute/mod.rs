//! A stencil over many devices, ranks and nodes: who computes what, and what travels between.
//!
//! Everything here but the run itself is a pure function. Executors of one device know nothing of
//! it, and how bytes move is [`warpweft_core::cluster`]'s business.

mod advice;
mod balance;
mod choice;
mod compute;
mod device;
mod feasible;
mod halo_executor;
mod halves;
mod hybrid;
mod launch;
mod links;
mod network;
mod notes;
mod orient;
mod pace;
mod part;
mod points;
mod rank;
mod residual;
mod routes;
mod run;
pub mod search;
mod select;
mod several;
mod simulate;
mod start;
mod stops;
mod swap;
mod swept;
mod watched;
mod ways;

pub use balance::{Balance, Measured, Shares};
pub use feasible::{check_depth, deepest_feasible};
pub(crate) use halo_executor::{Cells, HaloExecutor, add_to_cells, values_of_cells};
pub(crate) use halves::Halves;
pub use launch::Ranks;
pub(crate) use links::{About, Parcel, Said, hear, say};
pub use orient::{fewest_dependences, slab_axis};
pub use rank::RankReport;
pub use routes::{Route, Routes};
pub use run::{Distribution, footprints_of, run_in_process, run_on_cores};
pub use select::{Selection, select};
pub use several::a_gpu_each;
pub use simulate::{Cycle, Simulated, Simulation};
pub use start::{RawStart, Start};
pub use swap::{Message, Piece, swap_messages};

#[cfg(test)]
mod faults;
#[cfg(test)]
mod origins;
#[cfg(test)]
mod trips;
#[cfg(test)]
mod validity;
