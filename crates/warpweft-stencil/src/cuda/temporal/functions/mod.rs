//! Faces that are functions, in a kernel that fuses several steps (functions.cuh): their text.

mod values;

use std::fmt::Write;

pub use self::values::{FaceTable, FaceValues};
use super::shape::TemporalShape;
use crate::Spec;
use crate::cuda::launch::faces::member;
use crate::cuda::memory::layout::axes;
use warpweft_core::element::Unit;

/// The text, but for what a shape decides.
pub const FUNCTIONS: &str = include_str!("functions.cuh");
/// How lanes come to values beyond faces along y and x.
pub const ASKED: &str = include_str!("asked.cuh");
/// The same in tiles of volumes.cuh.
pub const STAGED: &str = include_str!("staged.cuh");

/// Threads of a block of the kernel of values.
pub(super) const THREADS: u32 = 256;

/// The name of a function's type, and whether it has parameters.
pub type Functor = (String, bool);

/// Those of the faces that are functions, in order, defined in `unit`.
pub fn functors(stencil: &Spec, unit: &mut Unit) -> Vec<Functor> {
    let faces = stencil.function_faces();
    faces.map(|(_, _, of)| (of.cuda(unit), of.parameters_size() > 0)).collect()
}

/// What of the shape is about functions.
pub fn write_members(text: &mut String, stencil: &Spec, shape: &TemporalShape) -> std::fmt::Result {
    let along_x = stencil.function_faces().any(|(axis, ..)| axis + 1 == stencil.rank());
    let TemporalShape { functions, batch, asked_rows, staged, .. } = shape;
    let delay = shape.delay();
    let held = match functions {
        true => "ww::stencil::FunctionFaces<ww_time_shape>",
        _ if shape.framed() => "ww::stencil::Framed<ww_time_shape>",
        _ => "const ww::stencil::HeldValues&",
    };
    writeln!(
        text,
        "  using Held = {held};
  static constexpr bool functions = {functions}, asks = {along_x};
  static constexpr int batch = {batch}, asked_rows = {asked_rows}, staged = {staged}, delay = {delay};"
    )?;
    if !functions {
        return Ok(());
    }
    let late = (0..stencil.stages.len()).map(|stage| {
        let times = stencil.times(stage);
        let of = |f: usize| match 1 << f {
            bit if times.never & bit != 0 => "0",
            bit if times.now & bit != 0 => "1",
            _ => "2",
        };
        format!("{{{}}}", (0..stencil.cell.len()).map(of).collect::<Vec<_>>().join(", "))
    });
    writeln!(
        text,
        "  WW_FN static constexpr int late(int stage, int field) {{
    const int all[{}][{}] = {{{}}};
    return all[stage][field];
  }}",
        stencil.stages.len(),
        stencil.cell.len(),
        late.collect::<Vec<_>>().join(", "),
    )
}

/// The name of the kernel that asks the functions for all that a pass reads.
pub const VALUES: &str = "ww_face_values";

/// That kernel, after the shape.
pub fn write_functions(
    text: &mut String,
    stencil: &Spec,
    shape: &TemporalShape,
    functors: &[Functor],
) -> std::fmt::Result {
    let dims = stencil.rank();
    let fields = || {
        shape.fields.iter().map(|&f| match stencil.cell.fields()[f].name {
            "" => (f, String::new()),
            name => (f, member(name)),
        })
    };
    write!(
        text,
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) {VALUES}(const __grid_constant__ ww::stencil::Frame frame"
    )?;
    for (n, (functor, _)) in functors.iter().enumerate().filter(|(_, (_, given))| *given) {
        write!(text, ", const {functor} face{n}")?;
    }
    text.push_str(") {\n");
    for (n, (functor, _)) in functors.iter().enumerate().filter(|(_, (_, given))| !given) {
        writeln!(text, "  const {functor} face{n}{{}};")?;
    }
    writeln!(
        text,
        "  const ww::u64 steps = ww::stencil::steps_done(frame.clock, ww_time_shape::depth);"
    )?;
    for (n, (axis, face, _)) in stencil.function_faces().enumerate() {
        let (axis, side) = (place_of(dims, axis), face as usize);
        writeln!(
            text,
            "  if (blockIdx.y == {n}) {{
    ww::stencil::fill_table<ww_time_shape, {axis}, {side}>(frame, steps, [&](ww::i64 entry, const auto& at, ww::u64 step) {{
      const auto value = face{n}(at, step);"
        )?;
        for (f, member) in fields() {
            writeln!(
                text,
                "      ww::stencil::values_of<ww_time_shape, {f}>(frame.table)[entry] = value{member};"
            )?;
        }
        text.push_str("    });\n  }\n");
    }
    text.push_str("}\n");
    Ok(())
}

/// Which of z, y and x an axis is.
pub fn place_of(dims: usize, axis: usize) -> usize {
    axes(dims).iter().position(|own| *own == Some(axis)).map_or(0, |place| place - 1)
}
