//! One launch of a kernel, as a program of the host's compiler.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

use super::{engine, host, taken};
use crate::cuda::launch::boxes::step_box;
use crate::cuda::memory::layout::{Layout, axes};
use crate::cuda::sums::{COPIES, Summand};
use crate::cuda::temporal::{Clocks, FaceTable, TemporalShape, TimeBlock, frame, held_values};
use crate::cuda::text::{FusedShape, StepText, fused_text, layout_of, step_text, summed_text};
use crate::spec::functions::FaceFunction;
use crate::spec::reduction::Reduction;
use crate::{Boundaries, Boundary, CudaKernel, CudaPolicy, Ghost, Region, Spec};
use warpweft_core::element::{Scalar, ScalarKind, Unit};
use warpweft_core::grid::Volume;

/// Words of an accumulator with all its copies.
const WORDS: usize = COPIES * Reduction::WORDS;

/// The exit status of a program whose functions have faulted, less the number of the site.
const FAULTED: i32 = 100;

/// What a program is told of a launch.
struct Told {
    kernel: &'static str,
    blocks: [u32; 3],
    warps: u32,
    /// Whether threads of a block wait for one another.
    waits: bool,
    /// Arguments of the program, so that one is for several boxes.
    numbers: Vec<i32>,
    /// The C++ that reads them.
    setup: String,
    /// Whether fused steps are told more than what faces hold.
    framed: bool,
    /// The first cell's place in the arrays.
    origin: usize,
    ghosts: [[usize; 2]; 4],
}

/// The C++ of so many of the numbers, from number `from` on.
fn numbers_from(from: usize, count: usize) -> String {
    let numbers = (from..from + count).map(|n| format!("int(number({n}))"));
    format!("{{{}}}", numbers.collect::<Vec<_>>().join(", "))
}

impl Told {
    /// Of fused steps after so many others.
    fn of_block(
        stencil: &Spec,
        layout: &Layout,
        (policy, shape): (&CudaPolicy, &TemporalShape),
        (region, steps): (&Region, u64),
    ) -> Self {
        let block = TimeBlock::new(layout, shape, policy, region);
        let axes: Vec<_> = (0..6).map(|n| numbers_from(3 * n, 3)).collect();
        let (origin, chunk) = (numbers_from(18, 2), numbers_from(20, 2));
        let [sz, sy] = block.strides;
        let setup = format!(
            "ww::stencil::TimeBlock block{{{}, {origin}, {}, {sz}, {sy}}};
  ww::stencil::HeldValues held;
  if (fread(&held, 1, sizeof held, file) != sizeof held) return 3;
  {}",
            axes.join(", "),
            &chunk[1..chunk.len() - 1],
            frame_setup(stencil, layout, shape),
        );
        Self {
            kernel: "ww_time_block",
            blocks: block.blocks,
            warps: policy.warps,
            waits: true,
            numbers: block.numbers.into_iter().chain([steps as i32]).collect(),
            setup,
            framed: shape.framed(),
            origin: layout.origin,
            ghosts: layout.ghosts,
        }
    }

    fn of_step(
        stencil: &Spec,
        layout: &Layout,
        (policy, text): (&CudaPolicy, &StepText),
        region: &Region,
    ) -> Self {
        let (blocks, [low, high]) = step_box(layout, (policy, text.stages[0].start), region);
        let (x, [sw, sz, sy, _]) = (layout.extents[3], layout.strides);
        // Across periodic faces there are no ghosts along x.
        let across = policy.kernel == CudaKernel::Direct
            && stencil.boundaries.0[stencil.rank() - 1] == [Boundary::Periodic; 2]
            && x.is_multiple_of(policy.cells[0] as usize);
        let wrap = if across { x as i32 } else { 0 };
        let mut ghosts = layout.ghosts;
        if across {
            ghosts[3] = [0; 2];
        }
        let numbers = [&low[..], &high, &[wrap]].concat();
        let (low, high, wrap) = (numbers_from(0, 4), numbers_from(4, 4), "int(number(8))");
        Self {
            kernel: "ww_stage0",
            blocks,
            warps: text.warps,
            waits: policy.kernel == CudaKernel::Planes,
            numbers,
            setup: format!("ww::stencil::Box box{{{low}, {high}, {sw}, {sz}, {sy}, {wrap}}};"),
            origin: layout.origin,
            framed: false,
            ghosts,
        }
    }
}

