//! What a user calls, with the type of the cells: each hands the volume on without it.

use super::Run;
use crate::spec::{Stencil, Steps};
use crate::{Tuned, Tuning};
use warpweft_core::element::Fields;
use warpweft_core::error::Result;
use warpweft_core::grid::Volume;
use warpweft_core::machine::Machine;
use warpweft_core::report::Report;

impl<S: Fields, const D: usize> Stencil<S, D> {
    /// Advances `volume` by `steps` steps, or fewer when [`Stencil::until`] is met, on the best
    /// device of `machine`.
    ///
    /// # Errors
    /// As [`crate::Spec::check`]; too little memory; a fault of the element function or of the device.
    /// `volume` is then as it was, unless the device fails while the result is copied back.
    pub fn run(
        &self,
        volume: &mut Volume<S, D>,
        steps: Steps,
        machine: &Machine,
    ) -> Result<Report> {
        self.run_with(volume, steps, machine, &Run::default())
    }

    /// As [`Stencil::run`], with options.
    ///
    /// # Errors
    /// As [`Stencil::run`]; a policy for another device than the target; a GPU that is not there.
    pub fn run_with(
        &self,
        volume: &mut Volume<S, D>,
        steps: Steps,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<Report> {
        (**self).run_with(volume.raw_mut(), steps, machine, run)
    }

    /// Searches for the fastest policy on volumes like `volume`, which is not changed, and keeps it: later runs on
    /// volumes of these extents find it by themselves. A candidate must agree with the reference before it may win.
    ///
    /// ```
    /// use std::time::Duration;
    /// use warpweft::prelude::*;
    /// use warpweft::stencil::Tuning;
    ///
    /// #[stencil]
    /// fn smooth(u: Near<f32, 1>) -> f32 {
    ///     0.5 * u[[0]] + 0.25 * (u[[-1]] + u[[1]])
    /// }
    ///
    /// let stencil = Stencil::of(smooth());
    /// let volume = Volume::from_fn([10_000], |[x]| x as f32);
    /// # let folder = std::env::temp_dir().join("warpweft-doctest-tune");
    /// let tuning = Tuning {
    ///     target: Target::Cpu,
    ///     budget: Duration::from_millis(50),
    /// #   folder: Some(folder.clone()),
    ///     ..Tuning::default()
    /// };
    /// let tuned = stencil.tune(&volume, &Machine::detect()?, &tuning)?;
    /// assert!(tuned.tried > 0 && tuned.rate > 0.0);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), warpweft::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Stencil::run_with`]; a target of cores and a GPU together. A folder that can't be written is a note.
    pub fn tune(&self, volume: &Volume<S, D>, machine: &Machine, tuning: &Tuning) -> Result<Tuned> {
        (**self).tune(volume, machine, tuning)
    }
}
