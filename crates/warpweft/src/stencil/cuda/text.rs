//! The CUDA text of one step: element functions, a skeleton, and per stage the shape that joins
//! them. What the host must know of it (parameters, shared memory) is worked out here as well.

use std::fmt::Write;

use super::layout::{Layout, axes};
use crate::cuda::{Cubin, Options, compile};
use crate::element::{Fields, ScalarKind, Unit};
use crate::error::{Error, Result};
use crate::stencil::{Boundary, CudaKernel, CudaPolicy, Stage, Stencil};

const CELLS: &str = include_str!("cells.cuh");
const DIRECT: &str = include_str!("direct.cuh");
const COLUMNS: &str = include_str!("columns.cuh");
const MARCH: &str = include_str!("march.cuh");
const PLANES: &str = include_str!("planes.cuh");
const PIPELINE: &str = include_str!("pipeline.cuh");
const EDGES: &str = include_str!("multi/edges.cuh");
const TRIPS: &str = include_str!("multi/trips.cuh");
const WORDS: &str = include_str!("multi/words.cuh");

/// How a stage uses a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Not at all.
    Unused,
    /// Read only: one pointer.
    Read,
    /// Written where it is read from: one pointer.
    InPlace,
    /// Read beside the cell and written, so into a second array: two pointers.
    Doubled,
}

/// How far a stage reads one field: `Reach` in cells.cuh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    own: Option<[isize; 2]>,
    off: Option<[isize; 2]>,
    y: [usize; 2],
    x: [usize; 2],
}

/// One stage as its kernel sees it.
#[derive(Clone, Debug)]
pub(super) struct StageShape {
    /// The kernel's name.
    pub kernel: String,
    /// How each field is used.
    pub roles: Vec<Role>,
    /// Fields that the copy engine brings, with the tile it copies: elements along x, rows.
    pub ringed: Vec<(usize, [usize; 2])>,
    /// Dynamic shared memory in bytes.
    pub shared: usize,
    /// Fields whose planes at a cut go to the neighbour device as well; none without cuts.
    pub sent: Vec<usize>,
}

/// The whole text of a step.
#[derive(Clone, Debug)]
pub(super) struct StepText {
    /// CUDA C++.
    pub source: String,
    /// The element functions' definitions, which know where a fault is.
    pub unit: Unit,
    /// The stages in order, one step a launch.
    pub stages: Vec<StageShape>,
    /// The kernel `ww_trip` of several steps a launch, if the policy asks for it.
    pub trip: Option<TripShape>,
    /// The kernel `ww_words` that exchanges planes in words, where it does.
    pub words: Option<StageShape>,
    /// Warps of a block of single steps.
    pub warps: u32,
}

/// What the host must know of a pipelined kernel: `Tile` in pipeline.cuh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TripShape {
    /// Cells along x and rows along y that a tile advances.
    pub inner: [usize; 2],
    /// Dynamic shared memory in bytes.
    pub shared: usize,
    /// Rows and planes beyond the last that tiles and copies ahead may reach.
    pub slack: [usize; 2],
}

impl TripShape {
    /// For scalars of `size` bytes in `dims` dimensions; `None` when a tile is all skirt.
    pub fn of(policy: &CudaPolicy, dims: usize, size: usize) -> Option<Self> {
        let depth = policy.temporal_depth as usize;
        let [vx, vy, _] = policy.cells.map(|cells| cells as usize);
        let warps = policy.warps as usize;
        let flat = dims == 2;
        let columns = 32 * vx;
        if vx * size < 16 {
            return None;
        }
        let skirt = depth.next_multiple_of(32 / size);
        let inner_y = if flat { 1 } else { (warps * vy).checked_sub(2 * depth)? };
        let inner = [columns.checked_sub(2 * skirt)?, inner_y];
        let edges = if flat { 0 } else { 2 * depth * (warps + 2) * 2 * columns * size };
        let slots = policy.prefetch as usize + 1;
        let shared = edges + slots * warps * 32 * vx * vy * size;
        // A tile is wider than a row may be, and goes on for at most two planes too many.
        let slack = [warps * vy + columns * warps + 1, policy.prefetch as usize + 3];
        (inner[0] > 0 && inner[1] > 0).then_some(Self { inner, shared, slack })
    }
}

