//! Which skeleton and shape suits a stencil: the first choice, and what a tuner should try.
//!
//! The choices rest on measurements on one H200 (768³ and 16384² cells): register blocks come within
//! 9 % of the memory's limit for small footprints, the copy engine's ring is best for wide stars.
//! Fused steps are faster still but take seconds to compile: a run takes them over (`modelled`).

pub(super) mod chunks;
pub(crate) mod kernels;
pub(crate) mod modelled;
pub(super) mod rings;

use self::chunks::chunks_of_planes;
use self::rings::ring_fits;
use super::memory::layout::{Layout, axes};
use super::resident::for_volume;
use super::temporal::temporal_shapes;
use super::text::{grid, layout_of};
use crate::{CudaKernel, CudaPolicy, Spec, Stage};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::Axes;

/// Blocks below which a grid can't fill a device: about four for every SM of an H200.
const ENOUGH_BLOCKS: usize = 512;
/// Planes of a chunk below which register blocks are faster than the ring, as chunks read their neighbours' planes, too. Order 8
/// in f32 on an H200: 166 and 122 Gcells/s at 332 x 211 x 363, where chunks would have 12 planes; 254 and 290 at
/// 299 x 574 x 600, where they have 48.
const LONG: u32 = 32;
/// Registers of a thread's new cells, at most: beyond them a kernel of 128 registers spills.
const NEW_CELLS: usize = 64;

/// Shapes of fused steps that a tuner tries.
const SHAPES: usize = 8;

/// What a choice depends on.
struct Problem {
    dims: usize,
    /// Widest reach along z, y and x.
    radius: [usize; 3],
    /// Bytes of the largest scalar.
    size: usize,
    /// Fields that any stage uses.
    fields: usize,
    /// Reads of the stage with most.
    taps: usize,
    /// Registers of what the stage with most writes of a cell.
    written: usize,
    /// Cells along x.
    row: usize,
    /// Whether there is a copy engine, and every field is of a size that it takes.
    ring: bool,
}

impl Problem {
    fn of(stencil: &Spec, extents: Axes<usize>, capability: (u32, u32)) -> Self {
        let dims = stencil.rank();
        let radius = stencil.radius();
        let reach =
            |axis: Option<usize>| axis.map_or(0, |axis| radius[axis][0].max(radius[axis][1]));
        let [_, z, y, x] = axes(dims);
        let used = |f: usize| {
            let stages = &stencil.stages;
            stages.iter().any(|s| s.writes().contains(&f) || s.taps().iter().any(|t| t.field == f))
        };
        let sizes = || stencil.cell.fields().iter().map(|field| field.kind.size());
        Self {
            dims,
            radius: [reach(z), reach(y), reach(x)],
            size: sizes().max().unwrap_or(4),
            fields: (0..stencil.cell.len()).filter(|&f| used(f)).count(),
            taps: stencil.stages.iter().map(|stage| stage.taps().len()).max().unwrap_or(0),
            written: stencil.stages.iter().map(|stage| registers(&**stage)).max().unwrap_or(0),
            row: x.map_or(1, |axis| extents[axis]),
            ring: dims >= 3 && capability >= (9, 0) && sizes().all(|size| size != 2),
        }
    }

    /// Cells along x that make vectors of 16 bytes, fewer where rows are short.
    fn vector(&self) -> u32 {
        let full = (16 / self.size).clamp(2, 8);
        let lanes = self.row.div_ceil(32).next_power_of_two();
        full.min(lanes) as u32
    }
}

/// Registers of what `stage` writes of a cell.
fn registers(stage: &dyn Stage) -> usize {
    stage.writes().iter().map(|&f| stage.cell_type().size(f).div_ceil(4)).sum()
}

impl CudaPolicy {
    /// Phases of Planes to begin with.
    ///
    /// Few, as all of them take thrice the time to compile. On an H200, next to all: one phase of f64
    /// at order 8 rises from 202 to 213 Gcells/s (nothing spills any more), at order 6 from 214 to 215;
    /// of f32 it falls from 413 to 407 and from 425 to 414.
    pub(crate) fn first_phases(stencil: &Spec) -> u32 {
        let wide = stencil.cell.fields().iter().any(|field| field.kind.size() >= 8);
        if wide { 1 } else { 2 }
    }

