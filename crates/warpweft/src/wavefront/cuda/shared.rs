//! Shared memory of register strips: what a shape takes, and the shapes that a device has room for.

use crate::cuda::SharedMemory;
use crate::error::{Error, Result};
use crate::wavefront::erased::Erased;
use crate::wavefront::{CudaPolicy, Keep};

/// Columns of a ring between warps, of the ring of column inputs, and between two looks for a new
/// record; as in `layout.cuh`.
pub(super) const RING: u32 = 512;
pub(super) const INPUTS: u32 = 4096;
pub(super) const WINDOW: u32 = 128;
/// Threads of a block at most.
const MOST_THREADS: u32 = 1024;

/// Bytes of a block's `shared_state` at most, with a matrix on its way out if that is `staged`.
/// `layout.cuh` asserts it: what the kernel makes of a column's input has 4 bytes, or as many as the
/// input.
pub(super) fn block_bytes(wavefront: &Erased<'_>, policy: &CudaPolicy, staged: bool) -> usize {
    let element = &wavefront.element;
    let CudaPolicy { rows, columns, chunk, warps, .. } = *policy;
    let [warps, chunk, rows] = [warps, chunk, policy.lanes() * rows].map(|n| n as usize);
    let column = if element.column == 0 { 1 } else { element.column.max(4) };
    let lines = match wavefront.keep {
        Keep::Best | Keep::Least => {
            2 * (rows + (policy.lanes() * (1 + columns) + WINDOW.max(policy.chunk)) as usize)
        }
        _ => 2,
    };
    let inputs = element.input > 0;
    let pieces = if inputs { 4 } else { 2 };
    let stage = if staged { pieces * chunk * rows } else { 1 };
    let rings = (warps + 1) * RING as usize;
    let cells = (rings + warps * (lines + stage)) * element.cell;
    let columns = (policy.inputs() as usize + chunk) * column;
    let given = warps * rows * 4 * chunk * element.input;
    let chunks = if inputs { 12 * warps } else { 0 };
    // Counts of columns, records, counts of chunks, and what aligning all of these may take.
    cells + columns + given + 16 * (warps + 1) + chunks + 128
}

/// Whether a matrix leaves by way of tiles in shared memory: where they fit.
pub(super) fn staged(wavefront: &Erased<'_>, policy: &CudaPolicy, shared: SharedMemory) -> bool {
    let most = shared.each(policy.blocks as usize);
    wavefront.keep == Keep::Matrix && block_bytes(wavefront, policy, true) <= most
}

/// Whether a block of this shape has room.
///
/// # Errors
/// More threads than a block has; the bytes needed, and those there are.
pub(super) fn check(
    wavefront: &Erased<'_>,
    policy: &CudaPolicy,
    shared: SharedMemory,
) -> Result<()> {
    let CudaPolicy { rows, chunk, warps, .. } = policy;
    let threads = policy.threads(wavefront.element.input > 0);
    if threads > MOST_THREADS {
        return Err(Error::spec(
            format!("blocks of {warps} warps and as many that carry inputs: {threads} threads"),
            format!("lower `warps` of the policy: {MOST_THREADS} threads are the most"),
        ));
    }
    let (needed, most) = (block_bytes(wavefront, policy, false), shared.block);
    if needed <= most {
        return Ok(());
    }
    Err(Error::spec(
        format!(
            "blocks of {warps} warps, {rows} rows a lane and chunks of {chunk} columns: {needed} bytes of \
             shared memory for {}, limit {most}",
            wavefront.element.name
        ),
        "lower `warps`, `chunk` or `rows` of the policy, or run it by tiles",
    ))
}

/// The same shape with fewer warps, shorter chunks or fewer rows, as far as that makes it fit; a
/// matrix with the tiles by which it leaves.
pub(super) fn fitted(
    wavefront: &Erased<'_>,
    mut policy: CudaPolicy,
    shared: SharedMemory,
) -> CudaPolicy {
    let matrix = wavefront.keep == Keep::Matrix;
    let most = shared.each(policy.blocks as usize);
    // Short pieces of inputs cost more than a warp less.
    let few = if wavefront.element.input > 0 { 1 } else { 2 };
    while block_bytes(wavefront, &policy, matrix) > most {
        match policy {
            CudaPolicy { warps, .. } if warps > few => policy.warps = warps.div_ceil(2),
            CudaPolicy { chunk: 17.., .. } => policy.chunk /= 2,
            CudaPolicy { rows: 2.., .. } => policy.rows -= 1,
            CudaPolicy { warps: 2, .. } => policy.warps = 1,
            _ => break,
        }
    }
    policy
}
