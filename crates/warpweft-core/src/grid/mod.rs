//! Volumes: the user fills them, runs an element function over them, and reads them back.

mod axes;
mod axis_names;
mod boxes;
pub mod io;
mod parts;
mod raw;
mod repeat;
mod volume;

pub use axes::{Axes, MAX_AXES};
pub use axis_names::{AXES, across, axis_name};
pub use boxes::rows;
pub use parts::{in_parts, over_parts};
pub use raw::{RawVolume, RawVolumeMut, check_extents};
pub use volume::Volume;