    /// The skeleton and shape to start from, for a device of this compute capability.
    pub fn default_for(stencil: &Spec, extents: Axes<usize>, capability: (u32, u32)) -> Self {
        let dims = stencil.rank();
        let problem = Problem::of(stencil, extents, capability);
        let vx = problem.vector();
        let [rz, ry, _] = problem.radius;
        let wide = rz.max(ry) >= 3;
        let mut policy = match problem.dims {
            1 => shape(CudaKernel::Direct, [vx, 1, 1], 8, 2),
            2 => shape(CudaKernel::Direct, [vx, 1, 4], 8, 2),
            // The only kernel that knows where a cell is.
            _ if problem.fields > 2 || stencil.knows().anything() => {
                shape(CudaKernel::Direct, [vx, 1, 2], 8, 2)
            }
            _ if wide && problem.ring => {
                let planes = shape(CudaKernel::Planes, [vx, 2, 1], 16, 1);
                CudaPolicy { chunk: 96, prefetch: 4, phases: Self::first_phases(stencil), ..planes }
            }
            _ if wide => shape(CudaKernel::Direct, [vx, 1, 8], 4, 4),
            // A box of 27 points at 512³ on an H200: 457 Gcells/s in f32, 423 by 2 x 8 cells along y and z in blocks of 8 warps;
            // 214 in f64, 172 by 2 x 2.
            _ if problem.taps > 16 && problem.size <= 4 => {
                shape(CudaKernel::Direct, [vx, 4, 4], 4, 4)
            }
            _ if problem.taps > 16 => shape(CudaKernel::Direct, [vx, 2, 4], 4, 4),
            _ => shape(CudaKernel::Direct, [vx, 2, 4], 8, 2),
        };
        let Ok(layout) = layout_of(stencil, extents, &policy) else { return policy };
        if !ring_fits(stencil, extents, &policy, capability) {
            policy = shape(CudaKernel::Direct, [vx, 1, 8], 4, 4);
        }
        if policy.kernel == CudaKernel::Planes && shortened(&layout, policy).chunk < LONG {
            policy = shape(CudaKernel::Direct, [vx, 1, 4], 8, 2);
        }
        if policy.kernel == CudaKernel::Direct {
            policy.narrow(problem.written);
        }
        if (dims, policy.kernel) == (3, CudaKernel::Direct) {
            policy.fit(layout.extents);
        }
        shortened(&layout, policy)
    }

    /// Makes blocks of registers smaller where cells have many fields: all new ones of a block are held at once.
    fn narrow(&mut self, written: usize) {
        let [vx, vy, vz] = &mut self.cells;
        while written * (*vx * *vy * *vz) as usize > NEW_CELLS {
            match [&mut *vz, &mut *vy, &mut *vx].into_iter().find(|cells| **cells > 1) {
                Some(cells) => *cells /= 2,
                None => break,
            }
        }
    }

    /// Makes tiles of Direct no deeper than a volume of a few planes, or rows, is: cells of a tile that is cut
    /// off go one by one, and warps beyond the last row stand idle.
    fn fit(&mut self, [_, z, y, _]: [usize; 4]) {
        let [_, vy, vz] = &mut self.cells;
        while *vz as usize > z {
            *vz /= 2;
        }
        while *vy as usize > y {
            *vy /= 2;
        }
        while self.warps > 1 && (self.warps / 2 * *vy) as usize >= y {
            self.warps /= 2;
            self.min_blocks *= 2;
        }
    }

