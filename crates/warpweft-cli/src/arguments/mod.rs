//! What users write on the command line, as types.

mod boundary;
mod device;
mod policy;
mod size;
mod until;

pub use boundary::{BoundaryChoice, apply};
pub use device::DeviceChoice;
pub use policy::PolicyChoice;
pub use size::Size;
pub use until::UntilChoice;
