//! Which shapes the register-strip kernel can have.

use super::pairs;
use crate::error::{Error, Result};
use crate::wavefront::erased::Erased;
use crate::wavefront::{CudaPolicy, Keep, Wavefront, WavefrontElement};

/// Columns of a ring between warps and of the ring of column inputs, as in `layout.cuh`.
const RING: u32 = 512;
const INPUTS: u32 = 4096;
/// Columns between two looks for a new record.
const WINDOW: u32 = 128;
/// Bytes of an SM's shared memory that blocks may have.
const SHARED: usize = 227 << 10;
/// The largest cell a lane can hand on.
const MAX_CELL: usize = 16;

/// What register strips can't do that `wavefront` needs, if anything.
pub fn misses<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
    missing(&wavefront.erased())
}

/// The same.
pub(super) fn missing(wavefront: &Erased<'_>) -> Option<&'static str> {
    let element = &wavefront.element;
    let known = |vector: &[isize; 2]| matches!(vector, [-1, -1] | [-1, 0] | [0, -1]);
    let words = |bytes: usize| bytes == 0 || bytes.is_power_of_two() && bytes <= 16;
    [
        ("old values", !element.old.is_empty()),
        ("dependences but north, west and north-west", !element.dependences.iter().all(known)),
        ("inputs of cells of such sizes", !words(element.input)),
        ("bands", wavefront.band.is_some()),
        ("cells of more than 16 bytes", element.cell > MAX_CELL),
        ("columns of such inputs", !words(element.column)),
        // They compute cells beyond the domain too, where a fault would be none.
        ("function that may fault", element.faults()),
    ]
    .into_iter()
    .find_map(|(what, misses)| misses.then_some(what))
}

impl CudaPolicy {
    /// Columns that the last lane of a warp is behind the first.
    pub fn lag(&self) -> u32 {
        (self.lanes() - 1) * self.columns
    }

    /// Strips of rows in a warp: one a lane, or two.
    fn lanes(&self) -> u32 {
        if self.pairs { 64 } else { 32 }
    }

    /// Rows of a tile-row.
    pub fn tile_rows(&self) -> usize {
        (self.warps * self.lanes() * self.rows) as usize
    }

    /// Threads of a block: two warps move borders.
    pub(super) fn threads(&self) -> u32 {
        32 * (self.warps + 2)
    }

    /// Whether a kernel of this shape exists for cells of `cell_bytes` bytes.
    ///
    /// # Errors
    /// Which number is out of range, and the range.
    pub fn check(&self, cell_bytes: usize) -> Result<()> {
        let Self { rows, columns, chunk, warps, blocks, pairs } = *self;
        let inputs = if pairs { 2 * INPUTS } else { INPUTS };
        let refuse = |what: String, remedy: &str| Err(Error::spec(what, remedy));
        if cell_bytes > MAX_CELL {
            return refuse(format!("a cell of {cell_bytes} bytes"), "a cell has 16 bytes at most");
        }
        if !(1..=32).contains(&rows) {
            return refuse(format!("{rows} rows a lane"), "take 1 to 32");
        }
        if ![1, 2, 4, 8].contains(&columns) {
            return refuse(format!("{columns} columns a macro-step"), "take 1, 2, 4 or 8");
        }
        if !(8..=128).contains(&chunk) || !chunk.is_power_of_two() {
            return refuse(format!("a chunk of {chunk} columns"), "take 8, 16, 32, 64 or 128");
        }
        if !(1..=30).contains(&warps) || !(1..=8).contains(&blocks) {
            return refuse(
                format!("{blocks} blocks an SM of {warps} warps"),
                "take 1 to 30 warps and 1 to 8 blocks",
            );
        }
        if warps * (self.lag() + 2 * chunk) + WINDOW + 2 * RING > inputs {
            return refuse(
                format!("{warps} warps of {columns} columns and chunks of {chunk}"),
                "take fewer warps or columns, or shorter chunks: column inputs must outlive them",
            );
        }
        Ok(())
    }

    /// A shape for a domain on a device of `sms` SMs that keeps no matrix.
    ///
    /// Short domains are bound by latency along the critical path and want little lag; long ones
    /// by instruction issue and want many rows a lane, as far as registers allow, and tile-rows that
    /// come out even over the SMs. Measured on an H200: `align_rates`.
    pub fn for_domain(rows: usize, cell_bytes: usize, sms: u32) -> Self {
        // Rows for each scheduler of the device.
        let share = rows / (sms as usize * 4);
        match (cell_bytes.div_ceil(4), share) {
            (1, 0..64) => Self::of(5, 2, 16, 4),
            (1, 64..800) => Self::of(even(rows, 4 * 32, 7, sms).max(4), 2, 16, 4),
            (1, _) => Self::of(even(rows, 8 * 32, 15, sms), 2, 32, 8),
            (2 | 3, 0..800) => Self::of(even(rows, 4 * 32, 6, sms).max(4), 2, 16, 4),
            (2 | 3, _) => Self::of(even(rows, 8 * 32, 10, sms), 2, 32, 8),
            _ => Self::of(4, 2, 16, 4),
        }
    }

    /// As [`CudaPolicy::for_domain`] where every cell is kept: a block's tiles must fit its shared
    /// memory, and rows must leave in long pieces.
    pub fn for_matrix(rows: usize, cell_bytes: usize, sms: u32) -> Self {
        let most = (4 / cell_bytes.div_ceil(4).max(1) as u32).max(1);
        match rows / (sms as usize * 4) {
            0..40 => Self::of(most, 1, 32, 2),
            40..100 => Self::of(most, 2, 32, 4),
            _ => Self::of(even(rows, 3 * 32, most, sms), 2, 64, 3),
        }
    }

    /// As [`CudaPolicy::for_domain`] with two cells a register, if that is worth it: short domains
    /// pay more for the lag of 64 strips a warp than two cells at once save.
    pub fn for_pairs(rows: usize, sms: u32) -> Option<Self> {
        let long = rows / (sms as usize * 4) >= 800;
        let shape = Self::of(even(rows, 8 * 64, 15, sms), 1, 32, 8);
        long.then_some(Self { pairs: true, ..shape })
    }

    /// Whether a block of it fits an SM's shared memory beside others, where cells have inputs.
    ///
    /// # Errors
    /// The bytes needed, and those there are.
    pub(super) fn check_inputs(&self, wavefront: &Erased<'_>) -> Result<()> {
        let needed = self.shared(wavefront, false);
        if wavefront.element.input == 0 || needed <= SHARED {
            return Ok(());
        }
        Err(Error::spec(
            format!(
                "tiles of inputs of {} bytes a cell: {needed} bytes of shared memory an SM, limit {SHARED}",
                wavefront.element.input
            ),
            "lower `rows`, `warps` or `chunk` of the policy",
        ))
    }

    /// About the bytes of shared memory that its blocks on an SM take for inputs of cells and what is
    /// always there, and for a matrix on its way out if that is `staged`; as in `layout.cuh`.
    fn shared(&self, wavefront: &Erased<'_>, staged: bool) -> usize {
        let element = &wavefront.element;
        let [warps, chunk, rows] = [self.warps, self.chunk, 32 * self.rows].map(|n| n as usize);
        let given = 4 * chunk * element.input;
        let out = if staged { 2 * chunk * element.cell } else { 0 };
        let lines = (rows + 32 + 32 * self.columns as usize + WINDOW as usize) * element.cell;
        let saved = if wavefront.keep.beside().is_some() { 2 * lines } else { 0 };
        let rings = (warps + 1) * RING as usize * element.cell;
        let columns = (INPUTS as usize + chunk) * element.column.max(1);
        let block = warps * (rows * (given + out) + saved) + rings + columns + 1024;
        block * self.blocks as usize
    }

    /// The same with fewer warps, shorter chunks or fewer rows, as far as tiles of inputs need it.
    fn for_inputs(mut self, wavefront: &Erased<'_>) -> Self {
        let staged = wavefront.keep == Keep::Matrix;
        while wavefront.element.input > 0 && self.shared(wavefront, staged) > SHARED {
            match self {
                Self { warps: 3.., .. } => self.warps = self.warps.div_ceil(2),
                Self { chunk: 17.., .. } => self.chunk /= 2,
                Self { rows: 2.., .. } => self.rows -= 1,
                _ => break,
            }
        }
        self
    }

    const fn of(rows: u32, columns: u32, chunk: u32, warps: u32) -> Self {
        Self { rows, columns, chunk, warps, blocks: 1, pairs: false }
    }
}

/// The fewest rows a lane, of at most `most`, with which blocks of `lanes` strips on `sms` SMs need
/// as few passes over the rows as with `most`.
fn even(rows: usize, lanes: u32, most: u32, sms: u32) -> u32 {
    let lanes = lanes as usize * sms.max(1) as usize;
    let passes = rows.div_ceil(lanes * most as usize).max(1);
    rows.div_ceil(lanes * passes).max(1) as u32
}

/// The shape for `wavefront` on one GPU where nobody gave one, with two cells a register if `pairs`
/// says so and it is worth it.
pub(super) fn on_one(wavefront: &Erased<'_>, pairs: bool, sms: u32) -> CudaPolicy {
    let (rows, cell) = (wavefront.extents[0], wavefront.element.cell);
    if wavefront.keep == Keep::Matrix {
        return CudaPolicy::for_matrix(rows, cell, sms).for_inputs(wavefront);
    }
    CudaPolicy::for_pairs(rows, sms)
        .filter(|policy| pairs && pairs::check(wavefront, policy, false).is_ok())
        .unwrap_or_else(|| CudaPolicy::for_domain(rows, cell, sms).for_inputs(wavefront))
}
