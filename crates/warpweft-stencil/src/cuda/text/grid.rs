//! Blocks over a layout, and the layout that a policy needs.

use crate::cuda::memory::layout::{Layout, ghosts_of_pass};
use crate::cuda::resident::{ResidentShape, resides};
use crate::cuda::temporal::{self, TemporalShape};
use crate::{Boundary, CudaKernel, CudaPolicy, Spec};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, across, axis_name};

/// The shape of single steps next to fused ones, for what is left of a number of steps.
pub fn single(policy: &CudaPolicy) -> CudaPolicy {
    if !policy.kernel.fuses() {
        return *policy;
    }
    let vx = policy.cells[0].min(4);
    let cells = [vx, 2, 4];
    // Neither chunk nor prefetch, which Direct has not, so that they make no other text.
    let (chunk, prefetch) = (0, 0);
    CudaPolicy {
        kernel: CudaKernel::Direct,
        cells,
        warps: 8,
        min_blocks: 2,
        chunk,
        prefetch,
        ..*policy
    }
}

/// Blocks of a group of tiles: about what an H200 holds at once of them (two on each of 132
/// multiprocessors), so that the next group along z finds what it shares still in the L2 cache.
/// Measured at 768³: f64 rises from 217 to 241 Gcells/s in three groups of 192 blocks; f32, whose
/// 288 blocks are one group, falls from 497 to 481 in two of 144.
const GROUP: usize = 192;

