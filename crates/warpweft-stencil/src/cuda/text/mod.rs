//! The CUDA text of single steps: element functions, a skeleton, and per stage the shape that joins
//! them; and that of several steps (`fused`). What the host must know of it (parameters, shared memory) is worked out here as well.

mod fused;
mod glue;
mod grid;
pub(super) mod reach;

pub use self::fused::{FusedShape, FusedText, fused_text};
pub use self::glue::StageShape;
use self::glue::{CELLS, Glue};
pub use self::grid::{Room, grid, layout_of, room_of, single};
pub use self::reach::Role;
use super::launch::{faces, place};
use super::memory::arrays;
use super::resident::ResidentShape;
use super::sums::{DIGIT, SUMMED, SUMS, Summand};
use super::temporal::FaceTable;
use crate::{CudaKernel, CudaPolicy, Spec};
use warpweft_core::cuda::{Cache, Cubin, Options, compile_in};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;
use warpweft_core::grid::Axes;

const DIRECT: &str = include_str!("../kernels/direct.cuh");
const COLUMNS: &str = include_str!("../kernels/columns.cuh");
const PLANES: &str = include_str!("../kernels/planes.cuh");

/// The text of single steps.
#[derive(Clone, Debug)]
pub struct StepText {
    /// CUDA C++.
    pub source: String,
    /// The element functions' definitions, which know where a fault is.
    pub unit: Unit,
    /// The stages in order, one step a launch.
    pub stages: Vec<StageShape>,
    /// Warps of a block.
    pub warps: u32,
}

/// The text of a kernel of one step.
fn one_step(kernel: CudaKernel) -> &'static [&'static str] {
    match kernel {
        CudaKernel::Planes => &[COLUMNS, PLANES],
        _ => &[DIRECT],
    }
}

/// Writes the text of single steps of `stencil` under `policy`. `strided` lets blocks take several tiles along z.
pub fn step_text(stencil: &Spec, policy: &CudaPolicy, strided: bool) -> StepText {
    text_of(stencil, policy, strided, None)
}

/// The text of single steps whose last stage also sums up; none where no kernel does.
pub fn summed_text(
    stencil: &Spec,
    policy: &CudaPolicy,
    strided: bool,
    summand: Summand,
) -> Option<StepText> {
    let direct = single(policy).kernel == CudaKernel::Direct;
    // What the device tells functions, and faults, are of one module.
    let plain = !stencil.knows().anything() && !stencil.has_functions();
    let text = (direct && plain).then(|| text_of(stencil, policy, strided, Some(summand)));
    text.filter(|text| !text.unit.faults())
}

fn text_of(
    stencil: &Spec,
    policy: &CudaPolicy,
    strided: bool,
    summand: Option<Summand>,
) -> StepText {
    let policy = &single(policy).reduced(stencil.rank());
    let mut unit = Unit::new();
    let names: Vec<String> = stencil.stages.iter().map(|stage| stage.cuda(&mut unit)).collect();
    let faces = faces::write_text(stencil, &mut unit);
    let mut source = unit.source();
    if stencil.knows().anything() {
        source.push_str(place::TEXT);
    }
    source.push_str(CELLS);
    source.extend(one_step(policy.kernel).iter().copied());
    if summand.is_some() {
        source.extend([DIGIT, SUMS, SUMMED]);
    }
    let mut stages = Vec::new();
    for (number, (stage, functor)) in stencil.stages.iter().zip(&names).enumerate() {
        let summand = summand.filter(|_| number + 1 == names.len());
        let glue = Glue::new(&**stage, number, (policy, strided), summand);
        // Writing to a string can't fail.
        let _ = glue.write(&mut source, functor);
        stages.push(glue.shape);
    }
    source.extend(faces);
    // Each skeleton may stand alone, but the pragma means nothing in a main file.
    let source = source.replace("#pragma once\n", "");
    StepText { source, unit, stages, warps: policy.warps }
}

/// Bytes of a GPU's memory that `stencil` over `extents` takes under `policy`: its fields, the states before a step
/// that residuals are of, the halo messages of tiles that stay on the chip, and what functions of faces say of a pass of
/// fused steps. No GPU is needed.
///
/// # Errors
/// A policy that no kernel can have; more cells than kernels can index.
pub fn device_bytes(stencil: &Spec, extents: Axes<usize>, policy: &CudaPolicy) -> Result<u64> {
    let policy = policy.shaped(stencil.rank())?;
    let layout = layout_of(stencil, extents, &policy)?;
    let stays = policy.kernel == CudaKernel::Resident;
    let shape = ResidentShape::of(stencil, &policy).filter(|_| stays);
    let messages = shape.map_or([0; 2], |shape| shape.bytes(shape.tiles(&layout).iter().product()));
    let fused = policy.kernel.levels();
    let values = FaceTable::bytes_of(stencil, &layout, extents, &[policy]);
    let more = messages.iter().sum::<usize>() as u64 + values;
    Ok(arrays::bytes_of(stencil, &layout, fused) + more)
}

/// Compiles the kernels of `policy` for `arch` ("sm_90") without a GPU; the machine code, of several steps where the
/// policy fuses them.
///
/// # Errors
/// A policy that no kernel can have; the compiler's.
pub fn compile_check(
    stencil: &Spec,
    extents: Axes<usize>,
    policy: &CudaPolicy,
    arch: &str,
) -> Result<Cubin> {
    compile_check_in(Cache::user(), stencil, extents, policy, arch)
}

/// As [`compile_check`], with a cache of the caller's choice.
///
/// # Errors
/// As [`compile_check`].
pub fn compile_check_in(
    cache: &Cache,
    stencil: &Spec,
    extents: Axes<usize>,
    policy: &CudaPolicy,
    arch: &str,
) -> Result<Cubin> {
    let policy = policy.shaped(stencil.rank())?;
    let layout = layout_of(stencil, extents, &policy)?;
    let strided = grid(&layout, &policy)[2] > 65_535;
    let options = Options { contract: policy.contraction, ..Options::default() };
    let single = step_text(stencil, &policy, strided).source;
    let single = compile_in(cache, &single, "a stencil", arch, &options)?;
    let Some(fused) = fused_text(stencil, extents, &policy) else { return Ok(single) };
    let mut fused = compile_in(cache, &fused.source, "fused steps of a stencil", arch, &options)?;
    fused.seconds += single.seconds;
    Ok(fused)
}
