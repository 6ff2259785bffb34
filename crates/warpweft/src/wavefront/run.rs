//! A wavefront on whatever the machine has: the one place where a device is chosen.

use super::cpu::CpuExecutor;
use super::cuda::CudaExecutor;
use super::element::WavefrontElement;
use super::executor::WavefrontExecutor;
use super::policy::CpuPolicy;
use super::spec::{Kept, Wavefront};
use crate::cpu::Pool;
use crate::error::Result;
use crate::machine::Machine;
use crate::report::Report;

impl<E: WavefrontElement> Wavefront<'_, E> {
    /// Computes it on the first GPU, or on all cores where there is none.
    ///
    /// ```
    /// use warpweft::machine::Machine;
    /// use warpweft::wavefront::{Best, Kept, Wavefront, conformance::Local};
    /// # fn main() -> warpweft::Result<()> {
    /// let element = Local { matching: 2, mismatch: -1, gap: -1 };
    /// let wavefront = Wavefront::of(element).rows(b"GATTACA").columns(b"TTTAGATCACA");
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
            return CudaExecutor::new(&gpu.device()?, None)?.run(self);
        }
        let threads = machine.cpu.threads();
        let pool = Pool::new(machine.cpu.first(threads))?;
        CpuExecutor::new(&pool, CpuPolicy::for_domain(self.rows.len(), threads))?.run(self)
    }
}
