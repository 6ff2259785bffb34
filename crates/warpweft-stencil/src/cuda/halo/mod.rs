//! Ghost zones of a subdomain on a GPU: faces packed and unpacked on the device, in a stream of their own
//! concurrently with the sweeps of the interior. Not: how they travel (`peers`, `staging`).

pub(super) mod halves;
pub(super) mod interior_first;
pub(super) mod staging;

use self::staging::Staging;
use super::launch::boxes::placed;
use super::launch::queued::Queued;
use super::peers::Peers;
use super::sweeps::CudaSweeps;
use crate::exchange::Cells;
use crate::{Region, Span};
use warpweft_core::cuda::{Args, Device, Event, Extents, Launch, Priority, Rows, Stream};
use warpweft_core::error::{Error, Result};

/// The kernels' text; compiled with the ghosts', so that every stencil shares it.
pub(super) const TEXT: &str = include_str!("../kernels/halo.cuh");

/// Blocks of a copy at most: enough for every multiprocessor to be full a few times over.
const BLOCKS: usize = 4096;

/// What an executor needs once its subdomain has neighbours.
pub(super) struct Halos {
    /// Computes what neighbours wait for, packs, waits and unpacks, before what the part's core still has
    /// to do.
    pub stream: Stream,
    /// Computes cells that need what was received, next to those that do not and with their priority: blocks of the
    /// launch that was queued first go first.
    after: Stream,
    computed: Event,
    /// The cells that are packed or computed next are there.
    ready: Event,
    /// All queued in `stream` is done.
    settled: Event,
    /// Whether the sweeps have yet to wait for that.
    awaited: bool,
    /// Whether cells were received since the boundary's ghosts were renewed.
    pub received: bool,
    /// Whether a launch was begun whose other cells are being computed: what is sent is in `stream`, and
    /// neither that nor what is received need wait for them.
    pub split: bool,
    pub staging: Staging,
    pub peers: Option<Peers>,
}

impl Halos {
    fn new(device: &Device) -> Result<Self> {
        Ok(Self {
            stream: Stream::with_priority(device, Priority::High)?,
            after: Stream::new(device)?,
            computed: Event::new(device)?,
            ready: Event::new(device)?,
            settled: Event::new(device)?,
            awaited: false,
            received: false,
            split: false,
            staging: Staging::default(),
            peers: None,
        })
    }
}

impl Halos {
    /// Lets `sweeps` wait for all that is queued here; whether cells were received.
    pub fn settle(&mut self, sweeps: &Stream) -> Result<bool> {
        if std::mem::take(&mut self.awaited) {
            self.stream.record(&self.settled)?;
            sweeps.wait(&self.settled)?;
        }
        Ok(std::mem::take(&mut self.received))
    }

    /// As [`Halos::settle`], with `work` queued into a stream that waits for all that is queued here, and which `sweeps`
    /// wait for.
    pub fn settle_after(
        &mut self,
        sweeps: &Stream,
        work: impl FnOnce(&Stream) -> Result<()>,
    ) -> Result<()> {
        (self.awaited, self.received) = (false, false);
        self.stream.record(&self.settled)?;
        self.after.wait(&self.settled)?;
        work(&self.after)?;
        self.after.record(&self.computed)?;
        sweeps.wait(&self.computed)
    }
}

impl Drop for Halos {
    fn drop(&mut self) {
        if let Some(peers) = &self.peers {
            peers.call_off();
        }
        // After a failure here nothing is left that could use the areas.
        let _ = self.stream.synchronize();
    }
}

/// The flag by which the receiver on another device learns that all is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    /// Its address.
    pub flag: u64,
    /// What it becomes.
    pub value: u32,
    /// The address of a word of this device, zero before and after.
    pub count: u64,
}

