//! A wavefront on whatever the machine has: the one place where a device is chosen.

use super::cpu::CpuExecutor;
use super::cuda::scan::{self, ScanExecutor};
use super::cuda::tiles::TileExecutor;
use super::cuda::{CudaExecutor, unfit};
use crate::executor::WavefrontExecutor;
use crate::policy::CpuPolicy;
use crate::recurrence::WavefrontElement;
use crate::spec::{Kept, Wavefront};
use warpweft_core::cpu::Pool;
use warpweft_core::cuda::SharedMemory;
use warpweft_core::error::Result;
use warpweft_core::machine::Machine;
use warpweft_core::report::Report;

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
            return match Runs::of(self, gpu.sms, gpu.shared_memory()) {
                Runs::Scan => ScanExecutor::new(&gpu.device()?, None)?.run(self),
                Runs::Strips => CudaExecutor::over(&machine.together()?, None)?.run(self),
                Runs::Tiles(what) => {
                    let (kept, mut report) = TileExecutor::new(&gpu.device()?, None)?.run(self)?;
                    report.notes.push(format!(
                        "by tiles: register strips run no {what}, which {} has",
                        E::NAME
                    ));
                    Ok((kept, report))
                }
            };
        }
        let threads = machine.cpu.threads();
        let pool = Pool::over(&machine.cpu.cores, threads)?;
        let policy = CpuPolicy::for_domain(self.rows.len(), threads);
        let (kept, mut report) = CpuExecutor::new(&pool, policy)?.run(self)?;
        report.devices = vec![machine.cpu.label(threads)];
        Ok((kept, report))
    }
}

/// What runs a wavefront where there are GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    Scan,
    Strips,
    /// As strips can't do this.
    Tiles(&'static str),
}

impl Runs {
    /// The fastest that can, on GPUs of so many SMs and so much shared memory.
    fn of<E: WavefrontElement>(
        wavefront: &Wavefront<'_, E>,
        sms: u32,
        shared: SharedMemory,
    ) -> Self {
        if scan::misses(wavefront).is_none() {
            return Self::Scan;
        }
        unfit(&wavefront.erased(), sms, shared).map_or(Self::Strips, Self::Tiles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recurrence::Earlier;
    use crate::recurrences::{affine_local, area, local, remix};
    use crate::spec::Keep;
    use crate::wavefront;

    /// Time warping whose costs are given cell by cell.
    #[wavefront]
    fn warped(h: Earlier<f32>, #[cell] cost: f32) -> f32 {
        cost + h.nw.min(h.n).min(h.w)
    }

    /// Cells and inputs that leave no space next to the rings.
    #[wavefront]
    fn wide(h: Earlier<f64>, #[column] b: f64, #[cell] x: f64) -> f64 {
        (b * h.n).max(h.w).max(x)
    }

    /// On an A100, an RTX 4090, an H200 and half of that.
    #[test]
    fn the_fastest_executor_that_can_is_taken() {
        let limits = [163, 99, 227, 48].map(|kib| SharedMemory::of_block(kib << 10));
        for shared in limits {
            let pixels = vec![1u8; 90_000];
            let table = Wavefront::of(area()).over([300; 2]).inputs(&pixels);
            let of = |keep| Runs::of(&table.clone().keep(keep), 132, shared);
            assert_eq!(of(Keep::Matrix), Runs::Scan);
            assert_eq!([Keep::LastRow, Keep::Sum].map(of), [Runs::Strips; 2]);
            let costs = vec![1.0f32; 90_000];
            let warped = Wavefront::of(warped()).over([300; 2]).inputs(&costs).keep(Keep::Matrix);
            assert_eq!(Runs::of(&warped, 132, shared), Runs::Strips);
            let letters = [b'A'; 300];
            let plain = Wavefront::of(local(2, -1, -1)).rows(&letters).columns(&letters);
            assert_eq!(Runs::of(&plain, 132, shared), Runs::Strips);
            let banded = plain.clone().band(-5, 5, 0);
            assert_eq!(Runs::of(&banded, 132, shared), Runs::Tiles("bands"));
            let affine =
                Wavefront::of(affine_local(2, -3, -5, -1)).rows(&letters).columns(&letters);
            assert_eq!(Runs::of(&affine, 132, shared), Runs::Strips);
        }
        let (rows, columns, inputs) = ([(); 300], [1.0; 300], vec![0.0; 90_000]);
        let wide = Wavefront::of(wide()).rows(&rows).columns(&columns).inputs(&inputs);
        let full = Runs::Tiles("cells and inputs that fill shared memory");
        assert_eq!(Runs::of(&wide, 132, limits[3]), full);
        let sweeps = Wavefront::of(remix()).rows(&[1; 9]).columns(&[2; 9]);
        assert_eq!(Runs::of(&sweeps, 132, limits[0]), Runs::Tiles("old values"));
    }
}