/// Whether several steps of `stencil` can be pipelined (see [`CudaKernel::Pipeline`]).
pub(super) fn pipelines<S: Fields, const D: usize>(stencil: &Stencil<S, D>) -> bool {
    let [stage] = &stencil.stages[..] else { return false };
    let star = stage.taps().iter().all(|tap| {
        tap.offset.iter().all(|o| o.abs() <= 1)
            && tap.offset.iter().filter(|&&o| o != 0).count() <= 1
    });
    let faces = stencil.boundaries.0.as_flattened().iter();
    let exact = faces.clone().all(|b| matches!(b, Boundary::Dirichlet(_) | Boundary::Periodic));
    // Tiles compute beyond the volume, on anything, where nothing may be reported.
    let mut unit = Unit::new();
    stage.cuda(&mut unit);
    (D == 2 || D == 3)
        && S::FIELDS.len() == 1
        && matches!(S::FIELDS[0].kind.size(), 4 | 8)
        && role_of(&**stage, 0) == Role::Doubled
        && star
        && exact
        && unit.site_of(1).is_none()
}

/// The shape of single steps beside a pipeline, for what is left of a number of steps.
fn single(policy: &CudaPolicy) -> CudaPolicy {
    if policy.kernel != CudaKernel::Pipeline {
        return *policy;
    }
    let vx = policy.cells[0].min(4);
    let cells = [vx, 2, 4];
    CudaPolicy { kernel: CudaKernel::Direct, cells, warps: 8, min_blocks: 2, ..*policy }
}

/// How kernels exchange planes with neighbour devices by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
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
pub(super) fn step_text<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    policy: &CudaPolicy,
    strided: bool,
) -> StepText {
    cut_step_text(stencil, policy, strided, Cut::None)
}

/// As [`step_text`], with kernels for slabs of a volume.
pub(super) fn cut_step_text<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    policy: &CudaPolicy,
    strided: bool,
    cut: Cut,
) -> StepText {
    let piped = (policy.kernel == CudaKernel::Pipeline).then_some(policy);
    let edged_trips = cut == Cut::Flags && piped.is_some();
    let edged = cut == Cut::Flags && piped.is_none();
    let policy = &single(policy).reduced::<D>();
    let mut unit = Unit::new();
    let names: Vec<String> = stencil.stages.iter().map(|stage| stage.cuda(&mut unit)).collect();
    let mut source = unit.source();
    source.push_str(CELLS);
    let skeleton: &[&str] = match policy.kernel {
        CudaKernel::Direct => &[DIRECT],
        CudaKernel::March => &[COLUMNS, MARCH],
        CudaKernel::Planes => &[COLUMNS, PLANES],
        CudaKernel::Pipeline => &[PIPELINE],
    };
    source.extend(skeleton.iter().copied());
    if cut != Cut::None {
        source.push_str(EDGES);
    }
    let mut stages = Vec::new();
    for (number, (stage, functor)) in stencil.stages.iter().zip(&names).enumerate() {
        let mut glue = Glue::<S, D>::new(&**stage, number, policy, strided);
        if edged {
            glue.cut = cut;
            glue.columns = super::multi::columns(stencil, policy);
            glue.shape.sent = sent(stencil, &**stage);
        }
        // Writing to a string can't fail.
        let _ = glue.write(&mut source, functor);
        stages.push(glue.shape);
    }
    let (mut trip, mut words) = (None, None);
    if let (Some(policy), [stage]) = (piped, &stencil.stages[..]) {
        trip = TripShape::of(policy, D, S::FIELDS[0].kind.size());
        source.push_str(PIPELINE);
        let columns = edged_trips.then(|| super::multi::trip_columns(stencil, trip, policy));
        if edged_trips {
            source.push_str(TRIPS);
        }
        let shared = trip.map_or(0, |trip| trip.shared);
        let _ = write_trip(&mut source, &**stage, &names[0], policy, shared, columns);
    }
    if let (Cut::Words(depth), [stage]) = (cut, &stencil.stages[..]) {
        source.push_str(WORDS);
        let mut glue = Glue::<S, D>::new(&**stage, stencil.stages.len(), policy, strided);
        glue.cut = cut;
        glue.near = super::multi::near(stencil, depth);
        glue.shape.sent = sent(stencil, &**stage);
        glue.shape.kernel = "ww_words".into();
        let _ = glue.write(&mut source, &names[0]);
        words = Some(glue.shape);
    }
    // Each skeleton may stand alone, but the pragma means nothing in a main file.
    StepText {
        source: source.replace("#pragma once\n", ""),
        unit,
        stages,
        trip,
        words,
        warps: policy.warps,
    }
}

