//! A part computed by an executor: the padded part is a volume of its own.
//!
//! The executor sweeps the whole of it in every step, ghost zone included, as B2R's GPU kernels do
//! (equation (3)). At a cut it knows no better than a Neumann boundary, so the outermost cells go
//! stale from step to step; the zone is deep enough for the part's own cells never to see them.

use super::super::boundary::{Boundaries, Boundary, Face};
use super::super::halo::{Reach, Span};
use super::super::partition::Partition;
use super::super::plan::{Region, Sweep};
use super::super::spec::Stencil;
use super::compute::{Advanced, Compute, Held};
use super::halo_executor::HaloExecutor;
use super::swap::Message;
use crate::cluster::Transport;
use crate::element::Fields;
use crate::error::Result;
use crate::grid::Volume;

/// Makes an executor for a part: its stencil, with cuts as boundaries, and its padded volume.
pub(super) type Build<'a, S, const D: usize> =
    dyn Fn(&Stencil<S, D>, &Volume<S, D>, usize) -> Result<Box<dyn HaloExecutor<S, D>>> + Sync + 'a;

pub(super) struct Swept<'a, S: Fields, const D: usize> {
    partition: &'a Partition<D>,
    part: usize,
    /// The cells held, in the part's frame.
    zone: Span<D>,
    written: Vec<usize>,
    executor: Box<dyn HaloExecutor<S, D>>,
    /// What was built from, and what is stored into.
    volume: Volume<S, D>,
    steps: u64,
}

impl<'a, S: Fields, const D: usize> Swept<'a, S, D> {
    /// The part's own and ghost cells out of `cell`, on an executor.
    ///
    /// # Errors
    /// Not enough host memory; whatever `build` fails with.
    pub(super) fn new(
        stencil: &Stencil<S, D>,
        partition: &'a Partition<D>,
        part: usize,
        zone: Span<D>,
        cell: impl Fn([usize; D]) -> S,
        build: &Build<'_, S, D>,
    ) -> Result<Self> {
        let extents = partition.extents();
        let shape = std::array::from_fn(|d| (zone.high[d] - zone.low[d]) as usize);
        let volume = Volume::try_from_fn(shape, |local| {
            cell(std::array::from_fn(|d| {
                (local[d] as isize + zone.low[d]).rem_euclid(extents[d] as isize) as usize
            }))
        })?;
        let mut faces = stencil.boundaries.0;
        for d in 0..D {
            for (side, face) in [Face::Low, Face::High].into_iter().enumerate() {
                if partition.neighbour(part, d, face).is_some() {
                    faces[d][side] = Boundary::Neumann;
                }
            }
        }
        let mut own = stencil.clone();
        own.boundaries = Boundaries(faces);
        own.until = None;
        let executor = build(&own, &volume, part)?;
        let written = stencil.written_fields();
        Ok(Self { partition, part, zone, written, executor, volume, steps: 0 })
    }

    fn sweep(&mut self, steps: usize) -> Result<()> {
        if steps > 0 {
            let region = Region { low: [0; D], high: self.volume.extents() };
            let (first_step, steps) = (self.steps, steps as u64);
            self.executor.sweep(&Sweep { first_step, steps, region, keep_change: false })?;
            self.steps += steps;
        }
        Ok(())
    }

    fn local(&self, span: Span<D>) -> Region<D> {
        let at =
            |corner: [isize; D]| std::array::from_fn(|d| (corner[d] - self.zone.low[d]) as usize);
        Region { low: at(span.low), high: at(span.high) }
    }
}

impl<S: Fields, const D: usize> Compute<S, D> for Swept<'_, S, D> {
    fn advance(
        &mut self,
        reach: &Reach<D>,
        _: Option<&[Message<D>]>,
        keep: bool,
        _: &dyn Transport,
    ) -> Result<Advanced> {
        let mut before = None;
        if keep {
            self.sweep(reach.depth - 1)?;
            let fields = self.written.clone();
            let values = fields.into_iter().map(|field| self.own_values(field));
            before = Some(values.collect::<Result<_>>()?);
            self.sweep(1)?;
        } else {
            self.sweep(reach.depth)?;
        }
        self.executor.finish()?;
        Ok(Advanced { before, sent: false })
    }

    fn pack(&mut self, message: &Message<D>) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(message.bytes as usize);
        for piece in &message.pieces {
            let region = self.local(piece.read);
            self.executor.read(piece.field, region, &mut bytes)?;
        }
        Ok(bytes)
    }

    fn unpack(&mut self, message: &Message<D>, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        for piece in &message.pieces {
            let size = S::FIELDS[piece.field].kind.size();
            let (cells, after) = rest.split_at(piece.write.cells() * size);
            let region = self.local(piece.write);
            self.executor.write(piece.field, region, cells)?;
            rest = after;
        }
        Ok(())
    }

    fn own_values(&mut self, field: usize) -> Result<Vec<f64>> {
        self.executor.finish()?;
        self.executor.store(&mut self.volume)?;
        let own = Span::from(self.partition.region(self.part));
        let value = |at: [isize; D]| {
            let local = std::array::from_fn(|d| (at[d] - self.zone.low[d]) as usize);
            self.volume.get(local).map_or(f64::NAN, |cell| cell.to_f64(field))
        };
        Ok(own.iter().map(value).collect())
    }

    fn store(mut self: Box<Self>) -> Result<Held<S, D>> {
        self.executor.finish()?;
        self.executor.store(&mut self.volume)?;
        Ok(Held { low: self.zone.low, volume: self.volume })
    }
}
