//! The names a program needs: `use warpweft::prelude::*;`.

pub use crate::element::{Fields, Near, Scalar};
pub use crate::error::{Error, Result};
pub use crate::grid::Volume;
pub use crate::stencil::{Boundary, Face, Residual, Stencil, Steps};
