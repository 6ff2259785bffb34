//! How a stencil runs on several GPUs: one kernel policy for all, and how planes are exchanged.

use serde::{Deserialize, Serialize};

use super::cut;
use crate::cuda::ghosts::code;
use crate::cuda::layout::{Layout, axes};
use crate::cuda::resident::ResidentShape;
use crate::cuda::text::{Role, TripShape, grid, role_of, trip_grid};
use crate::turn::Turn;
use crate::{Boundary, CudaKernel, CudaPolicy, Spec, Stage, Tap};
use warpweft_core::cuda::Device;
use warpweft_core::error::{Error, Result};

/// Blocks along the grid's third axis at most.
const GRID_Z: usize = 65_535;

/// How planes at a cut reach the neighbour's ghost planes. Changes time, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exchange {
    /// By the devices themselves: edge tiles store into the neighbour's memory and set flags that
    /// its next launch waits for. Needs direct access between neighbours.
    Flags,
    /// Likewise, but every four bytes travel in one word with the number of the exchange, which the
    /// neighbour polls: no flag and no fence, for twice the bytes. For one stage by
    /// [`CudaKernel::Direct`] that writes one scalar of four or eight bytes.
    Words,
    /// By copies between launches, through the host where there is no direct access.
    Copies,
}

/// Every tunable of a run on several GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MultiCudaPolicy {
    /// The kernel on every device.
    pub cuda: CudaPolicy,
    /// How planes are exchanged.
    pub exchange: Exchange,
    /// Whether a launch may start while the one before it ends, where devices can do that; never where slabs
    /// share a device.
    pub early: bool,
    /// Steps between exchanges in words, for which ghost zones are as deep; 1 otherwise, where trips
    /// have [`CudaPolicy::temporal_depth`].
    #[serde(default = "one")]
    pub depth: u32,
    /// The axis that slabs are cut across, 0 the slowest; another becomes the slowest on the devices.
    #[serde(default)]
    pub axis: usize,
}

fn one() -> u32 {
    1
}

impl MultiCudaPolicy {
    /// This kernel on slabs across the slowest axis, exchanging planes like this, every step or trip.
    pub const fn new(cuda: CudaPolicy, exchange: Exchange) -> Self {
        Self { cuda, exchange, early: true, depth: 1, axis: 0 }
    }

    /// The same of stencil and volume turned so that the axis cut across is the slowest.
    ///
    /// # Errors
    /// An axis that is not there, or that the stencil can't be turned to.
    fn turned<const D: usize>(
        &self,
        stencil: &Spec<D>,
        extents: [usize; D],
    ) -> Result<(Self, Spec<D>, [usize; D])> {
        let turn = Turn::across(self.axis)?;
        Ok((Self { axis: 0, ..*self }, turn.spec(stencil)?, turn.turned(extents)))
    }

    /// Steps from one exchange to the next.
    pub fn steps_a_turn(&self) -> u32 {
        match (self.exchange, self.cuda.kernel) {
            (Exchange::Words, _) => self.depth.max(1),
            (_, CudaKernel::Pipeline | CudaKernel::Resident) => self.cuda.temporal_depth.max(1),
            _ => 1,
        }
    }

    /// The policy to start from for `devices`: across [`MultiCudaPolicy::axis_for`], by flags wherever
    /// they are possible.
    ///
    /// # Errors
    /// As [`super::MultiCudaSweeps::new`] for extents that can't be cut; the driver's.
    pub fn default_for<const D: usize>(
        stencil: &Spec<D>,
        extents: [usize; D],
        devices: &[Device],
    ) -> Result<Self> {
        Self::default_across(
            Self::axis_for(stencil, extents, devices.len()),
            stencil,
            extents,
            devices,
        )
    }

    /// As [`MultiCudaPolicy::default_for`], across the axis named.
    pub(super) fn default_across<const D: usize>(
        axis: usize,
        stencil: &Spec<D>,
        extents: [usize; D],
        devices: &[Device],
    ) -> Result<Self> {
        let turn = Turn::across(axis)?;
        let default = Self::default_of(&turn.spec(stencil)?, turn.turned(extents), devices)?;
        Ok(Self { axis, ..default })
    }

