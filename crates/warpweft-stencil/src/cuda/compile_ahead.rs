//! Compiles a run's kernels before its cells are there. Not: who asks for it (`drive/devices`).

use std::thread::{Builder, scope};

use super::limits::check_device;
use super::policy::kernels::{Compile, Kernels};
use super::single::step_image;
use super::sweeps::{orders, tools_image};
use super::text::{grid, step_text};
use crate::{CudaKernel, Spec};
use warpweft_core::cuda::{Cubin, Device, compile};
use warpweft_core::error::Result;
use warpweft_core::grid::Axes;

impl Kernels {
    /// Compiles for `device`, into the cache, what [`CudaSweeps::with`](crate::CudaSweeps::with) asks for first, each
    /// kernel on a thread of its own. `tell` gets what compiling wants to say.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn compile_ahead(
        &self,
        stencil: &Spec,
        extents: Axes<usize>,
        device: &Device,
        tell: &(dyn Fn(Vec<String>) + Sync),
    ) -> Result<()> {
        let planned = self.planned(stencil, extents, device.memory()?.0)?;
        let single = &planned.single;
        let strided = check_device(single, grid(&planned.layout, single), device)?;
        let text = step_text(stencil, single, strided);
        let arch = device.arch()?;
        let fused = orders(stencil, extents, &planned.fused, &arch);
        let fused = &fused[..self.surely_compiled(fused.len())];
        // An error of one says nothing of the others.
        let notes_of = |image: Result<Cubin>| _ = image.map(|image| tell(image.notes));
        scope(|scope| {
            for order in fused {
                let work = || {
                    let (source, options) = (&order.text.source, order.options());
                    notes_of(compile(source, &order.name, &order.arch, &options));
                };
                // Without a thread the run compiles it.
                let _ = Builder::new().name("compiler".into()).spawn_scoped(scope, work);
            }
            let tools = || notes_of(tools_image(&arch));
            let _ = Builder::new().name("compiler".into()).spawn_scoped(scope, tools);
            step_image(stencil, single, &text, &arch).map(|image| tell(image.notes))
        })
    }

    /// How many of `all` kernels of several steps are compiled whatever the cells are and however the run goes.
    fn surely_compiled(&self, all: usize) -> usize {
        // Whether cells can be packed is known once they are there.
        if self.fused.iter().any(|policy| policy.kernel == CudaKernel::Packed) {
            return 0;
        }
        match self.compile {
            Compile::First => all,
            Compile::Foremost => all.min(1),
            Compile::Meanwhile(threads) => all.min(threads),
            Compile::Eventually(_) | Compile::Never => 0,
        }
    }
}