    /// What a tuner should try on a device of this compute capability and so many multiprocessors, the
    /// most promising first; the default is the first of all. Every one compiles, but some may spill
    /// registers: see [`super::CudaSweeps::local_bytes`].
    pub fn candidates(
        stencil: &Spec,
        extents: Axes<usize>,
        (capability, sms): ((u32, u32), u32),
    ) -> Vec<Self> {
        let dims = stencil.rank();
        let problem = Problem::of(stencil, extents, capability);
        let vx = problem.vector();
        let default = Self::default_for(stencil, extents, capability);
        let mut all = vec![default];
        let mut add = |policy: CudaPolicy| {
            let possible = policy.shaped(dims).is_ok_and(|shaped| shaped == policy)
                && layout_of(stencil, extents, &policy).is_ok()
                && ring_fits(stencil, extents, &policy, capability);
            if possible && !all.contains(&policy) {
                all.push(policy);
            }
        };
        let fused = temporal_shapes(stencil, extents, (capability, sms), (SHAPES, u64::MAX), true);
        let resident = for_volume(stencil, extents, (capability, sms));
        let (first, others) = fused.split_at(fused.len().min(FIRST));
        for &policy in first.iter().chain(&resident).chain(others) {
            add(policy);
        }
        if dims == 3 && default.kernel == CudaKernel::Planes {
            for chunk in chunks_of_planes(stencil, extents, &default, sms) {
                add(CudaPolicy { chunk, ..default });
            }
        }
        add(CudaPolicy { phases: 0, ..default });
        let ring = problem.ring && problem.radius.iter().any(|&r| r > 0);
        single_steps(vx, Self::first_phases(stencil), ring).into_iter().for_each(add);
        all
    }

    /// Whether its kernel is one that `stencil` over `extents` may have.
    ///
    /// # Errors
    /// A shape that no kernel can have; steps that can't be fused, or cells that can't stay on the chip; more
    /// cells than kernels can index.
    pub(crate) fn check(&self, stencil: &Spec, extents: Axes<usize>) -> Result<()> {
        layout_of(stencil, extents, &self.shaped(stencil.rank())?).map(drop)
    }

    /// This policy with 1 for what has no meaning in `dims` dimensions or for its kernel.
    pub(super) fn reduced(mut self, dims: usize) -> Self {
        let [_, vy, vz] = &mut self.cells;
        match dims {
            1 => (*vy, *vz) = (1, 1),
            2 => *vy = 1,
            _ => {}
        }
        if !matches!(self.kernel, CudaKernel::Direct | CudaKernel::Resident) {
            *vz = 1;
        }
        if self.kernel != CudaKernel::Planes {
            self.phases = 0;
        }
        if !self.kernel.fuses() {
            self.temporal_depth = 1;
        }
        self
    }

    /// This policy with 1 for the axes that a volume of `dims` lacks.
    ///
    /// # Errors
    /// A shape that no kernel can have.
    pub(super) fn shaped(mut self, dims: usize) -> Result<Self> {
        let wrong = |what: String, hint: &str| Err(Error::spec(what, hint));
        self = self.reduced(dims);
        let [vx, vy, vz] = &mut self.cells;
        // A lane has up to two words of packed bits.
        let most = if self.kernel == CudaKernel::Packed { 64 } else { 16 };
        if !vx.is_power_of_two() || *vx > most || !(1..=16).contains(vy) || !(1..=20).contains(vz) {
            return wrong(
                format!("a thread of {:?} cells", self.cells),
                "take 1, 2, 4, 8 or 16 along x, 1 to 16 along y and 1 to 20 along z",
            );
        }
        if !(1..=32).contains(&self.warps) || !(1..=32).contains(&self.min_blocks) {
            return wrong(
                format!("{} blocks of {} warps an SM", self.min_blocks, self.warps),
                "take 1 to 32 of each",
            );
        }
        self.check_kernel(dims)?;
        Ok(self)
    }

    /// Whether its kernel has shapes like this in `dims` dimensions.
    fn check_kernel(&self, dims: usize) -> Result<()> {
        let wrong = |what: String, hint: &str| Err(Error::spec(what, hint));
        match self.kernel {
            CudaKernel::Direct => Ok(()),
            kernel if dims < 2 && !kernel.levels() || self.chunk == 0 => wrong(
                format!("the kernel `{kernel:?}` in {dims} dimensions with `chunk` {}", self.chunk),
                "use the kernel `Direct` or `Temporal` in one dimension, and a `chunk` of at least 1 plane",
            ),
            CudaKernel::Temporal | CudaKernel::Packed
                if !(1..=32).contains(&self.temporal_depth)
                    || !(1..=31).contains(&self.prefetch) =>
            {
                wrong(
                    format!("{} fused steps, {} rows ahead", self.temporal_depth, self.prefetch),
                    "take 1 to 32 steps and 1 to 31 rows",
                )
            }
            CudaKernel::Resident if dims > 3 || !(1..=16).contains(&self.temporal_depth) => wrong(
                format!(
                    "a persistent kernel in {dims} dimensions, {} steps between halo exchanges",
                    self.temporal_depth
                ),
                "take two or three dimensions and 1 to 16 steps",
            ),
            CudaKernel::Planes if dims < 3 => wrong(
                format!("planes of a {dims}-dimensional volume"),
                "take Direct below three dimensions",
            ),
            _ => Ok(()),
        }
    }
}