    /// The same across the slowest axis.
    fn default_of<const D: usize>(
        stencil: &Spec<D>,
        extents: [usize; D],
        devices: &[Device],
    ) -> Result<Self> {
        let parts = devices.len().max(1);
        let mut largest = extents;
        largest[0] = extents[0].div_ceil(parts);
        let mut capability = (u32::MAX, 0);
        for device in devices {
            capability = capability.min(device.capability()?);
        }
        let policy = |cuda| Self::new(cuda, Exchange::Flags);
        let cuda = CudaPolicy::default_for(stencil, largest, capability).reduced::<D>();
        if policy(cuda).check_flags(stencil, extents, devices).is_ok() {
            return Ok(policy(cuda));
        }
        // What bars a kernel with a ring may not bar one without.
        let shape = [cuda.cells[0], cuda.cells[1].min(2), 1];
        let march = CudaPolicy {
            kernel: CudaKernel::March,
            cells: shape,
            warps: 8,
            min_blocks: 2,
            chunk: 32,
            prefetch: 0,
            phases: 0,
            ..cuda
        };
        if policy(march).check_flags(stencil, extents, devices).is_ok() {
            return Ok(policy(march));
        }
        Ok(Self { exchange: Exchange::Copies, ..policy(cuda) })
    }

    /// Whether slabs on `devices` can run like this.
    ///
    /// # Errors
    /// A kernel that `stencil` may not have, or a device can't run; slabs thinner than the footprint;
    /// [`MultiCudaPolicy::check_flags`], unless planes are copied.
    pub(crate) fn check<const D: usize>(
        &self,
        stencil: &Spec<D>,
        extents: [usize; D],
        devices: &[Device],
    ) -> Result<()> {
        if self.axis > 0 {
            let (turned, stencil, extents) = self.turned(stencil, extents)?;
            return turned.check(&stencil, extents, devices);
        }
        let shaped = Self { cuda: self.cuda.shaped::<D>()?, ..*self };
        let slabs = shaped.slabs(stencil, extents, devices.len())?;
        let copies = self.exchange == Exchange::Copies;
        if copies && self.cuda.kernel == CudaKernel::Resident {
            return Err(Error::spec(
                "resident tiles that exchange planes by copies",
                "exchange by flags: they send their rims themselves",
            ));
        }
        self.check_engine(devices)?;
        if !copies {
            self.check_flags(stencil, extents, devices)?;
        }
        cut::layout(stencil, &shaped, extents, &slabs[0], [0, slabs.len()]).map(drop)
    }

    /// Whether the exchange by flags or in words can do this.
    ///
    /// # Errors
    /// The reason why not, and [`Exchange::Copies`] as the hint.
    pub fn check_flags<const D: usize>(
        &self,
        stencil: &Spec<D>,
        extents: [usize; D],
        devices: &[Device],
    ) -> Result<()> {
        if self.axis > 0 {
            let (turned, stencil, extents) = self.turned(stencil, extents)?;
            return turned.check_flags(&stencil, extents, devices);
        }
        let words = self.exchange == Exchange::Words;
        let how = if words { "words" } else { "flags" };
        let hint = match self.cuda.kernel {
            CudaKernel::Resident => "take another kernel, larger tiles or more GPUs",
            _ => "exchange by copies instead",
        };
        let refuse = |why: String| Err(Error::spec(format!("exchange by {how} {why}"), hint));
        if !(2..=3).contains(&D) {
            return refuse(format!("in {D} dimensions"));
        }
        self.check_engine(devices)?;
        let parts = devices.len();
        let trips = self.cuda.kernel == CudaKernel::Pipeline;
        if words && let Some(why) = self.no_words(stencil) {
            return refuse(why);
        }
        if parts > 1 && words && reads_corners(stencil) {
            return refuse(
                "of a footprint that reads across a cut and a copied boundary at once".into(),
            );
        }
        let shaped = Self { cuda: self.cuda.shaped::<D>()?, ..*self };
        for (part, planes) in shaped.slabs(stencil, extents, parts)?.iter().enumerate() {
            let layout = cut::layout(stencil, &shaped, extents, planes, [part, parts])?;
            let size = stencil.cell.size(0);
            let trip = if trips { TripShape::of(&shaped.cuda, D, size) } else { None };
            let blocks = shaped.flagged_grid::<D>(&layout, trip.as_ref());
            if blocks[2] > GRID_Z {
                return refuse(format!("with {} layers of tiles", blocks[2]));
            }
            if let (CudaKernel::Resident, Some(shape)) =
                (shaped.cuda.kernel, ResidentShape::of(stencil, &shaped.cuda))
            {
                shape.check(stencil, &layout)?;
                let tiles = shape.tiles(&layout).iter().product();
                shape.room(tiles, (devices[part].sms()?, shaped.cuda.min_blocks))?;
            }
        }
        for (part, device) in devices.iter().enumerate() {
            let above = &devices[(part + 1) % parts];
            let joined = cut::shared(stencil, part, parts)[1] && above != device;
            if joined && !(device.can_access(above)? && above.can_access(device)?) {
                return refuse(format!("between {} and {}", device.label(), above.label()));
            }
        }
        Ok(())
    }

