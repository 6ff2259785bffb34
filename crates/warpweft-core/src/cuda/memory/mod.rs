//! Device memory, and host memory as a device accesses it: buffers, copies, boxes, page-locked ranges, memory
//! of other processes, tensor maps.

mod buffer;
mod copy;
mod ipc;
mod locked;
mod rows;
mod staged;
mod strided;
mod tensor_map;

pub use buffer::{Buffer, Pinned, Plain, Words};
pub(super) use buffer::{bytes_of, bytes_of_mut};
pub use ipc::{Exported, Imported};
pub use locked::Locked;
pub use rows::{Extents, Rows};
pub use tensor_map::{Element, Swizzle, TensorMap, Tiled};
