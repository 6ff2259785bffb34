//! Faces that are functions, in a kernel that fuses several steps (functions.cuh): their text.

use std::fmt::Write;

use super::shape::TemporalShape;
use crate::Spec;
use crate::cuda::launch::faces::member;
use crate::cuda::memory::layout::axes;
use warpweft_core::element::Unit;

/// The text, but for what a shape decides.
pub const FUNCTIONS: &str = include_str!("functions.cuh");

/// The name of a function's type, and whether it has parameters.
pub type Functor = (String, bool);

/// Those of the faces that are functions, in order, defined in `unit`.
pub fn functors(stencil: &Spec, unit: &mut Unit) -> Vec<Functor> {
    let faces = stencil.function_faces();
    faces.map(|(_, _, of)| (of.cuda(unit), of.parameters_size() > 0)).collect()
}

/// The call of a face's function, declared.
pub fn write_declared(text: &mut String, dims: usize) -> std::fmt::Result {
    writeln!(
        text,
        "struct ww_time_functions;
template <int Axis, int Side, int F, class T>
WW_FN void ww_time_face(const ww_time_functions& functions, const ww::array<ww::i64, {dims}>& at, ww::u64 step, T& value);"
    )
}

/// What of the shape is about functions.
pub fn write_members(text: &mut String, stencil: &Spec, shape: &TemporalShape) -> std::fmt::Result {
    let along_x = stencil.function_faces().any(|(axis, ..)| axis + 1 == stencil.rank());
    let TemporalShape { functions, batch, asked_rows, .. } = shape;
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
  static constexpr int batch = {batch}, asked_rows = {asked_rows}, delay = {delay};"
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
        "  using Functions = ww_time_functions;
  WW_FN static constexpr int late(int stage, int field) {{
    const int all[{}][{}] = {{{}}};
    return all[stage][field];
  }}
  template <int Axis, int Side, int F>
  WW_FN static Type<F> face_value(const ww_time_functions& functions, const ww::array<ww::i64, {}>& at, ww::u64 step) {{
    Type<F> value;
    ww_time_face<Axis, Side, F>(functions, at, step, value);
    return value;
  }}",
        stencil.stages.len(),
        stencil.cell.len(),
        late.collect::<Vec<_>>().join(", "),
        stencil.rank(),
    )
}

/// The calls of the functions.
pub fn write_functions(
    text: &mut String,
    stencil: &Spec,
    shape: &TemporalShape,
    functors: &[Functor],
) -> std::fmt::Result {
    text.push_str("struct ww_time_functions {\n");
    for (n, (functor, _)) in functors.iter().enumerate() {
        writeln!(text, "  const {functor}& face{n};")?;
    }
    text.push_str("};\n");
    let dims = stencil.rank();
    let fields = || {
        shape.fields.iter().map(|&f| match stencil.cell.fields()[f].name {
            "" => (f, String::new()),
            name => (f, member(name)),
        })
    };
    writeln!(
        text,
        "template <int Axis, int Side, int F, class T>
WW_FN void ww_time_face(const ww_time_functions& functions, const ww::array<ww::i64, {dims}>& at, ww::u64 step, T& value) {{"
    )?;
    for (n, (axis, face, _)) in stencil.function_faces().enumerate() {
        let (axis, side) = (place_of(dims, axis), face as usize);
        for (f, member) in fields() {
            writeln!(
                text,
                "  if constexpr (Axis == {axis} && Side == {side} && F == {f}) value = functions.face{n}(at, step){member};"
            )?;
        }
    }
    text.push_str("}\n");
    Ok(())
}

/// Which of z, y and x an axis is.
fn place_of(dims: usize, axis: usize) -> usize {
    axes(dims).iter().position(|own| *own == Some(axis)).map_or(0, |place| place - 1)
}
