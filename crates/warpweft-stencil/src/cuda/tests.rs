//! The skeletons run by the host's compiler, thread for thread: the kernels' indexing is checked
//! on machines with no GPU.

mod engine;
mod packed;
mod taken;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

use super::halo::halves::of_pipeline;
use super::launch::boxes::{PipelineBox, hold, step_box};
use super::memory::layout::Layout;
use super::temporal::TimeBlock;
use super::text::{FusedShape, PipelineShape, fused_text, layout_of, step_text};
use crate::exchange::BoundarySplit;
use crate::prelude::*;
use crate::{
    Boundaries, CudaKernel, CudaPolicy, Ghost, Region, Span, Spec, StencilElement, reference,
};
use warpweft_core::element::Scalar;
use warpweft_core::grid::{Axes, Volume};

/// Advances `region` as the device would by one launch; `None` without a C++ compiler.
fn launch<T: Scalar, const D: usize>(
    stencil: &Spec,
    volume: &Volume<T, D>,
    policy: &CudaPolicy,
    region: &Region,
    folder: &Path,
) -> Option<Volume<T, D>> {
    let policy = policy.shaped(D).unwrap();
    let layout = layout_of(stencil, volume.extents().into(), &policy).unwrap();
    let text = step_text(stencil, &policy, false);
    let fused = fused_text(stencil, volume.extents().into(), &policy);
    let size = T::KIND.size();
    let ([w, z, y, x], [sw, sz, sy, _]) = (layout.extents, layout.strides);
    // Arguments of the program, so that one is for several boxes.
    let numbers_from = |from: usize, count: usize| {
        let numbers = (from..from + count).map(|n| format!("int(number({n}))"));
        format!("{{{}}}", numbers.collect::<Vec<_>>().join(", "))
    };
    let (mut origin, mut ghosts) = (layout.origin, layout.ghosts);
    let (kernel, blocks, warps, waits, numbers, setup) = match fused.as_ref().map(|it| &it.shape) {
        Some(FusedShape::Temporal(shape)) => {
            let block = TimeBlock::new(&layout, shape, &policy, region);
            let axes: Vec<_> = (0..6).map(|n| numbers_from(3 * n, 3)).collect();
            let (origin, chunk) = (numbers_from(18, 2), numbers_from(20, 2));
            let [sz, sy] = block.strides;
            let setup = format!(
                "ww::stencil::TimeBlock block{{{}, {origin}, {}, {sz}, {sy}}};
  ww::stencil::HeldValues held;
  if (fread(&held, 1, sizeof held, file) != sizeof held) return 3;",
                axes.join(", "),
                &chunk[1..chunk.len() - 1],
            );
            ("ww_time_block", block.blocks, policy.warps, true, block.numbers.to_vec(), setup)
        }
        Some(FusedShape::Pipeline(shape)) => {
            let held = hold(stencil, &layout);
            let part = PipelineBox::new((&layout, size), (&policy, shape), region, held);
            origin += (0..4).map(|d| part.begin[d] * layout.strides[d]).sum::<usize>();
            let numbers = part.numbers.as_flattened().to_vec();
            let [extent, low, high] = [0, 3, 6].map(|from| numbers_from(from, 3));
            let chunk = policy.chunk;
            let setup = format!(
                "ww::stencil::Domain domain{{{extent}, {low}, {high}, {chunk}, {sz}, {sy}}};"
            );
            ("ww_pipeline", part.blocks, policy.warps, true, numbers, setup)
        }
        _ => {
            let (blocks, [low, high]) = step_box(&layout, (&policy, text.stages[0].start), region);
            // Across periodic faces there are no ghosts along x.
            let across = policy.kernel == CudaKernel::Direct
                && stencil.boundaries.0[D - 1] == [Boundary::Periodic; 2]
                && x.is_multiple_of(policy.cells[0] as usize);
            let wrap = if across { x as i32 } else { 0 };
            if across {
                ghosts[3] = [0; 2];
            }
            let numbers = [&low[..], &high, &[wrap]].concat();
            let (low, high, wrap) = (numbers_from(0, 4), numbers_from(4, 4), "int(number(8))");
            let setup = format!("ww::stencil::Box box{{{low}, {high}, {sw}, {sz}, {sy}, {wrap}}};");
            let waits = policy.kernel == CudaKernel::Planes;
            ("ww_stage0", blocks, text.warps, waits, numbers, setup)
        }
    };
    let ringed = text.stages[0].ringed.first().filter(|_| fused.is_none());
    let (args, map) = match ringed {
        _ if kernel == "ww_time_block" => ("in, out, block, held", String::new()),
        _ if kernel == "ww_pipeline" => ("in, out, domain", String::new()),
        None => ("in, out, box", String::new()),
        Some((_, tile)) => ("in, out, map, origin, box", engine::host_map(&layout, size, *tile)),
    };
    let parameters = stencil.stages[0].parameters_size();
    let functor = stencil.stages[0].cuda(&mut warpweft_core::element::Unit::new());
    let packed = policy.kernel == CudaKernel::Packed;
    let scalar = match T::KIND.name() {
        _ if packed && policy.cells[0] >= 32 => "ww::cells32".into(),
        _ if packed => "ww::bytes4".into(),
        "bool" => "bool".into(),
        name => format!("ww::{name}"),
    };
    let pointers = taken::pointers(&*stencil.stages[0]);
    let main = format!(
        "static const double numbers[] = {{{taken}}};
namespace ww::stencil {{ alignas(128) char shared_memory[1 << 20]; }}
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
  run_grid({{unsigned(number(-3)), unsigned(number(-2)), unsigned(number(-1))}}, {{32, {warps}, 1}}, {waits}, [&] {{ {kernel}({args}, f{pointers}); }});
  file = fopen(names[2], \"wb\");
  return !file || fwrite(b, {size}, {len}, file) != {len} || fclose(file);
}}
",
        taken = taken::values(&*stencil.stages[0]),
        len = layout.len,
    );
    let source = [
        include_str!("kernels/host.cuh"),
        fused.as_ref().map_or(&text.source, |it| &it.source),
        &main,
    ]
    .concat();
    // A skeleton knows no boundary: one program is for several.
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    let program = folder.join(format!("{:016x}", hasher.finish()));
    if !program.exists() {
        let cpp = folder.join("sweep.cpp");
        std::fs::write(&cpp, source).unwrap();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        let compiled = Command::new(compiler)
            .args(["-std=c++17", "-O0", "-ffp-contract=off", "-w", "-o"])
            .args([&program, &cpp])
            .output();
        let Ok(compiled) = compiled else { return None };
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }
    let (from, to) = (folder.join("in"), folder.join("out"));
    let mut bytes = padded(&stencil.boundaries, volume, &Layout { ghosts, ..layout });
    // SAFETY: the element's parameters, as many bytes as it says.
    bytes.extend_from_slice(unsafe {
        std::slice::from_raw_parts(stencil.stages[0].parameters().cast::<u8>(), parameters)
    });
    bytes.extend(super::temporal::held_values(stencil));
    std::fs::write(&from, bytes).unwrap();
    let placed = [origin.to_string()].into_iter().chain(blocks.map(|n| n.to_string()));
    let numbers = placed.chain(numbers.iter().map(i32::to_string));
    let run = Command::new(&program).args([&from, &to]).args(numbers).status().unwrap();
    assert!(run.success(), "{run}");
    let bytes = std::fs::read(&to).unwrap();
    let mut result = volume.clone();
    let (stride, offsets) = (layout.strides, [w, z, y, x]);
    let cells = result.len();
    for index in 0..cells {
        let mut rest = index;
        let mut at = layout.origin;
        for d in (0..4).rev() {
            at += rest % offsets[d] * stride[d];
            rest /= offsets[d];
        }
        // SAFETY: one scalar's bytes from an array of them, to its cell.
        result.as_mut_slice()[index] =
            unsafe { std::ptr::read_unaligned(bytes[at * size..].as_ptr().cast()) };
    }
    Some(result)
}

