//! Compiling what slabs run.

use super::policy::{Exchange, MultiCudaPolicy};
use super::slab::Problem;
use crate::Spec;
use crate::cuda::sweeps::tools_text;
use crate::cuda::text::{Cut, cut_step_text};
use crate::turn::Turn;
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::error::Result;

/// How kernels of this policy exchange planes by themselves.
pub(super) fn cut_of(policy: &MultiCudaPolicy) -> Cut {
    match policy.exchange {
        Exchange::Flags => Cut::Flags,
        Exchange::Words => Cut::Words(policy.depth),
        Exchange::Copies => Cut::None,
    }
}

/// The step's kernels, and those that every stencil shares.
pub(super) fn compile_for<const D: usize>(problem: &Problem<D>, arch: &str) -> Result<[Cubin; 2]> {
    let contract = problem.policy.cuda.contraction;
    let options = Options { contract, ..Options::default() };
    let names: Vec<_> = problem.stencil.stages.iter().map(|stage| stage.name()).collect();
    let step = compile(&problem.text.source, &names.join(" + "), arch, &options)?;
    let tools = compile(&tools_text(), "ghosts and residuals", arch, &Options::default())?;
    Ok([step, tools])
}

/// Compiles the kernels of `policy` for `arch` ("sm_90") without a GPU; the machine code.
///
/// # Errors
/// A policy that no kernel can have, or an axis that the stencil can't be cut across; the compiler's.
pub fn compile_check<const D: usize>(
    stencil: &Spec<D>,
    policy: &MultiCudaPolicy,
    arch: &str,
) -> Result<Cubin> {
    let cuda = policy.cuda.shaped::<D>()?;
    let stencil = Turn::across(policy.axis)?.spec(stencil)?;
    let text = cut_step_text(&stencil, &cuda, false, cut_of(policy));
    let options = Options { contract: cuda.contraction, ..Options::default() };
    compile(&text.source, "a stencil", arch, &options)
}
