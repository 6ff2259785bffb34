//! Into how many blocks a domain is partitioned, and when the rest is small enough to be kept whole.

use warpweft_core::memory::{available_memory, check_room};

/// The most blocks along either axis: an eighth of the cells are then computed again for each level,
/// and blocks stay long enough for a device to be busy with one.
const MOST: usize = 8;

/// How much of a domain is kept while its path is looked for. Changes time and memory, never the
/// path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Blocks along either axis of a rectangle that is partitioned, at least 2. Their edges are kept.
    pub blocks: usize,
    /// The most cells of a block that is kept whole, at least 1.
    pub matrix_cells: usize,
}

impl Partition {
    /// For a domain of `rows` × `columns` cells of `cell_bytes` bytes in about `bytes` of memory:
    /// half of it for edges (`blocks` lines each way, and those of smaller and smaller rectangles,
    /// which are less than two more), half for one matrix. Two blocks each way is the least there is,
    /// even where that needs more.
    pub fn within(bytes: u64, [rows, columns]: [usize; 2], cell_bytes: usize) -> Self {
        let (half, cell) = (bytes / 2, cell_bytes.max(1) as u64);
        let line = (rows as u64 + columns as u64).max(1) * cell;
        let blocks = (half / line).saturating_sub(2).clamp(2, MOST as u64) as usize;
        let cells = (half / cell).clamp(1, isize::MAX as u64 / cell);
        Self { blocks, matrix_cells: cells as usize }
    }

    /// The same in half of the memory that there is, if that is less than `bytes`. Ranks that search
    /// together must partition alike: give them [`Partition::within`] the same bytes.
    pub fn fitting(bytes: u64, extents: [usize; 2], cell_bytes: usize) -> Self {
        let partition = Self::within(bytes, extents, cell_bytes);
        let needed = 2 * partition.bytes(extents, cell_bytes);
        match check_room(needed, "") {
            Ok(()) => partition,
            Err(_) => {
                let available = available_memory().unwrap_or(bytes);
                Self::within(bytes.min(available / 2), extents, cell_bytes)
            }
        }
    }

    /// Bytes that are kept of a domain of `rows` × `columns` cells of `cell_bytes` bytes, as
    /// [`Partition::within`] counts them.
    pub(super) fn bytes(&self, [rows, columns]: [usize; 2], cell_bytes: usize) -> u64 {
        let blocks = self.blocks.clamp(2, rows.max(columns).max(2)) as u64;
        let lines = (rows as u64 + columns as u64).saturating_mul(blocks + 2);
        let matrix = (rows as u64).saturating_mul(columns as u64).min(self.matrix_cells as u64);
        lines.saturating_add(matrix).saturating_mul(cell_bytes as u64)
    }

    /// Into how many rows and columns of blocks a rectangle is cut; none if it is kept whole.
    pub(super) fn of(&self, [rows, columns]: [usize; 2]) -> Option<[usize; 2]> {
        let whole = rows.checked_mul(columns).is_some_and(|n| n <= self.matrix_cells.max(1));
        let blocks = self.blocks.max(2);
        (!whole).then(|| [rows.min(blocks), columns.min(blocks)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_memory_makes_more_blocks_and_a_larger_matrix() {
        let within = |bytes| Partition::within(bytes, [1_000_000, 500_000], 4);
        assert_eq!(within(0), Partition { blocks: 2, matrix_cells: 1 });
        assert_eq!(within(72_000_000), Partition { blocks: 4, matrix_cells: 9_000_000 });
        assert_eq!(within(1 << 40).blocks, MOST);
        // Cells of nothing, and memory beyond any address.
        assert_eq!(Partition::within(u64::MAX, [1, 1], 0).matrix_cells, isize::MAX as usize);
    }

    #[test]
    fn every_rectangle_shrinks_until_it_is_kept_whole() {
        let partition = Partition { blocks: 3, matrix_cells: 10 };
        assert_eq!(partition.of([2, 5]), None);
        assert_eq!(partition.of([2, 6]), Some([2, 3]));
        assert_eq!(partition.of([1, 1_000_000]), Some([1, 3]));
        // Even the least there is.
        assert_eq!(Partition { blocks: 0, matrix_cells: 0 }.of([1, 1]), None);
        assert_eq!(Partition { blocks: 0, matrix_cells: 0 }.of([1, 2]), Some([1, 2]));
    }
}
