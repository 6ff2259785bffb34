//! Launches of the kernel that measures the change of a step (residual.cuh).

use crate::Residual;
use crate::cuda::memory::layout::Layout;
use crate::spec::total::Total;
use warpweft_core::cuda::{Args, Buffer, Kernel, Launch, Module, Stream};
use warpweft_core::element::ScalarKind;
use warpweft_core::error::Result;

/// The kernel's text; compiled on its own, so that every stencil shares it.
pub(crate) const TEXT: &str = include_str!("../kernels/residual.cuh");

/// Cells of a row that a warp takes at a time, as in the kernel.
const PIECE: usize = 1024;

/// Blocks of a launch at most: enough to fill a device, few enough for their totals to be added quickly.
const BLOCKS: usize = 1024;

/// The kernel, and the total on the device.
#[derive(Debug)]
pub(crate) struct Change {
    kernel: Kernel,
    strides: [usize; 4],
    total: Buffer,
}

impl Change {
    pub fn new(stream: &Stream, module: &Module, layout: &Layout) -> Result<Self> {
        let total = Buffer::new(stream.device(), Total::WORDS * size_of::<u64>())?;
        Ok(Self { kernel: module.kernel("ww_changes")?, strides: layout.strides, total })
    }

    /// Begins a total anew.
    pub fn clear(&self, stream: &Stream) -> Result<()> {
        stream.fill(&self.total, 0)
    }

    /// Adds `after - before` over a box of one field, of `extents` (w, z, y, x). Does not wait.
    ///
    /// # Safety
    /// Both must be addresses of the box's first cell in live arrays of `kind` in this layout.
    pub unsafe fn add(
        &self,
        stream: &Stream,
        norm: Residual,
        kind: ScalarKind,
        [before, after]: [u64; 2],
        extents: [usize; 4],
    ) -> Result<()> {
        let [w, z, y, x] = extents;
        let norm = match norm {
            Residual::Max => 0i32,
            Residual::Sum => 1,
            Residual::SumOfSquares => 2,
        };
        let pieces = w * z * y * x.div_ceil(PIECE);
        if pieces == 0 {
            return Ok(());
        }
        let mut args = Args::new();
        args.value(before);
        args.value(after);
        args.value(kind as i32);
        args.value(norm);
        [z, y, x].into_iter().for_each(|n| _ = args.value(n as i32));
        self.strides[..3].iter().for_each(|&stride| _ = args.value(stride as i64));
        args.value(pieces as i64);
        args.buffer(&self.total);
        let blocks = pieces.div_ceil(8).min(BLOCKS);
        // SAFETY: the caller vouches for both arrays; the total has the kernel's words.
        unsafe { stream.launch(&self.kernel, Launch::line(blocks as u32, 256), &args) }
    }

    /// What was added since [`Change::clear`]. Waits for the device.
    pub fn total(&self, stream: &Stream) -> Result<Total> {
        let mut words = [0u64; Total::WORDS];
        stream.download(&self.total, 0, &mut words)?;
        Ok(Total::from_words(words))
    }
}