/// The functions of faces that have parameters, with their numbers.
fn functions_given(stencil: &Spec) -> impl Iterator<Item = (usize, &FaceFunction)> {
    let faces = stencil.function_faces().enumerate().map(|(n, (_, _, function))| (n, function));
    faces.filter(|(_, function)| function.parameters_size() > 0)
}

/// The C++ that reads what fused steps are told of the whole volume and of faces that are functions.
fn frame_setup(stencil: &Spec, layout: &Layout, shape: &TemporalShape) -> String {
    if !shape.framed() {
        return String::new();
    }
    let mut text = String::from(
        "ww::stencil::Frame frame;
  if (fread(&frame, 1, sizeof frame, file) != sizeof frame) return 5;
  ww::stencil::StepClock clock{ww::u64(number(22)), 0};
  frame.clock = frame.place = &clock;
  frame.fault = &fault;
",
    );
    for (n, function) in functions_given(stencil) {
        let (functor, size) = (function.cuda(&mut Unit::new()), function.parameters_size());
        text += &format!(
            "  {functor} face{n};\n  if (fread((void*)&face{n}, 1, {size}, file) != {size}) return 6;\n"
        );
    }
    if shape.functions {
        let table = FaceTable::of(stencil, layout, shape);
        let [_, faces, rows] = table.blocks();
        let given = functions_given(stencil).map(|(n, _)| format!(", face{n}"));
        text += &format!(
            "  frame.table.values = (char*)malloc({});
  run_grid({{1, {faces}, {rows}}}, {{256, 1, 1}}, false, [&] {{ ww_face_values(frame{}); }});
",
            table.size(),
            given.collect::<String>()
        );
    }
    text
}

/// The type of an element of rows.
fn scalar_of(kind: ScalarKind, policy: &CudaPolicy) -> String {
    let packed = policy.kernel == CudaKernel::Packed;
    match kind.name() {
        _ if packed && policy.cells[0] >= 32 => "ww::cells32".into(),
        _ if packed => "ww::bytes4".into(),
        "bool" => "bool".into(),
        name => format!("ww::{name}"),
    }
}

