//! Whether a ring of tiles in shared memory fits a device.

use crate::cuda::text::{FusedShape, step_text};
use crate::spec::proof::guard::Guard;
use crate::{CudaPolicy, Spec};
use warpweft_core::cuda::SharedMemory;
use warpweft_core::grid::Axes;

/// Bytes of a ring's barriers, at most: 8 a slot.
const BARRIERS: usize = 512;
/// Elements along an axis of a tile that the copy engine takes at most.
const COPY_MOST: usize = 256;

/// Whether the rings of as many blocks as the policy wants on an SM fit the shared memory that it has
/// where the compute capability is this, and the copy engine takes their tiles.
pub(in crate::cuda) fn ring_fits(
    stencil: &Spec,
    extents: Axes<usize>,
    policy: &CudaPolicy,
    capability: (u32, u32),
) -> bool {
    let each = SharedMemory::of_capability(capability).each(policy.min_blocks as usize);
    let fits = |bytes: usize| bytes == 0 || bytes + BARRIERS <= each;
    if policy.kernel.fuses() {
        let shape = FusedShape::of(stencil, extents, &policy.reduced(stencil.rank()));
        // Kernels that may fault have two words a thread more (faults.cuh).
        let noted = if Guard::of(stencil).faults { 256 * policy.warps as usize } else { 0 };
        return shape.is_none_or(|shape| fits(shape.shared() + noted));
    }
    let text = step_text(stencil, policy, false);
    let mut ringed = text.stages.iter().flat_map(|stage| &stage.ringed);
    ringed.all(|(_, tile)| tile.iter().all(|&n| n <= COPY_MOST))
        && text.stages.iter().all(|stage| fits(stage.shared))
}
