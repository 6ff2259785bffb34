//! The kernels of a run on one GPU, compiled by a thread while the caller makes the cells.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::run::Run;
use crate::spec::Spec;
use warpweft_core::cuda::leave_to_compile;
use warpweft_core::grid::Axes;
use warpweft_core::machine::Machine;

/// Kernels that a thread compiles into the cache. When this is dropped, the thread goes on; the process waits for it at
/// its end.
#[derive(Debug)]
#[must_use]
pub struct CompilingKernels {
    thread: Option<JoinHandle<()>>,
    notes: Arc<Mutex<Vec<String>>>,
}

impl CompilingKernels {
    /// What compiling wants to tell the user so far, e.g. that kernels can't be kept: a process says it once.
    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Spec {
    /// Begins to prepare [`Spec::run_with`] of `steps` steps on a volume of `extents` cells: a thread opens the GPU and
    /// compiles the kernels, while the caller makes the volume. `None` where the run uses no GPU, several devices, or
    /// regrouped sums. Nothing depends on it but time: what fails here fails again, with its error, in the run.
    pub fn compile_ahead(
        &self,
        extents: Axes<usize>,
        steps: u64,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Option<CompilingKernels> {
        let devices = run.devices(machine).ok()?;
        let [gpu] = devices.gpus[..] else { return None };
        let several = run.net.is_some() || run.settings.ranks.is_some();
        if devices.threads.is_some() || several || self.regrouped {
            return None;
        }
        let kernels = self.kernels_on((extents, steps), machine, run, gpu).kernels;
        let (stencil, gpu) = (self.clone(), gpu.clone());
        let notes = Arc::new(Mutex::new(Vec::new()));
        let told = notes.clone();
        let work = move || {
            let Ok(device) = gpu.device() else { return };
            let tell = |what: Vec<String>| {
                told.lock().unwrap_or_else(PoisonError::into_inner).extend(what);
            };
            // The run meets the same error and reports it.
            let _ = kernels.compile_ahead(&stencil, extents, &device, &tell);
        };
        let thread = Builder::new().name("compiler".into()).spawn(work).ok()?;
        Some(CompilingKernels { thread: Some(thread), notes })
    }
}

impl Drop for CompilingKernels {
    fn drop(&mut self) {
        leave_to_compile(self.thread.take().into_iter().collect());
    }
}
