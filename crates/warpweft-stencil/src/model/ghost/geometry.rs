//! What a model must know of a part: counts of cells and bytes for each depth.

/// Cells and bytes of a part for each number of steps between swaps (R ≥ 1).
pub trait Geometry {
    /// Own cells, ΠB.
    fn cells(&self) -> f64;
    /// Cells computed in `depth` steps when the region shrinks from step to step: equation (2).
    fn shrinking_cells(&self, depth: usize) -> f64;
    /// Cells computed in `depth` steps when the whole zone is computed in each: equation (3).
    fn whole_cells(&self, depth: usize) -> f64;
    /// Of the cells computed, those that no neighbour waits for.
    fn core_cells(&self, depth: usize) -> f64;
    /// Bytes of the ghost zone: equation (5).
    fn halo_bytes(&self, depth: usize) -> f64;
    /// Bytes of the zone copied to a device and back again: equation (6).
    fn staged_bytes(&self, depth: usize) -> f64;
}