/// The fields that `stage` writes and somebody reads across a cut.
fn sent<S: Fields, const D: usize>(stencil: &Stencil<S, D>, stage: &dyn Stage<S, D>) -> Vec<usize> {
    stage.writes().iter().copied().filter(|&f| stencil.crosses_cut(f)).collect()
}

struct Glue<'a, S: Fields, const D: usize> {
    stage: &'a dyn Stage<S, D>,
    number: usize,
    policy: &'a CudaPolicy,
    strided: bool,
    cut: Cut,
    /// Columns of tiles around its own that a tile at a cut waits for.
    columns: [usize; 2],
    /// Cells along x, y and z beyond its own that a tile takes from ghost planes in words.
    near: [usize; 3],
    reach: Vec<Reach>,
    shape: StageShape,
}

impl<'a, S: Fields, const D: usize> Glue<'a, S, D> {
    fn new(
        stage: &'a dyn Stage<S, D>,
        number: usize,
        policy: &'a CudaPolicy,
        strided: bool,
    ) -> Self {
        let reach: Vec<_> = (0..S::FIELDS.len()).map(|f| reach_of(stage, f)).collect();
        let roles = (0..S::FIELDS.len()).map(|f| role_of(stage, f)).collect();
        let (ringed, shared) = match policy.kernel {
            CudaKernel::Planes => ring_of::<S>(&reach, policy),
            _ => (Vec::new(), 0),
        };
        let kernel = format!("ww_stage{number}");
        let shape = StageShape { kernel, roles, ringed, shared, sent: Vec::new() };
        let (cut, columns, near) = (Cut::None, [0; 2], [0; 3]);
        Self { stage, number, policy, strided, cut, columns, near, reach, shape }
    }

    fn write(&self, text: &mut String, functor: &str) -> std::fmt::Result {
        let shape = format!("ww_shape{}", self.number);
        self.write_shape(text, &shape)?;
        let kernel = &self.shape.kernel;
        let (threads, blocks) = (32 * self.policy.warps, self.policy.min_blocks);
        write!(
            text,
            "extern \"C\" __global__ void __launch_bounds__({threads}, {blocks}) {kernel}("
        )?;
        let mut pairs = Vec::new();
        for (f, role) in self.shape.roles.iter().enumerate() {
            let scalar = type_of::<S>(f);
            match role {
                Role::Unused => {}
                Role::Read => {
                    write!(text, "const {scalar}* __restrict__ in{f}, ")?;
                    pairs.push(format!("{{in{f}, nullptr}}"));
                }
                Role::InPlace => {
                    write!(text, "{scalar}* u{f}, ")?;
                    pairs.push(format!("{{u{f}, u{f}}}"));
                }
                Role::Doubled => {
                    write!(text, "const {scalar}* __restrict__ in{f}, ")?;
                    write!(text, "{scalar}* __restrict__ out{f}, ")?;
                    pairs.push(format!("{{in{f}, out{f}}}"));
                }
            }
        }
        for (f, _) in &self.shape.ringed {
            write!(text, "const __grid_constant__ ww::stencil::TensorMap map{f}, ")?;
        }
        if self.policy.kernel == CudaKernel::Planes {
            text.push_str("const int4 origin, ");
        }
        let mut peers = Vec::new();
        for &f in self.shape.sent.iter().filter(|_| self.cut == Cut::Flags) {
            let scalar = type_of::<S>(f);
            write!(text, "{scalar}* __restrict__ low{f}, {scalar}* __restrict__ high{f}, ")?;
            peers.push(format!("{{low{f}, high{f}}}"));
        }
        match self.cut {
            Cut::None => {}
            Cut::Flags => text.push_str("const __grid_constant__ ww::stencil::Edges edges, "),
            Cut::Words(_) => text.push_str("const __grid_constant__ ww::stencil::Words words, "),
        }
        text.push_str("const ww::stencil::Box box");
        if self.stage.parameters_size() > 0 {
            write!(text, ", const {functor} element")?;
        }
        text.push_str(") {\n");
        if self.stage.parameters_size() == 0 {
            writeln!(text, "  const {functor} element{{}};")?;
        }
        match self.cut {
            Cut::None => {}
            Cut::Flags => {
                return self.write_edged(text, &shape, &pairs.join(", "), &peers.join(", "));
            }
            Cut::Words(_) => return self.write_words(text, &shape, &pairs.join(", ")),
        }
        writeln!(text, "  const ww::stencil::Pointers<{shape}> fields{{{}}};", pairs.join(", "))?;
        if self.policy.kernel == CudaKernel::Planes {
            writeln!(
                text,
                "  ww::stencil::Maps<{shape}> maps{{{{}}, origin.x, origin.y, origin.z, origin.w}};"
            )?;
            for (f, _) in &self.shape.ringed {
                writeln!(text, "  maps.map[{f}] = &map{f};")?;
            }
        }
        let (skeleton, maps) = match self.policy.kernel {
            CudaKernel::Direct => ("direct", ""),
            CudaKernel::March => ("march", ""),
            CudaKernel::Planes => ("planes", "maps, "),
            CudaKernel::Pipeline => ("pipeline", ""),
        };
        writeln!(text, "  ww::stencil::{skeleton}<{shape}>(fields, {maps}box, element);\n}}")
    }

