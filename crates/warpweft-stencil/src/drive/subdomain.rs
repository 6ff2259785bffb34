//! One subdomain on an executor: its cells and their ghost zone are a volume of their own.
//!
//! In each step the executor computes what its own cells will still need of the ghost zone, δ less
//! than in the step before (B2R's equation (2)), and nothing of other states than the run's own. So
//! it never reads beyond the zone.

use std::time::Instant;

use crate::drive::ranks::points::of_subdomain;
use crate::drive::start::Start;
use crate::exchange::{
    BoundarySplit, Cells, Endpoint, HaloMessage, Piece, Route, Routes, sent_depth,
};
use crate::executor::{History, SweepExecutor};
use crate::plan::halo::Span;
use crate::plan::partition::Partition;
use crate::plan::{Region, Sweep};
use crate::spec::Spec;
use crate::spec::boundary::{Boundary, Face};
use crate::spec::functions::Frame;
use crate::spec::points::Points;
use crate::spec::residual::Residual;
use crate::spec::total::Total;
use warpweft_core::cluster::Transport;
use warpweft_core::element::CellType;
use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::memory::filled;
use warpweft_core::report::Series;

/// How the steps between two halo exchanges are taken.
pub(crate) struct How<'a> {
    /// The phases of the next halo exchange, whose first messages may be sent as soon as their cells are ready.
    pub ahead: Option<&'a [Vec<HaloMessage>]>,
    /// Whether cells that do not depend on the last halo exchange may be computed while it is
    /// under way.
    pub overlaps: bool,
    /// Whether the device may still be computing the steps when the call returns.
    pub queued: bool,
}

/// What came of some steps.
pub(crate) struct Advanced {
    /// What the last step changed in the subdomain's own cells, if that was asked for.
    pub change: Option<Total>,
    /// Steps of the last launch, if the messages given were sent while it computed; 0 if they were not.
    pub sent: u64,
    /// Seconds that measuring it took.
    pub measuring: f64,
}

/// Makes the executor of a subdomain: its stencil, with cuts as boundaries, and its padded volume.
pub(crate) type Build<'a> = dyn Fn(&Spec, &RawVolume, usize) -> Built + Sync + 'a;
pub(crate) type Built = Result<Box<dyn SweepExecutor>>;

pub(crate) struct LocalSubdomain {
    partition: Partition,
    part: usize,
    /// The cells held, in the subdomain's frame.
    zone: Span,
    executor: Box<dyn SweepExecutor>,
    cell: CellType,
    /// The own cells of each field that no step writes, where there are several subdomains: what one has is left
    /// to its executor alone.
    constant: Vec<(usize, Vec<u8>)>,
    steps: u64,
    /// Sources and probes in the subdomain's own indices, and what these recorded.
    points: Points,
    series: Vec<Series>,
}

impl LocalSubdomain {
    /// The subdomain's own and ghost cells out of `start`, on an executor, after `steps` steps.
    ///
    /// # Errors
    /// Not enough host memory; whatever `start` and `build` fail with.
    pub(crate) fn new(
        stencil: &Spec,
        (partition, part): (&Partition, usize),
        zone: Span,
        start: Start<'_>,
        build: &Build<'_>,
        steps: u64,
    ) -> Result<Self> {
        let volume = start.cells(zone)?;
        let points = of_subdomain(&stencil.points, partition, part, zone);
        let own = of_part(stencil, (partition, part), zone);
        let executor = build(&own, &volume, part)?;
        let own = place(zone, partition.region(part).into());
        let constant = |field| (field, volume.box_bytes(field, own.low, own.high));
        let written = stencil.written_fields();
        let several = partition.parts() > 1;
        let fields = (0..stencil.cell.len()).filter(|field| several && !written.contains(field));
        Ok(Self {
            partition: partition.clone(),
            part,
            zone,
            executor,
            cell: stencil.cell,
            constant: fields.map(constant).collect(),
            steps,
            series: points.series(steps),
            points,
        })
    }

    /// Sweeps `steps` steps, cut where sources and probes act, with so many `more` until the next swap;
    /// after the last step they act only if there are more.
    fn sweep(&mut self, steps: usize, more: u64, keep_change: bool) -> Result<()> {
        let region = self.own();
        let (first_step, steps) = (self.steps, steps as u64);
        let whole = Sweep { first_step, steps, region, following: more, keep_change };
        let sweeps: Vec<_> = self.points.cut(whole).collect();
        for sweep in sweeps {
            let tried = self.tries_kernel(sweep.steps);
            self.executor.sweep(&sweep)?;
            self.steps += sweep.steps;
            if tried && (more > 0 || self.steps < first_step + steps) {
                // So that it is timed alone.
                self.executor.finish()?;
            }
            if more > 0 || self.steps < first_step + steps {
                self.after(self.steps)?;
            }
        }
        Ok(())
    }

    /// Whether a sweep of so many steps of the whole volume is to show what a kernel takes.
    fn tries_kernel(&self, steps: u64) -> bool {
        let fits = || self.executor.steps_per_pass().is_some_and(|depth| steps >= depth);
        self.partition.parts() == 1 && self.executor.tries_kernels() && fits()
    }

