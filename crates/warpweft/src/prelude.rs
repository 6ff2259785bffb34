//! The names a program needs: `use warpweft::prelude::*;`.

#[cfg(feature = "channels")]
pub use crate::channels::{Channels, spawn, spawning, sync};
pub use crate::element::{
    Device, Fields, Near, Packed, Real, Scalar, Stored, Table, bf16, boundary, device, f16,
    reduction, stencil,
};
pub use crate::error::{Error, Result};
#[cfg(feature = "farm")]
pub use crate::farm::{Failure, Farm, Task, task};
pub use crate::grid::Volume;
pub use crate::machine::Machine;
pub use crate::report::Report;
pub use crate::run::Target;
#[cfg(feature = "stencil")]
pub use crate::stencil::{
    Boundary, Checkpoint, Face, PointSource, Probe, Residual, Run, Stencil, Steps,
};
#[cfg(feature = "wavefront")]
pub use crate::wavefront::{Border, Earlier, Keep, Old, Ranked, Wavefront, wavefront};
