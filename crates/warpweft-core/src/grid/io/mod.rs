//! Volumes in files: one module a format. Nothing here depends on a pattern.

mod colours;
mod folder;
pub mod npy;
pub mod png;
mod stated;
mod synced;
pub mod vti;
mod whole;

pub use colours::{Colours, Picture, middle_range};
pub use folder::{Claim, check_folder};
pub use stated::{Stated, hex};
pub use synced::{sync_folder, write_synced};
pub use whole::{check_writable, write_whole};
