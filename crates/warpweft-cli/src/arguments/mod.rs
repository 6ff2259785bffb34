//! What users write on the command line, as types.

mod boundary;
mod conduction;
mod device;
mod grid;
mod number;
mod policy;
mod size;
mod until;

pub use boundary::{BoundaryChoice, apply};
pub use conduction::{Conduction, Float, InTypes};
pub use device::DeviceChoice;
pub use grid::Grid;
pub use number::{at_least_one, number, threads, whole};
pub use policy::{PolicyChoice, RanksPolicy};
pub use size::Size;
pub use until::UntilChoice;