    /// The body of a kernel whose tiles at a cut exchange planes.
    fn write_edged(
        &self,
        text: &mut String,
        shape: &str,
        pairs: &str,
        peers: &str,
    ) -> std::fmt::Result {
        let edged = format!("ww::stencil::Edged<{shape}>");
        writeln!(
            text,
            "  const ww::stencil::Pointers<{edged}> fields{{{{{pairs}}}, {{{peers}}}, edges.low_end, edges.high_start}};"
        )?;
        let layer = match self.policy.kernel {
            CudaKernel::March => "march_layer",
            _ => "direct_layer",
        };
        let tile = |shape: &str| {
            format!(
                "[&](int layer, int row) {{ ww::stencil::{layer}<{shape}>(fields, box, element, layer, row); }}"
            )
        };
        writeln!(
            text,
            "  ww::stencil::by_layer<{shape}>(edges, {}, {});\n}}",
            tile(shape),
            tile(&edged)
        )
    }

    /// The body of a kernel whose tiles at a cut exchange words.
    fn write_words(&self, text: &mut String, shape: &str, pairs: &str) -> std::fmt::Result {
        let f = self.shape.sent.first().copied().unwrap_or(0);
        let scalar = type_of::<S>(f);
        writeln!(text, "  const ww::stencil::Pointers<{shape}> fields{{{pairs}}};")?;
        writeln!(text, "  const ww::stencil::WordPointers<{shape}> worded{{{{{pairs}}}}};")?;
        writeln!(
            text,
            "  ww::stencil::words_direct<{shape}>(fields, worded, const_cast<{scalar}*>(in{f}), box, words, element);\n}}"
        )
    }

