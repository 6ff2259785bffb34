//! The CUDA text of one step: element functions, a skeleton, and per stage the shape that joins
//! them. What the host must know of it (parameters, shared memory) is worked out here as well.

mod glue;
mod grid;
pub(super) mod reach;
mod trip;

use self::glue::Glue;
pub use self::glue::StageShape;
pub use self::grid::{grid, layout_of, single, trip_grid};
pub use self::reach::{Role, role_of};
use self::trip::write_trip;
pub use self::trip::{TripShape, goes_on_alone};
use super::resident::{ResidentShape, write_resident};
use super::{arrays, faces, multi};
use crate::{CudaKernel, CudaPolicy, Spec, Stage};
use warpweft_core::cuda::{Cache, Cubin, Options, compile_in};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

const CELLS: &str = include_str!("../cells.cuh");
const DIRECT: &str = include_str!("../direct.cuh");
const COLUMNS: &str = include_str!("../columns.cuh");
const MARCH: &str = include_str!("../march.cuh");
const PLANES: &str = include_str!("../planes.cuh");
const PIPELINE: &str = include_str!("../pipeline.cuh");
const STRIPS: &str =
    concat!(include_str!("../resident/resident.cuh"), include_str!("../resident/strips.cuh"));
const PATCHES: &str = concat!(
    include_str!("../resident/resident.cuh"),
    include_str!("../resident/sealed.cuh"),
    include_str!("../resident/patches.cuh")
);
const EDGES: &str = include_str!("../multi/edges.cuh");
const CORNERS: &str = concat!(include_str!("../copied.cuh"), include_str!("../multi/corners.cuh"));
const TRIPS: &str = include_str!("../multi/trips.cuh");
const WORDS: &str = include_str!("../multi/words.cuh");

/// The whole text of a step.
#[derive(Clone, Debug)]
pub struct StepText {
    /// CUDA C++.
    pub source: String,
    /// The element functions' definitions, which know where a fault is.
    pub unit: Unit,
    /// The stages in order, one step a launch.
    pub stages: Vec<StageShape>,
    /// The kernel `ww_trip` of several steps a launch, if the policy asks for it.
    pub trip: Option<TripShape>,
    /// The kernel `ww_resident` of tiles that stay on the chip, if the policy asks for it.
    pub resident: Option<ResidentShape>,
    /// The kernel `ww_words` that exchanges planes in words, where it does.
    pub words: Option<StageShape>,
    /// Warps of a block of single steps.
    pub warps: u32,
}

/// How kernels exchange planes with neighbour devices by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Not at all.
    None,
    /// By flags, in two or three dimensions: stages by Direct or March (edges.cuh), or trips
    /// (trips.cuh), beside which stages do not.
    Flags,
    /// In words, in two or three dimensions (words.cuh): the one stage, by Direct, in a kernel
    /// beside the one that does not, so many steps between exchanges.
    Words(u32),
}

/// Writes the text of a step of `stencil`. `strided` lets blocks take several tiles along z.
pub fn step_text<const D: usize>(
    stencil: &Spec<D>,
    policy: &CudaPolicy,
    strided: bool,
) -> StepText {
    cut_step_text(stencil, policy, strided, Cut::None)
}

