//! Fields of another executor's grid brought into this one's. Not: the kernels (`transfer`).

use super::CudaSweeps;
use crate::cuda::transfer::{PLANES, Transferring, mesh};
use crate::plan::transfer::Transfer;
use warpweft_core::cuda::{Args, Event, Launch, Stream};
use warpweft_core::element::ScalarKind;
use warpweft_core::error::Result;

impl CudaSweeps {
    /// Brings field `fields[0]` of `from` into field `fields[1]`; whether that can be done on the device.
    pub(in crate::cuda) fn transferred(
        &mut self,
        by: Transfer,
        from: &mut CudaSweeps,
        fields: [usize; 2],
    ) -> Result<bool> {
        let held = |sweeps: &CudaSweeps, f: usize| sweeps.unused.iter().all(|(g, _)| *g != f);
        let kinds = [from.stencil.cell.kind(fields[0]), self.stencil.cell.kind(fields[1])];
        let number = match kinds {
            [ScalarKind::F32, ScalarKind::F32] => 0,
            [ScalarKind::F64, ScalarKind::F64] => 1,
            _ => return Ok(false),
        };
        let same = self.stream.device().ordinal() == from.stream.device().ordinal();
        if !same || !held(from, fields[0]) || !held(self, fields[1]) {
            return Ok(false);
        }
        from.settle()?;
        from.clock.close();
        if from.can_fault() {
            // Else this executor would tell nobody of the fault of another.
            from.check_fault()?;
        }
        self.settle()?;
        self.clock.close();
        self.ahead.forget();
        let transferring = match &mut self.transferring {
            Some(transferring) => transferring,
            none => none.insert(Transferring::new(&self.stream)?),
        };
        let mut args = Args::new();
        args.value(i32::from(by == Transfer::Prolong));
        args.value(from.arrays.cell(fields[0], from.arrays.now(fields[0], from.state)));
        args.value(self.arrays.cell(fields[1], self.arrays.now(fields[1], self.state)));
        args.blob(&mesh(&from.arrays.layout), 8);
        args.blob(&mesh(&self.arrays.layout), 8);
        let [_, z, y, x] = self.arrays.layout.extents;
        let rows = y.min(8) as u32;
        let blocks =
            [x.div_ceil(32) as u32, y.div_ceil(rows as usize) as u32, z.min(PLANES) as u32];
        let launch = Launch::new(blocks, [32, rows, 1]);
        follow(&self.stream, &from.stream)?;
        // SAFETY: both pointers are cell (0, 0, 0) of live arrays of these types in these layouts, whose grids
        // `Transfer::grids` has found to fit; what follows in either stream waits for the kernel.
        unsafe { self.stream.launch(&transferring.kernels[number], launch, &args)? };
        follow(&from.stream, &self.stream)?;
        self.stale = true;
        Ok(true)
    }
}

/// Makes what comes into `later` wait for all that is in `earlier`.
fn follow(later: &Stream, earlier: &Stream) -> Result<()> {
    let event = Event::new(earlier.device())?;
    earlier.record(&event)?;
    later.wait(&event)
}
