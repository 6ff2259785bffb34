//! What the driver asks of a GPU: sweeps, cells in and out, and halos. Not: how sweeps are queued (`queue`,
//! `sweeps`), or how halos are packed (`halo`).

use std::any::Any;
use std::sync::Arc;

use super::{CudaSweeps, Place};
use crate::cuda::fused::Fused;
use crate::cuda::fused::arrivals::Arrivals;
use crate::cuda::halo::Halos;
use crate::cuda::memory::arrays::{STEP, store_unused};
use crate::cuda::peers::Peers;
use crate::exchange::{BoundarySplit, Cells, Endpoint, Route, Routes, check_bytes, dense_rows};
use crate::executor::{History, reduce_read};
use crate::plan::halo::Margin;
use crate::plan::transfer::Transfer;
use crate::spec::points::add_to;
use crate::spec::reduction::fold::Folded;
use crate::spec::reduction::scalar::{Bank, SessionScalar};
use crate::spec::reduction::{Reduce, Reduction};
use crate::spec::total::Total;
use crate::{Region, Residual, Spec, Sweep, SweepExecutor};
use warpweft_core::cluster::{Tag, Transport};
use warpweft_core::cuda::Rows;
use warpweft_core::element::CellType;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolumeMut};

impl SweepExecutor for CudaSweeps {
    fn cell(&self) -> CellType {
        self.stencil.cell
    }

    fn notes(&self) -> &[String] {
        CudaSweeps::notes(self)
    }

    fn sweep(&mut self, sweep: &Sweep) -> Result<()> {
        if let Some(reducing) = &mut self.reducing {
            reducing.numbers.compute_full(&self.stream)?;
        }
        if let Some(by) = self.by {
            self.busy = true;
            return self.sweep_by(by, sweep);
        }
        let cone = self.cones.of(sweep)?;
        self.welcome()?;
        // Passes of several steps leave the ghosts of function faces as they are.
        let depth = self.fused_now().map_or(u64::MAX, Fused::depth);
        let renewed = sweep.steps < depth || !sweep.steps.is_multiple_of(depth);
        let overlapped = self.overlaps && self.exchanging() && self.may_overlap(sweep, &cone);
        if !overlapped {
            self.settle()?;
        }
        self.face(sweep.first_step)?;
        if let Some(place) = &mut self.place {
            place.set(&self.stream, sweep.first_step)?;
            place.count(sweep.steps);
        }
        if sweep.keep_change {
            self.prepare_change()?;
            for (f, kept) in self.kept.iter().enumerate() {
                if let Some(kept) = kept {
                    let now = self.arrays.now(f, self.state);
                    self.stream.copy(kept, 0, now, 0, kept.bytes())?;
                }
            }
        }
        match cone.is_whole() {
            true => self.sweep_whole(sweep)?,
            false => {
                self.ahead.forget();
                self.history.add(self.fused_of_parts().map(|fused| fused.policy), sweep);
                self.sweep_part(sweep, &cone, overlapped)?;
            }
        }
        if let Some(faces) = &mut self.faces {
            faces.done = renewed.then_some(sweep.first_step + sweep.steps);
        }
        Ok(())
    }

    fn adopt(&mut self, stencil: &Spec) -> Result<bool> {
        self.go_by(stencil)
    }

    fn reduce(&mut self, what: Reduce, fields: [usize; 2], region: &Region) -> Result<Reduction> {
        if self.holds(&fields) {
            return self.reduction(what, fields, region);
        }
        // A field that no stage uses is on the host.
        reduce_read(self, what, fields, region)
    }

    fn queue_reduce(
        &mut self,
        what: Reduce,
        fields: [usize; 2],
        region: &Region,
    ) -> Result<SessionScalar> {
        if self.holds(&fields) {
            return self.reduced(what, fields, region);
        }
        Ok(SessionScalar::of(self.reduce(what, fields, region)?.value(what)))
    }

    fn fold(&mut self, by: &dyn Folded) -> Result<Option<Vec<Vec<u8>>>> {
        self.folded(by)
    }

    fn queue_fold(&mut self, by: &dyn Folded, field: usize) -> Result<Option<SessionScalar>> {
        self.queue_folded(by, field)
    }

    fn bank(&self) -> Option<&Arc<Bank>> {
        self.reducing.as_ref().map(|reducing| &reducing.numbers.bank)
    }

    fn number(&mut self, number: &SessionScalar) -> Result<f64> {
        self.number_of(number)
    }

