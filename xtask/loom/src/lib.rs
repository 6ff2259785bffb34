//! The lock-free code under loom, which tries every order of its threads: the very files of the core and of the
//! patterns, compiled once more with loom's threads and atomics. Not a library: nothing is built but the tests.
#![cfg(test)]
#![allow(dead_code, unused_imports, missing_docs, reason = "a model uses some of each file")]

// The farm's files name the core so.
extern crate self as warpweft_core;

mod cpu;
mod flow;
mod fork_join;
mod joins;
mod kernels;
mod queue;
mod warps;

#[path = "../../../crates/warpweft-core/src/error.rs"]
mod error;

#[path = "../../../crates/warpweft-farm/src/policy.rs"]
mod policy;
#[path = "../../../crates/warpweft-farm/src/schedule/mod.rs"]
mod schedule;
mod spec;
