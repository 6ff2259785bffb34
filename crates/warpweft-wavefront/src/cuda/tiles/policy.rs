//! Which of the paper's five methods runs, and with which tiles.

use serde::{Deserialize, Serialize};

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
    /// as keep all SMs busy, and short waits.
    pub fn for_domain(rows: usize, sms: u32) -> Self {
        let height = (rows / (2 * sms.max(1) as usize)).clamp(64, 512).next_multiple_of(32) as u32;
        Self { method: Method::FlagsFlexible, height, width: 32, blocks: 4 }
    }

    /// Threads of a block: with flags, two warps serve them.
    pub fn threads(&self) -> u32 {
        self.height + if self.method.flags() { 64 } else { 0 }
    }
}
