//! The lines that join one stage and a skeleton: the shape and the kernel.

use std::fmt::Write;

use super::Cut;
use super::reach::{Across, Reach, Role, across_of, reach_of, ring_of, role_of, type_of};
use crate::cuda::multi;
use crate::{CudaKernel, CudaPolicy, Stage};

/// One stage as its kernel sees it.
#[derive(Clone, Debug)]
pub struct StageShape {
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

pub struct Glue<'a, const D: usize> {
    stage: &'a dyn Stage<D>,
    number: usize,
    policy: &'a CudaPolicy,
    strided: bool,
    pub cut: Cut,
    /// Columns of tiles around its own that a tile at a cut waits for.
    pub columns: [usize; 2],
    /// The kinds of the faces `[x, y][low, high]`, where a tile at a cut reads ghosts beyond them.
    pub corners: Option<[[i32; 2]; 2]>,
    /// Cells along x, y and z beyond its own that a tile takes from ghost planes in words.
    pub near: [usize; 3],
    /// Steps between two exchanges in words.
    pub every: u32,
    reach: Vec<Reach>,
    pub shape: StageShape,
}

impl<'a, const D: usize> Glue<'a, D> {
    pub fn new(
        stage: &'a dyn Stage<D>,
        number: usize,
        policy: &'a CudaPolicy,
        strided: bool,
    ) -> Self {
        let reach: Vec<_> = (0..stage.cell_type().len()).map(|f| reach_of(stage, f)).collect();
        let roles = (0..stage.cell_type().len()).map(|f| role_of(stage, f)).collect();
        let (ringed, shared) = match policy.kernel {
            CudaKernel::Planes => ring_of(stage.cell_type(), &reach, policy),
            _ => (Vec::new(), 0),
        };
        let kernel = format!("ww_stage{number}");
        let shape = StageShape { kernel, roles, ringed, shared, sent: Vec::new() };
        let (cut, columns, near) = (Cut::None, [0; 2], [0; 3]);
        let corners = None;
        Self { stage, number, policy, strided, cut, columns, corners, near, every: 1, reach, shape }
    }

