//! Volumes in files: one module a format. Nothing here depends on a pattern.

mod bounded;
mod colours;
mod folder;
pub mod npy;
pub mod png;
mod stall;
mod stated;
mod synced;
mod temporary;
mod trusted;
pub mod vti;
mod whole;

pub use bounded::{
    Input, open_regular, read_all, read_given_text, read_small, read_small_text, read_up_to,
};
pub use colours::{Colours, Picture, middle_range};
pub use folder::{Claim, check_folder};
pub use stall::Stall;
pub use stated::{Stated, hex};
pub use synced::{sync_folder, write_synced};
pub use temporary::{new_file, remove_temporary_files, without_links};
pub use trusted::{check_trusted, make_private, narrow, read_own};
pub use whole::{check_writable, write_own, write_whole};
