//! The attributes: what they accept, what they refuse, and that Rust and CUDA C++ compute the same bits.

#[macro_use]
#[path = "../translation_support/mod.rs"]
mod translation_support;

mod attributes;
mod faults;
mod gpu;
mod language;
mod rejects;
#[path = "../rustc/mod.rs"]
mod rustc;
mod semantics;
mod specialised;
mod stencils;
mod wavefronts;
