//! Stencils on one GPU. Without one, that the kernels compile.

mod boxes;
mod conformance;
mod fields;
mod guarded;
mod kernels;
mod language;
