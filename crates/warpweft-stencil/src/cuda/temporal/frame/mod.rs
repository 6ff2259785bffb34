//! What a kernel of fused steps is told of a pass (frame.cuh): where its cells are in the whole volume and in time, and
//! which cells must be right after it.

use std::fmt::Write;

use super::shape::TemporalShape;
use crate::cuda::launch::boxes::placed;
use crate::cuda::memory::layout::{Layout, axes};
use crate::spec::proof::guard::Guard;
use crate::{Boundary, Face, Region, Spec};
use warpweft_core::grid::Axes;

/// The text, but for what a shape decides.
pub const FRAME: &str = include_str!("frame.cuh");
/// Where faults are noted. It stands before all else.
pub const FAULTS: &str = include_str!("faults.cuh");

/// Whether fused steps of `stencil` take parts of a volume: not where they are framed, nor of lines.
pub fn takes_parts(stencil: &Spec) -> bool {
    let told = stencil.has_functions() || stencil.knows().anything();
    stencil.rank() > 1 && !told && !Guard::of(stencil).any()
}

/// Addresses of what a pass counts and reports, 0 where it does not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    /// `struct StepClock` of functions of faces.
    pub faces: u64,
    /// The same of functions that ask for the step.
    pub place: u64,
    /// The word of the first fault.
    pub fault: u64,
}

/// `struct Frame`, byte for byte, of a pass after which `region` of arrays laid out so is right; `table`:
/// `struct FaceTable`.
pub fn frame(
    stencil: &Spec,
    layout: &Layout,
    region: &Region,
    (clocks, table): (Clocks, &[u8]),
) -> Vec<u8> {
    let own = axes(stencil.rank());
    let period = |d: usize| {
        let faces = own[d].map(|axis| stencil.boundaries.0[axis][Face::Low as usize]);
        let around = faces == Some(Boundary::Periodic) && !layout.shared[d][0];
        match layout.period[d] {
            0 if around => layout.extents[d] as i64,
            period => period,
        }
    };
    let numbers = (1..4).map(|d| layout.begin[d]).chain((1..4).map(period));
    let mut bytes: Vec<u8> = numbers.flat_map(i64::to_ne_bytes).collect();
    let (low, size) = placed(region);
    let ends = (1..4).map(|d| low[d]).chain((1..4).map(|d| low[d] + size[d]));
    bytes.extend(ends.flat_map(|at| (at as i32).to_ne_bytes()));
    bytes.extend([clocks.faces, clocks.place, clocks.fault].into_iter().flat_map(u64::to_ne_bytes));
    bytes.extend(table);
    bytes
}

/// What of the shape is about the frame.
pub fn write_members(text: &mut String, stencil: &Spec, shape: &TemporalShape) -> std::fmt::Result {
    let TemporalShape { knows, guard, .. } = shape;
    writeln!(
        text,
        "  static constexpr bool framed = {}, knows = {knows}, guarded = {}, faults = {};",
        shape.framed(),
        guard.any(),
        guard.faults
    )?;
    if !guard.any() {
        return Ok(());
    }
    let braced = |sides: [[usize; 2]; 3]| {
        let of = sides.map(|[low, high]| format!("{{{low}, {high}}}"));
        format!("{{{}}}", of.join(", "))
    };
    let own = axes(stencil.rank());
    let place = |of: Axes<[usize; 2]>| {
        [own[1], own[2], own[3]].map(|axis| axis.map_or([0; 2], |axis| of[axis]))
    };
    let rest = (0..stencil.stages.len()).map(|n| {
        let later = stencil.stages[n + 1..].iter().map(|stage| place(stage.radius()));
        let all = later.fold([[0; 2]; 3], |all, of| {
            std::array::from_fn(|a| [all[a][0] + of[a][0], all[a][1] + of[a][1]])
        });
        braced(all)
    });
    writeln!(
        text,
        "  WW_FN static constexpr int reach(int axis, int side) {{
    const int all[3][2] = {};
    return all[axis][side];
  }}
  WW_FN static constexpr int rest(int stage, int axis, int side) {{
    const int all[{}][3][2] = {{{}}};
    return all[stage][axis][side];
  }}",
        braced(shape.reach),
        stencil.stages.len(),
        rest.collect::<Vec<_>>().join(", "),
    )
}