    /// The last launch of the next `depth` steps split at the boundary, if the executor can do it so; steps after
    /// which sources and probes act end one.
    fn split(&self, ahead: &[Vec<HaloMessage>], depth: usize) -> Option<BoundarySplit> {
        let (first_step, steps, region) = (self.steps, depth as u64, self.own());
        let whole = Sweep { first_step, steps, region, following: 0, keep_change: false };
        let last = self.points.cut(whole).last()?;
        let sent = ahead.iter().flatten().filter(|message| message.from == self.part);
        let sent = sent_depth(self.partition.region(self.part), sent);
        self.executor.split(&region, &sent, last.steps)
    }

    /// A launch that computes what neighbours wait for first, and sends it while the rest is computed:
    /// the first phase at once, the others as soon as what they pass on has come.
    fn sweep_split(
        &mut self,
        split: &BoundarySplit,
        ahead: &[Vec<HaloMessage>],
        net: &dyn Transport,
    ) -> Result<()> {
        let (own, part) = (self.own(), self.part);
        self.executor.sweep_split(split, &own)?;
        self.steps += split.steps;
        let mut first = ahead.iter().take(1).flatten().filter(|message| message.from == part);
        first.try_for_each(|message| self.send(message, net))
    }

    fn boxes(&self, message: &HaloMessage, span: fn(&Piece) -> Span) -> Vec<Cells> {
        message.pieces.iter().map(|piece| (piece.field, self.local(span(piece)))).collect()
    }

    /// The subdomain's own cells.
    pub(crate) fn own(&self) -> Region {
        self.local(Span::from(self.partition.region(self.part)))
    }

    /// A box of the subdomain's frame, in the indices of the cells held.
    pub(crate) fn local(&self, span: Span) -> Region {
        place(self.zone, span)
    }

    /// Computes `depth` steps as `how` says. The device may still be computing them when the call
    /// returns. Measures the last step for a residual if one is given.
    pub(crate) fn advance(
        &mut self,
        depth: usize,
        how: &How<'_>,
        measure: Option<Residual>,
        net: &dyn Transport,
    ) -> Result<Advanced> {
        self.executor.overlap(how.overlaps);
        if let Some(kind) = measure {
            if depth > 1 {
                self.sweep(depth - 1, 1, false)?;
            }
            self.sweep(1, 0, true)?;
            self.executor.finish()?;
            let from = Instant::now();
            let own = self.own();
            let change = Some(self.executor.changes(kind, &own)?);
            let measuring = from.elapsed().as_secs_f64();
            return Ok(Advanced { change, sent: 0, measuring });
        }
        let mut sent = 0;
        if let Some(ahead) = how.ahead
            && let Some(split) = self.split(ahead, depth)
        {
            self.sweep(depth - split.steps as usize, split.steps, false)?;
            self.sweep_split(&split, ahead, net)?;
            sent = split.steps;
        } else {
            self.sweep(depth, 0, false)?;
        }
        let done = sent == 0 && !how.queued;
        if done || self.executor.awaits_kernels() {
            // Else the host would queue hundreds of single steps before the fused kernel is there.
            self.executor.finish()?;
        }
        Ok(Advanced { change: None, sent, measuring: 0.0 })
    }

    /// Does what sources and probes do after step `step`, the last one computed; [`LocalSubdomain::advance`] does
    /// it for the steps before.
    pub(crate) fn after(&mut self, step: u64) -> Result<()> {
        if self.points.due(step) {
            let executor: &mut dyn SweepExecutor = &mut *self.executor;
            self.points.after(step, executor, &mut self.series)?;
        }
        Ok(())
    }

    /// What probes recorded of the subdomain's own cells, to be taken out.
    pub(crate) fn series(&mut self) -> &mut [Series] {
        &mut self.series
    }

    /// Sends a message of this subdomain.
    pub(crate) fn send(&mut self, message: &HaloMessage, net: &dyn Transport) -> Result<()> {
        let boxes = self.boxes(message, |piece| piece.read);
        self.executor.send(&boxes, net, (message.to, message.tag()))
    }

    /// Receives a message into the ghost zone; returns the seconds waited for it.
    pub(crate) fn receive(&mut self, message: &HaloMessage, net: &dyn Transport) -> Result<f64> {
        let boxes = self.boxes(message, |piece| piece.write);
        let bytes = message.bytes as usize;
        self.executor.receive(&boxes, bytes, net, (message.from, message.tag()))
    }

    /// The bytes of the own cells of one field, in row-major order.
    pub(crate) fn cells(&mut self, field: usize) -> Result<Vec<u8>> {
        if let Some((_, bytes)) = self.constant.iter().find(|(constant, _)| *constant == field) {
            return filled(bytes.iter().copied(), "run without --checkpoint");
        }
        let own = self.own();
        self.executor.finish()?;
        let mut bytes = Vec::new();
        self.executor.read(&[(field, own)], &mut bytes)?;
        Ok(bytes)
    }

