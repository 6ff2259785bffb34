//! Launches of the kernels that reduce the change of a step (residual.cuh).

use super::layout::Layout;
use crate::cuda::{Args, Buffer, Kernel, Launch, Module, Stream};
use crate::element::ScalarKind;
use crate::error::Result;
use crate::stencil::Residual;

/// The kernels' text; compiled on its own, so that every stencil shares it.
pub(super) const TEXT: &str = include_str!("residual.cuh");

/// Kernels and scratch memory for residuals over one layout.
#[derive(Debug)]
pub(super) struct Change {
    rows: Kernel,
    lines: Kernel,
    layout: Layout,
    /// Totals of rows, and of what remains after each further axis, in turn.
    totals: [Buffer; 2],
}

impl Change {
    /// Bytes of scratch memory that [`Change::new`] allocates.
    pub fn bytes(layout: &Layout) -> usize {
        let [w, z, y, _] = layout.extents;
        2 * w * z * y * size_of::<f64>()
    }

    pub fn new(stream: &Stream, module: &Module, layout: &Layout) -> Result<Self> {
        let bytes = Self::bytes(layout) / 2;
        let totals = [Buffer::new(stream.device(), bytes)?, Buffer::new(stream.device(), bytes)?];
        let (rows, lines) = (module.kernel("ww_row_changes")?, module.kernel("ww_line_totals")?);
        Ok(Self { rows, lines, layout: *layout, totals })
    }

    /// The norm of `after - before` over all cells of one field. Waits for the device.
    ///
    /// # Safety
    /// Both must be addresses of cell (0, 0, 0, 0) of live arrays of `kind` in this layout.
    pub unsafe fn of(
        &self,
        stream: &Stream,
        norm: Residual,
        kind: ScalarKind,
        before: u64,
        after: u64,
    ) -> Result<f64> {
        let [w, z, y, _] = self.layout.extents;
        let mut total = [0.0];
        // SAFETY: passed on to the caller.
        unsafe { self.reduce(stream, norm, kind, [before, after], &[y, z, w], &mut total)? };
        Ok(total[0])
    }

    /// As [`Change::of`], but one total for every plane across `slowest` (0 w, 1 z), the slowest
    /// axis that the volume has: what is left to combine with other devices' planes.
    ///
    /// # Safety
    /// As [`Change::of`].
    pub unsafe fn planes(
        &self,
        stream: &Stream,
        norm: Residual,
        kind: ScalarKind,
        [before, after]: [u64; 2],
        slowest: usize,
    ) -> Result<Vec<f64>> {
        let [_, z, y, _] = self.layout.extents;
        let mut totals = vec![0.0; self.layout.extents[slowest]];
        let axes: &[usize] = if slowest == 0 { &[y, z] } else { &[y] };
        // SAFETY: passed on to the caller.
        unsafe { self.reduce(stream, norm, kind, [before, after], axes, &mut totals)? };
        Ok(totals)
    }

    /// Reduces along x and then `axes`, innermost first; what is left of the totals goes to `to`.
    ///
    /// # Safety
    /// As [`Change::of`].
    unsafe fn reduce(
        &self,
        stream: &Stream,
        norm: Residual,
        kind: ScalarKind,
        [before, after]: [u64; 2],
        axes: &[usize],
        to: &mut [f64],
    ) -> Result<()> {
        let [w, z, y, x] = self.layout.extents;
        let [sw, sz, sy, _] = self.layout.strides.map(|stride| stride as i64);
        let norm_code = match norm {
            Residual::Max => 0i32,
            Residual::Sum => 1,
            Residual::SumOfSquares => 2,
        };
        let mut count = w * z * y;
        let mut args = Args::new();
        args.value(before);
        args.value(after);
        args.value(kind as i32);
        args.value(norm_code);
        [z, y, x].into_iter().for_each(|n| _ = args.value(n as i32));
        [sw, sz, sy, count as i64].into_iter().for_each(|n| _ = args.value(n));
        args.buffer(&self.totals[0]);
        // SAFETY: the caller vouches for both arrays; one total a row fits the first buffer.
        unsafe { stream.launch(&self.rows, warps(count), &args)? };
        let mut at = 0;
        for &n in axes {
            if n == 1 {
                continue;
            }
            count /= n;
            let mut args = Args::new();
            args.buffer(&self.totals[at]);
            args.value(norm_code);
            args.value(n as i32);
            args.value(count as i64);
            args.buffer(&self.totals[1 - at]);
            // SAFETY: reads `n × count` totals of one buffer and writes `count` of the other.
            unsafe { stream.launch(&self.lines, warps(count), &args)? };
            at = 1 - at;
        }
        stream.download(&self.totals[at], 0, to)
    }
}

/// A launch of `count` warps.
fn warps(count: usize) -> Launch {
    Launch::line(count.div_ceil(8) as u32, 256)
}
