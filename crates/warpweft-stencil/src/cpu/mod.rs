//! Sweeps on the cores.
//!
//! The volume is copied into padded arrays; every sweep runs as blocks of time levels, traversed by
//! all workers of a pool at once. Nothing here depends on the element but the row functions.

mod arrays;
mod faces;
mod ghosts;
mod halo;
mod layout;
mod levels;
mod log;
mod measure;
mod policy;
pub(super) mod rows;
pub(super) mod slab;
mod stages;
mod traverse;

use std::sync::Arc;

use super::exchange::Cells;
use super::executor::SweepExecutor;
use super::plan::{Region, Sweep};
use super::policy::CpuPolicy;
use super::spec::Spec;
use super::spec::functions::Frame;
use crate::plan::cone::Cones;
use crate::spec::reduction::ahead::Ahead;
use crate::spec::reduction::fold::Folded;
use crate::spec::reduction::{Reduce, Reduction};
use crate::spec::residual::Residual;
use crate::spec::stage::StageList;
use crate::spec::total::Total;
use arrays::Arrays;
use faces::Faces;
use ghosts::Ghosts;
use layout::{Layout, canonical, tile_axis};
use levels::Shape;
use measure::change::Change;
use warpweft_core::cpu::{Barrier, Pool, Progress, Simd, WorkerPanic};
use warpweft_core::element::CellType;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, RawVolumeMut};
use warpweft_core::trace::Trace;

pub use slab::Slab;

/// Runs sweeps over a copy of a volume on the workers of a pool.
pub struct CpuSweeps {
    cell: CellType,
    stages: StageList,
    policy: CpuPolicy,
    simd: Simd,
    pool: Arc<Pool>,
    extents: Axes<usize>,
    /// Per field a bit: whether it has two arrays.
    doubled: u32,
    /// Where the cells lie in the whole volume.
    place: Frame,
    cones: Cones,
    arrays: Arrays,
    ghosts: Ghosts,
    faces: Faces,
    /// Steps done when the ghosts of function faces were last written.
    faced: Option<u64>,
    shape: Shape,
    /// Levels of the longest block the ghost cells are deep enough for.
    depth: usize,
    /// Per field a bit: which array holds the present values.
    present: u32,
    /// Per field a bit: whether cells were written from outside since the last sweep.
    stale: u32,
    written: Vec<usize>,
    barrier: Barrier,
    /// One a tile.
    progress: Vec<Progress>,
    /// Waves published so far.
    published: usize,
    /// Per worker, the stage it is at: where a panic happened.
    at_stage: Vec<Progress>,
    change: Change,
    ahead: Ahead<Reduction>,
    /// The rows of the last region that was measured or reduced.
    rows: Option<(Region, halo::Rows)>,
    trace: Option<Arc<Trace>>,
}

/// A volume and its boundaries, with axes in the order of the padded arrays.
struct Canonical {
    cells: [usize; 4],
    /// Ghost cells below and above, as deep as one stage reads.
    ghosts: [[usize; 2]; 4],
    periodic: [bool; 4],
}

impl Canonical {
    fn of(stencil: &Spec, extents: Axes<usize>, axes: Axes<usize>) -> Self {
        let mut all = Self { cells: [1; 4], ghosts: [[0; 2]; 4], periodic: [false; 4] };
        for d in 0..stencil.rank() {
            all.cells[axes[d]] = extents[d];
            all.ghosts[axes[d]] = stencil.room()[d];
            all.periodic[axes[d]] = stencil.boundaries.0[d][0] == super::Boundary::Periodic;
        }
        all
    }
}

