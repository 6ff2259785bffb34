//! One part's cells, ghosts included, and the plain loop over them.

use std::time::Instant;

use super::super::boundary::{Boundary, Ghost};
use super::super::functions::Frame;
use super::super::halo::{Margin, Reach, Span};
use super::super::partition::Partition;
use super::super::points::Points;
use super::super::residual::Residual;
use super::super::spec::Spec;
use super::super::stage::Stage;
use super::super::total::Total;
use super::compute::{Advanced, Compute};
use super::halves::{Halves, sent_depth};
use super::links::{Parcel, decline};
use super::points::of_part;
use super::routes::{Route, Routes};
use super::start::RawStart;
use super::swap::Message;
use warpweft_core::cluster::Transport;
use warpweft_core::error::Result;
use warpweft_core::grid::RawVolume;
use warpweft_core::report::Series;

/// The cells that one part holds: its own, a ghost zone wherever a neighbour is, and room for the
/// boundary's ghost cells wherever the volume ends.
///
/// The room is as deep as the deepest swap needs, so the depth may change from swap to swap.
#[derive(Clone)]
pub(super) struct Part<'a, const D: usize> {
    /// With functions that find their way in the part's frame.
    stencil: Spec<D>,
    /// Steps done.
    steps: u64,
    /// Sources and probes in the part's own indices, and what these recorded.
    points: Points<D>,
    series: Vec<Series>,
    partition: &'a Partition<D>,
    part: usize,
    /// All cells held, in the part's frame.
    held: Span<D>,
    now: RawVolume<D>,
    /// What a stage writes until it is through.
    next: RawVolume<D>,
}

