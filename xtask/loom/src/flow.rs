//! How workers share the items of channels: the channels' files.

#[path = "../../../crates/warpweft-channels/src/flow/cpu/cell.rs"]
mod cell;
#[path = "../../../crates/warpweft-channels/src/flow/cpu/credits.rs"]
mod credits;
#[path = "../../../crates/warpweft-channels/src/flow/cpu/ring.rs"]
mod ring;