/// What blocks of time levels depend on, where tiles lie along `tile`.
fn shape_of(
    stencil: &Spec,
    (axes, tile): (Axes<usize>, usize),
    (cells, periodic): ([usize; 4], [bool; 4]),
    (policy, workers): (&CpuPolicy, usize),
) -> Shape {
    let radii = stencil.stages.iter().map(|stage| {
        let mut radius = [[0; 2]; 4];
        for (d, r) in stage.radius().into_iter().enumerate() {
            radius[axes[d]] = r;
        }
        [layout::Z, tile].map(|axis| radius[axis][0].max(radius[axis][1]))
    });
    Shape {
        axes: [layout::Z, tile],
        extents: [cells[layout::Z], cells[tile]],
        periodic: [periodic[layout::Z], periodic[tile]],
        radii: radii.collect(),
        flips: stencil.stages.iter().map(|stage| stage.flips()).collect(),
        tile: if tile == layout::X { policy.tile_cells } else { policy.tile_rows },
        planes: policy.slab_planes,
        workers,
    }
}

/// Where the cells lie in the whole volume. Levels compute around the seam of an axis that repeats, where indices
/// wrap.
fn place_of(stencil: &Spec, extents: Axes<usize>) -> Frame {
    let Frame { begin, period } = stencil.functions.frame;
    let repeats = |d: usize| stencil.boundaries.0[d][0] == super::Boundary::Periodic;
    let period = Axes::from_fn(stencil.rank(), |d| match period[d] {
        0 if repeats(d) => extents[d] as i64,
        period => period,
    });
    Frame { begin, period }
}

/// Ghost cells with room for blocks of `depth` levels, and how deep those of the tilted axes that repeat are.
fn deepened(
    mut ghosts: [[usize; 2]; 4],
    shape: &Shape,
    depth: usize,
) -> ([[usize; 2]; 4], [usize; 2]) {
    let mut deep = shape.filled(depth);
    for (side, axis) in shape.axes.into_iter().enumerate().filter(|&(side, _)| shape.periodic[side])
    {
        deep[side] = deep[side].max(ghosts[axis][0]).max(ghosts[axis][1]);
        ghosts[axis] = [deep[side]; 2];
    }
    (ghosts, deep)
}

/// How the padded arrays lie in memory.
fn layout_of(
    stencil: &Spec,
    extents: Axes<usize>,
    (cells, ghosts): ([usize; 4], [[usize; 2]; 4]),
) -> Result<Layout> {
    let widest = stencil.cell.fields().iter().map(|field| field.kind.size()).max().unwrap_or(1);
    Layout::new(cells, ghosts, widest).ok_or_else(|| {
        Error::spec(
            format!("extents {extents:?} with ghost cells are more than memory can address"),
            "choose smaller extents",
        )
    })
}

impl CpuSweeps {
    /// Copies `volume` in.
    ///
    /// # Errors
    /// As [`Spec::check`]; [`CpuPolicy::check`]; not enough memory.
    pub fn new(
        stencil: &Spec,
        volume: &RawVolume,
        policy: CpuPolicy,
        pool: Arc<Pool>,
        simd: Simd,
    ) -> Result<Self> {
        let dims = stencil.rank();
        let extents = volume.extents();
        stencil.check_volume(volume)?;
        policy.check()?;
        let simd = simd.min(Simd::detect());
        let stages = stencil.stages.clone();
        let (axes, tile) = (canonical(dims), tile_axis(dims));
        let Canonical { cells, ghosts, periodic } = Canonical::of(stencil, extents, axes);
        let shape = shape_of(stencil, (axes, tile), (cells, periodic), (&policy, pool.len()));
        // A line has no second axis to cut into tiles that could run at the same time.
        let depth = if dims == 1 { 1 } else { policy.temporal_depth * stages.len() };
        let depth = shape.shallow(depth);
        let (ghosts, deep) = deepened(ghosts, &shape, depth);
        let layout = layout_of(stencil, extents, (cells, ghosts))?;
        let others = stencil.others.iter().map(|stage| stage.flips());
        let doubled = shape.flips.iter().copied().chain(others).fold(0, |all, flips| all | flips);
        let arrays = Arrays::new(stencil.cell, layout, doubled, &pool)?;
        let ghosts = Ghosts::new(layout, &stencil.boundaries, axes, tile);
        let faces = Faces::new(stencil, layout, ghosts.deep);
        let never = [(0, faces.times(0).never), (0, 0)];
        faces.write_all(&arrays, 0, never, &pool).map_err(internal)?;
        arrays.load(volume, &ghosts, deep, &pool).map_err(internal)?;
        Ok(Self {
            cell: stencil.cell,
            policy,
            simd,
            extents,
            doubled,
            place: place_of(stencil, extents),
            cones: Cones::new(stencil, extents),
            arrays,
            ghosts,
            faces,
            faced: None,
            shape,
            depth,
            present: 0,
            stale: 0,
            written: stencil.written_fields(),
            barrier: Barrier::new(pool.len()),
            progress: Vec::new(),
            published: 0,
            at_stage: (0..pool.len()).map(|_| Progress::default()).collect(),
            change: Change::default(),
            ahead: Ahead::default(),
            rows: None,
            trace: None,
            stages,
            pool,
        })
    }

