//! The text of a kernel that fuses several steps: its shape, and the kernel itself.

use std::fmt::Write;

use super::frame::{self, FRAME};
use super::functions::{ASKED, FUNCTIONS, Functor, STAGED, write_functions, write_members};
use super::parameters::{Parameter, declaration, element_of, parameters};
use super::partial::PartialStage;
use super::shape::TemporalShape;
use crate::{CudaPolicy, Spec};

const LEVELS: &str = include_str!("levels.cuh");
const COPIES: &str = include_str!("copies.cuh");
const LINE: &str = include_str!("line.cuh");
const ROWS: &str = include_str!("rows.cuh");
/// Levels that keep planes.
const VOLUMES: &str = concat!(include_str!("tile.cuh"), include_str!("volumes.cuh"));
/// Levels that keep partial results.
const PARTIAL: &str = concat!(include_str!("tile.cuh"), include_str!("partial/partial.cuh"));
/// What element functions compute packed cells with.
pub const PACKED: &str = include_str!("packed.cuh");

/// The name of the kernel.
pub const KERNEL: &str = "ww_time_block";

/// The call of a stage, declared.
const RUN: &str = "template <int Stage, class Near, class Next>
WW_FN void ww_time_run(const struct ww_time_elements& elements, const Near& near, Next& next);
";
/// The call of a part of a stage, declared.
const PART: &str = "template <int Stage, int Part, class Near, class Before, class After>
WW_FN void ww_time_part(const struct ww_time_elements& elements, const Near& near, const Before& before, After& after);
";

fn list<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    let numbers: Vec<_> = numbers.into_iter().map(|number| number.to_string()).collect();
    numbers.join(", ")
}

/// Writes the kernel of `shape` for stages and faces whose functors have these names.
pub fn write_temporal(
    text: &mut String,
    stencil: &Spec,
    (functors, faces): (&[String], &[Functor]),
    (policy, shape): (&CudaPolicy, &TemporalShape),
) -> std::fmt::Result {
    write_skeleton(text, stencil, shape);
    if !shape.parts.is_empty() {
        text.push_str("template <int Stage, int Planes>\nstruct ww_kept {};\n");
    }
    for (n, (stage, functor)) in shape.parts.iter().zip(functors).enumerate() {
        stage.write(text, n, functor)?;
    }
    write_shape(text, stencil, (policy, shape))?;
    write_elements(text, functors, shape)?;
    if shape.functions {
        write_functions(text, stencil, shape, faces)?;
    }
    let parameters = parameters(stencil, shape);
    let declared = declaration(stencil, &parameters, functors, shape);
    let (threads, blocks) = (32 * policy.warps, policy.min_blocks);
    writeln!(
        text,
        "extern \"C\" __global__ void __launch_bounds__({threads}, {blocks}) {KERNEL}({declared}) {{"
    )?;
    for (n, functor) in functors.iter().enumerate() {
        if !parameters.contains(&Parameter::Element(n)) {
            writeln!(text, "  const {functor} stage{n}{{}};")?;
        }
    }
    let held = write_held(text, shape)?;
    let pointers = shape.fields.iter().map(|f| match shape.writes.contains(f) {
        true => format!("{{in{f}, out{f}}}"),
        false => format!("{{in{f}, nullptr}}"),
    });
    let stages = (0..functors.len()).map(|n| format!("stage{n}"));
    writeln!(
        text,
        "  const ww::stencil::Pointers<ww_time_shape> fields{{{}}};
  const ww_time_elements elements{{{}}};
  ww::stencil::time_block<ww_time_shape>(fields, block, {held}, elements);",
        list(pointers),
        list(stages)
    )?;
    if shape.guard.faults {
        writeln!(text, "  ww::stencil::end_faults(frame);")?;
    }
    writeln!(text, "}}")
}

/// What kernels of the shape's kind share.
fn write_skeleton(text: &mut String, stencil: &Spec, shape: &TemporalShape) {
    text.push_str(LEVELS);
    if shape.framed() {
        text.push_str(FRAME);
    }
    if shape.functions {
        text.push_str(FUNCTIONS);
    }
    text.push_str(COPIES);
    if shape.functions {
        text.push_str(if shape.stages(stencil.rank()) { STAGED } else { ASKED });
    }
    text.push_str(match stencil.rank() {
        1 => LINE,
        2 => ROWS,
        _ if shape.parts.is_empty() => VOLUMES,
        _ => PARTIAL,
    });
}

