//! Stencils on the cores.

mod conformance;
mod random;
