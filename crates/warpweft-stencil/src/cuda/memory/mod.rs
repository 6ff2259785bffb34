//! A volume in device memory: its arrays, and where a cell lies in them.

pub(super) mod arrays;
pub(super) mod layout;