    /// Whether all of `devices` have what the kernel asks for.
    ///
    /// # Errors
    /// Names one that has no copy engine where planes are to be brought by it; the driver's.
    pub(super) fn check_engine(&self, devices: &[Device]) -> Result<()> {
        for device in devices.iter().filter(|_| self.cuda.kernel == CudaKernel::Planes) {
            if device.capability()? < (9, 0) {
                return Err(Error::spec(
                    format!("planes by the copy engine on {}, which has none", device.label()),
                    "take March or Direct below compute capability 9.0",
                ));
            }
        }
        Ok(())
    }

    /// Why planes can't be exchanged in words, if they can't.
    fn no_words<const D: usize>(&self, stencil: &Spec<D>) -> Option<String> {
        let [stage] = &stencil.stages[..] else { return Some("of several stages".into()) };
        if self.cuda.kernel != CudaKernel::Direct {
            return Some(format!("by the kernel {:?}", self.cuda.kernel));
        }
        if !(1..=16).contains(&self.depth) {
            return Some(format!("every {} steps, of 1 to 16", self.depth));
        }
        let sent: Vec<_> = stage.writes().iter().filter(|&&f| stencil.crosses_cut(f)).collect();
        let [&f] = sent[..] else { return Some(format!("of {} fields", sent.len())) };
        let size = stencil.cell.size(f);
        if role_of(&**stage, f) != Role::Doubled || !matches!(size, 4 | 8) {
            return Some(format!("of a field of {size} bytes that is read only at the cell"));
        }
        let [below, above] = stencil.radius()[0];
        if below != above {
            return Some(format!(
                "of a footprint that reads {below} planes below and {above} above"
            ));
        }
        // Ghost planes are advanced without renewing their own ghosts.
        let held = |face: &Boundary| matches!(face, Boundary::Dirichlet(_));
        let faces = &stencil.boundaries.0[1..];
        (self.depth > 1 && !faces.as_flattened().iter().all(held))
            .then(|| "every few steps between faces that are not Dirichlet".into())
    }

    /// Blocks along the grid's three axes for one stage over all of `layout`.
    pub(super) fn grid<const D: usize>(&self, layout: &Layout) -> [usize; 3] {
        grid::<D>(layout, &self.cuda)
    }

    /// The same for what exchanges planes by flags: a trip where the policy has such, else a stage.
    pub(super) fn flagged_grid<const D: usize>(
        &self,
        layout: &Layout,
        trip: Option<&TripShape>,
    ) -> [usize; 3] {
        trip.map_or_else(|| self.grid::<D>(layout), |trip| trip_grid::<D>(layout, &self.cuda, trip))
    }

    /// The planes of each of `parts` slabs.
    ///
    /// # Errors
    /// More parts than there are planes for.
    pub(super) fn slabs<const D: usize>(
        &self,
        stencil: &Spec<D>,
        extents: [usize; D],
        parts: usize,
    ) -> Result<Vec<std::ops::Range<usize>>> {
        let shaped = self.cuda.shaped::<D>()?;
        let [below, above] = cut::reach(stencil, self);
        // Slabs are cut between resident tiles.
        let least = if shaped.kernel == CudaKernel::Resident { 1 } else { 16 };
        cut::slabs(extents[0], parts, (cut::tile_depth::<D>(&shaped), least), below.max(above))
    }
}

/// Whether a stage reads cells that lie across a cut and beyond a face whose ghosts are copied from
/// cells: the neighbour's tiles, which fill ghost planes, fill no such corners (corners.cuh).
pub(in crate::cuda) fn reads_corners<const D: usize>(stencil: &Spec<D>) -> bool {
    stencil.stages.iter().any(|stage| corners(stencil, &**stage).is_some())
}

/// The kinds of the faces `[x, y][low, high]`, if `stage` reads such cells.
pub(in crate::cuda) fn corners<const D: usize>(
    stencil: &Spec<D>,
    stage: &dyn Stage<D>,
) -> Option<[[i32; 2]; 2]> {
    let faces = &stencil.boundaries.0;
    let copied = |d: usize, o: isize| o != 0 && !faces[d][usize::from(o > 0)].is_held();
    let across = |tap: &Tap<D>| tap.offset[0] != 0 && (1..D).any(|d| copied(d, tap.offset[d]));
    let [_, _, y, x] = axes::<D>();
    let held = code(&Boundary::Dirichlet(0.0));
    let kinds = |axis: Option<usize>| axis.map_or([held; 2], |d| faces[d].each_ref().map(code));
    stage.taps().iter().any(across).then(|| [x, y].map(kinds))
}

/// Cells along x and y of a block's tile.
pub(in crate::cuda) fn tile<const D: usize>(policy: &CudaPolicy) -> [usize; 2] {
    let [vx, vy, _] = policy.cells.map(|cells| cells as usize);
    let warps = policy.warps as usize;
    match (D, policy.kernel) {
        (2, CudaKernel::March) => [32 * vx * warps, 1],
        (2, _) => [32 * vx, 1],
        _ => [32 * vx, vy * warps],
    }
}

