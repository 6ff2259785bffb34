//! The lines that join one stage and a skeleton: the shape and the kernel.

use std::fmt::Write;

use super::reach::{COPY_UNIT, Reach, Role, reach_of, ring_of, role_of, type_of};
use crate::cuda::sums::{COPIES, Summand};
use crate::{CudaKernel, CudaPolicy, Stage};

/// What every skeleton reads and writes cells with.
pub const CELLS: &str = include_str!("../kernels/cells.cuh");

/// One stage as its kernel sees it.
#[derive(Clone, Debug)]
pub struct StageShape {
    /// The kernel's name.
    pub kernel: String,
    /// How each field is used.
    pub roles: Vec<Role>,
    /// Fields that the copy engine brings, with the tile it copies: elements along x, rows.
    pub ringed: Vec<(usize, [usize; 2])>,
    /// Tiles begin at multiples of so many cells along x: whole vectors, and whole units of the copy engine.
    pub start: usize,
    /// Dynamic shared memory in bytes.
    pub shared: usize,
    /// What it sums up, for which its last argument is the address of an accumulator.
    pub summand: Option<Summand>,
}

pub struct Glue<'a> {
    stage: &'a dyn Stage,
    number: usize,
    policy: &'a CudaPolicy,
    strided: bool,
    reach: Vec<Reach>,
    pub shape: StageShape,
}