    fn write_shape(&self, text: &mut String, shape: &str) -> std::fmt::Result {
        let fields = 0..S::FIELDS.len();
        let list = |keep: &dyn Fn(usize) -> bool| {
            let kept: Vec<_> = fields.clone().filter(|&f| keep(f)).map(|f| f.to_string()).collect();
            format!("ww::stencil::indices<{}>", kept.join(", "))
        };
        let types: Vec<_> = fields.clone().map(|f| type_of::<S>(f)).collect();
        let reads = |f: usize| self.stage.taps().iter().any(|tap| tap.field == f);
        let [vx, vy, vz] = self.policy.cells;
        let CudaPolicy { warps, chunk, prefetch, .. } = *self.policy;
        writeln!(text, "struct {shape} {{")?;
        writeln!(
            text,
            "  template <int F>\n  using Type = ww::stencil::pick<F, {}>;",
            types.join(", ")
        )?;
        writeln!(text, "  using Used = {};", list(&|f| self.shape.roles[f] != Role::Unused))?;
        writeln!(text, "  using Reads = {};", list(&reads))?;
        writeln!(text, "  using Writes = {};", list(&|f| self.stage.writes().contains(&f)))?;
        writeln!(text, "  using Sent = {};", list(&|f| self.shape.sent.contains(&f)))?;
        let [reach_x, reach_y] = self.columns;
        writeln!(text, "  static constexpr int reach_x = {reach_x}, reach_y = {reach_y};")?;
        let [x, y, z] = self.near;
        writeln!(text, "  static constexpr int near_x = {x}, near_y = {y}, near_z = {z};")?;
        let field = self.shape.sent.first().copied().unwrap_or(0);
        writeln!(text, "  static constexpr int sent_field = {field};")?;
        writeln!(text, "  static constexpr int dims = {D}, vx = {vx}, vy = {vy}, vz = {vz};")?;
        writeln!(
            text,
            "  static constexpr int warps = {warps}, chunk = {chunk}, prefetch = {prefetch};"
        )?;
        writeln!(text, "  static constexpr int turn = {};", turn::<S>(self.policy.kernel))?;
        writeln!(text, "  static constexpr int ring_bytes = {};", self.shape.shared)?;
        writeln!(text, "  static constexpr bool strided = {};", self.strided)?;
        let places: Vec<_> =
            self.shape.roles.iter().map(|role| (*role == Role::InPlace).to_string()).collect();
        writeln!(
            text,
            "  WW_FN static constexpr bool in_place(int f) {{\n    const bool all[] = {{{}}};\n    return all[f];\n  }}",
            places.join(", ")
        )?;
        writeln!(text, "  WW_FN static constexpr ww::stencil::Reach reach(int f) {{")?;
        writeln!(text, "    const ww::stencil::Reach all[] = {{")?;
        for reach in &self.reach {
            let ([own_low, own_high], [off_low, off_high]) =
                (reach.own.unwrap_or_default(), reach.off.unwrap_or_default());
            writeln!(
                text,
                "        {{{}, {own_low}, {own_high}, {}, {off_low}, {off_high}, {}, {}, {}, {}}},",
                reach.own.is_some(),
                reach.off.is_some(),
                reach.y[0],
                reach.y[1],
                reach.x[0],
                reach.x[1]
            )?;
        }
        text.push_str("    };\n    return all[f];\n  }\n};\n");
        Ok(())
    }
}

/// Phases of the register queue that a walk along z unrolls (columns.cuh).
///
/// One phase at a time compiles in a third of the time. On an H200, beside all of them: Planes of f64
/// at order 8 rises from 202 to 213 Gcells/s (nothing spills any more), at order 6 from 214 to 215;
/// f32 falls from 413 to 407 and from 425 to 414; March, which has fewer registers, loses up to a fifth.
fn turn<S: Fields>(kernel: CudaKernel) -> i32 {
    let wide = S::FIELDS.iter().all(|field| field.kind.size() >= 8);
    if kernel == CudaKernel::Planes && wide { 1 } else { i32::MAX }
}

/// Writes the pipelined kernel and its shape; given the columns of tiles around its own that a tile at
/// a cut waits for, the one that exchanges planes.
fn write_trip<S: Fields, const D: usize>(
    text: &mut String,
    stage: &dyn Stage<S, D>,
    functor: &str,
    policy: &CudaPolicy,
    shared: usize,
    columns: Option<[usize; 2]>,
) -> std::fmt::Result {
    let scalar = type_of::<S>(0);
    let (trip, edges, skeleton, argument) = match columns {
        None => ("const ww::stencil::Trip", "", "pipeline", ""),
        Some(_) => {
            let edges = ", const __grid_constant__ ww::stencil::Edges edges";
            ("const __grid_constant__ ww::stencil::CutTrip", edges, "cut_pipeline", ", edges")
        }
    };
    let [reach_x, reach_y] = columns.unwrap_or_default();
    let [vx, vy, _] = policy.cells;
    let CudaPolicy { warps, min_blocks, prefetch, temporal_depth, .. } = *policy;
    let (parameter, local) = match stage.parameters_size() {
        0 => (String::new(), format!("  const {functor} element{{}};\n")),
        _ => (format!(", const {functor} element"), String::new()),
    };
    write!(
        text,
        "struct ww_trip_shape {{
  template <int F>
  using Type = ww::stencil::pick<F, {scalar}>;
  using Writes = ww::stencil::indices<0>;
  static constexpr int dims = {D}, vx = {vx}, vy = {vy}, warps = {warps}, depth = {temporal_depth};
  static constexpr int prefetch = {prefetch}, trip_bytes = {shared};
  static constexpr int reach_x = {reach_x}, reach_y = {reach_y};
}};
extern \"C\" __global__ void __launch_bounds__({threads}, {min_blocks}) ww_trip(const {scalar}* __restrict__ in, {scalar}* __restrict__ out, {trip} trip{edges}{parameter}) {{
{local}  ww::stencil::{skeleton}<ww_trip_shape>(in, out, trip{argument}, element);
}}
",
        threads = 32 * warps
    )
}

