//! How benches write the extents of a cube or square.

use warpweft::grid::across;

/// `1024 x 1024`.
pub fn extents_of(dims: usize, size: usize) -> String {
    across(&vec![size; dims])
}
