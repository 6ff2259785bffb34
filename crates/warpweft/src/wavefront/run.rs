//! A wavefront on whatever the machine has: the one place where a device is chosen.

use super::cpu::CpuExecutor;
use super::cuda::scan::{self, ScanExecutor};
use super::cuda::tiles::TileExecutor;
use super::cuda::{CudaExecutor, misses};
use super::element::WavefrontElement;
use super::executor::WavefrontExecutor;
use super::policy::CpuPolicy;
use super::spec::{Kept, Wavefront};
use crate::cpu::Pool;
use crate::error::Result;
use crate::machine::Machine;
use crate::report::Report;

impl<E: WavefrontElement> Wavefront<'_, E> {
    /// Computes it on the first GPU and on as many of those like it as make it faster by the model, or
    /// on all cores where there is none. Where register strips can't do what the recurrence needs,
    /// which the report then says, one GPU works.
    ///
    /// ```
    /// use warpweft::prelude::*;
    /// use warpweft::wavefront::{Best, Kept};
    ///
    /// #[wavefront]
    /// fn smith_waterman(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, gap: i32) -> i32 {
    ///     let pair = if a == b { 2 } else { -1 };
    ///     (h.nw + pair).max(h.n + gap).max(h.w + gap).max(0)
    /// }
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let wavefront = Wavefront::of(smith_waterman(-1)).rows(b"GATTACA").columns(b"TTTAGATCACA");
    /// let (kept, report) = wavefront.run(&Machine::detect()?)?;
    /// assert_eq!(kept, Kept::Best(Some(Best { score: 11, row: 6, column: 10 })));
    /// assert_eq!(report.done, 77);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Wavefront::check`]; too little memory; a fault of the device.
    pub fn run(&self, machine: &Machine) -> Result<(Kept<E::Cell>, Report)> {
        if let Some(gpu) = machine.gpus.first() {
            if scan::misses(self).is_none() {
                return ScanExecutor::new(&gpu.device()?, None)?.run(self);
            }
            // Which of the two is faster with inputs of cells has yet to be measured.
            let unless_asked = (!self.inputs.is_empty() && size_of::<E::Input>() > 0)
                .then_some("inputs of cells unless asked to");
            let Some(what) = misses(self).or(unless_asked) else {
                return CudaExecutor::over(&machine.together()?, None)?.run(self);
            };
            let (kept, mut report) = TileExecutor::new(&gpu.device()?, None)?.run(self)?;
            let name = E::NAME;
            report.notes.push(format!("by tiles: register strips run no {what}, which {name} has"));
            return Ok((kept, report));
        }
        let threads = machine.cpu.threads();
        let pool = Pool::over(&machine.cpu.cores, threads)?;
        let policy = CpuPolicy::for_domain(self.rows.len(), threads);
        let (kept, mut report) = CpuExecutor::new(&pool, policy)?.run(self)?;
        report.devices = vec![machine.cpu.label(threads)];
        Ok((kept, report))
    }
}