/// What the kernel knows of held faces, written where it is told more; its name.
fn write_held(text: &mut String, shape: &TemporalShape) -> Result<&'static str, std::fmt::Error> {
    if !shape.framed() {
        return Ok("held");
    }
    if shape.guard.faults {
        writeln!(text, "  ww::stencil::begin_faults(frame);")?;
    }
    let framed = "{held, frame, ww::stencil::steps_done(frame.place, ww_time_shape::depth)}";
    if shape.functions {
        writeln!(text, "  const ww::stencil::FunctionFaces<ww_time_shape> faces{{{framed}}};")?;
        return Ok("faces");
    }
    writeln!(text, "  const ww::stencil::Framed<ww_time_shape> framed{framed};")?;
    Ok("framed")
}

/// The element functions of a step's stages.
fn write_elements(
    text: &mut String,
    functors: &[String],
    shape: &TemporalShape,
) -> std::fmt::Result {
    writeln!(text, "struct ww_time_elements {{")?;
    for (n, functor) in functors.iter().enumerate() {
        writeln!(text, "  const {functor}& stage{n};")?;
    }
    text.push_str("};\n");
    if !shape.parts.is_empty() {
        return write_parts(text, shape);
    }
    text.push_str("template <int Stage, class Near, class Next>\n");
    text.push_str(
        "WW_FN void ww_time_run(const ww_time_elements& elements, const Near& near, Next& next) {\n",
    );
    for n in 0..functors.len() {
        writeln!(text, "  if constexpr (Stage == {n}) elements.stage{n}(near, next);")?;
    }
    text.push_str("}\n");
    Ok(())
}

/// The parts of them.
fn write_parts(text: &mut String, shape: &TemporalShape) -> std::fmt::Result {
    text.push_str("template <int Stage, int Part, class Near, class Before, class After>\n");
    text.push_str(
        "WW_FN void ww_time_part(const ww_time_elements& elements, const Near& near, const Before& before, After& after) {\n",
    );
    for (n, stage) in shape.parts.iter().enumerate() {
        for part in 0..stage.planes() {
            writeln!(
                text,
                "  if constexpr (Stage == {n} && Part == {part}) ww_part_{n}_{part}(elements.stage{n}, near, before, after);"
            )?;
        }
    }
    text.push_str("}\n");
    Ok(())
}

fn write_shape(
    text: &mut String,
    stencil: &Spec,
    (policy, shape): (&CudaPolicy, &TemporalShape),
) -> std::fmt::Result {
    let of_fields = |which: usize| {
        list((0..stencil.cell.len()).map(|f| element_of(stencil, shape, f)[which].clone()))
    };
    let assigns = stencil
        .stages
        .iter()
        .map(|stage| format!("ww::stencil::indices<{}>", list(stage.writes())));
    let before: usize = shape.lags.iter().map(|lag| lag.low).sum();
    let closing = shape.lags.iter().map(|lag| lag.low + 1).max().unwrap_or(1);
    let margin = shape.lags.iter().flat_map(|lag| lag.wide.iter().flatten()).max().unwrap_or(&0);
    text.push_str(if shape.parts.is_empty() { RUN } else { PART });
    let CudaPolicy { cells, warps, prefetch, .. } = *policy;
    let TemporalShape { depth, levels, kept, group, unit, last, shared, .. } = *shape;
    write!(
        text,
        "struct ww_time_shape {{
  template <int F>
  using Type = ww::stencil::pick<F, {types}>;
  template <int F>
  using Number = ww::stencil::pick<F, {numbers}>;
  template <int Stage>
  using Assigns = ww::stencil::pick<Stage, {assigns}>;
  using Fields = ww::stencil::indices<{fields}>;
  using Used = Fields;
  using Writes = ww::stencil::indices<{writes}>;
  static constexpr int packed = {packed}, dims = {dims}, vx = {vx}, vy = {vy}, halo_rows = {halo_rows}, warps = {warps}, prefetch = {prefetch};
  static constexpr int depth = {depth}, stages = {stages}, levels = {levels}, lag = {lag};
  static constexpr int before = {before}, copied = {copied}, closing = {closing}, kept = {kept}, group = {group};
  static constexpr int unrolled = {unrolled}, margin = {margin}, unit = {unit}, last = {last};
  static constexpr int overlap_low = {overlap_low}, overlap_high = {overlap_high};
  static constexpr int overlap_above = {overlap_above}, overlap_below = {overlap_below}, shared_bytes = {shared};
",
        types = of_fields(0),
        numbers = of_fields(1),
        assigns = list(assigns),
        fields = list(&shape.fields),
        writes = list(&shape.writes),
        dims = stencil.rank(),
        packed = shape.packed,
        vx = cells[0] as usize / shape.packed,
        vy = cells[1],
        halo_rows = shape.halo_rows,
        stages = shape.lags.len(),
        unrolled = shape.unrolled(),
        lag = shape.lag(),
        copied = shape.copied(),
        overlap_above = shape.overlap_y[0],
        overlap_below = shape.overlap_y[1],
        overlap_low = shape.overlap[0],
        overlap_high = shape.overlap[1],
    )?;
    write_members(text, stencil, shape)?;
    frame::write_members(text, stencil, shape)?;
    write_tables(text, stencil, shape)
}

