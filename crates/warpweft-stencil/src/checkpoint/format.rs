//! The version of a checkpoint's files, and how many checkpoints a folder has.

use warpweft_core::grid::io::Stated;

/// The format of the manifest.
pub(super) const FORMAT: Stated =
    Stated { name: "a checkpoint", version: 4, hint: "resume from another checkpoint" };
/// Checkpoints that are kept: the newest, and one to fall back on.
pub(super) const KEPT: usize = 2;

/// Whether `name` is `begin` and a number: a file in this folder.
pub(super) fn numbered(name: &str, begin: &str) -> bool {
    let number = name.strip_prefix(begin);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}