/// As [`step_text`], with kernels for slabs of a volume.
pub fn cut_step_text<const D: usize>(
    stencil: &Spec<D>,
    policy: &CudaPolicy,
    strided: bool,
    cut: Cut,
) -> StepText {
    let piped = (policy.kernel == CudaKernel::Pipeline).then_some(policy);
    let stays = (policy.kernel == CudaKernel::Resident).then_some(policy);
    let edged_trips = cut == Cut::Flags && piped.is_some();
    let edged = cut == Cut::Flags && piped.is_none() && stays.is_none();
    let policy = &single(policy).reduced::<D>();
    let mut unit = Unit::new();
    let names: Vec<String> = stencil.stages.iter().map(|stage| stage.cuda(&mut unit)).collect();
    let faces = faces::write_text(stencil, &mut unit);
    let mut source = unit.source();
    source.push_str(CELLS);
    let skeleton: &[&str] = match policy.kernel {
        CudaKernel::Direct => &[DIRECT],
        CudaKernel::March => &[COLUMNS, MARCH],
        CudaKernel::Planes => &[COLUMNS, PLANES],
        CudaKernel::Pipeline => &[PIPELINE],
        CudaKernel::Resident => &[],
    };
    source.extend(skeleton.iter().copied());
    if cut != Cut::None && stays.is_none() {
        source.push_str(EDGES);
    }
    if edged && multi::reads_corners(stencil) {
        source.push_str(CORNERS);
    }
    let mut stages = Vec::new();
    for (number, (stage, functor)) in stencil.stages.iter().zip(&names).enumerate() {
        let mut glue = Glue::<D>::new(&**stage, number, policy, strided);
        if edged {
            glue.cut = cut;
            glue.columns = multi::columns(stencil, policy);
            glue.corners = multi::corners(stencil, &**stage);
            glue.shape.sent = sent(stencil, &**stage);
        }
        // Writing to a string can't fail.
        let _ = glue.write(&mut source, functor);
        stages.push(glue.shape);
    }
    let (mut trip, mut resident, mut words) = (None, None, None);
    if let (Some(policy), [stage]) = (piped, &stencil.stages[..]) {
        trip = TripShape::of(policy, D, stencil.cell.size(0));
        source.push_str(PIPELINE);
        let columns = edged_trips.then(|| multi::trip_columns(stencil, trip, policy));
        if edged_trips {
            source.push_str(TRIPS);
        }
        let shared = trip.map_or(0, |trip| trip.shared);
        let _ = write_trip(&mut source, &**stage, &names[0], policy, shared, columns);
    }
    if let (Some(policy), [stage]) = (stays, &stencil.stages[..]) {
        resident = ResidentShape::of(stencil, policy);
        source.push_str(if D == 2 { STRIPS } else { PATCHES });
        if let Some(shape) = &resident {
            let _ = write_resident(&mut source, &**stage, &names[0], policy, shape);
        }
    }
    if let (Cut::Words(depth), [stage]) = (cut, &stencil.stages[..]) {
        source.push_str(WORDS);
        let mut glue = Glue::<D>::new(&**stage, stencil.stages.len(), policy, strided);
        glue.cut = cut;
        glue.near = multi::near(stencil, depth);
        glue.every = depth;
        glue.shape.sent = sent(stencil, &**stage);
        glue.shape.kernel = "ww_words".into();
        let _ = glue.write(&mut source, &names[0]);
        words = Some(glue.shape);
    }
    source.extend(faces);
    // Each skeleton may stand alone, but the pragma means nothing in a main file.
    StepText {
        source: source.replace("#pragma once\n", ""),
        unit,
        stages,
        trip,
        resident,
        words,
        warps: policy.warps,
    }
}

/// The fields that `stage` writes and somebody reads across a cut.
fn sent<const D: usize>(stencil: &Spec<D>, stage: &dyn Stage<D>) -> Vec<usize> {
    stage.writes().iter().copied().filter(|&f| stencil.crosses_cut(f)).collect()
}

/// Bytes of a GPU's memory that `stencil` over `extents` takes under `policy`: its fields, the states before a step
/// that residuals are of, and the mail of tiles that stay on the chip. No GPU is needed.
///
/// # Errors
/// A policy that no kernel can have; more cells than kernels can index.
pub fn device_bytes<const D: usize>(
    stencil: &Spec<D>,
    extents: [usize; D],
    policy: &CudaPolicy,
) -> Result<u64> {
    let policy = policy.shaped::<D>()?;
    let layout = layout_of(stencil, extents, &policy)?;
    let stays = policy.kernel == CudaKernel::Resident;
    let shape = ResidentShape::of(stencil, &policy).filter(|_| stays);
    let mail = shape.map_or([0; 2], |shape| shape.bytes(shape.tiles(&layout).iter().product()));
    Ok(arrays::bytes_of(stencil, &layout) + mail.iter().sum::<usize>() as u64)
}

/// Compiles the kernels of `policy` for `arch` ("sm_90") without a GPU; the machine code.
///
/// # Errors
/// A policy that no kernel can have; the compiler's.
pub fn compile_check<const D: usize>(
    stencil: &Spec<D>,
    extents: [usize; D],
    policy: &CudaPolicy,
    arch: &str,
) -> Result<Cubin> {
    compile_check_in(Cache::user(), stencil, extents, policy, arch)
}

/// As [`compile_check`], with a cache of the caller's choice.
///
/// # Errors
/// As [`compile_check`].
pub fn compile_check_in<const D: usize>(
    cache: &Cache,
    stencil: &Spec<D>,
    extents: [usize; D],
    policy: &CudaPolicy,
    arch: &str,
) -> Result<Cubin> {
    let policy = policy.shaped::<D>()?;
    let layout = layout_of(stencil, extents, &policy)?;
    let strided = grid::<D>(&layout, &policy)[2] > 65_535;
    let text = step_text(stencil, &policy, strided);
    let options = Options { contract: policy.contraction, ..Options::default() };
    compile_in(cache, &text.source, "a stencil", arch, &options)
}
