//! Shared memory of register strips: what a shape takes, and the shapes that fit a device.

use crate::policy::CudaPolicy;
use crate::spec::{Erased, Keep};
use warpweft_core::cuda::SharedMemory;
use warpweft_core::error::{Error, Result};

/// Columns of a ring between warps, of the ring of column inputs, and between two looks for a new
/// record; as in `layout.cuh`.
pub(super) const RING: u32 = 512;
pub(super) const INPUTS: u32 = 4096;
pub(super) const WINDOW: u32 = 128;
/// Bytes of an element from which on it is copied to shared memory, as in `tables.cuh`: it holds tables.
const FEW_BYTES: usize = 256;
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
    let window = match wavefront.keep {
        Keep::Best | Keep::Least => 32 * (policy.rows + 1 + columns) + WINDOW.max(policy.chunk),
        _ => 2,
    };
    let windows = 2 * warps * (window as usize * element.cell + 16);
    let inputs = element.input > 0;
    let pieces = if inputs { 4 } else { 2 };
    let stage = if staged { pieces * chunk * rows } else { 1 };
    let rings = (warps + 1) * RING as usize;
    let cells = (rings + warps * stage) * element.cell + windows;
    let columns = (policy.inputs() as usize + chunk) * column;
    let given = warps * rows * 4 * chunk * element.input;
    let chunks = if inputs { 8 * warps } else { 0 };
    // Counts of columns, records, counts of chunks, and what aligning all of these may take.
    // The tables of the element, and those of the function that tells choices, which has no others.
    let tables = match wavefront.parameters.len() {
        ..=FEW_BYTES => 0,
        bytes => 2 * bytes.next_multiple_of(16),
    };
    cells + columns + given + 16 * (warps + 1) + chunks + tables + 128
}

/// Whether a matrix leaves by way of tiles in shared memory: where they fit.
pub(super) fn staged(wavefront: &Erased<'_>, policy: &CudaPolicy, shared: SharedMemory) -> bool {
    let most = shared.each(policy.blocks as usize);
    wavefront.keep == Keep::Matrix && block_bytes(wavefront, policy, true) <= most
}

/// What to say where a matrix leaves cell by cell, as its tiles don't fit.
pub(super) fn scattered(
    wavefront: &Erased<'_>,
    policy: &CudaPolicy,
    shared: SharedMemory,
) -> Option<String> {
    if wavefront.keep != Keep::Matrix || staged(wavefront, policy, shared) {
        return None;
    }
    let (needed, most) =
        (block_bytes(wavefront, policy, true), shared.each(policy.blocks as usize));
    Some(format!(
        "the matrix left cell by cell, not by pieces of rows: its tiles need {needed} bytes of shared \
         memory a block, limit {most}; lower `warps`, `chunk`, `rows` or `blocks` of the policy"
    ))
}

/// Whether a block of this shape fits.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recurrences::{area, local};
    use crate::spec::Wavefront;

    #[test]
    fn a_shape_whose_matrix_leaves_cell_by_cell_says_so() {
        let memory = SharedMemory::of_block(227 << 10);
        let policy = |rows, chunk, warps, blocks| {
            let columns = 2;
            CudaPolicy { rows, columns, chunk, warps, blocks, packed_16x2: false }
        };
        let letters = [b'A'; 700];
        let plain = Wavefront::of(local(2, -1, -1)).rows(&letters).columns(&letters);
        let matrix = plain.clone().keep(Keep::Matrix);
        let note_of = |policy| scattered(&matrix.erased(), &policy, memory);
        // 4 warps of 128 rows of two pieces of 64 columns, 4 bytes each.
        let fits = policy(4, 32, 4, 1);
        assert_eq!(note_of(fits), None);
        let note = note_of(CudaPolicy { chunk: 64, ..fits }).unwrap();
        assert!(note.contains("limit 232448") && note.contains("lower `warps`"), "{note}");
        let needed: usize = note.split(' ').find_map(|word| word.parse().ok()).unwrap();
        assert!((4 * 128 * 128 * 4..300 << 10).contains(&needed), "{note}");
        // Half as much a block, where an SM is to hold two.
        let note = note_of(CudaPolicy { blocks: 2, ..fits }).unwrap();
        assert!(note.contains("limit 115"), "{note}");
        // Nothing is staged of what keeps no matrix.
        let wide = CudaPolicy { chunk: 64, ..fits };
        assert_eq!(scattered(&plain.erased(), &wide, memory), None);
        // Inputs come by tiles of their own, four pieces each way.
        let table = Wavefront::of(area()).over([700, 700]).keep(Keep::Matrix);
        let note = |policy| scattered(&table.erased(), &policy, memory);
        assert_eq!(note(policy(4, 32, 2, 1)), None);
        assert!(note(policy(4, 32, 4, 1)).is_some());
    }
}
