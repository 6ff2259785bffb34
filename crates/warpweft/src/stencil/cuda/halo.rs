//! Ghost zones of a part that one GPU computes: faces packed on the device, through page-locked
//! memory to the transport and back, beside the sweeps of the part's core.

use std::sync::Arc;
use std::time::Instant;

use super::layout::{Layout, axes};
use super::queue::Queued;
use super::sweeps::{CudaSweeps, clamped};
use super::text::grid;
use crate::cluster::{Tag, Transport};
use crate::cuda::{Args, Buffer, Device, Event, Extents, Launch, Pinned, Priority, Rows, Stream};
use crate::element::Fields;
use crate::error::{Error, Result};
use crate::stencil::distribute::{Cells, HaloExecutor, Route};
use crate::stencil::{CudaKernel, Region, Span};

/// The kernel's text; compiled with the ghosts', so that every stencil shares it.
pub(super) const TEXT: &str = include_str!("halo.cuh");

/// Staging areas that are kept though nothing is on its way in them.
const KEPT: usize = 8;

/// What an executor needs once its part has neighbours.
pub(super) struct Halos {
    /// Packs, copies and unpacks, before what the part's core still has to do.
    stream: Stream,
    /// The cells that are packed next are computed.
    ready: Event,
    /// What came last is unpacked.
    unpacked: Event,
    /// Whether the sweeps have yet to wait for that.
    awaited: bool,
    /// Whether a step was begun whose other cells are being computed: what is received need not wait
    /// for them.
    split: bool,
    /// Whether what is sent need not either: the first phase of a swap, before anything is received.
    ahead: bool,
    sent: Vec<Area<Arc<Pinned<u8>>>>,
    received: Vec<Area<Pinned<u8>>>,
}

/// Room for one message, on the device and on the host.
struct Area<P> {
    device: Buffer,
    host: P,
    /// The device is done with it.
    done: Event,
}

impl Halos {
    pub(super) fn new(device: &Device) -> Result<Self> {
        Ok(Self {
            stream: Stream::with_priority(device, Priority::High)?,
            ready: Event::new(device)?,
            unpacked: Event::new(device)?,
            awaited: false,
            split: false,
            ahead: false,
            sent: Vec::new(),
            received: Vec::new(),
        })
    }
}

impl Drop for Halos {
    fn drop(&mut self) {
        // After a failure here nothing is left that could use the areas.
        let _ = self.stream.synchronize();
    }
}

/// The first free area of so many bytes, or a new one.
fn area<P>(
    areas: &mut Vec<Area<P>>,
    bytes: usize,
    free: impl Fn(&mut P) -> bool,
    new: impl FnOnce(Pinned<u8>) -> P,
    device: &Device,
) -> Result<usize> {
    for at in 0..areas.len() {
        let area = &mut areas[at];
        if area.device.bytes() == bytes && free(&mut area.host) && area.done.is_done()? {
            return Ok(at);
        }
    }
    let mut at = 0;
    while areas.len() > KEPT && at < areas.len() {
        if free(&mut areas[at].host) && areas[at].done.is_done()? {
            areas.swap_remove(at);
        } else {
            at += 1;
        }
    }
    areas.push(Area {
        device: Buffer::new(device, bytes)?,
        host: new(Pinned::new(device, bytes)?),
        done: Event::new(device)?,
    });
    Ok(areas.len() - 1)
}

/// The box as (w, z, y, x): first cell and extents.
fn placed<const D: usize>(region: &Region<D>) -> ([usize; 4], [usize; 4]) {
    let mut low = [0; 4];
    let mut size = [1; 4];
    for (to, axis) in axes::<D>().into_iter().enumerate() {
        if let Some(axis) = axis {
            (low[to], size[to]) = (region.low[axis], region.high[axis] - region.low[axis]);
        }
    }
    (low, size)
}

impl<S: Fields, const D: usize> CudaSweeps<S, D> {
    fn check_boxes(&self, boxes: &[Cells<D>]) -> Result<usize> {
        let whole = self.whole();
        let mut bytes = 0;
        for (field, region) in boxes {
            let inside =
                (0..D).all(|d| region.low[d] <= region.high[d] && region.high[d] <= whole.high[d]);
            let known = *field < S::FIELDS.len() && !self.arrays.of(*field).is_empty();
            if !inside || !known {
                return Err(Error::spec(
                    format!("field {field} of {region:?} in a volume of {:?}", whole.high),
                    "this is a fault of Warpweft: report it",
                ));
            }
            bytes += Span::from(*region).cells() * S::FIELDS[*field].kind.size();
        }
        Ok(bytes)
    }

    /// A box of one field in its padded array, for copies.
    fn box_rows(&self, field: usize, region: &Region<D>) -> (Extents, Rows) {
        let size = S::FIELDS[field].kind.size();
        let (low, [w, z, y, x]) = placed(region);
        let (_, mut rows) = self.arrays.layout.interior(size);
        let cells: usize = (0..4).map(|d| low[d] * self.arrays.layout.strides[d]).sum();
        rows.offset += cells * size;
        ([x * size, y, z, w], rows)
    }

