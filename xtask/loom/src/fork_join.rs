//! The deques of workers that run fork-join tasks: files of the channels.

#[path = "../../../crates/warpweft-channels/src/cpu/borders.rs"]
mod borders;
#[path = "../../../crates/warpweft-channels/src/cpu/slot.rs"]
mod slot;
