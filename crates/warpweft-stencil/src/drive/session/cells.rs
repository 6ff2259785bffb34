//! Cells of a session that are read, written and brought from another.

use super::{RawSession, over};
use crate::exchange::Cells;
use crate::plan::Region;
use crate::plan::transfer::{self, Transfer};
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::check_room;

impl RawSession<'_> {
    /// The bytes of these boxes, one after another.
    ///
    /// # Errors
    /// A box outside; the device's.
    pub fn read(&mut self, boxes: &[Cells]) -> Result<Vec<u8>> {
        self.check("read", boxes)?;
        if let Some(net) = self.net {
            return self.gathered(boxes, net);
        }
        let mut bytes = Vec::new();
        self.with(|local| local.executor().read(boxes, &mut bytes))?;
        Ok(bytes)
    }

    /// Replaces the cells of these boxes.
    ///
    /// # Errors
    /// As [`RawSession::read`].
    pub fn write(&mut self, boxes: &[Cells], bytes: &[u8]) -> Result<()> {
        self.check("write", boxes)?;
        self.kept = None;
        if self.net.is_some() {
            return self.write_own(boxes, bytes);
        }
        self.with(|local| local.executor().write(boxes, bytes))
    }

    /// Brings field `fields[0]` of `from` into field `fields[1]`.
    ///
    /// # Errors
    /// Grids that do not fit together; fields that are not of `f32` or `f64`; the devices'.
    pub fn transfer(
        &mut self,
        by: Transfer,
        from: &mut RawSession<'_>,
        fields: [usize; 2],
    ) -> Result<()> {
        let grids = by.grids(from.volume.extents(), self.volume.extents())?;
        let kinds = [from.spec.cell.kind(fields[0]), self.spec.cell.kind(fields[1])];
        kinds.into_iter().try_for_each(|kind| transfer::numbers(kind, &[]).map(drop))?;
        let Some(mut source) = from.local.take() else { return Err(over()) };
        self.kept = None;
        let ranks = self.net.is_some() || from.net.is_some();
        let brought = self.with(|local| match ranks {
            true => Ok(false),
            false => local.executor().transfer(by, source.executor(), fields),
        });
        from.local = Some(source);
        if brought? {
            return Ok(());
        }
        let whole = [&*from, &*self].map(|session| Region::whole(session.volume.extents()));
        // Their bytes and, as `f64`, the numbers before and after.
        let room = 16 * from.volume.len() as u64 + 32 * self.volume.len() as u64;
        self.agreed(check_room(room, "bring fields of smaller grids"))?;
        let given = transfer::numbers(kinds[0], &from.read(&[(fields[0], whole[0])])?)?;
        let old = match by {
            Transfer::Restrict => Vec::new(),
            Transfer::Prolong => {
                transfer::numbers(kinds[1], &self.read(&[(fields[1], whole[1])])?)?
            }
        };
        let new = transfer::bytes(kinds[1], &by.values(&grids, &given, &old));
        self.write(&[(fields[1], whole[1])], &new)
    }

    /// Whether all ranks read or write these boxes, and whether they are inside.
    ///
    /// # Errors
    /// On all ranks: other calls; a box outside.
    pub fn check(&self, call: &str, boxes: &[Cells]) -> Result<()> {
        self.call(|| format!("{call} {}", shown(boxes)))?;
        let extents = self.volume.extents();
        for (_, region) in boxes {
            let inside = (0..extents.rank())
                .all(|d| region.low[d] <= region.high[d] && region.high[d] <= extents[d]);
            if !inside {
                return Err(Error::spec(
                    format!(
                        "cells {:?} to {:?} of a volume of {extents:?}",
                        region.low, region.high
                    ),
                    "name cells inside the volume: the first, and one past the last",
                ));
            }
        }
        Ok(())
    }
}

/// Boxes in words.
fn shown(boxes: &[Cells]) -> String {
    let one = |(field, region): &Cells| {
        format!("field {field} of cells {:?} to {:?}", region.low, region.high)
    };
    boxes.iter().map(one).collect::<Vec<_>>().join(", ")
}
