//! Halos packed and unpacked on the device, by one launch a box. Not: in which stream, and when (`sweeps::exchange`).

use crate::Span;
use crate::cuda::launch::boxes::placed;
use crate::cuda::launch::queue::Queue;
use crate::cuda::launch::queued::Queued;
use crate::exchange::Cells;
use warpweft_core::cuda::{Args, Launch, Stream};
use warpweft_core::error::Result;

/// Blocks of a copy at most: enough for every multiprocessor to be full a few times over.
const BLOCKS: usize = 4096;

/// The flag by which the receiver on another device learns that all is there.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuda) struct Signal {
    /// Its address.
    pub flag: u64,
    /// What it becomes.
    pub value: u32,
    /// The address of a word of this device, zero before and after.
    pub count: u64,
}

/// What boxes are copied out of and into: the arrays of an executor, in one state.
pub(in crate::cuda) struct Copies<'a> {
    pub queue: Queue<'a>,
    pub state: usize,
}

impl Copies<'_> {
    /// The launch that copies the box of one field to or from address `dense`.
    fn halo(
        &self,
        (field, region): &Cells,
        dense: u64,
        out: bool,
        signal: Option<Signal>,
    ) -> Result<Queued> {
        let size = self.queue.stencil.cell.size(*field);
        let (low, extents) = placed(region);
        let strides = self.queue.arrays.layout.strides.map(|n| n * size);
        let inside: usize = (0..4).map(|d| low[d] * strides[d]).sum();
        let cell = self.queue.arrays.cell(*field, self.queue.arrays.now(*field, self.state))
            + inside as u64;
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
        Ok(Queued { kernel: self.queue.tools.kernel("ww_halo")?, launch, args })
    }

    /// Queues the copies of all boxes to (`out`) or from consecutive bytes at address `dense`, and then
    /// the signal.
    ///
    /// # Safety
    /// As many bytes must be there, until the stream is done with them, and the signal's words.
    pub unsafe fn copy(
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
            dense += (cells(it) * self.queue.stencil.cell.size(it.0)) as u64;
        }
        Ok(())
    }
}
