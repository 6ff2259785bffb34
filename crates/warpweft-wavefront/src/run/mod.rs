//! Running a wavefront: [`Wavefront::run`] and what it may be told. Not here: which executor runs (`on`).

mod fastest;
pub(crate) mod key;
mod on;

use std::convert::Infallible;

use crate::executor::WavefrontExecutor;
use crate::policy::Policy;
use crate::recurrence::WavefrontElement;
use crate::spec::{Kept, Wavefront};
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::report::Report;
use warpweft_core::run::{Auto, Pattern, Suits};

pub use on::RunExecutor;

/// How to run a wavefront, where the defaults will not do: [`warpweft_core::run::Run`] of wavefronts. There is no
/// checkpoint; [`traceback`](crate::traceback) saves what it goes on from.
pub type Run<'a> = warpweft_core::run::Run<'a, WavefrontPattern>;

/// Wavefronts, to [`Run`].
#[derive(Clone, Copy, Debug)]
pub enum WavefrontPattern {}

impl Pattern for WavefrontPattern {
    type Policy = Policy;
    type Checkpoint = Infallible;
    type Settings<'a> = ();
    const AUTO: Auto = Auto::AllGpus;
    fn suits(policy: &Policy) -> Suits {
        match policy {
            Policy::Cpu(_) => Suits::Cores,
            Policy::Cuda(_) | Policy::Tiles(_) | Policy::Scan(_) => Suits::Gpus,
        }
    }
}

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
    /// As [`Wavefront::run_with`].
    pub fn run(&self, machine: &Machine) -> Result<(Kept<E::Cell>, Report)> {
        self.run_with(machine, &Run::default())
    }

    /// Computes it as `run` says, on this process's devices; a [`RankExecutor`](crate::RankExecutor) over a
    /// [`RunExecutor`] computes it over ranks.
    ///
    /// An interrupt or a deadline ends a run with
    /// [`Error::Interrupted`](warpweft_core::error::Error::Interrupted): cells that others would need are not kept. On
    /// the cores it is looked for 50 times a second and between two tiles, which take about a millisecond; on a
    /// GPU before each launch, of which a wavefront is one. Progress is told in cells, on a GPU at the end alone.
    ///
    /// ```
    /// use warpweft::prelude::*;
    /// use warpweft::run::Target;
    /// use warpweft::wavefront::{CpuPolicy, Kept, Policy, Run};
    ///
    /// #[wavefront]
    /// fn common(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
    ///     if a == b { h.nw + 1 } else { h.n.max(h.w) }
    /// }
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let wavefront = Wavefront::of(common()).rows(b"GATTACA").columns(b"TTTAGATCACA");
    /// let policy = Policy::Cpu(CpuPolicy { tile_rows: 2, ..CpuPolicy::for_domain(7, 2) });
    /// let progress = |done, total| assert!(done <= total && total == 77);
    /// let run = Run {
    ///     target: Target::Cpu,
    ///     threads: Some(2),
    ///     policy: Some(policy),
    ///     progress: Some(&progress),
    ///     ..Run::default()
    /// };
    /// let (kept, _) = wavefront.keep(Keep::Score).run_with(&Machine::detect()?, &run)?;
    /// assert_eq!(kept, Kept::Score(Some(6)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Wavefront::check`]; as [`Run::devices`](warpweft_core::run::Run::devices); cores and GPUs together; several
    /// ranks; a policy that the executor can't have; too little memory; a fault of the device;
    /// [`Error::Interrupted`](warpweft_core::error::Error::Interrupted).
    pub fn run_with(&self, machine: &Machine, run: &Run<'_>) -> Result<(Kept<E::Cell>, Report)> {
        let mut executor = RunExecutor::new(machine, run)?;
        match run.others() {
            None => executor.run(self),
            Some(net) => Err(Error::spec(
                format!("`run_with` does not run a wavefront over several ranks ({})", net.ranks()),
                "run it by `RankExecutor::new(net, RunExecutor::new(machine, run)?)`",
            )),
        }
    }
}