impl<'a> Glue<'a> {
    pub fn new(
        stage: &'a dyn Stage,
        number: usize,
        (policy, strided): (&'a CudaPolicy, bool),
        summand: Option<Summand>,
    ) -> Self {
        let reach: Vec<_> = (0..stage.cell_type().len()).map(|f| reach_of(stage, f)).collect();
        let summed = |f| summand.is_some_and(|summand| summand.fields.contains(&f));
        let role = |f| match role_of(stage, f) {
            Role::Unused if summed(f) => Role::Read,
            role => role,
        };
        let roles = (0..stage.cell_type().len()).map(role).collect();
        let (ringed, shared) = match policy.kernel {
            CudaKernel::Planes => ring_of(stage.cell_type(), &reach, policy),
            _ => (Vec::new(), 0),
        };
        let unit = |&(f, _): &(usize, _)| COPY_UNIT / stage.cell_type().size(f);
        let units = ringed.iter().map(unit).max().unwrap_or(1);
        let start = units.max(policy.cells[0].max(1) as usize);
        let kernel = format!("ww_stage{number}");
        let shape = StageShape { kernel, roles, ringed, start, shared, summand };
        Self { stage, number, policy, strided, reach, shape }
    }

    pub fn write(&self, text: &mut String, functor: &str) -> std::fmt::Result {
        let shape = format!("ww_shape{}", self.number);
        self.write_shape(text, &shape)?;
        let kernel = &self.shape.kernel;
        let sum = self.shape.summand.map(|summand| self.write_sum(text, &summand)).transpose()?;
        let (threads, mut blocks) = (32 * self.policy.warps, self.policy.min_blocks);
        if sum.is_some() && blocks > 2 {
            // Room for the registers of sums.
            blocks -= 1;
        }
        write!(
            text,
            "extern \"C\" __global__ void __launch_bounds__({threads}, {blocks}) {kernel}("
        )?;
        let pairs = self.write_fields(text)?;
        for (f, _) in &self.shape.ringed {
            write!(text, "const __grid_constant__ ww::stencil::TensorMap map{f}, ")?;
        }
        if self.policy.kernel == CudaKernel::Planes {
            text.push_str("const int4 origin, ");
        }
        text.push_str("const ww::stencil::Box box");
        self.write_element(text, functor)?;
        writeln!(text, "  const ww::stencil::Pointers<{shape}> fields{{{}}};", pairs.join(", "))?;
        if self.policy.kernel == CudaKernel::Planes {
            self.write_maps(text, &shape)?;
        }
        let (skeleton, maps) = match self.policy.kernel {
            CudaKernel::Direct => ("direct", ""),
            CudaKernel::Planes => ("planes", "maps, "),
            // Their single steps are Direct's.
            CudaKernel::Temporal | CudaKernel::Packed | CudaKernel::Resident => ("direct", ""),
        };
        match sum {
            Some(sum) => writeln!(
                text,
                "  ww::stencil::direct_summed<{shape}, {sum}>(fields, box, element, words);\n}}"
            ),
            None => {
                writeln!(
                    text,
                    "  ww::stencil::{skeleton}<{shape}>(fields, {maps}box, element);\n}}"
                )
            }
        }
    }

    /// The pointers to fields among the kernel's parameters; the pairs of what is read and written.
    fn write_fields(&self, text: &mut String) -> Result<Vec<String>, std::fmt::Error> {
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
        Ok(pairs)
    }

    /// What is summed up, and where the kernel finds it.
    fn write_sum(&self, text: &mut String, summand: &Summand) -> Result<String, std::fmt::Error> {
        let name = format!("ww_sum{}", self.number);
        let Summand { fields: [a, b], dot } = *summand;
        let [a_written, b_written] = [a, b].map(|f| self.stage.writes().contains(&f));
        writeln!(
            text,
            "struct {name} {{
  static constexpr int a = {a}, b = {b}, copies = {COPIES};
  static constexpr bool dot = {dot}, a_written = {a_written}, b_written = {b_written};
}};"
        )?;
        Ok(name)
    }

    /// The parameters of the function: by value, and those that are numbers of a session where that has them.
    fn write_element(&self, text: &mut String, functor: &str) -> std::fmt::Result {
        let taken = self.stage.taken();
        let words = if self.shape.summand.is_some() { ", ww::u64* __restrict__ words" } else { "" };
        if self.stage.parameters_size() == 0 {
            return writeln!(text, "{words}) {{\n  const {functor} element{{}};");
        }
        if taken.is_empty() {
            return writeln!(text, ", const {functor} element{words}) {{");
        }
        write!(text, ", const {functor} given")?;
        (0..taken.len())
            .try_for_each(|n| write!(text, ", const ww::f64* __restrict__ number{n}"))?;
        writeln!(text, "{words}) {{\n  {functor} element = given;")?;
        taken.iter().enumerate().try_for_each(|(n, (member, _))| {
            writeln!(
                text,
                "  element.{member} = static_cast<decltype(element.{member})>(*number{n});"
            )
        })
    }

    fn write_maps(&self, text: &mut String, shape: &str) -> std::fmt::Result {
        writeln!(
            text,
            "  ww::stencil::Maps<{shape}> maps{{{{}}, origin.x, origin.y, origin.z, origin.w}};"
        )?;
        self.shape.ringed.iter().try_for_each(|(f, _)| writeln!(text, "  maps.map[{f}] = &map{f};"))
    }

    /// What functions are told about their cells.
    fn write_place(&self, text: &mut String) -> std::fmt::Result {
        if !self.stage.knows().anything() {
            return Ok(());
        }
        writeln!(
            text,
            "  WW_FN static ww::usize index(int axis, int cell) {{ return ww::stencil::whole_index(axis, cell); }}
  WW_FN static ww::u64 step() {{ return ww_place.step; }}"
        )
    }

    fn write_shape(&self, text: &mut String, shape: &str) -> std::fmt::Result {
        let dims = self.stage.rank();
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
        writeln!(text, "  static constexpr int dims = {dims}, vx = {vx}, vy = {vy}, vz = {vz};")?;
        writeln!(
            text,
            "  static constexpr int warps = {warps}, chunk = {chunk}, prefetch = {prefetch};"
        )?;
        let (phases, start) = (self.policy.phases, self.shape.start);
        writeln!(text, "  static constexpr int phases = {phases}, start = {start};")?;
        writeln!(text, "  static constexpr int ring_bytes = {};", self.shape.shared)?;
        writeln!(text, "  static constexpr bool strided = {};", self.strided)?;
        let places: Vec<_> =
            self.shape.roles.iter().map(|role| (*role == Role::InPlace).to_string()).collect();
        writeln!(
            text,
            "  WW_FN static constexpr bool in_place(int f) {{\n    const bool all[] = {{{}}};\n    return all[f];\n  }}",
            places.join(", ")
        )?;
        self.write_place(text)?;
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
