//! Which pipelines to try on a volume: the tiles and chunks that a small model predicts to take least
//! time (docs/models.md, "Pipelines"). Not: whether a stencil can be pipelined (`text`).

use super::text::TripShape;
use crate::stencil::{CudaKernel, CudaPolicy};

/// Planes that a chunk costs beside those that it takes in: registers are cleared, the first planes
/// awaited, and a block replaced by the next. Fitted on an H200.
const START: usize = 6;
/// Planes that the kernel takes at a time.
const PLANES: usize = 3;

/// A volume's extents (planes, rows, columns; one row a plane in two dimensions) and the device's
/// multiprocessors.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub dims: usize,
    pub extents: [usize; 3],
    /// Bytes of a cell.
    pub size: usize,
    pub sms: usize,
}