    fn end_numbers(&mut self) -> Result<()> {
        match &mut self.reducing {
            Some(reducing) => reducing.numbers.end(&self.stream),
            None => Ok(()),
        }
    }

    fn transfer(
        &mut self,
        by: Transfer,
        from: &mut dyn SweepExecutor,
        fields: [usize; 2],
    ) -> Result<bool> {
        match from.as_any().and_then(|from| from.downcast_mut()) {
            Some(from) => self.transferred(by, from, fields),
            None => Ok(false),
        }
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    fn steps_per_pass(&self) -> Option<u64> {
        Some(self.fused_now().map_or(1, Fused::depth))
    }

    fn awaits_kernels(&self) -> bool {
        self.arrivals.as_ref().is_some_and(Arrivals::awaits)
    }

    fn tries_kernels(&self) -> bool {
        self.contest.tries()
    }

    fn queues(&self) -> bool {
        true
    }

    fn time(&mut self, begins: bool) -> Result<()> {
        self.clock.mark(&self.stream, begins)
    }

    fn seconds(&mut self) -> Result<f64> {
        self.clock.seconds()
    }

    fn overlap(&mut self, overlaps: bool) {
        self.overlaps = overlaps;
    }

    fn history(&self) -> Option<&History> {
        Some(&self.history)
    }

    fn end(&mut self) {
        self.end_compiling();
    }

    fn residual(&mut self, kind: Residual) -> Result<f64> {
        Ok(kind.of_total(&self.measure_change(kind, &self.whole())?))
    }

    fn finish(&mut self) -> Result<()> {
        // Halos that are on their way are part of what was asked for.
        self.settle()?;
        self.check_fault()?;
        self.timed();
        self.busy = false;
        self.check_halos()
    }

    fn add(&mut self, field: usize, at: &[Axes<usize>], amount: f64) -> Result<()> {
        self.ahead.forget();
        self.clock.close();
        let kind = self.stencil.cell.kind(field);
        let mut bytes = [0u8; 8];
        let bytes = &mut bytes[..kind.size()];
        for at in at {
            match self.place(field, at) {
                Place::Device(offset) => {
                    let array = self.arrays.now(field, self.state);
                    self.stream.download(array, offset, bytes)?;
                    add_to(kind, bytes, amount);
                    self.stream.upload(array, offset, bytes)?;
                }
                Place::Host(cell) => {
                    cell.into_iter().for_each(|cell| add_to(kind, cell, amount));
                }
            }
        }
        self.stale = true;
        Ok(())
    }

    fn sample(&mut self, field: usize, at: &[Axes<usize>]) -> Result<Vec<f64>> {
        let kind = self.stencil.cell.kind(field);
        let mut values = Vec::with_capacity(at.len());
        for at in at {
            let mut bytes = [0u8; 8];
            let bytes = &mut bytes[..kind.size()];
            match self.place(field, at) {
                Place::Device(offset) => {
                    self.stream.download(self.arrays.now(field, self.state), offset, bytes)?;
                }
                Place::Host(cell) => cell.into_iter().for_each(|cell| bytes.copy_from_slice(cell)),
            }
            values.push(kind.to_f64(bytes));
        }
        Ok(values)
    }

    fn store(&mut self, volume: RawVolumeMut<'_>) -> Result<()> {
        let volume = volume.of(self.stencil.cell, self.extents())?;
        // All fields, since the volume need not be the one that was copied in.
        let used: Vec<_> = self.arrays.fields().collect();
        self.arrays.download(&self.stream, self.state, &used, volume)?;
        store_unused(&self.unused, volume);
        Ok(())
    }

    fn read(&mut self, boxes: &[Cells], to: &mut Vec<u8>) -> Result<()> {
        self.check_boxes(boxes)?;
        self.clock.close();
        self.settle()?;
        for &(field, region) in boxes {
            if let Some((_, bytes)) = self.unused.iter().find(|(unused, _)| *unused == field) {
                let rows = dense_rows(self.extents(), &region, self.stencil.cell.size(field));
                rows.for_each(|row| to.extend_from_slice(&bytes[row]));
                continue;
            }
            let (extents, rows) = self.box_rows(field, &region);
            let (before, bytes) = (to.len(), extents.iter().product::<usize>());
            if before == 0 {
                // Zeroed pages of the system's are not written twice.
                *to = vec![0; bytes];
            }
            to.resize(before + bytes, 0);
            let from = (self.arrays.now(field, self.state), rows);
            self.stream.download_box(extents, from, (&mut to[before..], Rows::dense(extents)))?;
        }
        self.check_fault()?;
        self.check_halos()
    }

    fn write(&mut self, boxes: &[Cells], bytes: &[u8]) -> Result<()> {
        self.check_boxes(boxes)?;
        check_bytes(self.stencil.cell, boxes, bytes)?;
        self.ahead.forget();
        self.clock.close();
        self.settle()?;
        let mut rest = bytes;
        for &(field, region) in boxes {
            let (whole, size) = (self.extents(), self.stencil.cell.size(field));
            if let Some((_, bytes)) = self.unused.iter_mut().find(|(unused, _)| *unused == field) {
                for row in dense_rows(whole, &region, size) {
                    let (cells, after) = rest.split_at(row.len());
                    bytes[row].copy_from_slice(cells);
                    rest = after;
                }
                continue;
            }
            let (extents, rows) = self.box_rows(field, &region);
            let (cells, after) = rest.split_at(extents.iter().product());
            let to = (self.arrays.now(field, self.state), rows);
            self.stream.upload_box(extents, to, (cells, Rows::dense(extents)))?;
            rest = after;
        }
        self.stale = true;
        Ok(())
    }

    fn changes(&mut self, kind: Residual, region: &Region) -> Result<Total> {
        self.measure_change(kind, region)
    }

    fn send(
        &mut self,
        boxes: &[Cells],
        net: &dyn Transport,
        (to, tag): (usize, Tag),
    ) -> Result<()> {
        let bytes = self.check_boxes(boxes)?;
        self.with_halos(|sweeps, halos| {
            let Halos { stream, staging, peers, .. } = halos;
            match peers.as_mut().and_then(|peers| peers.outbound(to, tag)) {
                Some(peer) => peer.put(&sweeps.copies(), boxes, net, stream),
                None => staging.send(&sweeps.copies(), boxes, bytes, net, (to, tag), stream),
            }
        })
    }

    fn receive(
        &mut self,
        boxes: &[Cells],
        bytes: usize,
        net: &dyn Transport,
        (from, tag): (usize, Tag),
    ) -> Result<f64> {
        if self.check_boxes(boxes)? != bytes {
            return Err(Error::spec(
                format!("{bytes} bytes for {boxes:?}"),
                "this is a fault of Warpweft: report it",
            ));
        }
        let waited = self.with_halos(|sweeps, halos| {
            let Halos { stream, staging, peers, received, .. } = halos;
            *received = true;
            match peers.as_mut().and_then(|peers| peers.inbound(from, tag)) {
                Some(peer) => peer.take(&sweeps.copies(), boxes, net, stream),
                None => staging.receive(&sweeps.copies(), boxes, bytes, net, (from, tag), stream),
            }
        });
        self.check_halos()?;
        waited
    }

    fn connect(
        &mut self,
        endpoints: &[Endpoint],
        net: &dyn Transport,
        wanted: Option<Route>,
    ) -> Result<()> {
        let peers = Peers::connect(&self.stream, &self.tools, endpoints, net, wanted)?;
        let halos = self.halos()?;
        halos.staging.aware = peers.aware();
        halos.peers = Some(peers);
        Ok(())
    }

    fn disconnect(&mut self, net: &dyn Transport) -> Result<()> {
        let Some(halos) = &mut self.halos else { return Ok(()) };
        let Some(peers) = halos.peers.take() else { return Ok(()) };
        halos.stream.synchronize()?;
        peers.part(net)
    }

    fn split(&self, own: &Region, sent: &Margin, steps: u64) -> Option<BoundarySplit> {
        self.boundary_split(own, sent, steps)
    }

    fn sweep_split(&mut self, split: &BoundarySplit, own: &Region) -> Result<()> {
        self.halos()?;
        if let Some(place) = &mut self.place {
            // No function asks for the step, see `boundary_split`.
            place.set(&self.stream, 0)?;
        }
        self.settle_for(own)?;
        self.follow_sweeps()?;
        if let Some(halos) = &mut self.halos {
            halos.split = true;
        }
        let Some(halos) = &self.halos else { return Ok(()) };
        for region in &split.boundary {
            self.launch_part(region, &halos.stream)?;
        }
        self.launch_part(&split.interior, &self.stream)?;
        self.state ^= STEP;
        self.ahead.forget();
        self.history.passes += 1;
        self.stale = true;
        Ok(())
    }

    fn routes(&self) -> Routes {
        let peers = self.halos.as_ref().and_then(|halos| halos.peers.as_ref());
        peers.map_or(Route::Staged.into(), Peers::routes)
    }
}
