//! What the vectors of a recurrence decide about tiles.

use crate::policy::TilePolicy;
use crate::recurrence::{Dependence, Reach, precedences, skew};
use warpweft_core::error::{Error, Result};

/// What the vectors alone decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Columns that a row is behind the one above.
    pub skew: usize,
    /// Rows above that are read, at least one.
    pub above: usize,
    /// Columns outside that are read, before and after the domain.
    pub sides: [usize; 2],
    /// Rows below whose old values are read.
    pub south: usize,
    /// Columns to the east whose old values are read.
    pub old_east: usize,
    /// Columns that a row above must be ahead.
    pub ahead: usize,
    /// Per row above (0: the own), the farthest column east that is read of it, and whether any is.
    pub streams: Vec<(isize, bool)>,
    /// Cells remembered of each.
    pub history: usize,
    /// Fronts kept in shared memory: a power of two.
    pub depth: usize,
    /// Whether tiles may be square: no vector leads east.
    pub square: bool,
}

impl Shape {
    /// Of these vectors.
    ///
    /// # Errors
    /// As [`precedences`].
    pub fn of(dependences: &[Dependence], old: &[Dependence]) -> Result<Self> {
        let order = precedences(dependences, old)?;
        let (reach, before) = (Reach::of(dependences).with(Reach::of(old)), Reach::of(&order));
        let skew = skew(&order)?;
        let above = before.north.max(1);
        let mut streams = vec![(-1, true)];
        let mut history = 1;
        let mut depth = 1;
        for u in 0..=above {
            let row = || dependences.iter().filter(|[di, _]| -di == u as isize).map(|[_, dj]| *dj);
            let east = if u == 0 { -1 } else { row().fold(0, isize::max) };
            if let Some(west) = row().min() {
                history = history.max((east - west + 1) as usize);
            }
            if u > 0 {
                streams.push((east, row().next().is_some()));
                depth = depth.max((skew * u) as isize - east);
            }
        }
        Ok(Self {
            skew,
            above,
            sides: [reach.west, reach.east],
            south: reach.south,
            old_east: Reach::of(old).east,
            ahead: before.east,
            streams,
            history,
            depth: (depth as usize + 1).next_power_of_two(),
            square: before.east == 0,
        })
    }

    /// Refuses tiles that no kernel can have, or that these vectors forbid.
    ///
    /// # Errors
    /// Which number it is, and what to take.
    pub(super) fn check(&self, policy: &TilePolicy) -> Result<()> {
        let TilePolicy { method, height, width: tile, blocks } = *policy;
        let refuse = |what: String, hint: String| Err(Error::spec(what, hint));
        let most = if method.flags() { 960 } else { 1024 };
        let least = self.above.max(self.south + 1).max(32);
        if !(least..=most).contains(&(height as usize)) || height % 32 != 0 {
            return refuse(
                format!("tiles of {height} rows"),
                format!("take a multiple of 32 from {least} to {most}"),
            );
        }
        if self.above > 32 {
            return refuse(
                format!("a cell that is read {} rows below", self.above),
                "tiles reach 32 rows".into(),
            );
        }
        let even = self.depth.max(2);
        if tile == 0 || !(tile as usize).is_multiple_of(even) || tile > 1 << 15 {
            return refuse(
                format!("tiles of {tile} columns"),
                format!("take a multiple of {even} up to {}", 1 << 15),
            );
        }
        if method.equal() && tile != height {
            return refuse(
                format!("tiles of {height} x {tile} cells"),
                "this method's tiles have equal dimensions: take flexible ones".into(),
            );
        }
        if method.square() && !self.square {
            return refuse(
                "square tiles of cells that read to the north-east".into(),
                "take hyper-tiles, which are skewed".into(),
            );
        }
        if !(1..=32).contains(&blocks) {
            return refuse(format!("{blocks} blocks an SM"), "take 1 to 32".into());
        }
        Ok(())
    }
}