/// Blocks along the grid's three axes for one step over all of `layout`.
pub fn grid(layout: &Layout, policy: &CudaPolicy) -> [usize; 3] {
    let policy = &single(policy).reduced(layout.dims);
    let [w, z, y, x] = layout.extents;
    let [vx, vy, vz] = policy.cells.map(|cells| cells as usize);
    let (warps, chunk) = (policy.warps as usize, policy.chunk.max(1) as usize);
    let row = 32 * vx;
    let (tiles_x, tiles_y, tiles_z) = (x.div_ceil(row), y.div_ceil(warps * vy), z.div_ceil(vz));
    match (layout.dims, policy.kernel) {
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

/// What a policy needs around the cells: ghost cells, and room for tiles that reach so many rows and planes beyond
/// the last.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub ghosts: Axes<[usize; 2]>,
    pub slack: [usize; 2],
}

impl Room {
    /// Enough for either.
    pub fn with(self, other: Self) -> Self {
        let most = |a: [usize; 2], b: [usize; 2]| [a[0].max(b[0]), a[1].max(b[1])];
        let (mine, others) = (self.ghosts, other.ghosts);
        Self {
            ghosts: Axes::from_fn(mine.rank(), |d| most(mine[d], others[d])),
            slack: most(self.slack, other.slack),
        }
    }

    /// The layout with that room.
    ///
    /// # Errors
    /// More cells than kernels can index.
    pub fn layout(self, stencil: &Spec, extents: Axes<usize>) -> Result<Layout> {
        let ghosts = self.ghosts.zip(stencil.room());
        let ghosts = ghosts.map(|(own, all)| [own[0].max(all[0]), own[1].max(all[1])]);
        Layout::of(stencil, extents, ghosts, self.slack)
    }
}

/// The layout that `policy` needs.
///
/// # Errors
/// More cells than kernels can index; steps that can't be fused.
pub fn layout_of(stencil: &Spec, extents: Axes<usize>, policy: &CudaPolicy) -> Result<Layout> {
    room_of(stencil, extents, policy)?.layout(stencil, extents)
}

/// The room that `policy` needs.
///
/// # Errors
/// As [`layout_of`].
pub fn room_of(stencil: &Spec, extents: Axes<usize>, policy: &CudaPolicy) -> Result<Room> {
    let dims = stencil.rank();
    if extents.rank() != dims {
        return Err(Error::spec(
            format!("{} cells for a stencil of {dims} axes", across(&extents)),
            "give as many extents as the stencil has axes",
        ));
    }
    let refused = |what: String, hint: &str| Err(Error::spec(what, hint));
    let told = matches!(policy.kernel, CudaKernel::Direct | CudaKernel::Temporal);
    if stencil.knows().anything() && !told {
        return refused(
            format!(
                "the kernel `{:?}` can't run a function with `#[at]` or `#[step]`",
                policy.kernel
            ),
            "use the kernel `Direct` or `Temporal`",
        );
    }
    if !policy.kernel.fuses() {
        return Ok(Room { ghosts: stencil.radius(), slack: [0; 2] });
    }
    let depth = policy.temporal_depth as usize;
    for (axis, &n) in extents.iter().enumerate() {
        let far = depth * stencil.reach()[axis].into_iter().max().unwrap_or(0).max(1);
        if stencil.boundaries.0[axis][0] == Boundary::Periodic && n < far {
            return refused(
                format!(
                    "{depth} fused steps over {n} periodic cells of axis {}",
                    axis_name(axis, dims)
                ),
                "fuse no more steps than there are cells",
            );
        }
    }
    match policy.kernel {
        CudaKernel::Resident => resident_room(stencil, extents, policy),
        _ => temporal_room(stencil, extents, policy),
    }
}

/// Ghost cells for so many steps on all sides.
fn deep(stencil: &Spec, steps: usize) -> Axes<[usize; 2]> {
    stencil.radius().map(|sides| sides.map(|cells| cells * steps))
}

/// The room for several fused steps of any stencil.
fn temporal_room(stencil: &Spec, extents: Axes<usize>, policy: &CudaPolicy) -> Result<Room> {
    if !temporal::fuses(stencil) {
        return Err(Error::spec(
            "several fused steps of this stencil",
            "take another kernel: steps are fused in one and two dimensions, and in three if each reads a star or its function \
             has no branches, tables, faults and loops and is not told its index or the step; functions of faces can't fault and have no loops until a condition is met, and where element \
             functions may fault or have such loops, no stage reads unevenly far across an axis whose faces copy cells",
        ));
    }
    let depth = policy.temporal_depth as usize;
    let Some(shape) = TemporalShape::of(stencil, policy, extents) else {
        return Err(Error::spec(
            format!(
                "tiles of {:?} cells a thread, {depth} steps and {} warps, {} rows ahead",
                &policy.cells[..2],
                policy.warps,
                policy.prefetch
            ),
            "take more cells or fewer steps, tiles no higher than the volume; in two dimensions also a number of \
             steps that warps divide, and rows ahead one less than a multiple of the rows next to a cell that a \
             step reads",
        ));
    };
    // Tiles may be higher than what is left of a region.
    let slack = if extents.rank() < 3 { 0 } else { shape.rows + shape.columns };
    Ok(Room { ghosts: ghosts_of_pass(stencil, depth), slack: [slack, 0] })
}

/// The room for resident tiles.
fn resident_room(stencil: &Spec, extents: Axes<usize>, policy: &CudaPolicy) -> Result<Room> {
    if !resides(stencil) {
        return Err(Error::spec(
            "a persistent kernel for this stencil",
            "take another kernel: persistent kernels are for one scalar of four or eight bytes, read \
             at most four cells away, between faces that are periodic or hold one value, \
             without faults",
        ));
    }
    let Some(shape) = ResidentShape::of(stencil, policy) else {
        return Err(Error::spec(
            format!(
                "tiles of {} planes, {:?} cells a thread and {} warps in a persistent kernel, {} steps between halo exchanges",
                policy.chunk, policy.cells, policy.warps, policy.temporal_depth
            ),
            "take fewer planes or steps, or more cells and warps: a tile has overlap cells around it",
        ));
    };
    let room = Room { ghosts: deep(stencil, policy.temporal_depth as usize), slack: [0; 2] };
    shape.check(stencil, &room.layout(stencil, extents)?)?;
    Ok(room)
}