    /// The launch that copies the box of one field to or from byte `offset` of `dense`.
    fn halo(
        &self,
        (field, region): &Cells<D>,
        dense: &Buffer,
        offset: usize,
        out: bool,
    ) -> Result<Option<Queued>> {
        let size = S::FIELDS[*field].kind.size();
        let (low, extents) = placed(region);
        if extents.contains(&0) {
            return Ok(None);
        }
        // Where a smaller scalar's field came before, cells need not be aligned.
        let unit = if offset == 0 { size } else { size.min(1 << offset.trailing_zeros()) };
        let strides = self.arrays.layout.strides;
        let cell: usize = (0..4).map(|d| low[d] * strides[d]).sum();
        let first = self.arrays.cell(*field, self.arrays.now(*field, self.state));
        let units = [extents[0], extents[1], extents[2], extents[3] * (size / unit)];
        let all: usize = units.iter().product();
        let numbers = |n: u64| n.to_ne_bytes();
        let mut halo: Vec<u8> = numbers(first + (cell * size) as u64).to_vec();
        halo.extend(numbers(dense.address() + offset as u64));
        halo.extend(strides[..3].iter().flat_map(|&n| ((n * size) as i64).to_ne_bytes()));
        halo.extend(units.iter().flat_map(|&n| (n as u32).to_ne_bytes()));
        halo.extend([unit as i32, i32::from(out)].iter().flat_map(|n| n.to_ne_bytes()));
        let mut args = Args::new();
        args.blob(&halo, 8);
        let launch = Launch::new([all.div_ceil(256) as u32, 1, 1], [256, 1, 1]);
        Ok(Some(Queued { kernel: self.tools.kernel("ww_halo")?, launch, args }))
    }

    /// Queues the copies of all boxes into or out of an area.
    fn copy_halos(
        &self,
        boxes: &[Cells<D>],
        dense: &Buffer,
        stream: &Stream,
        out: bool,
    ) -> Result<()> {
        let mut offset = 0;
        for cells in boxes {
            if let Some(queued) = self.halo(cells, dense, offset, out)? {
                // SAFETY: the arrays and areas live as long as `self`, and dropping one waits for
                // the device; `check_boxes` found the box inside.
                unsafe { queued.launch(stream)? };
            }
            offset += Span::from(cells.1).cells() * S::FIELDS[cells.0].kind.size();
        }
        Ok(())
    }

    /// Lets the sweeps wait for what was unpacked, and renews the boundary's ghosts that follow what
    /// was unpacked or added.
    pub(super) fn settle(&mut self) -> Result<()> {
        if let Some(halos) = &mut self.halos {
            (halos.split, halos.ahead) = (false, false);
            if std::mem::take(&mut halos.awaited) {
                self.stream.wait(&halos.unpacked)?;
            }
        }
        if std::mem::take(&mut self.stale) {
            let queue = self.queue();
            let fields: Vec<_> = (0..S::FIELDS.len()).collect();
            let now: Vec<_> = fields.iter().map(|&f| self.arrays.current(f, self.state)).collect();
            if let Some(queued) = queue.renew(&fields, &now)? {
                // SAFETY: as in `copy_halos`.
                unsafe { queued.launch(&self.stream)? };
            }
        }
        Ok(())
    }

    /// Queues the step's kernel over `region` alone.
    fn launch_part(&self, region: &Region<D>) -> Result<()> {
        let (low, size) = placed(region);
        if size.contains(&0) {
            return Ok(());
        }
        let layout = &self.arrays.layout;
        let first: [i32; 4] = low.map(|n| n as i32);
        let last: [i32; 4] = std::array::from_fn(|d| (low[d] + size[d]) as i32);
        let mut part: Vec<u8> = first.iter().chain(&last).flat_map(|n| n.to_ne_bytes()).collect();
        part.extend(layout.strides[..3].iter().flat_map(|&n| (n as i64).to_ne_bytes()));
        let mut extents = size;
        // Tiles begin at a whole vector below the first cell.
        extents[3] += low[3] % self.policy().cells[0].max(1) as usize;
        let blocks = clamped(grid::<D>(&Layout { extents, ..*layout }, self.policy()));
        if let Some(queued) = self.queue().part(&self.kernels[0], blocks, self.state, &part)? {
            // SAFETY: as in `copy_halos`.
            unsafe { queued.launch(&self.stream)? };
        }
        Ok(())
    }

    fn halos(&mut self) -> Result<&mut Halos> {
        if self.halos.is_none() {
            self.halos = Some(Halos::new(self.stream.device())?);
        }
        self.halos.as_mut().ok_or_else(|| Error::spec("no halos", "report this as a bug"))
    }

