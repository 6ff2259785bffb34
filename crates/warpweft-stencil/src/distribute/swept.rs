//! A part computed by an executor: the padded part is a volume of its own.
//!
//! In each step the executor computes what its own cells will still need of the ghost zone, δ less
//! than in the step before (B2R's equation (2)), and nothing of other states than the run's own. So
//! it never reads beyond the zone.

use std::time::Instant;

use super::super::boundary::{Boundaries, Boundary, Face};
use super::super::executor::SweepExecutor;
use super::super::halo::{Reach, Span};
use super::super::partition::Partition;
use super::super::plan::{Region, Sweep};
use super::super::points::Points;
use super::super::residual::Residual;
use super::super::spec::Spec;
use super::compute::{Advanced, Compute};
use super::halo_executor::{Cells, HaloExecutor};
use super::halves::{Halves, sent_depth};
use super::links::Parcel;
use super::part::frame;
use super::points::of_part;
use super::routes::{Route, Routes};
use super::start::RawStart;
use super::swap::{Message, Piece};
use warpweft_core::cluster::Transport;
use warpweft_core::error::Result;
use warpweft_core::grid::RawVolume;
use warpweft_core::report::Series;

/// Makes an executor for a part: its stencil, with cuts as boundaries, and its padded volume.
pub(super) type Build<'a, const D: usize> =
    dyn Fn(&Spec<D>, &RawVolume<D>, usize) -> Built<D> + Sync + 'a;
pub(super) type Built<const D: usize> = Result<Box<dyn HaloExecutor<D>>>;

pub(super) struct Swept<'a, const D: usize> {
    partition: &'a Partition<D>,
    part: usize,
    /// The cells held, in the part's frame.
    zone: Span<D>,
    written: Vec<usize>,
    executor: Box<dyn HaloExecutor<D>>,
    /// What was built from: cells of the fields that no step writes are those still.
    volume: RawVolume<D>,
    steps: u64,
    /// Sources and probes in the part's own indices, and what these recorded.
    points: Points<D>,
    series: Vec<Series>,
}