/// What differs by stage, field or face, and the call of a stage.
fn write_tables(text: &mut String, stencil: &Spec, shape: &TemporalShape) -> std::fmt::Result {
    writeln!(text, "  static constexpr bool faces_first = {};", shape.faces_first)?;
    table(text, "low", shape.lags.iter().map(|lag| lag.low))?;
    table(text, "high", shape.lags.iter().map(|lag| lag.high))?;
    table(text, "cross", shape.lags.iter().map(|lag| usize::from(lag.cross)))?;
    let kinds = shape.faces.map(|sides| format!("{{{}}}", list(sides.map(|kind| kind as i32))));
    writeln!(
        text,
        "  WW_FN static constexpr int face(int axis, int side) {{
    const int all[3][2] = {{{}}};
    return all[axis][side];
  }}",
        list(kinds)
    )?;
    let wide = shape.lags.iter().map(|lag| {
        format!("{{{}}}", list(lag.wide.iter().map(|wide| format!("{{{}}}", list(wide)))))
    });
    let tall = shape.lags.iter().map(|lag| format!("{{{}}}", list(&lag.tall)));
    writeln!(
        text,
        "  WW_FN static constexpr int wide(int stage, int field, int side) {{
    const int all[{}][{}][2] = {{{}}};
    return all[stage][field][side];
  }}
  WW_FN static constexpr bool tall(int stage, int field) {{
    const bool all[{}][{}] = {{{}}};
    return all[stage][field];
  }}",
        shape.lags.len(),
        stencil.cell.len(),
        list(wide),
        shape.lags.len(),
        stencil.cell.len(),
        list(tall)
    )?;
    match shape.parts.is_empty() {
        true => text.push_str(
            "  template <int Stage, class E, class Near, class Next>
  WW_FN static void run(const E& elements, const Near& near, Next& next) {
    ww_time_run<Stage>(elements, near, next);
  }
};
",
        ),
        false => write_calls_of_parts(text, shape)?,
    }
    Ok(())
}

/// What is kept of a cell after some planes, and the call of a part.
fn write_calls_of_parts(text: &mut String, shape: &TemporalShape) -> std::fmt::Result {
    table(text, "parts", shape.parts.iter().map(PartialStage::planes))?;
    let [ahead, behind] = shape.copies;
    writeln!(text, "  static constexpr int ahead = {ahead}, behind = {behind};")?;
    text.push_str(
        "  template <int Stage, int Planes>
  using Kept = ww_kept<Stage, Planes>;
  template <int Stage, int Part, class E, class Near, class Before, class After>
  WW_FN static void part(const E& elements, const Near& near, const Before& before, After& after) {
    ww_time_part<Stage, Part>(elements, near, before, after);
  }
};
",
    );
    Ok(())
}

/// A number for each stage.
fn table(text: &mut String, name: &str, numbers: impl Iterator<Item = usize>) -> std::fmt::Result {
    writeln!(
        text,
        "  WW_FN static constexpr int {name}(int stage) {{
    const int all[] = {{{}}};
    return all[stage];
  }}",
        list(numbers)
    )
}