    /// Lets the halos' stream wait for all that the sweeps have queued, or of a split step for the
    /// first cells only, whose event was recorded when they were queued.
    fn follow_sweeps(&mut self, first_only: fn(&Halos) -> bool) -> Result<()> {
        self.halos()?;
        let Some(halos) = &self.halos else { return Ok(()) };
        if !first_only(halos) {
            self.stream.record(&halos.ready)?;
        }
        halos.stream.wait(&halos.ready)
    }
}

impl<S: Fields, const D: usize> HaloExecutor<S, D> for CudaSweeps<S, D> {
    fn read(&mut self, boxes: &[Cells<D>], to: &mut Vec<u8>) -> Result<()> {
        self.check_boxes(boxes)?;
        self.settle()?;
        for &(field, region) in boxes {
            let (extents, rows) = self.box_rows(field, &region);
            let before = to.len();
            to.resize(before + extents.iter().product::<usize>(), 0);
            let from = (self.arrays.now(field, self.state), rows);
            self.stream.download_box(extents, from, (&mut to[before..], Rows::dense(extents)))?;
        }
        Ok(())
    }

    fn write(&mut self, boxes: &[Cells<D>], bytes: &[u8]) -> Result<()> {
        let all = self.check_boxes(boxes)?;
        if bytes.len() != all {
            return Err(Error::spec(
                format!("{} bytes for {boxes:?}", bytes.len()),
                "this is a fault of Warpweft: report it",
            ));
        }
        self.settle()?;
        let mut rest = bytes;
        for &(field, region) in boxes {
            let (extents, rows) = self.box_rows(field, &region);
            let (cells, after) = rest.split_at(extents.iter().product());
            let to = (self.arrays.now(field, self.state), rows);
            self.stream.upload_box(extents, to, (cells, Rows::dense(extents)))?;
            rest = after;
        }
        self.stale = true;
        Ok(())
    }

    fn send(
        &mut self,
        boxes: &[Cells<D>],
        net: &dyn Transport,
        (to, tag): (usize, Tag),
    ) -> Result<()> {
        let bytes = self.check_boxes(boxes)?;
        self.follow_sweeps(|halos| halos.ahead)?;
        let device = *self.stream.device();
        let Some(mut halos) = self.halos.take() else { return Ok(()) };
        let free = |host: &mut Arc<Pinned<u8>>| Arc::get_mut(host).is_some();
        let at = area(&mut halos.sent, bytes, free, Arc::new, &device)?;
        let stage = || {
            let Area { device, host, .. } = &mut halos.sent[at];
            self.copy_halos(boxes, device, &halos.stream, true)?;
            if let Some(host) = Arc::get_mut(host) {
                // SAFETY: nobody else has the area, and the stream is waited for below.
                unsafe { halos.stream.download_async(device, 0, host, 0..bytes)? };
            }
            halos.stream.synchronize()
        };
        let staged = { stage }();
        let message = halos.sent[at].host.clone();
        self.halos = Some(halos);
        staged?;
        net.send_shared(to, tag, message)
    }

    fn receive(
        &mut self,
        boxes: &[Cells<D>],
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
        self.follow_sweeps(|halos| halos.split)?;
        let device = *self.stream.device();
        let Some(mut halos) = self.halos.take() else { return Ok(0.0) };
        // The next phase sends cells of the whole step.
        halos.ahead = false;
        let receive = || {
            let at = area(&mut halos.received, bytes, |_| true, |host| host, &device)?;
            let Area { device, host, done } = &mut halos.received[at];
            let start = Instant::now();
            net.receive_into(from, tag, &mut host[..bytes])?;
            let waited = start.elapsed().as_secs_f64();
            // SAFETY: the area is not used again before `done` is passed, nor dropped.
            unsafe { halos.stream.upload_async(device, 0, host, 0..bytes)? };
            self.copy_halos(boxes, device, &halos.stream, false)?;
            halos.stream.record(done)?;
            halos.stream.record(&halos.unpacked)?;
            Ok(waited)
        };
        let waited = { receive }();
        halos.awaited = true;
        self.halos = Some(halos);
        self.stale = true;
        waited
    }

    fn can_split(&self) -> bool {
        // Later stages read what earlier ones wrote beside a cell, which may be on its way.
        // Nor are the ghosts of functions brought on by parts of a step.
        self.kernels.len() == 1
            && self.policy().kernel != CudaKernel::Pipeline
            && !self.stencil.has_functions()
    }

    fn begin_step(&mut self, first: &[Region<D>]) -> Result<()> {
        self.halos()?;
        self.settle()?;
        first.iter().try_for_each(|region| self.launch_part(region))?;
        let halos = self.halos()?;
        (halos.split, halos.ahead) = (true, true);
        let Some(halos) = &self.halos else { return Ok(()) };
        self.stream.record(&halos.ready)
    }

    fn end_step(&mut self, rest: Region<D>) -> Result<()> {
        self.launch_part(&rest)?;
        self.state = 1 - self.state;
        self.stale = true;
        Ok(())
    }

    fn route(&self) -> Route {
        Route::PinnedHost
    }
}
