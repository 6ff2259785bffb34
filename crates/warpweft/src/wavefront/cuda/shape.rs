//! Which shapes the register-strip kernel can have.

use crate::element::Unit;
use crate::error::{Error, Result};
use crate::wavefront::{CudaPolicy, Wavefront, WavefrontElement};

/// Columns of a ring between warps and of the ring of column inputs, as in `layout.cuh`.
const RING: u32 = 512;
const INPUTS: u32 = 4096;
/// Columns between two looks for a new record.
const WINDOW: u32 = 128;
/// The largest cell a lane can hand on.
const MAX_CELL: usize = 16;

/// What register strips can't do that `wavefront` needs, if anything.
pub fn misses<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
    let known = |vector: &[isize; 2]| matches!(vector, [-1, -1] | [-1, 0] | [0, -1]);
    let words = |bytes: usize| bytes == 0 || bytes.is_power_of_two() && bytes <= 16;
    // They compute cells beyond the domain too, where a fault would be none.
    let faults = || {
        let mut unit = Unit::new();
        E::cuda(&mut unit);
        unit.site_of(1).is_some()
    };
    [
        ("old values", !E::OLD.is_empty()),
        ("dependences but north, west and north-west", !E::DEPENDENCES.iter().all(known)),
        ("inputs of cells", size_of::<E::Input>() > 0),
        ("bands", wavefront.band.is_some()),
        ("cells of more than 16 bytes", size_of::<E::Cell>() > MAX_CELL),
        ("columns of such inputs", !words(size_of::<E::Column>())),
        ("function that may fault", faults()),
    ]
    .into_iter()
    .find_map(|(what, misses)| misses.then_some(what))
}

impl CudaPolicy {
    /// Columns that the last lane of a warp is behind the first.
    pub fn lag(&self) -> u32 {
        31 * self.columns
    }

    /// Rows of a tile-row.
    pub fn tile_rows(&self) -> usize {
        (self.warps * 32 * self.rows) as usize
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
        let Self { rows, columns, chunk, warps, blocks } = *self;
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
        if warps * (self.lag() + 2 * chunk) + WINDOW + 2 * RING > INPUTS {
            return refuse(
                format!("{warps} warps of {columns} columns and chunks of {chunk}"),
                "take fewer warps or columns, or shorter chunks: column inputs must outlive them",
            );
        }
        Ok(())
    }

    /// A shape for a domain on a device of `sms` SMs.
    ///
    /// Short domains are bound by latency along the critical path and want little lag; long ones
    /// by instruction issue and want many rows a lane, as far as registers allow.
    pub fn for_domain(rows: usize, cell_bytes: usize, sms: u32) -> Self {
        let words = cell_bytes.div_ceil(4);
        // Rows for each scheduler of the device.
        let share = rows / (sms as usize * 4);
        let shape = |rows, columns, chunk, warps| Self { rows, columns, chunk, warps, blocks: 1 };
        match (words, share) {
            (1, 0..64) => shape(5, 2, 16, 4),
            (1, 64..800) => shape(6, 2, 16, 4),
            (1, _) => shape(15, 4, 64, 8),
            (2 | 3, 0..800) => shape(6, 2, 16, 4),
            (2 | 3, _) => shape(10, 4, 64, 8),
            _ => shape(4, 2, 16, 4),
        }
    }
}
