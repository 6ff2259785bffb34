//! One module an attribute or derive: what each puts into the user's crate.
//!
//! The road of a body is the same for all of them, `parse`, `check`, `ir` and `emit`; here is what is around it.

pub mod boundary;
pub mod channel_kernel;
mod characterisation;
pub mod derive;
pub mod device;
pub mod kernel;
pub mod reduction;
pub mod spawning;
pub mod stencil;
pub mod task;
mod translation;
pub mod wavefront;
