//! The channels pattern: the values of plain calls, on cores, on GPUs and on warps that the host plays.

mod borrowing;
mod by_hand;
mod cores;
mod cuda;
mod flow;
mod pieces;
mod run_with;
mod sums;
#[path = "../../../warpweft/tests/translation_support/mod.rs"]
mod translation_support;
mod warps;
