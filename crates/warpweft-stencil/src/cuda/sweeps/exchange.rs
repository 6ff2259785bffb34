//! When halos are packed, sent, received and unpacked, next to the sweeps. Not: the copies, and how they travel (`halo`,
//! `peers`).

use super::CudaSweeps;
use crate::cuda::halo::Halos;
use crate::cuda::halo::copies::Copies;
use crate::cuda::launch::boxes::placed;
use crate::cuda::launch::queued::Queued;
use crate::cuda::peers::Peers;
use crate::exchange::Cells;
use crate::{Region, Span};
use warpweft_core::cuda::{Extents, Rows};
use warpweft_core::error::{Error, Result};

impl CudaSweeps {
    pub(in crate::cuda) fn check_boxes(&self, boxes: &[Cells]) -> Result<usize> {
        let (dims, whole) = (self.stencil.rank(), self.whole());
        let mut bytes = 0;
        for (field, region) in boxes {
            let inside = region.has_rank(dims)
                && (0..dims)
                    .all(|d| region.low[d] <= region.high[d] && region.high[d] <= whole.high[d]);
            let held = |field| {
                !self.arrays.of(field).is_empty() || self.unused.iter().any(|(it, _)| *it == field)
            };
            let known = *field < self.stencil.cell.len() && held(*field);
            if !inside || !known {
                return Err(Error::spec(
                    format!("field {field} of {region:?} in a volume of {:?}", whole.high),
                    "this is a fault of Warpweft: report it",
                ));
            }
            bytes += Span::from(*region).cells() * self.stencil.cell.size(*field);
        }
        Ok(bytes)
    }

    /// A box of one field in its padded array, for copies.
    pub(in crate::cuda) fn box_rows(&self, field: usize, region: &Region) -> (Extents, Rows) {
        let size = self.stencil.cell.size(field);
        let (low, [w, z, y, x]) = placed(region);
        let (_, mut rows) = self.arrays.layout.interior(size);
        let cells: usize = (0..4).map(|d| low[d] * self.arrays.layout.strides[d]).sum();
        rows.offset += cells * size;
        ([x * size, y, z, w], rows)
    }

    /// What boxes are copied out of and into in the present state.
    pub(in crate::cuda) fn copies(&self) -> Copies<'_> {
        Copies { queue: self.queue(), state: self.state }
    }

    /// Lets the sweeps wait for what was computed and unpacked next to them, and renews the boundary's
    /// ghosts that follow what was unpacked or added.
    pub(in crate::cuda) fn settle(&mut self) -> Result<()> {
        self.settle_for(&self.whole())
    }

    /// As [`CudaSweeps::settle`], for a launch over `own`: the ghosts of faces that it does not touch may stay as
    /// they are.
    pub(in crate::cuda) fn settle_for(&mut self, own: &Region) -> Result<()> {
        let mut stale = std::mem::take(&mut self.stale);
        if let Some(halos) = &mut self.halos {
            halos.split = false;
            stale |= halos.settle(&self.stream)?;
        }
        if stale && let Some(queued) = self.renewal(own)? {
            // SAFETY: as in `sweep_part`.
            unsafe { queued.launch(&self.stream)? };
        }
        Ok(())
    }

    /// The launch that renews the boundary's ghosts in the present state, but for faces that `own` does not touch.
    pub(in crate::cuda) fn renewal(&self, own: &Region) -> Result<Option<Queued>> {
        let mut layout = self.arrays.layout;
        let (low, size) = placed(own);
        for d in 0..4 {
            layout.shared[d][0] |= low[d] > 0;
            layout.shared[d][1] |= low[d] + size[d] < layout.extents[d];
        }
        let fields: Vec<_> = (0..self.stencil.cell.len()).collect();
        let now: Vec<_> = fields.iter().map(|&f| self.arrays.current(f, self.state)).collect();
        self.queue().renew_in(&layout, &fields, &now)
    }

    /// Whether the next sweep may begin before the halo exchange is through: cells were received, and all that the
    /// sweeps have computed or written is known to them.
    pub(in crate::cuda) fn exchanging(&self) -> bool {
        let under_way = |halos: &Halos| halos.awaited && halos.received && !halos.split;
        !self.stale && self.halos.as_ref().is_some_and(under_way)
    }

    pub(in crate::cuda) fn halos(&mut self) -> Result<&mut Halos> {
        if self.halos.is_none() {
            self.halos = Some(Halos::new(self.stream.device())?);
        }
        self.halos.as_mut().ok_or_else(|| Error::spec("no halos", "report this as a bug"))
    }

    /// Lets the halos' stream wait for all that the sweeps have queued; not next to the core of a
    /// launch in two parts, where that stream has itself computed what is sent.
    pub(in crate::cuda) fn follow_sweeps(&mut self) -> Result<()> {
        let halos = self.halos()?;
        halos.awaited = true;
        if halos.split {
            return Ok(());
        }
        let Some(halos) = &self.halos else { return Ok(()) };
        self.stream.record(&halos.ready)?;
        halos.stream.wait(&halos.ready)
    }

    /// Fails once the device has waited too long for a neighbour's.
    pub(in crate::cuda) fn check_halos(&self) -> Result<()> {
        let peers = self.halos.as_ref().and_then(|halos| halos.peers.as_ref());
        peers.map_or(Ok(()), Peers::check)
    }

    /// Lends the halos to `work`, which queues copies into their stream.
    pub(in crate::cuda) fn with_halos<T>(
        &mut self,
        work: impl FnOnce(&Self, &mut Halos) -> Result<T>,
    ) -> Result<T> {
        self.follow_sweeps()?;
        let Some(mut halos) = self.halos.take() else {
            return Err(Error::spec("no halos", "report this as a bug"));
        };
        let outcome = work(self, &mut halos);
        self.halos = Some(halos);
        outcome
    }
}