/// A policy of this shape; streaming kernels take 48 planes.
fn shape(kernel: CudaKernel, cells: [u32; 3], warps: u32, min_blocks: u32) -> CudaPolicy {
    let chunk = if kernel == CudaKernel::Direct { 0 } else { 48 };
    CudaPolicy {
        kernel,
        cells,
        warps,
        min_blocks,
        chunk,
        prefetch: 0,
        temporal_depth: 1,
        phases: 0,
        contraction: true,
    }
}

/// The policy with less work in each block: a small grid needs more blocks.
fn shortened(layout: &Layout, mut policy: CudaPolicy) -> CudaPolicy {
    while grid(layout, &policy).iter().product::<usize>() < ENOUGH_BLOCKS {
        let [_, vy, vz] = &mut policy.cells;
        if policy.kernel != CudaKernel::Direct && policy.chunk > 8 {
            policy.chunk /= 2;
        } else if *vz > 1 {
            *vz /= 2;
        } else if *vy > 1 {
            *vy /= 2;
        } else if policy.warps > 4 {
            policy.warps /= 2;
        } else {
            break;
        }
    }
    policy
}

/// Shapes of fused steps that a search tries before it tries tiles that stay on the chip.
const FIRST: usize = 4;

/// Shapes of the kernels that do one step, for vectors of `vx` cells: one of each kernel, then others. `ring` says
/// whether planes in a ring of shared memory can be had and are of use, `phases` what they begin with.
fn single_steps(vx: u32, phases: u32, ring: bool) -> Vec<CudaPolicy> {
    let mut all = Vec::new();
    let mut add = |policy| all.push(policy);
    for (kernel, vy, vz, warps, blocks) in [
        (CudaKernel::Direct, 2, 4, 8, 2),
        (CudaKernel::Direct, 1, 4, 8, 2),
        (CudaKernel::Planes, 2, 1, 16, 1),
    ] {
        let (prefetch, phases) = if kernel == CudaKernel::Planes { (3, phases) } else { (0, 0) };
        add(CudaPolicy { prefetch, phases, ..shape(kernel, [vx, vy, vz], warps, blocks) });
    }
    for (vy, vz) in [(2, 8), (1, 8), (2, 2), (1, 2), (1, 1), (4, 4), (1, 4), (2, 4)] {
        for (warps, blocks) in [(8, 2), (4, 4), (8, 3)] {
            add(shape(CudaKernel::Direct, [vx, vy, vz], warps, blocks));
        }
    }
    if ring {
        for (vy, warps, blocks) in [(2, 16, 1), (2, 16, 2), (1, 16, 2), (2, 8, 2)] {
            for (chunk, prefetch) in [(48, 3), (96, 4)] {
                let planes = shape(CudaKernel::Planes, [vx, vy, 1], warps, blocks);
                add(CudaPolicy { chunk, prefetch, phases, ..planes });
            }
        }
    }
    for vz in [2, 4] {
        add(shape(CudaKernel::Direct, [2 * vx, 1, vz], 8, 2));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[stencil]
    fn around(u: Near<f32, 3>) -> f32 {
        u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]] + u[[0, 0, -1]] + u[[0, 0, 1]]
    }

    #[test]
    fn tiles_of_flat_volumes_are_flat() {
        let stencil = Stencil::of(around());
        let of = |extents| {
            let CudaPolicy { cells, warps, min_blocks, .. } =
                CudaPolicy::default_for(&stencil, extents, (9, 0));
            (cells, warps, min_blocks)
        };
        assert_eq!(of([512; 3].into()), ([4, 2, 4], 8, 2));
        assert_eq!(of([2, 4096, 4096].into()), ([4, 2, 2], 8, 2));
        assert_eq!(of([4096, 2, 4096].into()), ([4, 2, 4], 1, 16));
        assert_eq!(of([1, 1, 1 << 24].into()).0, [4, 1, 1]);
    }
}