/// The program that launches the kernel once; the copy engine brings tiles of these sizes, if any.
fn main_of(
    stencil: &Spec,
    (layout, kind): (&Layout, ScalarKind),
    policy: &CudaPolicy,
    told: &Told,
    ringed: Option<[usize; 2]>,
    sums: bool,
) -> String {
    let Told { kernel, warps, waits, setup, framed, .. } = told;
    let words = if sums { ", words" } else { "" };
    let size = kind.size();
    let (args, map) = match (*kernel, ringed) {
        ("ww_time_block", _) if *framed => ("in, out, block, held, frame", String::new()),
        ("ww_time_block", _) => ("in, out, block, held", String::new()),
        (_, None) => ("in, out, box", String::new()),
        (_, Some(tile)) => ("in, out, map, origin, box", engine::host_map(layout, size, tile)),
    };
    let parameters = stencil.stages[0].parameters_size();
    let functor = stencil.stages[0].cuda(&mut Unit::new());
    let scalar = scalar_of(kind, policy);
    let pointers = taken::pointers(&*stencil.stages[0]);
    format!(
        "static const double numbers[] = {{{taken}}};
namespace ww::stencil {{ alignas(128) char shared_memory[1 << 20]; }}
static ww::u64 words[{room}];
static ww::u32 fault = 0;
int main(int, char** names) {{
  const auto number = [&](int n) {{ return atol(names[7 + n]); }};
  const size_t room = ({len} * {size} / 16 + 2) * 16;
  char *const a = (char*)malloc(room), *const b = (char*)malloc(room);
  char element[{parameters} + 1];
  FILE* file = fopen(names[1], \"rb\");
  if (!file || fread(a, {size}, {len}, file) != {len}) return 1;
  memcpy(b, a, room);
  if (fread(element, 1, {parameters}, file) != {parameters}) return 2;
  auto* in = reinterpret_cast<{scalar}*>(a + number(-4) * {size});
  auto* out = reinterpret_cast<{scalar}*>(b + number(-4) * {size});
  {setup}
  fclose(file);
  {map}
  {functor} f;
  memcpy(&f, element, sizeof f);
  run_grid({{unsigned(number(-3)), unsigned(number(-2)), unsigned(number(-1))}}, {{32, {warps}, 1}}, {waits}, [&] {{ {kernel}({args}, f{pointers}{words}); }});
  if (fault != 0) return {FAULTED} + fault;
  file = fopen(names[2], \"wb\");
  if (!file || fwrite(words, 8, {room}, file) != {room}) return 4;
  return fwrite(b, {size}, {len}, file) != {len} || fclose(file);
}}
",
        room = WORDS,
        taken = taken::values(&*stencil.stages[0]),
        len = layout.len,
    )
}

/// What the program reads: the volume in its padded array, the element's parameters, and what faces hold.
fn input<T: Scalar, const D: usize>(
    stencil: &Spec,
    volume: &Volume<T, D>,
    layout: &Layout,
    (region, shape): (&Region, Option<&TemporalShape>),
) -> Vec<u8> {
    let mut bytes = padded(&stencil.boundaries, volume, layout);
    let stage = &stencil.stages[0];
    // SAFETY: the element's parameters, as many bytes as it says.
    bytes.extend_from_slice(unsafe {
        std::slice::from_raw_parts(stage.parameters().cast::<u8>(), stage.parameters_size())
    });
    bytes.extend(held_values(stencil));
    if let Some(shape) = shape {
        let table = match shape.functions {
            true => FaceTable::of(stencil, layout, shape),
            false => FaceTable::default(),
        };
        bytes.extend(frame(stencil, layout, region, (Clocks::default(), &table.bytes(0))));
    }
    for (_, function) in functions_given(stencil) {
        // SAFETY: the function's parameters, as many bytes as it says.
        bytes.extend_from_slice(unsafe {
            std::slice::from_raw_parts(
                function.parameters().cast::<u8>(),
                function.parameters_size(),
            )
        });
    }
    bytes
}

/// The cells of the padded array `bytes`.
fn cells<T: Scalar, const D: usize>(
    like: &Volume<T, D>,
    layout: &Layout,
    bytes: &[u8],
) -> Volume<T, D> {
    let mut result = like.clone();
    for index in 0..result.len() {
        let (mut rest, mut at) = (index, layout.origin);
        for d in (0..4).rev() {
            at += rest % layout.extents[d] * layout.strides[d];
            rest /= layout.extents[d];
        }
        // SAFETY: one scalar's bytes from an array of them, to its cell.
        result.as_mut_slice()[index] =
            unsafe { std::ptr::read_unaligned(bytes[at * T::KIND.size()..].as_ptr().cast()) };
    }
    result
}

/// Advances `region` as the device would by one launch; `None` without a C++ compiler.
pub fn launch<T: Scalar, const D: usize>(
    stencil: &Spec,
    volume: &Volume<T, D>,
    policy: &CudaPolicy,
    region: &Region,
    folder: &Path,
) -> Option<Volume<T, D>> {
    let after = launch_after(stencil, (volume, 0), policy, (region, None), folder)?;
    Some(after.expect("no fault").0)
}

/// The same, and the words of what the launch has summed up.
pub fn launch_summed<T: Scalar, const D: usize>(
    stencil: &Spec,
    volume: &Volume<T, D>,
    policy: &CudaPolicy,
    regions: (&Region, Option<Summand>),
    folder: &Path,
) -> Option<(Volume<T, D>, Vec<u64>)> {
    let after = launch_after(stencil, (volume, 0), policy, regions, folder)?;
    Some(after.expect("no fault"))
}

/// The cells after a launch and the words of what it has summed up, or the number of the site that faulted.
type Launched<T, const D: usize> = Result<(Volume<T, D>, Vec<u64>), u32>;

/// The same, after so many steps; an error is the number of the site that faulted.
pub fn launch_after<T: Scalar, const D: usize>(
    stencil: &Spec,
    (volume, steps): (&Volume<T, D>, u64),
    policy: &CudaPolicy,
    (region, summand): (&Region, Option<Summand>),
    folder: &Path,
) -> Option<Launched<T, D>> {
    let policy = policy.shaped(D).unwrap();
    let layout = layout_of(stencil, volume.extents().into(), &policy).unwrap();
    let text = match summand {
        Some(summand) => summed_text(stencil, &policy, false, summand).unwrap(),
        None => step_text(stencil, &policy, false),
    };
    let fused = fused_text(stencil, volume.extents().into(), &policy);
    let told = match fused.as_ref().map(|it| &it.shape) {
        Some(FusedShape::Temporal(shape)) => {
            Told::of_block(stencil, &layout, (&policy, shape), (region, steps))
        }
        _ => {
            let told = Told::of_step(stencil, &layout, (&policy, &text), region);
            Told { waits: told.waits || summand.is_some(), ..told }
        }
    };
    let ringed = text.stages[0].ringed.first().filter(|_| fused.is_none());
    let ringed = ringed.map(|(_, tile)| *tile);
    let main = main_of(stencil, (&layout, T::KIND), &policy, &told, ringed, summand.is_some());
    let kernels = fused.as_ref().map_or(&text.source, |it| &it.source);
    let (warp, kernels) = match summand {
        Some(_) => (include_str!("../launch/warp.cuh"), kernels.replace("__shared__", "static")),
        None => ("", kernels.clone()),
    };
    let source = [include_str!("../kernels/host.cuh"), warp, &kernels, &main].concat();
    // A skeleton knows no boundary: one program is for several.
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    let name = format!("{:016x}", hasher.finish());
    let known = Some(folder.join(&name)).filter(|program| program.exists());
    let program = known.or_else(|| host::compiled(folder, &name, &source))?;
    let (from, to) = (folder.join("in"), folder.join("out"));
    let ghosts = told.ghosts;
    let layout_read = Layout { ghosts, ..layout };
    let shape = match fused.as_ref().map(|it| &it.shape) {
        Some(FusedShape::Temporal(shape)) if told.framed => Some(shape),
        _ => None,
    };
    let given = input(stencil, volume, &layout_read, (region, shape));
    std::fs::write(&from, given).unwrap();
    let placed = [told.origin.to_string()].into_iter().chain(told.blocks.map(|n| n.to_string()));
    let numbers = placed.chain(told.numbers.iter().map(i32::to_string));
    let run = Command::new(&program).args([&from, &to]).args(numbers).status().unwrap();
    if let Some(site) = run.code().and_then(|code| code.checked_sub(FAULTED)).filter(|&n| n > 0) {
        return Some(Err(site as u32));
    }
    assert!(run.success(), "{run}");
    let found = std::fs::read(&to).unwrap();
    let (words, found) = found.split_at(8 * WORDS);
    let words = words.as_chunks().0.iter().map(|&word| u64::from_ne_bytes(word)).collect();
    Some(Ok((cells(volume, &layout, found), words)))
}

/// The bytes of the padded array: ghosts looked up through the boundaries, pads all ones.
fn padded<T: Scalar, const D: usize>(
    boundaries: &Boundaries,
    volume: &Volume<T, D>,
    layout: &Layout,
) -> Vec<u8> {
    let size = T::KIND.size();
    let mut bytes = vec![0xff; layout.len * size];
    let axes = axes(D);
    let range = |d: usize| {
        let [low, high] = layout.ghosts[d].map(|n| n as isize);
        -low..layout.extents[d] as isize + high
    };
    for w in range(0) {
        for z in range(1) {
            for y in range(2) {
                for x in range(3) {
                    let at = [w, z, y, x];
                    let mut own = [0; D];
                    for (d, axis) in axes.into_iter().enumerate() {
                        axis.into_iter().for_each(|axis| own[axis] = at[d]);
                    }
                    let extents = volume.extents();
                    let cell = match boundaries.ghost(own.into(), extents.into(), |_| false) {
                        Ghost::Value(value) => T::from_f64(value),
                        Ghost::Cell(from) => volume.get(from.map(|n| n as usize).array()).unwrap(),
                        // Fused steps ask the function themselves.
                        Ghost::Function { .. } => continue,
                    };
                    let index = layout.origin as isize
                        + (0..4).map(|d| at[d] * layout.strides[d] as isize).sum::<isize>();
                    let to = &mut bytes[index as usize * size..][..size];
                    // SAFETY: a scalar has as many bytes as its kind says.
                    to.copy_from_slice(unsafe {
                        std::slice::from_raw_parts((&raw const cell).cast::<u8>(), size)
                    });
                }
            }
        }
    }
    bytes
}
