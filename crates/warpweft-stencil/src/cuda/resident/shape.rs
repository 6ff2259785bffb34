//! The shape of a resident kernel's tiles: `Home` in resident.cuh.

use std::fmt::Write;

use crate::cuda::memory::layout::{Layout, axes};
use crate::cuda::text::reach::{Role, role_of, type_of};
use crate::{Boundary, CudaPolicy, Spec, Stage};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::Axes;

/// Farther than this a thread's rows would be more pad than cells.
const FARTHEST: usize = 4;
/// Cells a thread computes at most, which are in registers.
const CELLS: usize = 96;
/// Rows a thread computes at most, a bit each.
const ROWS: usize = 32;
/// Bytes of a tile's flags: as in resident.cuh 27 directions of eight words. Two dimensions use them.
const FLAGS: usize = 27 * 8 * size_of::<u32>();

/// What the host must know of resident tiles, along z, y and x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidentShape {
    /// Cells of a tile.
    pub tile: [usize; 3],
    /// Cells that tiles send across a side.
    pub halo: [usize; 3],
    /// How far the footprint reaches.
    pub reach: [usize; 3],
    /// Steps between posts.
    pub depth: usize,
    /// Whether the footprint has cells off along two axes at once.
    pub slanted: bool,
    /// Warps along z.
    pub warps_z: usize,
    /// Dynamic shared memory in bytes.
    pub shared: usize,
    /// Bytes of halo messages of a tile, of one post.
    pub messages: usize,
    /// Bytes of a cell.
    pub size: usize,
}

impl ResidentShape {
    /// For `stencil` under `policy`; `None` when no cell of a tile is left without its overlap, or a thread
    /// had more cells than it has registers for.
    pub fn of(stencil: &Spec, policy: &CudaPolicy) -> Option<Self> {
        let dims = stencil.rank();
        let radius = stencil.radius();
        let [_, z, y, x] =
            axes(dims).map(|axis| axis.map_or(0, |d| radius[d][0].max(radius[d][1])));
        let reach = [z, y, x];
        let [vx, vy, vz] = policy.cells.map(|cells| cells as usize);
        let (warps, depth) = (policy.warps as usize, policy.temporal_depth as usize);
        let warps_y = if dims == 2 { 1 } else { warps_along_y(warps) };
        let warps_z = warps / warps_y;
        let all = [vz * warps_z, vy * warps_y, 32 * vx];
        let wide = |axis: usize, n: usize| if axis == 2 { n.next_multiple_of(vx) } else { n };
        let each = |f: &dyn Fn(usize) -> usize| [f(0), f(1), f(2)];
        let pad = each(&|axis| wide(axis, reach[axis]));
        let on = if dims == 2 { depth } else { depth - 1 };
        let overlap = each(&|axis| wide(axis, on * reach[axis]));
        let halo = each(&|axis| wide(axis, depth * reach[axis]));
        let inner = |axis: usize| all[axis].checked_sub(2 * overlap[axis]);
        let planes = policy.chunk as usize;
        let tile = [planes, inner(1)?, inner(2)?];
        let possible = (1..=inner(0)?).contains(&planes)
            && vx * vy * vz <= CELLS
            && vy * vz <= ROWS
            && (dims == 3 || (vz >= z && vx >= x))
            && (0..3).all(|axis| tile[axis] > 0 && tile[axis] >= halo[axis]);
        if !possible {
            return None;
        }
        let off = |offset: Axes<isize>| offset.iter().filter(|&&o| o != 0).count();
        let taps = stencil.stages.iter().flat_map(|stage| stage.taps());
        let slanted = taps.map(|tap| off(tap.offset)).max().unwrap_or(0) > 1;
        let size = stencil.cell.size(0);
        let mut shape =
            Self { tile, halo, reach, depth, slanted, warps_z, shared: 0, messages: 0, size };
        let kept: usize = match dims {
            2 => 2 * warps * 2 * z * 32 * vx,
            _ => (0..3).map(|axis| all[axis] + 2 * pad[axis]).product(),
        };
        shape.shared = kept * size;
        let vector = (16 / size).min(vx);
        // In three dimensions a word stands next to 32 (sealed.cuh).
        let bytes = |cells: usize| match dims {
            2 => cells * size,
            _ => {
                let beside = (cells / vector).div_ceil(32) * 8;
                (cells * size).next_multiple_of(16) + beside.next_multiple_of(16)
            }
        };
        shape.messages = shape.rims(dims).map(bytes).sum();
        Some(shape)
    }