impl<'a, const D: usize> Part<'a, D> {
    /// The part's own and ghost cells out of `start`, after `steps` steps.
    ///
    /// # Errors
    /// Not enough host memory; whatever `start` fails with.
    pub(super) fn new(
        stencil: &Spec<D>,
        (partition, part): (&'a Partition<D>, usize),
        ghosts: &Margin<D>,
        start: &RawStart<'_, D>,
        steps: u64,
    ) -> Result<Self> {
        let zone = partition.grown(part, ghosts);
        let mut held = zone;
        for (d, radius) in stencil.radius().into_iter().enumerate() {
            let own = Span::from(partition.region(part));
            if zone.low[d] == own.low[d] {
                held.low[d] -= radius[0] as isize;
            }
            if zone.high[d] == own.high[d] {
                held.high[d] += radius[1] as isize;
            }
        }
        let cells = start(zone)?;
        // The boundary's ghosts are looked up anew before every stage.
        let mut now = RawVolume::zeroed(stencil.cell, held.extents())?;
        let mut stencil = stencil.clone();
        stencil.functions.frame = frame(partition, [0; D]);
        let next = now.clone();
        let points = of_part(&stencil.points, partition, part, held);
        let series = points.series(steps);
        let mut part =
            Self { stencil, steps, points, series, partition, part, held, next, now: cells };
        for field in 0..now.cell_type().len() {
            let (low, high) = (part.local(zone.low), part.local(zone.high));
            now.set_box(field, low, high, part.now.field_bytes(field))?;
        }
        (part.next, part.now) = (now.clone(), now);
        Ok(part)
    }

    /// Computes one stage over `region`; the results count once [`Part::publish`] is called.
    fn compute(&mut self, stage: &dyn Stage<D>, region: Span<D>) {
        for at in region.iter() {
            let local = self.local(at);
            stage.cell(&self.now, local, &mut self.next, local);
        }
    }

    /// Makes what `stage` wrote over `region` the present state.
    fn publish(&mut self, stage: &dyn Stage<D>, region: Span<D>) {
        for &field in stage.writes() {
            let size = self.stencil.cell.size(field);
            for (start, end) in self.rows(region) {
                let (from, to) = (self.next.field_bytes(field), self.now.field_bytes_mut(field));
                to[start * size..end * size].copy_from_slice(&from[start * size..end * size]);
            }
        }
    }

    /// Looks up the boundary's ghost cells that stage number `number` reads around `region`.
    fn fill_boundary(&mut self, number: usize, stage: &dyn Stage<D>, region: Span<D>) {
        let times = (self.steps, self.stencil.times(number));
        let extents = self.partition.extents();
        let mut around = region;
        for (d, radius) in stage.radius().into_iter().enumerate() {
            around.low[d] -= radius[0] as isize;
            around.high[d] += radius[1] as isize;
        }
        for d in 0..D {
            if self.wraps(d) {
                continue;
            }
            let n = extents[d] as isize;
            let (mut below, mut above) = (around, around);
            below.high[d] = below.high[d].min(0);
            above.low[d] = above.low[d].max(n);
            for at in below.iter().chain(above.iter()) {
                let local = self.local(at);
                let cell = match self.stencil.boundaries.ghost(at, extents, |d| self.wraps(d)) {
                    Ghost::Cell(from) => self.now.bits(self.local(from)),
                    Ghost::Value(value) => Some(self.stencil.cell.splat(value)),
                    Ghost::Function { axis, face, at } => {
                        self.stencil.hold((axis, face, at), times, &mut self.now, local);
                        continue;
                    }
                };
                let cell = cell.unwrap_or_else(|| unreachable!("sources are held"));
                self.now.set_bits(local, &cell, u32::MAX);
            }
        }
    }

    /// Whether the axis runs on into a neighbour at both ends of the volume.
    fn wraps(&self, axis: usize) -> bool {
        self.partition.is_cut(axis) && self.stencil.boundaries.0[axis][0] == Boundary::Periodic
    }

    /// The bytes of a message this part sends. Fields in `unpublished` are read from what was
    /// computed last, before it is published.
    fn packed(&self, message: &Message<D>, unpublished: &[usize]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(message.bytes as usize);
        for piece in &message.pieces {
            let from = if unpublished.contains(&piece.field) { &self.next } else { &self.now };
            let (field, size) =
                (from.field_bytes(piece.field), self.stencil.cell.size(piece.field));
            for (start, end) in self.rows(piece.read) {
                bytes.extend_from_slice(&field[start * size..end * size]);
            }
        }
        bytes
    }

    /// What changed in the part's own cells.
    fn change(&self, kind: Residual, before: &RawVolume<D>) -> Total {
        let mut total = Total::default();
        for field in self.stencil.written_fields() {
            for at in Span::from(self.partition.region(self.part)).iter() {
                let at = self.local(at);
                let change = kind.of_change(before.value(field, at), self.now.value(field, at));
                total.add([change].into_iter());
            }
        }
        total
    }

    fn local(&self, at: [isize; D]) -> [usize; D] {
        std::array::from_fn(|d| (at[d] - self.held.low[d]) as usize)
    }

    /// Element ranges of a box's rows in the field arrays.
    fn rows(&self, span: Span<D>) -> impl Iterator<Item = (usize, usize)> + use<D> {
        let shape = self.now.extents();
        let low = self.held.low;
        let length = (span.high[D - 1] - span.low[D - 1]).max(0) as usize;
        let mut starts = span;
        starts.high[D - 1] = starts.low[D - 1] + (length > 0) as isize;
        starts.iter().map(move |at| {
            let start = (0..D).fold(0, |index, d| index * shape[d] + (at[d] - low[d]) as usize);
            (start, start + length)
        })
    }
}

impl<const D: usize> Compute<D> for Part<'_, D> {
    fn advance(
        &mut self,
        reach: &Reach<D>,
        ahead: Option<&[Vec<Message<D>>]>,
        measure: Option<Residual>,
        net: &dyn Transport,
    ) -> Result<Advanced> {
        let stencil = self.stencil.clone();
        let (partition, part) = (self.partition, self.part);
        let mut advanced = Advanced { change: None, sent: 0, measuring: 0.0 };
        let mut before = None;
        for (step, margins) in reach.compute.iter().enumerate() {
            let last_step = step + 1 == reach.depth;
            if measure.is_some() && last_step {
                let from = Instant::now();
                before = Some(self.now.clone());
                advanced.measuring = from.elapsed().as_secs_f64();
            }
            for (index, (stage, margin)) in stencil.stages.iter().zip(margins).enumerate() {
                let stage = stage.as_ref();
                let region = partition.grown(part, margin);
                self.fill_boundary(index, stage, region);
                match ahead.and_then(<[_]>::first) {
                    Some(ahead) if last_step && index + 1 == stencil.stages.len() => {
                        let sent = ahead.iter().filter(|message| message.from == part);
                        let own = partition.region(part);
                        let depth = sent_depth(own, sent.clone());
                        let halves = Halves::of_step(own, &depth, [1; D]);
                        for region in halves.rim {
                            self.compute(stage, region.into());
                        }
                        for message in sent {
                            let bytes = self.packed(message, stage.writes());
                            net.send(message.to, message.tag(), bytes)?;
                        }
                        self.compute(stage, halves.core.into());
                        advanced.sent = halves.steps;
                    }
                    _ => self.compute(stage, region),
                }
                self.publish(stage, region);
            }
            self.steps += 1;
            if !last_step {
                self.after(self.steps)?;
            }
        }
        let from = Instant::now();
        advanced.change = measure.zip(before).map(|(kind, before)| self.change(kind, &before));
        advanced.measuring += from.elapsed().as_secs_f64();
        Ok(advanced)
    }