impl<'a, const D: usize> Swept<'a, D> {
    /// The part's own and ghost cells out of `start`, on an executor, after `steps` steps.
    ///
    /// # Errors
    /// Not enough host memory; whatever `start` and `build` fail with.
    pub(super) fn new(
        stencil: &Spec<D>,
        (partition, part): (&'a Partition<D>, usize),
        zone: Span<D>,
        start: &RawStart<'_, D>,
        build: &Build<'_, D>,
        steps: u64,
    ) -> Result<Self> {
        let volume = start(zone)?;
        // Cheapest is what is never renewed. But boundary functions are told of the corners, which must
        // then be cells.
        let beyond = match stencil.has_functions() {
            true => Boundary::Neumann,
            false => Boundary::Dirichlet(0.0),
        };
        let mut faces = stencil.boundaries.0;
        for d in 0..D {
            for (side, face) in [Face::Low, Face::High].into_iter().enumerate() {
                if partition.neighbour(part, d, face).is_some() {
                    faces[d][side] = beyond;
                }
            }
        }
        let mut own = stencil.clone();
        own.boundaries = Boundaries(faces);
        let points = of_part(&own.points, partition, part, zone);
        own.points = Points::default();
        own.functions.frame = frame(partition, zone.low);
        let executor = build(&own, &volume, part)?;
        let written = stencil.written_fields();
        Ok(Self {
            partition,
            part,
            zone,
            written,
            executor,
            volume,
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
            self.executor.sweep(&sweep)?;
            self.steps += sweep.steps;
            if more > 0 || self.steps < first_step + steps {
                self.after(self.steps)?;
            }
        }
        Ok(())
    }

    /// The last launch of the next `depth` steps in two parts, if the executor can do it so; steps after which
    /// sources and probes act end one.
    fn halves(&self, ahead: &[Vec<Message<D>>], depth: usize) -> Option<Halves<D>> {
        let (first_step, steps, region) = (self.steps, depth as u64, self.own());
        let whole = Sweep { first_step, steps, region, following: 0, keep_change: false };
        let last = self.points.cut(whole).last()?;
        let sent = ahead.iter().flatten().filter(|message| message.from == self.part);
        let sent = sent_depth(self.partition.region(self.part), sent);
        self.executor.halves(&region, &sent, last.steps)
    }

    /// A launch that computes what neighbours wait for first, and sends it while the rest is computed:
    /// the first phase at once, the others as soon as what they pass on has come.
    fn sweep_halves(
        &mut self,
        halves: &Halves<D>,
        ahead: &[Vec<Message<D>>],
        net: &dyn Transport,
    ) -> Result<()> {
        let (own, part) = (self.own(), self.part);
        self.executor.sweep_halves(halves, &own)?;
        self.steps += halves.steps;
        let mut first = ahead.iter().take(1).flatten().filter(|message| message.from == part);
        first.try_for_each(|message| self.send(message, net))
    }

    fn boxes(&self, message: &Message<D>, span: fn(&Piece<D>) -> Span<D>) -> Vec<Cells<D>> {
        message.pieces.iter().map(|piece| (piece.field, self.local(span(piece)))).collect()
    }

    /// The part's own cells.
    fn own(&self) -> Region<D> {
        self.local(Span::from(self.partition.region(self.part)))
    }

    fn local(&self, span: Span<D>) -> Region<D> {
        let at =
            |corner: [isize; D]| std::array::from_fn(|d| (corner[d] - self.zone.low[d]) as usize);
        Region { low: at(span.low), high: at(span.high) }
    }
}

impl<const D: usize> Compute<D> for Swept<'_, D> {
    fn advance(
        &mut self,
        reach: &Reach<D>,
        ahead: Option<&[Vec<Message<D>>]>,
        measure: Option<Residual>,
        net: &dyn Transport,
    ) -> Result<Advanced> {
        if let Some(kind) = measure {
            self.sweep(reach.depth - 1, 1, false)?;
            self.sweep(1, 0, true)?;
            self.executor.finish()?;
            let from = Instant::now();
            let own = self.own();
            let change = Some(self.executor.changes(kind, &own)?);
            let measuring = from.elapsed().as_secs_f64();
            return Ok(Advanced { change, sent: 0, measuring });
        }
        if let Some(ahead) = ahead
            && let Some(halves) = self.halves(ahead, reach.depth)
        {
            self.sweep(reach.depth - halves.steps as usize, halves.steps, false)?;
            self.sweep_halves(&halves, ahead, net)?;
            return Ok(Advanced { change: None, sent: halves.steps, measuring: 0.0 });
        }
        self.sweep(reach.depth, 0, false)?;
        self.executor.finish()?;
        Ok(Advanced { change: None, sent: 0, measuring: 0.0 })
    }

    fn after(&mut self, step: u64) -> Result<()> {
        if self.points.due(step) {
            let executor: &mut dyn SweepExecutor<D> = &mut *self.executor;
            self.points.after(step, executor, &mut self.series)?;
        }
        Ok(())
    }

    fn series(&mut self) -> &mut [Series] {
        &mut self.series
    }

    fn send(&mut self, message: &Message<D>, net: &dyn Transport) -> Result<()> {
        let boxes = self.boxes(message, |piece| piece.read);
        self.executor.send(&boxes, net, (message.to, message.tag()))
    }

    fn receive(&mut self, message: &Message<D>, net: &dyn Transport) -> Result<f64> {
        let boxes = self.boxes(message, |piece| piece.write);
        let bytes = message.bytes as usize;
        self.executor.receive(&boxes, bytes, net, (message.from, message.tag()))
    }

    fn cells(&mut self, field: usize) -> Result<Vec<u8>> {
        let own = self.own();
        if !self.written.contains(&field) {
            return Ok(self.volume.box_bytes(field, own.low, own.high));
        }
        self.executor.finish()?;
        let mut bytes = Vec::new();
        self.executor.read(&[(field, own)], &mut bytes)?;
        Ok(bytes)
    }

    fn finish(&mut self) -> Result<()> {
        self.executor.finish()
    }

    fn connect(
        &mut self,
        parcels: &[Parcel],
        net: &dyn Transport,
        wanted: Option<Route>,
    ) -> Result<()> {
        self.executor.connect(parcels, net, wanted)
    }

    fn disconnect(&mut self, net: &dyn Transport) -> Result<()> {
        self.executor.disconnect(net)
    }

    fn routes(&self) -> Routes {
        self.executor.routes()
    }
}
