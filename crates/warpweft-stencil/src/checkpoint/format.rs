//! The version of a checkpoint's files, and how many checkpoints a folder has.

use warpweft_core::grid::io::Stated;

/// The format of the manifest.
pub(super) const FORMAT: Stated =
    Stated { name: "a checkpoint", version: 4, hint: "resume from another checkpoint" };
/// Checkpoints that are kept: the newest, and one to fall back on.
pub(super) const KEPT: usize = 2;
