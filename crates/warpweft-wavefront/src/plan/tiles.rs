//! A domain, its vectors and a policy turned into fronts, tiles and waits. No hardware.

use super::{Layout, Shape};
use crate::policy::TilePolicy;
use crate::recurrence::Dependence;
use warpweft_core::cuda::SharedMemory;
use warpweft_core::error::{Error, Result};

/// A run of the tile kernels, in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the vectors decide.
    pub shape: Shape,
    /// The policy.
    pub policy: TilePolicy,
    /// Rows and columns of the domain.
    pub extents: [usize; 2],
    /// Sweeps one behind the other.
    pub sweeps: usize,
    /// Columns with those outside.
    pub width: usize,
    /// Where cells lie in memory.
    pub layout: Layout,
    /// Fronts between two fetches from memory.
    pub group: usize,
    /// Tiles of a tile-row.
    pub tiles: usize,
    /// Tile-rows of a sweep.
    pub tile_rows: usize,
    /// Tiles whose borders the rings hold: the one being computed and those on their way.
    pub buffered: usize,
    /// Cells of a ring of a row above, a power of two.
    pub ring: usize,
    /// Steps from a tile's to the one below, where steps are global.
    pub lag: usize,
    /// Steps from a sweep to the next.
    pub sweep_lag: usize,
    /// Fronts that the sweep before must be ahead.
    pub sweep_ahead: usize,
}

impl Plan {
    /// The plan for a domain.
    ///
    /// # Errors
    /// Illegal vectors; a tile that no kernel can have, or that these vectors forbid.
    pub fn new(
        extents: [usize; 2],
        sweeps: usize,
        dependences: &[Dependence],
        old: &[Dependence],
        policy: TilePolicy,
    ) -> Result<Self> {
        let shape = Shape::of(dependences, old)?;
        shape.check(&policy)?;
        let method = policy.method;
        let (height, tile) = (policy.height as usize, policy.width as usize);
        let group = [8, 4, 2].into_iter().find(|&g| tile % g == 0 && g >= shape.depth);
        let group = group.unwrap_or(shape.depth);
        let width = shape.sides[0] + extents[1] + shape.sides[1];
        let behind = shape.skew * (height - 1);
        let fronts = (width + behind).next_multiple_of(group);
        let square = method.square();
        let tiles = if square { width } else { fronts }.div_ceil(tile);
        let lag = if square { 1 } else { (shape.ahead + behind).div_ceil(tile) + 1 };
        // Narrow tiles pass faster than a border comes through memory: several at a time.
        let buffered = if tile <= 128 { 4 } else { 2 };
        let sweep_ahead = shape.old_east + shape.skew * shape.south + group;
        Self {
            extents,
            sweeps,
            width,
            layout: Layout { height, skew: shape.skew, fronts },
            group,
            tiles,
            tile_rows: extents[0].div_ceil(height),
            buffered,
            ring: (buffered * tile + 2 * shape.ahead + shape.skew * shape.above + 2 * group + 32)
                .next_power_of_two(),
            lag,
            sweep_lag: lag + sweep_ahead.div_ceil(tile) + 1,
            sweep_ahead,
            shape,
            policy,
        }
        .checked()
    }

    fn checked(self) -> Result<Self> {
        // Flags and fronts are counted in 32 bits, and differences must keep their sign.
        let most = i32::MAX as usize / 2;
        if self.layout.fronts > most || self.steps() > most || self.units() > most {
            return Err(Error::spec(
                format!("{} tile-rows of {} fronts", self.units(), self.layout.fronts),
                "take higher tiles, or fewer sweeps at once",
            ));
        }
        Ok(self)
    }

    /// Refuses more tiles than one of so many blocks can count.
    ///
    /// # Errors
    /// How many there are, and what makes them fewer.
    pub fn countable(&self, blocks: usize) -> Result<()> {
        let tiles = self.units().div_ceil(blocks.max(1)).saturating_mul(self.tiles);
        if tiles > i32::MAX as usize {
            return Err(Error::spec(
                format!("{tiles} tiles for each of {blocks} blocks, which count to {}", i32::MAX),
                "take wider or higher tiles, or fewer sweeps at once",
            ));
        }
        Ok(())
    }

    /// Tile-rows of all sweeps.
    pub fn units(&self) -> usize {
        self.tile_rows * self.sweeps
    }

    /// Steps between barriers, from the first tile to the last.
    pub fn steps(&self) -> usize {
        (self.tile_rows - 1) * self.lag + (self.sweeps - 1) * self.sweep_lag + self.tiles
    }

    /// Tile-rows of the layout: rows below the domain have a place.
    pub fn stored_tile_rows(&self) -> usize {
        (self.extents[0] + self.shape.south).div_ceil(self.layout.height)
    }

    /// Cells before and after a stored matrix that may be read, never used.
    pub fn padding(&self) -> usize {
        let reach = self.shape.sides[0] + self.shape.sides[1] + self.shape.skew * self.shape.south;
        let lines = self.shape.skew * self.layout.height + reach + 2 * self.policy.width as usize;
        (lines + 8 * self.group) * self.layout.height
    }

    /// Cells of a stored matrix with its padding.
    pub fn stored(&self) -> usize {
        // One tile-row more: the last one's neighbour below.
        self.layout.len(self.stored_tile_rows() + 1) + 2 * self.padding()
    }

    /// Column inputs before and after the domain's that may be read, never used.
    pub fn column_padding(&self) -> usize {
        self.shape.skew * self.layout.height
            + self.shape.sides[0]
            + 2 * self.policy.width as usize
            + 4 * self.group
    }

    /// Bytes of shared memory of a block, for cells of so many bytes.
    ///
    /// # Errors
    /// More than a block can have of `shared`.
    pub fn shared(&self, cell: usize, shared: SharedMemory) -> Result<usize> {
        let slots = (self.shape.depth * self.layout.height * cell + 16).next_multiple_of(16);
        let bytes = slots + 2 * self.shape.above * self.ring * cell;
        if bytes > shared.block {
            let TilePolicy { height, width, .. } = self.policy;
            return Err(Error::spec(
                format!(
                    "tiles of {height} x {width} cells of {cell} bytes: {bytes} bytes of shared memory, \
                     limit {}",
                    shared.block
                ),
                "take narrower or lower tiles",
            ));
        }
        Ok(bytes)
    }

    /// Sweeps of one tile-row that are at work at once, where steps are global.
    pub fn live_sweeps(&self) -> usize {
        self.sweeps.min(self.tiles / self.sweep_lag + 2)
    }
}

/// The plan by `policy` for cells of so many bytes, of lower tiles as far as they need it to fit.
///
/// # Errors
/// Those of `plan`.
pub(crate) fn fitting(
    cell: usize,
    mut policy: TilePolicy,
    shared: SharedMemory,
    plan: impl Fn(TilePolicy) -> Result<Plan>,
) -> Result<Plan> {
    loop {
        let found = plan(policy)?;
        if policy.height <= 32 || found.shared(cell, shared).is_ok() {
            return Ok(found);
        }
        policy.height = (policy.height / 2).next_multiple_of(32);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