/// The bytes of the padded array: ghosts looked up through the boundaries, pads all ones.
fn padded<T: Scalar, const D: usize>(
    boundaries: &Boundaries,
    volume: &Volume<T, D>,
    layout: &Layout,
) -> Vec<u8> {
    let size = T::KIND.size();
    let mut bytes = vec![0xff; layout.len * size];
    let axes = super::memory::layout::axes(D);
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
                        Ghost::Function { .. } => unreachable!("no face is a function here"),
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

fn policy(kernel: CudaKernel, cells: [u32; 3], warps: u32) -> CudaPolicy {
    CudaPolicy {
        kernel,
        cells,
        warps,
        min_blocks: 1,
        chunk: 5,
        prefetch: 2,
        temporal_depth: 1,
        phases: 0,
        contraction: false,
    }
}

fn pipe(cells: [u32; 3], warps: u32, temporal_depth: u32) -> CudaPolicy {
    CudaPolicy { temporal_depth, ..policy(CudaKernel::Pipeline, cells, warps) }
}

/// The whole, boxes at its ends and one inside; of a time block's own steps' width from the ends, or less.
fn regions(extents: Axes<usize>, depth: usize) -> Vec<Region> {
    let dims = extents.rank();
    let part = |from: usize, to: usize| {
        let low = extents.map(|n| from.min(n - 1));
        Region { low, high: Axes::from_fn(dims, |d| (extents[d] - to).max(low[d] + 1)) }
    };
    vec![part(0, 0), part(0, depth + 1), part(depth, 0), part(depth + 1, depth), part(1, 2)]
}

/// The two parts of a time block over all cells but those within its steps of an end, of which a few are sent.
fn halves(stencil: &Spec, extents: Axes<usize>, policy: &CudaPolicy) -> Option<BoundarySplit> {
    let dims = stencil.rank();
    let policy = policy.shaped(dims).unwrap();
    let (depth, size) = (policy.temporal_depth as usize, stencil.cell.size(0));
    let piped = policy.kernel == CudaKernel::Pipeline && depth > 1;
    let shape = PipelineShape::of(&policy, dims, size).filter(|_| piped)?;
    let layout = layout_of(stencil, extents, &policy).unwrap();
    let own = Region { low: Axes::filled(dims, depth), high: extents.map(|n| n - depth) };
    let found = of_pipeline(&own, &Axes::filled(dims, [2, 1]), (&layout, size), (&policy, &shape));
    Some(found.expect("a part with a core"))
}

/// One launch of every policy under every boundary over several boxes, bitwise.
fn check<T: Scalar, const D: usize>(
    element: impl StencilElement<D, State = T>,
    extents: [usize; D],
    policies: &[CudaPolicy],
) {
    let (shift, held) = packed::range(&policies[0]);
    let start = Volume::from_fn(extents, |at| {
        let mixed = at.iter().fold(17u64, |h, &i| {
            (h ^ i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
        });
        T::from_f64((mixed >> shift) as f64 / if shift == 44 { 4096.0 } else { 1.0 })
    });
    let folder = tempfile::tempdir().unwrap();
    for boundary in [Boundary::Dirichlet(held), Boundary::Periodic, Boundary::Mirror] {
        let stencil = Stencil::of(element.clone()).boundary(boundary);
        for policy in policies {
            if policy.kernel == CudaKernel::Pipeline && boundary == Boundary::Mirror {
                continue;
            }
            let packs = policy.kernel == CudaKernel::Packed;
            let stencil = if packs { packed::faces(&stencil, boundary) } else { stencil.clone() };
            let mut expect = start.clone();
            reference(&stencil, &mut expect, u64::from(policy.temporal_depth)).unwrap();
            // Boxes know no boundary but held ones.
            let cut = boundary == Boundary::Dirichlet(held);
            let halves = if cut { halves(&stencil, extents.into(), policy) } else { None };
            let parts =
                halves.iter().flat_map(|it| it.boundary.iter().chain([&it.interior])).copied();
            let depth = policy.temporal_depth as usize;
            let regions = regions(extents.into(), depth).into_iter();
            let regions = regions.take(if packs { 1 } else { usize::MAX });
            for region in regions.chain(parts.clone()) {
                // The one part of a time block writes nothing of the other, nor the core of what is received.
                let others: Vec<_> = parts.clone().filter(|part| *part != region).collect();
                let apart = others.len() < parts.clone().count();
                let core = halves.as_ref().is_some_and(|halves| halves.interior == region);
                let found = launch::<T, D>(&stencil, &start, policy, &region, folder.path());
                let Some(found) = found else {
                    return println!("skipped: no C++ compiler");
                };
                let inside = Span::from(region);
                let bad: Vec<_> = Span::from(Region::whole(extents.into()))
                    .iter()
                    .filter(|at| {
                        let cell = at.map(|n| n as usize).array();
                        let found = found.get(cell).unwrap();
                        match inside.contains(*at) {
                            true => found != expect.get(cell).unwrap(),
                            // A time block leaves elsewhere what it likes, a step what there was.
                            false => {
                                let other = |it: &Region| Span::from(*it).contains(*at);
                                let kept = depth == 1 || core || apart && others.iter().any(other);
                                kept && found != start.get(cell).unwrap()
                            }
                        }
                    })
                    .collect();
                let few = &bad[..bad.len().min(4)];
                let of = (boundary, policy, region);
                assert!(
                    bad.is_empty(),
                    "{} cells of {extents:?} differ: {few:?}, {of:?}",
                    bad.len()
                );
            }
        }
    }
}

#[stencil]
fn flat(u: Near<f32, 2>, rate: f32) -> f32 {
    let across = 0.3 * u[[0, -1]] + 0.2 * u[[0, 1]];
    u[[0, 0]] + rate * (across + 0.7 * u[[-1, 0]] - 0.4 * u[[1, 0]])
}

#[stencil]
fn deep(u: Near<f64, 3>, rate: f64) -> f64 {
    let across = 0.3 * u[[0, 0, -1]] + 0.2 * u[[0, 0, 1]] + 0.1 * u[[0, 1, 0]];
    u[[0, 0, 0]] + rate * (across + 0.7 * u[[-1, 0, 0]] - 0.4 * u[[1, 0, 0]] - u[[0, -1, 0]])
}

#[stencil]
fn skew(u: Near<i32, 3>, by: i32) -> i32 {
    u[[0, 0, 0]] * by + u[[-1, 2, 0]] - u[[2, 0, -3]] * 5 + u[[0, 0, 1]] + u[[1, -1, 1]]
}

#[stencil]
fn placed(u: Near<i32, 3>, #[at] at: [usize; 3], #[step] step: u64, by: i32) -> i32 {
    u[[0, 0, 1]] * by + (at[0] * 10_000 + at[1] * 100 + at[2]) as i32 + step as i32
}

#[stencil]
fn placed_flat(u: Near<i32, 2>, #[at] at: [usize; 2], by: i32) -> i32 {
    u[[1, 0]] * by + (at[0] * 100 + at[1]) as i32
}

#[test]
fn indices_of_cells() {
    let direct = |cells| policy(CudaKernel::Direct, cells, 2);
    check(placed(3), [7, 6, 75], &[direct([4, 2, 2]), direct([1, 3, 1])]);
    check(placed_flat(3), [9, 75], &[direct([4, 1, 2])]);
}

#[test]
fn direct() {
    let policies =
        [policy(CudaKernel::Direct, [4, 2, 2], 2), policy(CudaKernel::Direct, [1, 3, 1], 3)];
    check(skew(3), [7, 6, 75], &policies);
    check(deep(0.25), [7, 6, 75], &policies);
}

/// A star of radius two and three, deeper on one side.
#[stencil]
fn star(u: Near<f32, 3>, rate: f32) -> f32 {
    let far = u[[-2, 0, 0]] - u[[3, 0, 0]] + u[[0, -3, 0]] - u[[0, 2, 0]] + u[[0, 0, -1]];
    let near = u[[-1, 0, 0]] + u[[0, 1, 0]] - u[[0, 0, 5]] + u[[0, 0, 1]];
    u[[0, 0, 0]] + rate * (0.3 * far + 0.7 * near)
}

/// Its own column is not read off the plane.
#[stencil]
fn disc(u: Near<f64, 3>, rate: f64) -> f64 {
    rate * (u[[0, 0, -1]] + u[[0, 1, 0]] + 0.5 * u[[0, 0, 0]])
}

#[test]
fn planes_in_a_ring() {
    let planes = |cells, phases| CudaPolicy { phases, ..policy(CudaKernel::Planes, cells, 2) };
    let eager = CudaPolicy { prefetch: 0, ..planes([1, 3, 1], 4) };
    let narrow = planes([1, 1, 1], 1);
    check(star(0.25), [12, 9, 140], &[planes([4, 2, 1], 0), planes([2, 1, 1], 2), eager]);
    check(star(0.25), [7, 6, 35], &[narrow]);
    check(skew(3), [7, 6, 75], &[planes([4, 2, 1], 1)]);
    check(disc(0.25), [7, 6, 75], &[planes([2, 2, 1], 0)]);
}

#[test]
fn pipelines_of_planes() {
    check(flat(0.25), [23, 250], &[pipe([4, 1, 1], 2, 4), pipe([4, 1, 1], 1, 8)]);
}

#[test]
fn pipelines_of_volumes() {
    check(deep(0.25), [9, 27, 190], &[pipe([2, 3, 1], 4, 2)]);
}

/// Reads a box, deeper on one side.
#[stencil]
fn slanted(u: Near<i32, 2>, by: i32) -> i32 {
    u[[0, 0]] * by + u[[-1, 2]] - 3 * u[[2, -1]] + u[[0, -1]] + 5 * u[[1, 1]]
}

fn fused(cells: [u32; 3], warps: u32, temporal_depth: u32, prefetch: u32) -> CudaPolicy {
    CudaPolicy { temporal_depth, prefetch, ..policy(CudaKernel::Temporal, cells, warps) }
}

#[test]
fn fused_rows() {
    check(flat(0.25), [23, 250], &[fused([4, 1, 1], 2, 4, 3)]);
    // Three rows a level, or four where a mirror copies: of twelve in flight both are whole groups.
    check(slanted(3), [11, 141], &[CudaPolicy { chunk: 50, ..fused([4, 1, 1], 1, 2, 11) }]);
}

#[test]
fn fused_planes() {
    check(deep(0.25), [7, 12, 141], &[fused([2, 3, 1], 3, 2, 2)]);
}