    /// The planes that the deepest tile of `policy` has; `None` if none is left without the overlap.
    pub fn widest(stencil: &Spec, policy: &CudaPolicy) -> Option<usize> {
        let dims = stencil.rank();
        let reach = axes(dims)[1].map_or(0, |d| stencil.radius()[d].into_iter().max().unwrap_or(0));
        let warps = policy.warps as usize;
        let warps_z = if dims == 2 { warps } else { warps / warps_along_y(warps) };
        let depth = policy.temporal_depth as usize;
        let overlap = if dims == 2 { depth } else { depth.saturating_sub(1) } * reach;
        (policy.cells[2] as usize * warps_z).checked_sub(2 * overlap).filter(|&planes| planes > 0)
    }

    /// Cells of each side that is in use.
    fn rims(&self, dims: usize) -> impl Iterator<Item = usize> {
        let way = |n: usize| [n / 9, n / 3 % 3, n % 3].map(|o| o != 1);
        let used = move |way: &[bool; 3]| {
            let off = way.iter().filter(|&&off| off).count();
            let reached = (0..3).all(|axis| !way[axis] || self.reach[axis] > 0);
            let corner = off == 1 || self.slanted || self.depth > 1;
            off > 0 && reached && corner && (dims == 3 || !way[1])
        };
        (0..27).map(way).filter(used).map(|way| {
            let length = |axis: usize| if way[axis] { self.halo[axis] } else { self.tile[axis] };
            (0..3).map(length).product()
        })
    }

    /// Tiles along z, y and x over `layout`.
    pub fn tiles(&self, layout: &Layout) -> [usize; 3] {
        std::array::from_fn(|axis| layout.extents[axis + 1].div_ceil(self.tile[axis]))
    }

    /// Bytes of memory that `tiles` have next to the cells: messages of two posts, and flags.
    pub fn bytes(&self, tiles: usize) -> [usize; 2] {
        [tiles * 2 * self.messages, tiles * FLAGS]
    }

    /// Whether so many tiles are there at once on `sms` multiprocessors that hold `each`, as they must: they wait
    /// for one another.
    ///
    /// # Errors
    /// Names both numbers.
    pub fn room(&self, tiles: usize, (sms, each): (u32, u32)) -> Result<()> {
        let room = sms as usize * each as usize;
        if tiles <= room {
            return Ok(());
        }
        Err(Error::spec(
            format!(
                "{tiles} tiles of {:?} cells of a persistent kernel on a GPU that holds {room}",
                self.tile
            ),
            "use larger tiles, more GPUs or another kernel: all tiles must be resident on the GPU at once",
        ))
    }

    /// Whether these tiles can cover `layout`: where they meet around a volume or another slab, the last must
    /// be whole.
    ///
    /// # Errors
    /// Names the axis, its cells and the tile's.
    pub fn check(&self, stencil: &Spec, layout: &Layout) -> Result<()> {
        for (n, axis) in axes(stencil.rank())[1..].iter().enumerate() {
            let Some(axis) = *axis else { continue };
            let around = stencil.boundaries.0[axis][0] == Boundary::Periodic;
            let cells = layout.extents[n + 1];
            if (around || layout.shared[n + 1][1]) && !cells.is_multiple_of(self.tile[n]) {
                return Err(Error::spec(
                    format!(
                        "tiles of {} cells of a persistent kernel over {cells} that meet others",
                        self.tile[n]
                    ),
                    "take tiles that divide them, or another kernel",
                ));
            }
        }
        Ok(())
    }
}

