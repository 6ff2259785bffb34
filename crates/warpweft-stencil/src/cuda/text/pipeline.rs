//! The pipelined kernel that takes several steps a launch.

use std::fmt::Write;

use super::reach::{Role, role_of, type_of};
use crate::{Boundary, CudaPolicy, Spec, Stage};
use warpweft_core::element::Unit;

/// What the host must know of a pipelined kernel: `Tile` in pipeline.cuh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineShape {
    /// Cells along x and rows along y that a tile advances.
    pub inner: [usize; 2],
    /// Dynamic shared memory in bytes.
    pub shared: usize,
    /// Rows and planes beyond the last that tiles and copies ahead may reach.
    pub slack: [usize; 2],
}

impl PipelineShape {
    /// For scalars of `size` bytes in `dims` dimensions; `None` when a tile is all overlap.
    pub fn of(policy: &CudaPolicy, dims: usize, size: usize) -> Option<Self> {
        let depth = policy.temporal_depth as usize;
        let [vx, vy, _] = policy.cells.map(|cells| cells as usize);
        let warps = policy.warps as usize;
        let flat = dims == 2;
        let columns = 32 * vx;
        if vx * size < 16 {
            return None;
        }
        let overlap = depth.next_multiple_of(32 / size);
        let inner_y = if flat { 1 } else { (warps * vy).checked_sub(2 * depth)? };
        let inner = [columns.checked_sub(2 * overlap)?, inner_y];
        let edges = if flat { 0 } else { 2 * depth * (warps + 2) * 2 * columns * size };
        let slots = policy.prefetch as usize + 1;
        let shared = edges + slots * warps * 32 * vx * vy * size;
        // A tile is wider than a row may be, and goes on for at most two planes too many.
        let slack = [warps * vy + columns * warps + 1, policy.prefetch as usize + 3];
        (inner[0] > 0 && inner[1] > 0).then_some(Self { inner, shared, slack })
    }
}

/// Whether tiles of `stencil` may compute beyond the volume, several steps on, and end with the exact cells: one stage
/// over one scalar of four or eight bytes that it reads next to the cell and writes, between faces that are periodic
/// or hold one value, without faults or loops that depend on its cells, told nothing about them.
pub fn goes_on_alone(stencil: &Spec) -> bool {
    let dims = stencil.rank();
    let [stage] = &stencil.stages[..] else { return false };
    let mut faces = stencil.boundaries.0.as_flattened().iter();
    // Tiles compute beyond the volume, on anything, where nothing may be reported nor go on for ever.
    let mut unit = Unit::new();
    stage.cuda(&mut unit);
    (dims == 2 || dims == 3)
        && stencil.cell.len() == 1
        && matches!(stencil.cell.size(0), 4 | 8)
        && role_of(&**stage, 0) == Role::Doubled
        && faces.all(|b| matches!(b, Boundary::Dirichlet(_) | Boundary::Periodic))
        && !stencil.knows().anything()
        && !unit.faults()
        && !unit.loops()
}

/// Whether several steps of `stencil` can be pipelined (see [`CudaKernel::Pipeline`]).
pub fn pipelines(stencil: &Spec) -> bool {
    let mut taps = stencil.stages.iter().flat_map(|stage| stage.taps());
    let star = taps.all(|tap| {
        tap.offset.iter().all(|o| o.abs() <= 1)
            && tap.offset.iter().filter(|&&o| o != 0).count() <= 1
    });
    star && goes_on_alone(stencil)
}

/// Writes the pipelined kernel and its shape.
pub fn write_pipeline(
    text: &mut String,
    stage: &dyn Stage,
    functor: &str,
    policy: &CudaPolicy,
    shared: usize,
) -> std::fmt::Result {
    let dims = stage.rank();
    let scalar = type_of(stage.cell_type(), 0);
    let [vx, vy, _] = policy.cells;
    let CudaPolicy { warps, min_blocks, prefetch, temporal_depth, .. } = *policy;
    let (parameter, local) = match stage.parameters_size() {
        0 => (String::new(), format!("  const {functor} element{{}};\n")),
        _ => (format!(", const {functor} element"), String::new()),
    };
    write!(
        text,
        "struct ww_pipeline_shape {{
  template <int F>
  using Type = ww::stencil::pick<F, {scalar}>;
  using Writes = ww::stencil::indices<0>;
  static constexpr int dims = {dims}, vx = {vx}, vy = {vy}, warps = {warps}, depth = {temporal_depth};
  static constexpr int prefetch = {prefetch}, shared_bytes = {shared};
}};
extern \"C\" __global__ void __launch_bounds__({threads}, {min_blocks}) ww_pipeline(const {scalar}* __restrict__ in, {scalar}* __restrict__ out, const ww::stencil::Domain domain{parameter}) {{
{local}  ww::stencil::pipeline<ww_pipeline_shape>(in, out, domain, element);
}}
",
        threads = 32 * warps
    )
}
