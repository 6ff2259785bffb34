//! The kernel of faces that are functions (faces.cuh), and its launches.

use std::fmt::Write;

use crate::Spec;
use crate::cuda::memory::layout::{Layout, axes};
use crate::cuda::text::reach::type_of;
use warpweft_core::cuda::{Args, Buffer, Kernel, Launch, Module, Stream};
use warpweft_core::element::{CellType, MAX_FIELDS, Unit};
use warpweft_core::error::Result;

const TEXT: &str =
    concat!(include_str!("../kernels/copied.cuh"), include_str!("../kernels/faces.cuh"));

/// The kernel `ww_faces` of `stencil`'s functions; nothing if it has none.
pub(crate) fn write_text(stencil: &Spec, unit: &mut Unit) -> Option<String> {
    if !stencil.has_functions() {
        return None;
    }
    let faces = stencil.function_faces();
    let faces: Vec<_> = faces.map(|(_, _, of)| (of.cuda(unit), of.parameters_size() > 0)).collect();
    let state = stencil.cell.cuda(unit);
    let mut text = String::from(TEXT);
    // Writing to a string can't fail.
    let _ = write_kernel(&mut text, stencil.rank(), (stencil.cell, &state), &faces);
    Some(text)
}

fn write_kernel(
    text: &mut String,
    dims: usize,
    (cell, state): (CellType, &str),
    faces: &[(String, bool)],
) -> std::fmt::Result {
    writeln!(
        text,
        "WW_FN void ww_put(const ww::stencil::Faces& g, ww::i64 to, ww::u32 fields, const {state}& cell) {{"
    )?;
    for (f, field) in cell.fields().iter().enumerate() {
        let value = if field.name.is_empty() { String::new() } else { member(field.name) };
        writeln!(
            text,
            "  if (fields & {:#x}u) static_cast<{}*>(g.field[{f}])[to] = cell{value};",
            1u32 << f,
            type_of(cell, f)
        )?;
    }
    write!(
        text,
        "}}\nextern \"C\" __global__ void __launch_bounds__(256) ww_faces(const __grid_constant__ ww::stencil::Faces g"
    )?;
    for (n, (functor, _)) in faces.iter().enumerate().filter(|(_, (_, given))| *given) {
        write!(text, ", const {functor} face{n}")?;
    }
    text.push_str(") {\n");
    for (n, (functor, _)) in faces.iter().enumerate().filter(|(_, (_, given))| !*given) {
        writeln!(text, "  const {functor} face{n}{{}};")?;
    }
    let told: Vec<_> = (0..dims)
        .filter_map(|axis| axes(dims).iter().position(|own| *own == Some(axis)))
        .map(|d| format!("told[{d}]"))
        .collect();
    writeln!(
        text,
        "  const ww::u64 steps = ww::stencil::face_steps(g);
  ww::i64 to, told[4];
  if (ww::stencil::face_cell(g, to, told)) {{
    const ww::array<ww::i64, {dims}> at{{{{{}}}}};
    for (int n = 0; n < 2; n++) {{
      const ww::u32 fields = n == 0 ? g.now : g.next;
      if (fields == 0) continue;
      switch (g.slab[blockIdx.y].face) {{",
        told.join(", ")
    )?;
    for n in 0..faces.len() {
        writeln!(text, "        case {n}: ww_put(g, to, fields, face{n}(at, steps + n)); break;")?;
    }
    text.push_str("      }\n    }\n  }\n  ww::stencil::face_tick(g);\n}\n");
    Ok(())
}

/// `.name_`: how the derive calls a member (`member_name` of the macros).
pub(crate) fn member(name: &str) -> String {
    let mut text = String::from(".");
    for c in name.strip_prefix("r#").unwrap_or(name).chars() {
        match c.is_ascii_alphanumeric() || c == '_' {
            true => text.push(c),
            false => text += &format!("u{:x}", c as u32),
        }
    }
    text + "_"
}

/// What launches need on one device.
#[derive(Debug)]
pub(crate) struct Faces {
    pub kernel: Kernel,
    /// `struct Clock`.
    pub clock: Buffer,
    /// Steps after which the present ghosts are, once there are any.
    pub done: Option<u64>,
}

impl Faces {
    /// For `stencil`, if it has functions.
    pub fn new(stencil: &Spec, module: &Module, stream: &Stream) -> Result<Option<Self>> {
        if !stencil.has_functions() {
            return Ok(None);
        }
        let clock = Buffer::zeroed(stream, 16)?;
        Ok(Some(Self { kernel: module.kernel("ww_faces")?, clock, done: None }))
    }

    /// Sets the clock.
    pub fn set(&self, stream: &Stream, steps: u64) -> Result<()> {
        stream.upload(&self.clock, 0, &[steps, 0])
    }
}

/// Of which steps a launch writes values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct When {
    /// Steps done, where the clock is not asked.
    pub steps: Option<u64>,
    /// Fields, as bits, that get the value after so many steps, and after one more.
    pub fields: [u32; 2],
    /// Whether a step ends.
    pub tick: bool,
}

/// The launch for arrays at these addresses of cell (0, 0, 0, 0), by field.
pub(crate) fn launch(
    stencil: &Spec,
    layout: &Layout,
    (clock, when): (u64, When),
    fields: [u64; MAX_FIELDS],
) -> Option<(Launch, Args)> {
    let slabs = slabs(stencil, layout);
    let cells = |slab: &Slab| slab.size.iter().map(|&n| n as u64).product::<u64>();
    let most = slabs.iter().map(cells).max().unwrap_or(0);
    // A slab between others has none, but its clock ticks too.
    if most == 0 && !when.tick {
        return None;
    }
    let blob = argument(stencil, layout, &slabs, (clock, when), fields);
    let mut args = Args::new();
    args.blob(&blob, 8);
    for (_, _, function) in stencil.function_faces() {
        if function.parameters_size() > 0 {
            // SAFETY: a function promises that so many bytes are there.
            unsafe { args.opaque(function.parameters(), function.parameters_size()) };
        }
    }
    let grid = [most.div_ceil(256).max(1) as u32, slabs.len().max(1) as u32, 1];
    Some((Launch::new(grid, [256, 1, 1]), args))
}

/// `struct Faces`, member by member; no member needs padding before it.
fn argument(
    stencil: &Spec,
    layout: &Layout,
    slabs: &[Slab],
    (clock, when): (u64, When),
    fields: [u64; MAX_FIELDS],
) -> Vec<u8> {
    let mut blob = Vec::new();
    let mut long = |values: &[u64]| blob.extend(values.iter().flat_map(|n| n.to_ne_bytes()));
    long(&layout.strides.map(|stride| stride as u64));
    long(&layout.begin.map(|n| n as u64));
    long(&layout.period.map(|n| n as u64));
    long(&[when.steps.unwrap_or(0), if when.steps.is_some() { 0 } else { clock }]);
    long(&fields);
    let mut short = |values: &[i32]| blob.extend(values.iter().flat_map(|n| n.to_ne_bytes()));
    short(&layout.extents.map(|n| n as i32));
    short(&super::ghosts::codes(layout, &stencil.boundaries));
    for n in 0..8 {
        // Of no face: a launch that only ticks has one such slab, and must write nothing.
        let none = Slab { low: [0; 4], size: [1; 4], face: -1 };
        let slab = slabs.get(n).unwrap_or(&none);
        short(&slab.low);
        short(&slab.size);
        short(&[slab.face]);
    }
    short(&[when.fields[0] as i32, when.fields[1] as i32, i32::from(when.tick), 0]);
    blob
}

/// The ghosts that one face decides: a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slab {
    low: [i32; 4],
    size: [i32; 4],
    face: i32,
}

fn slabs(stencil: &Spec, layout: &Layout) -> Vec<Slab> {
    let own = axes(stencil.rank());
    let mut slabs = Vec::new();
    for (number, (axis, face, _)) in stencil.function_faces().enumerate() {
        let Some(across) = own.iter().position(|found| *found == Some(axis)) else { continue };
        let (side, ghosts) = (face as usize, layout.ghosts[across]);
        if layout.shared[across][side] || ghosts[side] == 0 {
            continue;
        }
        let mut slab = Slab { low: [0; 4], size: layout.extents.map(|n| n as i32), face: 0 };
        slab.face = number as i32;
        for (other, axis) in own.into_iter().enumerate().filter(|&(other, _)| other != across) {
            for side in 0..2 {
                // Beyond a slower face that holds values, that one decides.
                let held = |axis: usize| stencil.boundaries.0[axis][side].is_held();
                let decides = axis.is_some_and(held) && !layout.shared[other][side];
                if other > across || !decides {
                    let depth = layout.ghosts[other][side] as i32;
                    slab.size[other] += depth;
                    slab.low[other] -= if side == 0 { depth } else { 0 };
                }
            }
        }
        slab.low[across] =
            if side == 0 { -(ghosts[0] as i32) } else { layout.extents[across] as i32 };
        slab.size[across] = ghosts[side] as i32;
        slabs.push(slab);
    }
    slabs
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use warpweft_core::grid::Axes;

    use super::*;
    use crate::cuda::tests::host;
    use crate::prelude::*;
    use crate::{Ghost, StencilElement};

    #[derive(Clone, Copy, Fields)]
    #[repr(C)]
    struct Pair {
        first: f64,
        second: i32,
    }

    #[stencil]
    fn pair(now: Near<Pair, 2>, next: &mut Pair) {
        next.first = now.first[[-2, 0]] + now.first[[1, -1]] + now.first[[0, 2]];
        next.second = now.second[[1, 1]];
    }

    #[stencil]
    fn space(u: Near<i32, 3>) -> i32 {
        u[[-1, 0, 2]] + u[[1, -1, 0]] - u[[0, 2, -1]]
    }

    #[boundary]
    fn wall(at: [i64; 2], step: u64, scale: f64) -> Pair {
        Pair { first: scale * ((100 * at[0] + at[1]) as f64), second: step as i32 }
    }

    #[boundary]
    fn hull(at: [i64; 3], step: u64, add: i32) -> i32 {
        (at[0] * 10_000 + at[1] * 100 + at[2]) as i32 + add * (step as i32)
    }

    #[boundary]
    fn lid(at: [i64; 3], step: u64) -> i32 {
        -(at[0] * at[1] * at[2]) as i32 - step as i32
    }

    /// What the kernel leaves in the first field's array, full of ones before, cell for cell.
    fn check(stencil: &Spec, extents: Axes<usize>) {
        check_cut(stencil, extents, false);
    }

    /// The same of a part that has neighbours beyond all faces, if `cut`.
    fn check_cut(stencil: &Spec, extents: Axes<usize>, cut: bool) {
        let mut layout = Layout::of(stencil, extents, stencil.radius(), [0; 2]).unwrap();
        layout.shared = [[cut; 2]; 4];
        let Some(found) = by_the_host(stencil, &layout) else {
            return println!("skipped: no C++ compiler");
        };
        let (expect, functions) = by_the_boundary(stencil, (&layout, extents), cut, found.len());
        assert_eq!(functions > 0, !cut);
        let size = stencil.cell.size(0);
        let differ = (0..found.len() / size)
            .find(|n| found[n * size..(n + 1) * size] != expect[n * size..(n + 1) * size]);
        assert_eq!(differ, None, "{layout:?}");
    }

    /// What the kernel, run by the host's compiler, leaves in the array.
    fn by_the_host(stencil: &Spec, layout: &Layout) -> Option<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let slabs = slabs(stencil, layout);
        let when = When { steps: Some(5), fields: [0, 1], tick: false };
        let mut bytes = argument(stencil, layout, &slabs, (0, when), [0; MAX_FIELDS]);
        let mut given = String::new();
        let mut names = Vec::new();
        for (n, (_, _, function)) in stencil.function_faces().enumerate() {
            let size = function.parameters_size();
            if size > 0 {
                let functor = function.cuda(&mut Unit::new());
                given += &format!(
                    "  {functor} f{n}; if (fread((void*)&f{n}, 1, {size}, file) != {size}) return 2;\n"
                );
                names.push(format!(", f{n}"));
                // SAFETY: as many bytes as the function says.
                bytes.extend_from_slice(unsafe {
                    std::slice::from_raw_parts(function.parameters().cast::<u8>(), size)
                });
            }
        }
        let mut unit = Unit::new();
        let text = write_text(stencil, &mut unit).unwrap();
        let size = stencil.cell.size(0);
        let most = slabs.iter().map(|slab| slab.size.iter().product::<i32>()).max().unwrap_or(1);
        let main = format!(
            "int main(int, char** names) {{
  auto* const cells = (unsigned long long*)malloc({words} * 8);
  memset(cells, 0xff, {words} * 8);
  FILE* file = fopen(names[1], \"rb\");
  ww::stencil::Faces g;
  if (!file || fread(&g, 1, sizeof g, file) != sizeof g) return 1;
{given}  g.field[0] = (char*)cells + {origin};
  run_grid({{{blocks}, {slabs}, 1}}, {{256, 1, 1}}, false, [&] {{ ww_faces(g{names}); }});
  file = fopen(names[2], \"wb\");
  return !file || fwrite(cells, 8, {words}, file) != {words} || fclose(file);
}}
",
            words = (layout.len * size).div_ceil(8),
            origin = layout.origin * size,
            blocks = (most + 255) / 256,
            slabs = slabs.len().max(1),
            names = names.concat(),
        );
        let source = [include_str!("../kernels/host.cuh"), &unit.source(), &text, &main].concat();
        let source = source.replace("#pragma once\n", "");
        let program = host::compiled(folder.path(), "faces", &source)?;
        let (from, to) = (folder.path().join("in"), folder.path().join("out"));
        std::fs::write(&from, bytes).unwrap();
        assert!(Command::new(&program).args([&from, &to]).status().unwrap().success());
        Some(std::fs::read(&to).unwrap())
    }

    /// An array of so many bytes, all ones but for the ghosts that functions decide; how many there are.
    fn by_the_boundary(
        stencil: &Spec,
        (layout, extents): (&Layout, Axes<usize>),
        cut: bool,
        bytes: usize,
    ) -> (Vec<u8>, usize) {
        let (dims, size) = (stencil.rank(), stencil.cell.size(0));
        let mut expect = vec![0xff; bytes];
        let ends = Axes::from_fn(dims, |d| {
            let [low, high] = stencil.radius()[d].map(|depth| depth as isize);
            [-low, extents[d] as isize + high]
        });
        let all = crate::Span { low: ends.map(|end| end[0]), high: ends.map(|end| end[1]) };
        let mut functions = 0;
        for at in all.iter() {
            let Ghost::Function { axis, face, at: told } =
                stencil.boundaries.ghost(at, extents, |_| cut)
            else {
                continue;
            };
            functions += 1;
            let mut cell =
                warpweft_core::grid::RawVolume::zeroed(stencil.cell, Axes::filled(dims, 1))
                    .unwrap();
            let times = crate::spec::functions::Times { never: 0, now: 0, next: u32::MAX };
            stencil.hold((axis, face, told), (5, times), &mut cell, Axes::filled(dims, 0));
            let place = axes(dims).into_iter().zip(layout.strides);
            let index = place.map(|(axis, stride)| axis.map_or(0, |a| at[a] * stride as isize));
            let index = (layout.origin as isize + index.sum::<isize>()) as usize * size;
            expect[index..index + size].copy_from_slice(cell.field_bytes(0));
        }
        (expect, functions)
    }

    fn faces<E: StencilElement<3, State = i32>>(element: E) -> Stencil<i32, 3> {
        Stencil::of(element).boundary(Boundary::Neumann)
    }

    #[test]
    fn every_ghost_that_a_function_decides_gets_its_value_and_no_other_cell_does() {
        check(&Stencil::of(pair()).boundary_by(wall(0.5)), [5, 37].into());
        let mixed = Stencil::of(pair()).boundary(Boundary::Periodic);
        check(
            &mixed.face_by(0, Face::Low, wall(2.0)).face(0, Face::High, Boundary::Mirror),
            [4, 9].into(),
        );
        let two = faces(space()).face_by(1, Face::High, hull(7)).face_by(2, Face::Low, lid());
        check(&two.face(0, Face::High, Boundary::Dirichlet(1.0)), [4, 3, 35].into());
        let moved = |stencil: Stencil<i32, 3>| {
            let mut stencil = Spec::clone(&stencil);
            stencil.functions.frame.begin = [70, 0, -1].into();
            stencil.functions.frame.period = [72, 0, 0].into();
            stencil
        };
        check(&moved(faces(space()).face_by(2, Face::High, hull(1))), [4, 5, 6].into());
    }

    #[test]
    fn a_part_between_others_has_none_of_its_cells_written() {
        check_cut(&faces(space()).face_by(0, Face::High, hull(1)), [4, 5, 6].into(), true);
    }
}
