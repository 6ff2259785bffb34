//! What single steps need: their kernels, and whether these read across periodic faces.

use super::memory::layout::{Layout, axes};
use super::text::StepText;
use crate::{Boundary, CudaKernel, CudaPolicy, Spec};
use warpweft_core::cuda::{Cubin, Device, Kernel, Module, Options, compile};
use warpweft_core::error::Result;

/// The step's module, and what compiling it wants to say.
pub(super) fn compiled_step(
    stencil: &Spec,
    policy: &CudaPolicy,
    text: &StepText,
    device: &Device,
) -> Result<(Module, Vec<String>)> {
    let compiled = step_image(stencil, policy, text, &device.arch()?)?;
    Ok((Module::load(device, &compiled)?, compiled.notes))
}

/// The step's kernels, compiled for `arch`.
pub(super) fn step_image(
    stencil: &Spec,
    policy: &CudaPolicy,
    text: &StepText,
    arch: &str,
) -> Result<Cubin> {
    let options = Options { contract: policy.contraction, ..Options::default() };
    let names: Vec<_> = stencil.stages.iter().map(|stage| stage.name()).collect();
    compile(&text.source, &names.join(" + "), arch, &options)
}

/// The extent along x if kernels of single steps can read across its periodic faces themselves, else 0. Ghosts beyond them
/// cost most: each is a line of memory by itself.
pub(super) fn wrap_of(stencil: &Spec, policy: &CudaPolicy, layout: &Layout) -> usize {
    let [.., x] = axes(stencil.rank());
    let periodic = x.is_some_and(|x| stencil.boundaries.0[x] == [Boundary::Periodic; 2]);
    let whole = layout.extents[3].is_multiple_of(policy.cells[0].max(1) as usize);
    let alone = !layout.shared.as_flattened().contains(&true);
    let direct = policy.kernel == CudaKernel::Direct && !stencil.has_functions();
    if periodic && whole && alone && direct { layout.extents[3] } else { 0 }
}

/// The kernel `name`, permitted `shared` bytes of dynamic shared memory.
pub(super) fn kernel(module: &Module, name: &str, shared: usize) -> Result<Kernel> {
    let kernel = module.kernel(name)?;
    if shared > 0 {
        kernel.allow_shared(shared as u32)?;
    }
    Ok(kernel)
}