    fn after(&mut self, step: u64) -> Result<()> {
        self.points.after(step, &mut self.now, &mut self.series)
    }

    fn series(&mut self) -> &mut [Series] {
        &mut self.series
    }

    fn send(&mut self, message: &Message<D>, net: &dyn Transport) -> Result<()> {
        net.send(message.to, message.tag(), self.packed(message, &[]))
    }

    fn receive(&mut self, message: &Message<D>, net: &dyn Transport) -> Result<f64> {
        let mut bytes = vec![0; message.bytes as usize];
        let start = Instant::now();
        net.receive_into(message.from, message.tag(), &mut bytes)?;
        let waited = start.elapsed().as_secs_f64();
        let mut rest = bytes.as_slice();
        for piece in &message.pieces {
            let size = self.stencil.cell.size(piece.field);
            for (start, end) in self.rows(piece.write) {
                let (row, after) = rest.split_at((end - start) * size);
                self.now.field_bytes_mut(piece.field)[start * size..end * size]
                    .copy_from_slice(row);
                rest = after;
            }
        }
        Ok(waited)
    }

    fn cells(&mut self, field: usize) -> Result<Vec<u8>> {
        let own = Span::from(self.partition.region(self.part));
        Ok(self.now.box_bytes(field, self.local(own.low), self.local(own.high)))
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn connect(
        &mut self,
        parcels: &[Parcel],
        net: &dyn Transport,
        _wanted: Option<Route>,
    ) -> Result<()> {
        decline(parcels, net, "it computes on the cores")
    }

    fn disconnect(&mut self, _net: &dyn Transport) -> Result<()> {
        Ok(())
    }

    fn routes(&self) -> Routes {
        Route::Host.into()
    }
}

/// Where a part whose first cell is at `begin` of the part's frame lies in the volume.
pub(super) fn frame<const D: usize>(partition: &Partition<D>, begin: [isize; D]) -> Frame<D> {
    let extents = partition.extents();
    let wraps = |d| partition.is_periodic(d) && partition.is_cut(d);
    let period = |d| if wraps(d) { extents[d] as i64 } else { 0 };
    Frame { begin: begin.map(|n| n as i64), period: std::array::from_fn(period) }
}