/// The C++ name of field `f`'s scalar.
fn type_of<S: Fields>(f: usize) -> String {
    match S::FIELDS[f].kind {
        ScalarKind::Bool => "bool".into(),
        kind => format!("ww::{}", kind.name()),
    }
}

/// How `stage` uses field `f`.
pub(super) fn role_of<S: Fields, const D: usize>(stage: &dyn Stage<S, D>, f: usize) -> Role {
    let mut taps = stage.taps().iter().filter(|tap| tap.field == f).peekable();
    let read = taps.peek().is_some();
    match (stage.writes().contains(&f), read) {
        (false, false) => Role::Unused,
        (false, true) => Role::Read,
        (true, _) if taps.any(|tap| tap.offset != [0; D]) => Role::Doubled,
        (true, _) => Role::InPlace,
    }
}

fn reach_of<S: Fields, const D: usize>(stage: &dyn Stage<S, D>, f: usize) -> Reach {
    let mut reach = Reach::default();
    for tap in stage.taps().iter().filter(|tap| tap.field == f) {
        let [w, z, y, x] = axes::<D>().map(|axis| axis.map_or(0, |axis| tap.offset[axis]));
        let widen = |range: Option<[isize; 2]>| {
            let [low, high] = range.unwrap_or_default();
            Some([low.min(z), high.max(z)])
        };
        if w != 0 {
            // Reached through global memory by every skeleton.
        } else if y == 0 && x == 0 {
            reach.own = widen(reach.own);
        } else {
            reach.off = widen(reach.off);
            reach.y = [reach.y[0].max(-y.min(0) as usize), reach.y[1].max(y.max(0) as usize)];
            reach.x = [reach.x[0].max(-x.min(0) as usize), reach.x[1].max(x.max(0) as usize)];
        }
    }
    reach
}

/// The fields in the ring and the ring's bytes, as planes.cuh works them out.
fn ring_of<S: Fields>(reach: &[Reach], policy: &CudaPolicy) -> (Vec<(usize, [usize; 2])>, usize) {
    let widest = |planes: &dyn Fn(&Reach) -> Option<[isize; 2]>, side: usize| {
        let depth = |[low, high]: [isize; 2]| if side == 0 { -low } else { high };
        reach.iter().filter_map(planes).map(depth).max().unwrap_or(0).max(0) as usize
    };
    let (own, off) = (|r: &Reach| r.own, |r: &Reach| r.off);
    let high = widest(&own, 1).max(widest(&off, 1));
    let slots = widest(&off, 0) + high + 1 + policy.prefetch as usize;
    let mut ringed = Vec::new();
    let mut slot = 0;
    for (f, reach) in reach.iter().enumerate().filter(|(_, reach)| reach.off.is_some()) {
        let size = S::FIELDS[f].kind.size();
        let [west, east] = reach.x.map(|depth| depth.next_multiple_of(16 / size));
        let width = 32 * policy.cells[0] as usize + west + east;
        let rows = (policy.warps * policy.cells[1]) as usize + reach.y[0] + reach.y[1];
        ringed.push((f, [width, rows]));
        slot += (width * rows * size).next_multiple_of(128);
    }
    (ringed, slots * slot)
}

/// Blocks along the grid's three axes for a pipelined trip over all of `layout`.
pub(super) fn trip_grid<const D: usize>(
    layout: &Layout,
    policy: &CudaPolicy,
    trip: &TripShape,
) -> [usize; 3] {
    let [_, z, y, x] = layout.extents;
    let tiles = x.div_ceil(trip.inner[0]);
    let chunks = z.div_ceil(policy.chunk.max(1) as usize);
    match D {
        2 => [tiles.div_ceil(policy.warps as usize), 1, chunks],
        _ => [tiles, y.div_ceil(trip.inner[1]), chunks],
    }
}