    /// Records from now on what each worker does when.
    pub fn record(&mut self, trace: Arc<Trace>) {
        self.trace = Some(trace);
    }

    /// An element's panic, with the stage it happened in.
    fn fault(&mut self, panic: WorkerPanic) -> Error {
        // Workers may have left the barrier half way.
        self.barrier = Barrier::new(self.pool.len());
        let stage = self.at_stage[panic.worker].wait_for(0, &Default::default()).unwrap_or(0);
        let place = self.stages.get(stage).map_or("a stage", |stage| stage.name());
        Error::Element { place: format!("`{place}`"), what: panic.message }
    }
}

fn internal(panic: WorkerPanic) -> Error {
    Error::spec(format!("copying a volume failed: {}", panic.message), "report this as a bug")
}

impl SweepExecutor for CpuSweeps {
    fn cell(&self) -> CellType {
        self.cell
    }

    fn sweep(&mut self, sweep: &Sweep) -> Result<()> {
        let cone = self.cones.of(sweep)?;
        self.settle();
        self.change.measurable = sweep.keep_change && sweep.steps == 1;
        if self.change.measurable {
            self.keep_change()?;
        }
        self.face(sweep.first_step)?;
        self.advance(sweep, &cone)?;
        // Beside a part of the volume, ghosts of function faces are as old as the cells there.
        self.faced = cone.is_whole().then_some(sweep.first_step + sweep.steps);
        Ok(())
    }

    fn reduce(&mut self, what: Reduce, fields: [usize; 2], region: &Region) -> Result<Reduction> {
        self.reduced(what, fields, *region)
    }

    fn fold(&mut self, by: &dyn Folded) -> Result<Option<Vec<Vec<u8>>>> {
        self.folded(by).map(|()| Some(Vec::new()))
    }

    fn adopt(&mut self, stencil: &Spec) -> Result<bool> {
        self.go_by(stencil)
    }

    fn residual(&mut self, kind: Residual) -> Result<f64> {
        let whole = Region::whole(self.extents);
        Ok(kind.of_total(&self.measure_change(kind, whole)?))
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn changes(&mut self, kind: Residual, region: &Region) -> Result<Total> {
        self.measure_change(kind, *region)
    }

    fn read(&mut self, boxes: &[Cells], to: &mut Vec<u8>) -> Result<()> {
        self.read_boxes(boxes, to)
    }

    fn write(&mut self, boxes: &[Cells], bytes: &[u8]) -> Result<()> {
        self.write_boxes(boxes, bytes)
    }

    fn store(&mut self, volume: RawVolumeMut<'_>) -> Result<()> {
        let volume = volume.of(self.cell, self.extents)?;
        self.arrays.store(self.present, volume, &self.pool).map_err(internal)
    }
}