impl CudaSweeps {
    pub(super) fn check_boxes(&self, boxes: &[Cells]) -> Result<usize> {
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
    pub(super) fn box_rows(&self, field: usize, region: &Region) -> (Extents, Rows) {
        let size = self.stencil.cell.size(field);
        let (low, [w, z, y, x]) = placed(region);
        let (_, mut rows) = self.arrays.layout.interior(size);
        let cells: usize = (0..4).map(|d| low[d] * self.arrays.layout.strides[d]).sum();
        rows.offset += cells * size;
        ([x * size, y, z, w], rows)
    }

    /// The launch that copies the box of one field to or from address `dense`.
    fn halo(
        &self,
        (field, region): &Cells,
        dense: u64,
        out: bool,
        signal: Option<Signal>,
    ) -> Result<Queued> {
        let size = self.stencil.cell.size(*field);
        let (low, extents) = placed(region);
        let strides = self.arrays.layout.strides.map(|n| n * size);
        let inside: usize = (0..4).map(|d| low[d] * strides[d]).sum();
        let cell = self.arrays.cell(*field, self.arrays.now(*field, self.state)) + inside as u64;
        let row = extents[3] * size;
        // As wide as everything is aligned to.
        let aligned = strides[..3].iter().fold(cell | dense | row as u64, |all, &n| all | n as u64);
        let unit = 1usize << aligned.trailing_zeros().min(4);
        let units = [extents[0], extents[1], extents[2], row / unit];
        let all: usize = units.iter().product();
        let Signal { flag, value, count } =
            signal.unwrap_or(Signal { flag: 0, value: 0, count: 0 });
        // `struct Halo`, which ends with four bytes of padding.
        let mut halo: Vec<u8> =
            [cell, dense, flag, count].iter().flat_map(|n| n.to_ne_bytes()).collect();
        halo.extend(strides[..3].iter().flat_map(|&n| (n as i64).to_ne_bytes()));
        halo.extend(units.iter().flat_map(|&n| (n as u32).to_ne_bytes()));
        halo.extend([unit as u32, u32::from(out), value, 0].iter().flat_map(|n| n.to_ne_bytes()));
        let mut args = Args::new();
        args.blob(&halo, 8);
        let blocks = all.div_ceil(256).min(BLOCKS) as u32;
        let launch = Launch::new([blocks, 1, 1], [256, 1, 1]);
        Ok(Queued { kernel: self.tools.kernel("ww_halo")?, launch, args })
    }

    /// Queues the copies of all boxes to (`out`) or from consecutive bytes at address `dense`, and then
    /// the signal.
    ///
    /// # Safety
    /// As many bytes must be there, until the stream is done with them, and the signal's words.
    pub(super) unsafe fn copy_halos(
        &self,
        boxes: &[Cells],
        mut dense: u64,
        stream: &Stream,
        out: bool,
        signal: Option<Signal>,
    ) -> Result<()> {
        let cells = |(_, region): &Cells| Span::from(*region).cells();
        let last = boxes.iter().rposition(|it| cells(it) > 0);
        for (n, it) in boxes.iter().enumerate().filter(|(_, it)| cells(it) > 0) {
            let queued = self.halo(it, dense, out, signal.filter(|_| Some(n) == last))?;
            // SAFETY: the arrays live as long as `self`, and dropping one waits for the device;
            // `check_boxes` found the box inside; the rest is the caller's contract.
            unsafe { queued.launch(stream)? };
            dense += (cells(it) * self.stencil.cell.size(it.0)) as u64;
        }
        Ok(())
    }

    /// Lets the sweeps wait for what was computed and unpacked next to them, and renews the boundary's
    /// ghosts that follow what was unpacked or added.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.settle_for(&self.whole())
    }

    /// As [`CudaSweeps::settle`], for a launch over `own`: the ghosts of faces that it does not touch may stay as
    /// they are.
    pub(super) fn settle_for(&mut self, own: &Region) -> Result<()> {
        let mut stale = std::mem::take(&mut self.stale);
        if let Some(halos) = &mut self.halos {
            halos.split = false;
            stale |= halos.settle(&self.stream)?;
        }
        if stale && let Some(queued) = self.renewal(own)? {
            // SAFETY: as in `copy_halos`.
            unsafe { queued.launch(&self.stream)? };
        }
        Ok(())
    }

    /// The launch that renews the boundary's ghosts in the present state, but for faces that `own` does not touch.
    pub(super) fn renewal(&self, own: &Region) -> Result<Option<Queued>> {
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
    pub(super) fn exchanging(&self) -> bool {
        let under_way = |halos: &Halos| halos.awaited && halos.received && !halos.split;
        !self.stale && self.halos.as_ref().is_some_and(under_way)
    }

    pub(super) fn halos(&mut self) -> Result<&mut Halos> {
        if self.halos.is_none() {
            self.halos = Some(Halos::new(self.stream.device())?);
        }
        self.halos.as_mut().ok_or_else(|| Error::spec("no halos", "report this as a bug"))
    }

    /// Lets the halos' stream wait for all that the sweeps have queued; not next to the core of a
    /// launch in two parts, where that stream has itself computed what is sent.
    pub(super) fn follow_sweeps(&mut self) -> Result<()> {
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
    pub(super) fn check_halos(&self) -> Result<()> {
        let peers = self.halos.as_ref().and_then(|halos| halos.peers.as_ref());
        peers.map_or(Ok(()), Peers::check)
    }

    /// Lends the halos to `work`, which queues copies into their stream.
    pub(super) fn with_halos<T>(
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
