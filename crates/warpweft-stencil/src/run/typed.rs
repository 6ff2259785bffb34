//! What a user calls, with the type of the cells: each hands the volume on without it.

use super::Run;
use crate::spec::{Stencil, Steps};
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
    /// `volume` is then as it was.
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
}
