//! Every tunable of a wavefront run. Changes time, never results.

use serde::{Deserialize, Serialize};

use warpweft_core::error::{Error, Result};

/// How a wavefront runs on one kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "executor", rename_all = "lowercase")]
pub enum Policy {
    /// On the cores.
    Cpu(CpuPolicy),
    /// On one NVIDIA GPU.
    Cuda(CudaPolicy),
    /// On one NVIDIA GPU, by tiles.
    Tiles(TilePolicy),
    /// On one NVIDIA GPU, sums by scans.
    Scan(ScanPolicy),
}

impl Policy {
    /// For the report.
    pub(crate) fn to_json(self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The shape of the scan kernel: a warp owns rows, a lane 16 bytes of cells of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ScanPolicy {
    /// Rows a warp owns, 1 to 16.
    pub rows: u32,
    /// Warps of a block that own rows, 1 to 31; one more hands sums from band to band.
    pub warps: u32,
}

impl ScanPolicy {
    /// A shape for `rows` rows on a device with `sms` SMs. Each band of rows waits for bands above it, so there should
    /// be few, tall bands, but at least one per SM.
    pub fn for_domain(rows: usize, sms: u32) -> Self {
        let warps = if rows > sms as usize * 64 { 16 } else { 8 };
        Self { rows: 8, warps }
    }

    /// Rows of a block.
    pub(crate) fn band_rows(&self) -> usize {
        (self.rows * self.warps) as usize
    }

    /// Threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        32 * (self.warps + 1)
    }

    /// Whether there is a kernel of this shape.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn check(&self) -> Result<()> {
        if !(1..=16).contains(&self.rows) || !(1..=31).contains(&self.warps) {
            return Err(Error::spec(
                format!("{} warps of {} rows", self.warps, self.rows),
                "take 1 to 31 warps of 1 to 16 rows",
            ));
        }
        Ok(())
    }
}

/// How the rows are divided among the cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CpuPolicy {
    /// Rows of a tile-row; a thread computes their anti-diagonals.
    pub tile_rows: usize,
    /// Columns between two checks of the neighbours' progress. Sweeps in place over the whole matrix on several workers
    /// use at most an eighth of its columns; the report has the number used.
    pub tile_columns: usize,
    /// Whether to use 16-bit cells if the element supports them and its scores allow it
    /// ([`WavefrontElement::step`](super::WavefrontElement::step)). Tiles are then made small enough for scores not to overflow.
    #[serde(default, alias = "sixteen")]
    pub cells_16_bit: bool,
}

impl CpuPolicy {
    /// A shape for `rows` rows on `threads` workers: tile-rows that keep all workers busy most of
    /// the time, and whose fronts stay in the first-level cache. They are whole vectors of 16-bit cells.
    pub fn for_domain(rows: usize, threads: usize) -> Self {
        let tile_rows = (rows / (8 * threads.max(1))).clamp(128, 1024) / 32 * 32;
        Self { tile_rows, tile_columns: 1024, cells_16_bit: true }
    }

    /// The same over so many rows and columns: a tile is no larger than the whole.
    pub(crate) fn within(self, [rows, columns]: [usize; 2]) -> Self {
        let tile_rows = self.tile_rows.min(rows).max(1);
        Self { tile_rows, tile_columns: self.tile_columns.min(columns).max(1), ..self }
    }
}

/// The shape of the register-strip kernel: a lane owns a strip of rows in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CudaPolicy {
    /// Rows a lane owns.
    pub rows: u32,
    /// Columns a lane advances between two shuffles: 1, 2, 4 or 8.
    pub columns: u32,
    /// Columns between two checks of the neighbours' progress, a multiple of 4 and of `columns`.
    pub chunk: u32,
    /// Warps of a block that compute.
    pub warps: u32,
    /// Blocks an SM holds.
    pub blocks: u32,
    /// Packed 16×2 lanes: two 16-bit cells a register, where the element and its scores allow
    /// it ([`WavefrontElement::step`](super::WavefrontElement::step)). A lane then owns `rows` rows
    /// twice.
    #[serde(default, alias = "pairs")]
    pub packed_16x2: bool,
}

/// How tiles are shaped and how blocks wait for one another: the methods of section 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// 1: barriers across the grid, square tiles.
    Barriers,
    /// 2: flags between neighbours, square tiles.
    Flags,
    /// 3: barriers, hyper-tiles of equal dimensions.
    BarriersHyper,
    /// 4: flags, hyper-tiles of equal dimensions.
    FlagsHyper,
    /// 5: flags, hyper-tiles of any width.
    FlagsFlexible,
}

impl Method {
    /// All five, in the paper's order.
    pub const ALL: [Self; 5] =
        [Self::Barriers, Self::Flags, Self::BarriersHyper, Self::FlagsHyper, Self::FlagsFlexible];

    /// The paper's number.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// Whether blocks wait for their neighbours only.
    pub fn flags(self) -> bool {
        !matches!(self, Self::Barriers | Self::BarriersHyper)
    }

    /// Whether tiles are rectangles of cells, not of fronts.
    pub fn square(self) -> bool {
        matches!(self, Self::Barriers | Self::Flags)
    }

    /// Whether a tile is as wide as it is high.
    pub fn equal(self) -> bool {
        self != Self::FlagsFlexible
    }
}

/// How the paper's kernels run. Changes time, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TilePolicy {
    /// How blocks wait, and the shape of tiles.
    pub method: Method,
    /// Rows of a tile, a thread each: 32 to 960 (with barriers 1024), whole warps.
    pub height: u32,
    /// Columns of a square tile, fronts of a hyper-tile; even.
    pub width: u32,
    /// Blocks an SM holds at most.
    pub blocks: u32,
}

impl TilePolicy {
    /// Flexible hyper-tiles for a domain of `rows` rows on a device of `sms` SMs: as many tile-rows
    /// as keep all SMs busy, and short waits. An SM has 512 rows at work at most: a front of more takes longer in
    /// proportion, and saves nothing. On an H200 a seam through 100,000 squared ran at 385 Gcells/s in two blocks an SM of
    /// 256 rows, 336 in three, 341 in two of 384 rows, 252 in two of 512.
    pub fn for_domain(rows: usize, sms: u32) -> Self {
        let height = (rows / (2 * sms.max(1) as usize)).clamp(64, 256).next_multiple_of(32) as u32;
        let blocks = (512 / height).clamp(2, 4);
        Self { method: Method::FlagsFlexible, height, width: 32, blocks }
    }

    /// Threads of a block: with flags, two warps serve them.
    pub fn threads(&self) -> u32 {
        self.height + if self.method.flags() { 64 } else { 0 }
    }
}