    /// As [`LocalSubdomain::cells`], for all fields one after another; of the only subdomain also those that no
    /// stage writes and sources add to.
    ///
    /// # Errors
    /// Not enough host memory; the device's.
    pub(crate) fn saved<T>(
        &mut self,
        save: impl FnOnce(&mut dyn FnMut(usize) -> Result<Vec<u8>>) -> Result<T>,
    ) -> Result<T> {
        if self.partition.parts() > 1 {
            return save(&mut |field| self.cells(field));
        }
        let mut state = RawVolume::zeroed(self.cell, self.zone.extents())?;
        self.executor.store(state.writable())?;
        save(&mut |field| {
            filled(state.field_bytes(field).iter().copied(), "run without --checkpoint")
        })
    }

    /// Bytes of its cells.
    pub(crate) fn bytes(&self) -> usize {
        let of_cell: usize = self.cell.fields().iter().map(|field| field.kind.size()).sum();
        self.zone.extents().iter().product::<usize>() * of_cell
    }

    /// The present state of the only subdomain, in `spare` if that is given.
    ///
    /// # Errors
    /// As [`LocalSubdomain::saved`].
    pub(crate) fn snapshot(&mut self, spare: Option<RawVolume>) -> Result<RawVolume> {
        let made = || RawVolume::zeroed(self.cell, self.zone.extents());
        let mut state = spare.map_or_else(made, Ok)?;
        self.executor.store(state.writable())?;
        Ok(state)
    }

    /// Bytes of cells that are kept next to the executor's.
    #[cfg(test)]
    pub(crate) fn kept_bytes(&self) -> usize {
        self.constant.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// What it is computed on.
    pub(crate) fn executor(&mut self) -> &mut dyn SweepExecutor {
        &mut *self.executor
    }

    /// Goes on with the stages of `stencil` instead of its own; whether the executor can.
    pub(crate) fn adopt(&mut self, stencil: &Spec) -> Result<bool> {
        let own = of_part(stencil, (&self.partition, self.part), self.zone);
        self.executor.adopt(&own)
    }

    /// What the executor wants the user to know.
    pub(crate) fn notes(&self) -> &[String] {
        self.executor.notes()
    }

    /// As [`SweepExecutor::steps_per_pass`], and whether the next sweep tries a kernel.
    pub(crate) fn pass(&self) -> (Option<u64>, bool) {
        (self.executor.steps_per_pass(), self.executor.tries_kernels())
    }

    /// As [`SweepExecutor::awaits_kernels`].
    pub(crate) fn awaits_kernels(&self) -> bool {
        self.executor.awaits_kernels()
    }

    /// As [`SweepExecutor::queues`].
    pub(crate) fn queues(&self) -> bool {
        self.executor.queues()
    }

    /// As [`SweepExecutor::history`].
    pub(crate) fn history(&self) -> Option<&History> {
        self.executor.history()
    }

    /// Waits until all is computed.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.executor.finish()
    }

    /// As [`SweepExecutor::connect`].
    pub(crate) fn connect(
        &mut self,
        endpoints: &[Endpoint],
        net: &dyn Transport,
        wanted: Option<Route>,
    ) -> Result<()> {
        self.executor.connect(endpoints, net, wanted)
    }

    /// As [`SweepExecutor::disconnect`].
    pub(crate) fn disconnect(&mut self, net: &dyn Transport) -> Result<()> {
        self.executor.disconnect(net)
    }

    /// How halos travel to the neighbours.
    pub(crate) fn routes(&self) -> Routes {
        self.executor.routes()
    }
}

/// What the executor of a subdomain that holds `zone` computes: cuts are boundaries.
fn of_part(stencil: &Spec, (partition, part): (&Partition, usize), zone: Span) -> Spec {
    // Cheapest is what is never renewed. But boundary functions are told of the corners, which must
    // then be cells.
    let beyond = match stencil.has_functions() {
        true => Boundary::Neumann,
        false => Boundary::Dirichlet(0.0),
    };
    let mut own = stencil.clone();
    for d in 0..stencil.rank() {
        for (side, face) in [Face::Low, Face::High].into_iter().enumerate() {
            if partition.neighbour(part, d, face).is_some() {
                own.boundaries.0[d][side] = beyond;
            }
        }
    }
    own.points = Points::default();
    own.functions.frame = frame(partition, zone.low);
    own
}

/// A box of the subdomain's frame, in the indices of the cells held.
fn place(zone: Span, span: Span) -> Region {
    let at =
        |corner: Axes<isize>| Axes::from_fn(span.rank(), |d| (corner[d] - zone.low[d]) as usize);
    Region { low: at(span.low), high: at(span.high) }
}

/// Where a subdomain whose first cell is at `begin` of its frame lies in the volume.
fn frame(partition: &Partition, begin: Axes<isize>) -> Frame {
    let dims = partition.rank();
    let extents = partition.extents();
    let wraps = |d| partition.is_periodic(d) && partition.is_cut(d);
    let period = |d| if wraps(d) { extents[d] as i64 } else { 0 };
    Frame { begin: begin.map(|n| n as i64), period: Axes::from_fn(dims, period) }
}