    pub fn write(&self, text: &mut String, functor: &str) -> std::fmt::Result {
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
            let scalar = type_of(self.stage.cell_type(), f);
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
            let scalar = type_of(self.stage.cell_type(), f);
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
            self.write_maps(text, &shape)?;
        }
        let (skeleton, maps) = match self.policy.kernel {
            CudaKernel::Direct => ("direct", ""),
            CudaKernel::March => ("march", ""),
            CudaKernel::Planes => ("planes", "maps, "),
            CudaKernel::Pipeline => ("pipeline", ""),
            CudaKernel::Resident => ("resident", ""),
        };
        writeln!(text, "  ww::stencil::{skeleton}<{shape}>(fields, {maps}box, element);\n}}")
    }

    fn write_maps(&self, text: &mut String, shape: &str) -> std::fmt::Result {
        writeln!(
            text,
            "  ww::stencil::Maps<{shape}> maps{{{{}}, origin.x, origin.y, origin.z, origin.w}};"
        )?;
        self.shape.ringed.iter().try_for_each(|(f, _)| writeln!(text, "  maps.map[{f}] = &map{f};"))
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
            CudaKernel::Planes => {
                self.write_maps(text, &edged)?;
                return writeln!(
                    text,
                    "  ww::stencil::every_layer<{shape}>(edges, fields, box, [&](int layer, int row) {{\n    \
                     ww::stencil::planes_chunk<{edged}>(fields, maps, box, element, 0, layer * {shape}::chunk, \
                     row * {shape}::warps * {shape}::vy);\n  }});\n}}"
                );
            }
            _ => "direct_layer",
        };
        let tile = |shape: &str| {
            format!(
                "[&](int layer, int row) {{ ww::stencil::{layer}<{shape}>(fields, box, element, layer, row); }}"
            )
        };
        writeln!(
            text,
            "  ww::stencil::by_layer<{shape}>(edges, fields, box, {}, {});\n}}",
            tile(shape),
            tile(&edged)
        )
    }

    /// The body of a kernel whose tiles at a cut exchange words.
    fn write_words(&self, text: &mut String, shape: &str, pairs: &str) -> std::fmt::Result {
        let f = self.shape.sent.first().copied().unwrap_or(0);
        let scalar = type_of(self.stage.cell_type(), f);
        writeln!(text, "  const ww::stencil::Pointers<{shape}> fields{{{pairs}}};")?;
        writeln!(text, "  const ww::stencil::WordPointers<{shape}> worded{{{{{pairs}}}}};")?;
        writeln!(
            text,
            "  ww::stencil::words_direct<{shape}>(fields, worded, const_cast<{scalar}*>(in{f}), box, words, element);\n}}"
        )
    }

    /// What a stage's tiles at a cut know of corners (corners.cuh).
    fn write_corners(&self, text: &mut String) -> std::fmt::Result {
        if self.cut != Cut::Flags {
            return Ok(());
        }
        writeln!(text, "  static constexpr bool corners = {};", self.corners.is_some())?;
        let Some(faces) = self.corners else { return Ok(()) };
        let [tile_x, tile_y] = multi::tile::<D>(self.policy);
        writeln!(text, "  static constexpr int tile_x = {tile_x}, tile_y = {tile_y};")?;
        let kinds = faces.as_flattened().iter().map(i32::to_string).collect::<Vec<_>>();
        writeln!(
            text,
            "  WW_FN static constexpr int face(int axis, int side) {{\n    const int all[] = {{{}}};\n    return all[2 * axis + side];\n  }}",
            kinds.join(", ")
        )?;
        writeln!(text, "  WW_FN static constexpr ww::stencil::Across across(int f) {{")?;
        writeln!(text, "    const ww::stencil::Across all[] = {{")?;
        for f in 0..self.stage.cell_type().len() {
            let Across { planes, y, x } = across_of(self.stage, f);
            writeln!(
                text,
                "        {{{{{}, {}}}, {}, {}, {}, {}}},",
                planes[0], planes[1], y[0], y[1], x[0], x[1]
            )?;
        }
        text.push_str("    };\n    return all[f];\n  }\n");
        Ok(())
    }

    fn write_shape(&self, text: &mut String, shape: &str) -> std::fmt::Result {
        let fields = 0..self.stage.cell_type().len();
        let list = |keep: &dyn Fn(usize) -> bool| {
            let kept: Vec<_> = fields.clone().filter(|&f| keep(f)).map(|f| f.to_string()).collect();
            format!("ww::stencil::indices<{}>", kept.join(", "))
        };
        let types: Vec<_> = fields.clone().map(|f| type_of(self.stage.cell_type(), f)).collect();
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
        self.write_corners(text)?;
        let [x, y, z] = self.near;
        writeln!(text, "  static constexpr int near_x = {x}, near_y = {y}, near_z = {z};")?;
        writeln!(text, "  static constexpr int every = {};", self.every)?;
        let field = self.shape.sent.first().copied().unwrap_or(0);
        writeln!(text, "  static constexpr int sent_field = {field};")?;
        writeln!(text, "  static constexpr int dims = {D}, vx = {vx}, vy = {vy}, vz = {vz};")?;
        writeln!(
            text,
            "  static constexpr int warps = {warps}, chunk = {chunk}, prefetch = {prefetch};"
        )?;
        writeln!(text, "  static constexpr int phases = {};", self.policy.phases)?;
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
                "        {{{}, {own_low}, {own_high}, {}, {off_low}, {off_high}, {}, {}, {}, {}, {}}},",
                reach.own.is_some(),
                reach.off.is_some(),
                reach.y[0],
                reach.y[1],
                reach.x[0],
                reach.x[1],
                reach.cross
            )?;
        }
        text.push_str("    };\n    return all[f];\n  }\n};\n");
        Ok(())
    }
}
