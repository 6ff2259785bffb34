//! What a schedule knows of workers: the farm's file.

#[path = "../../../crates/warpweft-farm/src/spec/worker.rs"]
pub mod worker;
