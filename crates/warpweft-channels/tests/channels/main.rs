//! The channels pattern: the values of plain calls, on cores, on GPUs and on warps that the host plays.

mod borrowing;
mod by_hand;
mod cores;
mod cuda;
mod flow;
mod recursion;
mod run_with;
#[path = "../../../warpweft/tests/rustc/mod.rs"]
mod rustc;
mod tasks;
#[path = "../../../warpweft/tests/translation_support/mod.rs"]
mod translation_support;