/// Blocks of a group of tiles: about what an H200 holds at once of them (two on each of 132
/// multiprocessors), so that the next group along z finds what it shares still in the L2 cache.
/// Measured at 768³: f64 rises from 217 to 241 Gcells/s in three groups of 192 blocks; f32, whose
/// 288 blocks are one group, falls from 497 to 481 in two of 144.
const GROUP: usize = 192;

/// Blocks along the grid's three axes for one step over all of `layout`.
pub(super) fn grid<const D: usize>(layout: &Layout, policy: &CudaPolicy) -> [usize; 3] {
    let policy = &single(policy).reduced::<D>();
    let [w, z, y, x] = layout.extents;
    let [vx, vy, vz] = policy.cells.map(|cells| cells as usize);
    let (warps, chunk) = (policy.warps as usize, policy.chunk.max(1) as usize);
    let row = 32 * vx;
    let (tiles_x, tiles_y, tiles_z) = (x.div_ceil(row), y.div_ceil(warps * vy), z.div_ceil(vz));
    match (D, policy.kernel) {
        (1, _) => [x.div_ceil(row * warps), 1, 1],
        (2, CudaKernel::Direct) => [tiles_x, 1, z.div_ceil(vz * warps)],
        (2, _) => [x.div_ceil(row * warps), 1, z.div_ceil(chunk)],
        (3, CudaKernel::Direct) => {
            let groups = (tiles_x * tiles_y / GROUP).clamp(1, tiles_y);
            if groups * tiles_z > 65_535 {
                return [tiles_x, tiles_y, tiles_z];
            }
            [tiles_x, tiles_y.div_ceil(groups), tiles_z * groups]
        }
        (_, CudaKernel::Direct) => [tiles_x, tiles_y, tiles_z * w],
        _ => [tiles_x, tiles_y, z.div_ceil(chunk) * w],
    }
}

/// Compiles the kernels of `policy` for `arch` ("sm_90") without a GPU; the machine code.
///
/// # Errors
/// A policy that no kernel can have; the compiler's.
pub fn compile_check<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    extents: [usize; D],
    policy: &CudaPolicy,
    arch: &str,
) -> Result<Cubin> {
    let policy = policy.shaped::<D>()?;
    let layout = layout_of(stencil, extents, &policy)?;
    let strided = grid::<D>(&layout, &policy)[2] > 65_535;
    let text = step_text(stencil, &policy, strided);
    let options = Options { contract: policy.contraction, ..Options::default() };
    compile(&text.source, "a stencil", arch, &options)
}

/// The layout that `policy` needs.
///
/// # Errors
/// More cells than kernels can index; steps that can't be pipelined.
pub(super) fn layout_of<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    extents: [usize; D],
    policy: &CudaPolicy,
) -> Result<Layout> {
    if policy.kernel != CudaKernel::Pipeline {
        return Layout::of(stencil, extents, 1, [0; 2]);
    }
    let refused = |what: String, remedy: &str| Err(Error::spec(what, remedy));
    if !pipelines(stencil) {
        return refused(
            "several steps a trip of this stencil".into(),
            "take another kernel: pipelines are for stars of radius one over one scalar of four or \
             eight bytes, Dirichlet or periodic, without faults",
        );
    }
    let Some(trip) = TripShape::of(policy, D, S::FIELDS[0].kind.size()) else {
        return refused(
            format!(
                "tiles of {:?} cells and {} warps, {} steps deep",
                policy.cells, policy.warps, policy.temporal_depth
            ),
            "take larger tiles or fewer steps: nothing of these remains without their skirts",
        );
    };
    let depth = policy.temporal_depth as usize;
    for (axis, &n) in extents.iter().enumerate() {
        if stencil.boundaries.0[axis][0] == Boundary::Periodic && n < depth {
            return refused(
                format!("{depth} steps a trip over {n} periodic cells of axis {axis}"),
                "take no more steps a trip than cells",
            );
        }
    }
    Layout::of(stencil, extents, depth, trip.slack)
}
