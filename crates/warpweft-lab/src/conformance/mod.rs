//! One conformance suite a pattern: every executor gives the reference's values, to the bit.

pub mod channels;
pub mod farm;
pub mod stencil;
pub mod wavefront;