/// Columns of tiles around its own, along x and y, that a tile's ghosts across a cut come from.
pub(in crate::cuda) fn columns<const D: usize>(
    stencil: &Spec<D>,
    policy: &CudaPolicy,
) -> [usize; 2] {
    let [_, _, y, x] = axes::<D>();
    let widest = |axis: Option<usize>| {
        let across = stencil.stages.iter().flat_map(|stage| stage.taps());
        let across = across.filter(|tap| tap.offset[0] != 0);
        axis.and_then(|d| across.map(|tap| tap.offset[d].unsigned_abs()).max()).unwrap_or(0)
    };
    // A last tile may have few cells, so around a volume one more counts.
    let more = around(stencil).map(|closed| usize::from(closed && reads_corners(stencil)));
    let [tile_x, tile_y] = tile::<D>(policy);
    [widest(x).div_ceil(tile_x) + more[0], widest(y).div_ceil(tile_y) + more[1]]
}

/// Cells along x, y and z beyond its own that a tile reads of ghost planes, where ghost zones serve
/// `depth` steps: across the cut alone, or also while advancing ghost planes.
pub(in crate::cuda) fn near<const D: usize>(stencil: &Spec<D>, depth: u32) -> [usize; 3] {
    let [_, z, y, x] = axes::<D>();
    [x, y, z].map(|axis| {
        let taps = stencil.stages.iter().flat_map(|stage| stage.taps());
        let taps = taps.filter(|tap| depth > 1 || tap.offset[0] != 0);
        axis.and_then(|d| taps.map(|tap| tap.offset[d].unsigned_abs()).max()).unwrap_or(0)
    })
}

/// The same for trips, whose tiles read as deep into the columns beside as they have steps. A last
/// tile may have few columns, so around a volume one more counts.
pub(in crate::cuda) fn trip_columns<const D: usize>(
    stencil: &Spec<D>,
    trip: Option<TripShape>,
    policy: &CudaPolicy,
) -> [usize; 2] {
    let Some(TripShape { inner: [x, y], .. }) = trip else { return [0; 2] };
    let depth = policy.temporal_depth as usize;
    let [around_x, around_y] = around(stencil);
    let width = if D == 2 { x * policy.warps as usize } else { x };
    let rows = if D == 2 { 0 } else { depth.div_ceil(y) + usize::from(around_y) };
    [depth.div_ceil(width) + usize::from(around_x), rows]
}

/// Whether faces across x, and across y, are periodic.
pub(super) fn around<const D: usize>(stencil: &Spec<D>) -> [bool; 2] {
    let [_, _, y, x] = axes::<D>();
    [x, y].map(|axis| axis.is_some_and(|d| stencil.boundaries.0[d][0] == Boundary::Periodic))
}

/// Layers of tiles across a slab, and how many of them are at a cut below and above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layers {
    /// All.
    pub all: usize,
    /// At the cut below and above; 0 where there is none.
    pub edge: [usize; 2],
}

impl Layers {
    /// Layers of `tile` planes in a slab of `planes`, of which `reach` are read or written across a
    /// cut.
    pub fn of(planes: usize, tile: usize, reach: usize, shared: [bool; 2]) -> Self {
        let all = planes.div_ceil(tile);
        let low = reach.div_ceil(tile).min(all);
        let high = all - planes.saturating_sub(reach) / tile;
        let edge = |shared: bool, layers: usize| if shared && reach > 0 { layers } else { 0 };
        Self { all, edge: [edge(shared[0], low), edge(shared[1], high)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edge_layers_cover_what_is_read_across_a_cut() {
        let of = |planes, tile, reach| Layers::of(planes, tile, reach, [true, true]);
        assert_eq!(of(32, 4, 1), Layers { all: 8, edge: [1, 1] });
        assert_eq!(of(33, 4, 2), Layers { all: 9, edge: [1, 2] });
        assert_eq!(of(32, 2, 4), Layers { all: 16, edge: [2, 2] });
        assert_eq!(of(5, 8, 4), Layers { all: 1, edge: [1, 1] });
        assert_eq!(of(32, 4, 0).edge, [0, 0]);
        assert_eq!(Layers::of(32, 4, 1, [false, true]).edge, [0, 1]);
        // Every plane within reach of a cut is in an edge layer, and no layer more is.
        for (planes, tile, reach) in [(17, 3, 2), (40, 7, 5), (9, 4, 4), (6, 1, 3)] {
            let Layers { all, edge } = of(planes, tile, reach);
            for plane in 0..planes {
                let layer = plane / tile;
                assert!(plane >= reach || layer < edge[0]);
                assert!(plane + reach < planes || layer >= all - edge[1]);
            }
            assert!((edge[0] - 1) * tile < reach);
            assert!((all - edge[1] + 1) * tile > planes - reach);
        }
    }
}