/// Warps along y, so that tiles are about as many planes as rows.
fn warps_along_y(warps: usize) -> usize {
    let fits = |n: &usize| n * n <= warps && warps.is_multiple_of(*n);
    [8, 4, 2].into_iter().find(fits).unwrap_or(1)
}

/// Whether the cells of `stencil` can stay on the chip (see
/// [`CudaKernel::Resident`](crate::CudaKernel::Resident)).
pub fn resides(stencil: &Spec) -> bool {
    let near = stencil.radius().iter().flatten().all(|&cells| cells <= FARTHEST);
    near && goes_on_alone(stencil)
}

/// Whether tiles of `stencil` may compute beyond the volume, several steps on, and end with the exact cells: one stage
/// over one scalar of four or eight bytes that it reads next to the cell and writes, between faces that are periodic
/// or hold one value, without faults or loops that depend on its cells, told nothing about them.
fn goes_on_alone(stencil: &Spec) -> bool {
    let dims = stencil.rank();
    let [stage] = &stencil.stages[..] else { return false };
    let mut faces = stencil.boundaries.0.as_flattened().iter();
    // Tiles compute beyond the volume, on anything, where nothing may be reported nor go on for ever.
    let mut unit = Unit::new();
    stage.cuda(&mut unit);
    (dims == 2 || dims == 3)
        && stencil.cell.len() == 1
        && matches!(stencil.cell.size(0), 4 | 8)
        && role_of(&**stage, 0) == Role::Doubled
        && faces.all(|b| matches!(b, Boundary::Dirichlet(_) | Boundary::Periodic))
        && !stencil.knows().anything()
        && !unit.faults()
        && !unit.loops()
}

/// Writes the kernel `ww_resident` and its shape.
pub fn write_resident(
    text: &mut String,
    stage: &dyn Stage,
    functor: &str,
    policy: &CudaPolicy,
    shape: &ResidentShape,
) -> std::fmt::Result {
    let dims = stage.rank();
    let scalar = type_of(stage.cell_type(), 0);
    let [vx, vy, vz] = policy.cells;
    let CudaPolicy { warps, min_blocks, .. } = *policy;
    let ResidentShape { tile, halo, reach, depth, slanted, warps_z, shared, messages, .. } = shape;
    let list = |of: &[usize; 3]| format!("{}, {}, {}", of[0], of[1], of[2]);
    let [reach_z, reach_y, reach_x] = reach;
    let (parameter, local) = match stage.parameters_size() {
        0 => (String::new(), format!("  const {functor} element{{}};\n")),
        _ => (format!(", const {functor} element"), String::new()),
    };
    write!(
        text,
        "struct ww_resident_shape {{
  template <int F>
  using Type = ww::stencil::pick<F, {scalar}>;
  using Writes = ww::stencil::indices<0>;
  static constexpr int dims = {dims}, vx = {vx}, vy = {vy}, vz = {vz}, warps = {warps}, warps_z = {warps_z};
  static constexpr int depth = {depth}, planes = {planes};
  static constexpr int reach_z = {reach_z}, reach_y = {reach_y}, reach_x = {reach_x};
  static constexpr bool slanted = {slanted}, corners = {slanted} || {depth} > 1;
  static constexpr int shared_bytes = {shared}, message_bytes = {messages};
  static constexpr int tile[3] = {{{tile}}}, halo[3] = {{{halo}}};
}};
extern \"C\" __global__ void __launch_bounds__({threads}, {min_blocks}) ww_resident(const {scalar}* __restrict__ in, {scalar}* __restrict__ out, const __grid_constant__ ww::stencil::Resident told{parameter}) {{
{local}  ww::stencil::resident<ww_resident_shape>(in, out, told, element);
}}
",
        planes = tile[0],
        tile = list(tile),
        halo = list(halo),
        threads = 32 * warps
    )
}
